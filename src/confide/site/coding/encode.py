"""From microdata and their catalog to coded records: small integers, fixed-point contributions and values, keys."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.arrays import Floats, Ints, Narrow
from confide.data.scratch import IN_MEMORY, Keep, Scratch
from confide.data.threads import beside, cores_for
from confide.engines import CLUSTER, Coded, StoreFacts
from confide.engines.order import put_in_order, stored_order
from confide.engines.squares import square_shifts
from confide.errors import Mistake, nearest
from confide.model.catalog.dataset import MOST_DECIMALS, CodeList, Dataset, Role, Variable
from confide.model.catalog.sampling import SampleDesign
from confide.progress import current_progress
from confide.site.coding.clusters import Clusters, find_clusters
from confide.site.coding.columns import LARGEST, bins, contributions, data_mark, narrow, small
from confide.site.coding.homes import Households, find_homes, with_taken
from confide.site.coding.keys import draw_keys, unit_keys
from confide.site.secret import Secret
from confide.sources.columns import distinct, fits, numbers, texts
from confide.sources.dates import date_numbers

__all__ = ["catalog_mark", "encode", "recoded", "roles_mark"]


THREADS = 2
"""So many columns are coded at once: each takes memory for some copies of it."""

COLUMNS = 0.5
"""The share of the time of coding that columns take; keys and marks take the rest."""


ORDERED_FROM = 1_000_000
"""So many records are put in the order of stores while they are coded. Fewer stay as they come, or protected ones would be others."""


def encode(dataset: Dataset, table: pa.Table, *, secret: Secret, scratch: Scratch = IN_MEMORY) -> Coded:
    """Code every declared column; anything the catalog does not allow is a Mistake and nothing is written.

    Columns are looked at one after the other, and those that are coded wait in `scratch`.
    """
    keep = scratch.keep
    if table.num_rows == 0:
        raise Mistake("The data have no records. There is nothing to ask about.")
    shown = [v for v in dataset.variables.values() if v.role is not Role.IDENTIFIER and not dataset.taken(v.name)]
    if not shown:
        raise Mistake(f"The catalog of {dataset.name!r} declares identifiers only. There is nothing to ask about.")
    _check_columns(dataset, shown, table)
    classes = {v.name: f"c{i}" for i, v in enumerate(shown) if v.codes is not None}
    measured = {v.name: f"n{i}" for i, v in enumerate(shown) if v.measurable}
    weight = None if dataset.weight is None else _weights(dataset.weight, dataset.weight_decimals, table)
    columns: dict[str, pa.Array] = {} if weight is None else {"weight": keep(pa.array(weight))}
    decimals: dict[str, int] = {}
    plain = measured if weight is None else {name: f"x{column[1:]}" for name, column in measured.items()}
    values: dict[str, pa.Array] = {}
    value_decimals: dict[str, int] = {}

    def code(variable: Variable) -> _CodedVariable:
        return _code(variable, table, weight, dataset.weight_decimals, keep)

    with ThreadPoolExecutor(THREADS) as pool:
        for done, (variable, coded) in enumerate(zip(shown, pool.map(code, shown), strict=True), 1):
            current_progress().report(COLUMNS * done / len(shown))
            if coded.weighted is not None:
                columns[measured[variable.name]], decimals[variable.name] = coded.weighted
                value_decimals[variable.name] = decimals[variable.name]
            if coded.alone is not None:
                values[plain[variable.name]], value_decimals[variable.name] = coded.alone
            if coded.places is not None:
                columns[classes[variable.name]] = coded.places
    _derive_levels(dataset, columns, classes)
    # Values first: they part records that are alike in all else (a weight of 0 hides a value), and change no other order.
    unit, key, several = draw_keys(dataset.unit, table, {**values, **columns}, secret)
    records = pa.table({"unit": keep(unit), "key": keep(key), **values, **columns})
    facts = StoreFacts(
        dataset=dataset.name,
        catalog=catalog_mark(dataset),
        data="",
        keys=secret.version,
        several=several,
        weighted=weight is not None,
        weight_decimals=dataset.weight_decimals if weight is not None else 0,
        classes=classes,
        numbers=measured,
        decimals=decimals,
        values=plain,
        value_decimals=value_decimals,
        shifts={},
    )
    whole = _with_homes(Coded(facts, records), dataset, table, secret, keep)
    if dataset.sampling is not None:
        whole = _with_clusters(whole, dataset.sampling, table, keep)
    return _marked(whole, keep)


def _marked(coded: Coded, keep: Keep) -> Coded:
    """The records with their mark; many are put in the order of stores first, so that nothing that follows has to."""
    order = stored_order(coded.records) if coded.records.num_rows >= ORDERED_FROM else None
    if order is not None:
        homes = None if coded.homes is None else put_in_order(coded.homes, order, keep)
        coded = replace(coded, records=put_in_order(coded.records, order, keep), homes=homes)
    with beside(partial(data_mark, coded.records), cores=cores_for(coded.records.num_rows)) as mark:
        shifts = square_shifts(coded.records, coded.facts.numbers)
        return replace(coded, facts=replace(coded.facts, shifts=shifts, data=mark()))


def _with_homes(coded: Coded, dataset: Dataset, table: pa.Table, secret: Secret, keep: Keep) -> Coded:
    """The records with where they live, and with what is taken of households where these are a level of their own."""
    if dataset.household is None:
        return coded
    households = keep(unit_keys(dataset.household, table, secret))
    level = dataset.above
    if level is None:
        return replace(coded, homes=pa.table({"household": households}))
    weight = None if level.weight is None else _weights(level.weight, level.weight_decimals, table)
    lived = replace(coded, homes=find_homes(coded, dataset, households, weight))
    if level.sampling is not None:
        lived = _with_clusters_of_homes(lived, level, level.sampling, table)
    return with_taken(lived, dataset, keep)


def _clusters(design: SampleDesign, table: pa.Table, unit: Ints, weight: Floats) -> Clusters:
    return find_clusters(design, table, unit, weight, lambda name: _floats(name, table[name], ()))


def _with_clusters_of_homes(coded: Coded, level: Dataset, design: SampleDesign, table: pa.Table) -> Coded:
    """The records with the sampling units of their households: those that all of a household have in common."""
    homes = Households.among(coded)
    assert coded.homes is not None
    for name in design.columns:
        if not homes.same(distinct(name, table[name]).places):
            raise Mistake(
                f"{name!r}, which [sampling] of {level.name!r} names, differs within some households.",
                suggestions=["Name strata and sampling units that hold whole households, or leave [sampling] out."],
            )
    heads = table.select(design.columns).take(pa.array(homes.head))
    weight = np.ones(len(homes.head))
    if level.weight is not None:
        weight = coded.homes["weight"].to_numpy()[homes.head] / 10.0**level.weight_decimals
    found = _clusters(design, heads, homes.keys, weight)
    lived = coded.homes.append_column("sampled", found.places.take(pa.array(homes.of)))
    return replace(coded, homes=lived, facts=replace(coded.facts, households_sampling=found.facts))


def _with_clusters(coded: Coded, design: SampleDesign, table: pa.Table, keep: Keep) -> Coded:
    """The records with their sampling units."""
    clusters = _clusters(design, table, coded.units, coded.weights)
    records = coded.records.append_column("sampled", keep(clusters.places))
    classes = {**coded.facts.classes, CLUSTER: "sampled"}
    facts = replace(coded.facts, classes=classes, sampling=clusters.facts)
    return replace(coded, facts=facts, records=records)


@dataclass(frozen=True, eq=False)
class _CodedVariable:
    """The columns of one variable: contributions and, where records have weights, plain values, with their decimals; places."""

    weighted: tuple[pa.Array, int] | None = None
    alone: tuple[pa.Array, int] | None = None
    places: pa.Array | None = None


def _code(
    variable: Variable,
    table: pa.Table,
    weight: Ints | None,
    weight_decimals: int,
    keep: Keep,
) -> _CodedVariable:
    """Read a variable's column and code it; one that is not there follows from a finer one later."""
    if not variable.numeric:
        there = variable.column in table.column_names
        places = small(_places(variable, table[variable.column]), variable) if there else None
        return _CodedVariable(places=None if places is None else keep(places))
    amounts = _numbers(variable, table[variable.column])
    places = None if variable.codes is None else keep(small(bins(variable, amounts), variable))
    if not variable.measurable:
        return _CodedVariable(places=places)
    weighted, decimals = contributions(amounts, variable.decimals, weight, weight_decimals)
    coded = _CodedVariable((keep(weighted), decimals), None, places)
    if weight is None:
        return coded
    alone, decimals = contributions(amounts, variable.decimals, None, 0)
    return replace(coded, alone=(keep(narrow(alone)), decimals))


def catalog_mark(dataset: Dataset) -> str:
    """A fingerprint of everything in the catalog that decides how records are coded and checked; labels do not."""
    variables = [_coding(v) for v in dataset.variables.values()]
    more: list[Any] = [dataset.household] if dataset.household else []
    more += [dataset.sampling.coding] if dataset.sampling and not dataset.level else []
    for level in (dataset, dataset.above):
        if level and level.level:
            more += [level.level.head, level.weight, level.weight_decimals, [*level.variables]]
            more += [level.sampling.coding] if level.sampling else []
    text = json.dumps([dataset.unit, dataset.weight, dataset.weight_decimals, variables, *more])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def recoded(before: Dataset, after: Dataset) -> list[str]:
    """The variables that one of two catalogs codes in another way, or does not have."""
    old, new = ({v.name: _coding(v) for v in each.variables.values()} for each in (before, after))
    return [name for name in {**old, **new} if old.get(name) != new.get(name)]


def _coding(v: Variable) -> list[Any]:
    """Everything of a variable that decides how records are coded and checked."""
    return [
        *(v.name, v.kind, v.role == Role.IDENTIFIER, v.of, v.parent),
        *(v.cutpoints, v.decimals, v.minimum, v.maximum, v.missing),
        [(code.code, code.parent, code.missing) for code in v.codes or ()],
        *((v.dates,) if v.dates else ()),
        *((v.codes.synonyms,) if v.codes and v.codes.synonyms else ()),
        *((v.taken.how, v.taken.source, v.taken.among) if v.taken else ()),
    ]


def roles_mark(dataset: Dataset) -> str:
    """A fingerprint of what is a key, what is confidential and where nobody can be: it decides how records are protected, not how
    they are coded."""
    roles: list[Any] = sorted((v.name, v.role) for v in dataset.variables.values())
    text = json.dumps([*roles, *sorted(zero.plain for zero in dataset.structural_zeros)])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _check_columns(dataset: Dataset, shown: list[Variable], table: pa.Table) -> None:
    """Every column the catalog names is there, but for coarser levels, which follow from finer ones."""
    levels = {level.name for v in shown if v.column in table.column_names for level in dataset.chain(v.name)}
    named = [v.column for v in shown if v.name not in levels or v.numeric]
    design = [name for each in (dataset, dataset.above) if each and each.sampling for name in each.sampling.columns]
    others = [dataset.unit, dataset.household, dataset.weight, dataset.above.weight if dataset.above else None]
    for name in [*named, *(n for n in others if n), *design]:
        if name not in table.column_names:
            raise Mistake(
                f"The catalog of {dataset.name!r} names the column {name!r}; the data have none.",
                suggestions=nearest(name, table.column_names),
            )


def _numbers(variable: Variable, column: pa.ChunkedArray) -> Floats:
    """The values of a numeric variable, NaN where missing, checked against its declared domain."""
    values = _dated(variable, column) if variable.dates else _floats(variable.column, column, variable.missing)
    there = ~np.isnan(values)
    absent = len(values) - int(there.sum())
    if absent and not variable.missing:
        raise Mistake(
            f"{variable.column!r} has {absent} missing values, and the catalog declares none.",
            suggestions=[f'Add missing = [""] to [variables.{variable.column}].'],
        )
    present = values[there] if absent else values
    whole = pa.types.is_integer(column.type)
    if variable.decimals < MOST_DECIMALS and not whole and not fits(present, variable.decimals):
        raise Mistake(f"{variable.name!r} has values with more decimals than the {variable.decimals} declared.")
    for bound, beyond in ((variable.minimum, np.less), (variable.maximum, np.greater)):
        if bound is not None and (count := int(beyond(present, bound).sum())):
            raise Mistake(f"{variable.name!r} has {count} values outside its declared minimum and maximum.")
    return values


def _floats(name: str, column: pa.ChunkedArray, missing: tuple[str, ...]) -> Floats:
    """A column as floats; what is declared to mean missing becomes NaN; anything else that is no number is a Mistake."""
    places: Ints | None = None
    if _is_number(column.type):
        values, done = np.empty(len(column)), 0
        for chunk in column.chunks:
            values[done : done + len(chunk)] = chunk.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            done += len(chunk)
    else:
        found = distinct(name, column)
        read = numbers(found.values)
        if read is None or set(read[1]) - set(missing):
            raise Mistake(
                f"Column {name!r} is declared numeric but holds text.",
                suggestions=["Declare what means missing with 'missing', or make it categorical."],
            )
        values, places = read[0], found.places
    if np.isinf(values).any():
        raise Mistake(f"Column {name!r} holds infinite values.")
    marks = numbers(pa.array([m for m in missing if m], pa.string()))
    assert marks is not None
    for mark in marks[0][~np.isnan(marks[0])]:
        values[values == mark] = np.nan
    return values if places is None else np.append(values, np.nan)[places]


def _is_number(kind: pa.DataType) -> bool:
    """Whether a column is read record by record: of text it is quicker to read what is different."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _dated(variable: Variable, column: pa.ChunkedArray) -> Floats:
    """What is taken of each date; what is declared to mean missing becomes NaN."""
    found = distinct(variable.column, column)
    codes = texts(variable.column, found.values)
    there = pc.if_else(pc.is_in(codes, pa.array(list(variable.missing), pa.string())), None, codes)
    return np.append(date_numbers(variable.column, there, variable.dates), np.nan)[found.places]


def _weights(name: str, decimals: int, table: pa.Table) -> Ints:
    """The weights of a column, in fixed point."""
    values = _floats(name, table[name], ())
    bad = int((~(values >= 0)).sum())
    if bad:
        raise Mistake(
            f"The weight {name!r} is negative or missing in {bad} records. Nothing was ingested.",
            suggestions=["Every record needs a weight of zero or more."],
        )
    scaled = np.rint(values * 10**decimals)
    if scaled.sum() >= LARGEST:
        raise Mistake(f"The weights {name!r} are too large to be added up.", suggestions=["Scale them down."])
    return np.asarray(scaled, dtype=np.int64)


def _places(variable: Variable, column: pa.ChunkedArray) -> Narrow:
    """The place of each record's code in the declared list; what is missing has the first missing code."""
    assert variable.codes is not None
    found = distinct(variable.column, column)
    codes = texts(variable.column, found.values)
    declared = _declared(variable.codes, codes)
    unknown = pc.and_(pc.is_null(declared), pc.is_valid(codes)).to_numpy(zero_copy_only=False)
    used = np.flatnonzero(np.bincount(found.places[found.places >= 0], minlength=1))
    lost = used[unknown[used]]
    if len(lost):
        some = ", ".join(repr(codes[int(place)].as_py()[:30]) for place in lost[:3])
        raise Mistake(
            f"{variable.name!r} has codes that the catalog does not declare, such as {some}.",
            suggestions=[f"Add them to [variables.{variable.name}.codes]."],
        )
    places = np.append(pc.fill_null(declared, -1).to_numpy(zero_copy_only=False), -1).astype(np.int32)[found.places]
    absent = places < 0
    if absent.any():
        places[absent] = _missing_place(variable, int(absent.sum()))
    return places


def _declared(declared: CodeList, codes: pa.StringArray) -> pa.Array:
    """The place of each code in the list, under whichever of its spellings; null where it is not declared."""
    spellings = [(code.code, place) for place, code in enumerate(declared)]
    spellings += [(other, place) for place, code in enumerate(declared) for other in code.synonyms]
    names, places = zip(*spellings, strict=True) if spellings else ((), ())
    return pa.array(places, pa.int32()).take(pc.index_in(codes, value_set=pa.array(names, pa.string())))


def _missing_place(variable: Variable, absent: int) -> int:
    for place, code in enumerate(variable.codes or ()):
        if code.missing:
            return place
    raise Mistake(
        f"{variable.name!r} has {absent} missing values, and the catalog declares no missing code.",
        suggestions=[f'Add missing = ["NA"] to [variables.{variable.name}].'],
    )


def _derive_levels(dataset: Dataset, columns: dict[str, pa.Array], classes: dict[str, str]) -> None:
    """Coarser levels follow from finer ones; where the data have both, a record's coarser class is the finer one's parent."""
    finest_first = sorted(classes, key=lambda name: -len(dataset.chain(name)))
    for name in finest_first:
        parent = dataset.variables[name].parent
        if parent is None or classes[name] not in columns:
            continue
        up = np.array(dataset.lift(name, parent), dtype=np.int64)[columns[classes[name]].to_numpy()]
        column = classes[parent]
        if column not in columns:
            columns[column] = small(up, dataset.variables[parent])
        wrong = int((up != columns[column].to_numpy()).sum())
        if wrong:
            raise Mistake(
                f"In {wrong} records {parent!r} is not the declared parent of {name!r}.",
                suggestions=["Mend the data or the parents in dataset.toml."],
            )
