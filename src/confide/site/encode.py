"""From microdata and their catalog to coded records: small integers, fixed-point contributions, keys."""

import hashlib
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from confide.engines import Coded, Facts
from confide.errors import Mistake, nearest
from confide.model.catalog import Dataset, Role, Variable
from confide.secret import Secret

__all__ = ["catalog_mark", "encode"]

Floats = NDArray[np.float64]
LARGEST = 2.0**62
"""Sums of absolute contributions stay below this, so that they are exact in a signed 64-bit integer anywhere."""


def encode(dataset: Dataset, table: pa.Table, *, secret: Secret) -> Coded:
    """Code every declared column; anything the catalog does not allow is a Mistake and nothing is written."""
    shown = [v for v in dataset.variables.values() if v.role is not Role.IDENTIFIER]
    for name in {v.column for v in shown} | {n for n in (dataset.unit, dataset.weight) if n}:
        if name not in table.column_names:
            hint = nearest(name, table.column_names)
            raise Mistake(
                f"The catalog of {dataset.name!r} names the column {name!r}; the data have none.", suggestions=hint
            )
    classes = {v.name: f"c{i}" for i, v in enumerate(shown) if v.codes is not None}
    numbers = {v.name: f"n{i}" for i, v in enumerate(shown) if v.measurable}
    weight = _weights(dataset, table)
    columns, decimals = _columns(dataset, table, classes, numbers, weight)
    _check_levels(dataset, columns, classes)
    unit, key, several = _keys(dataset, table, columns, secret)
    records = pa.table({"unit": unit, "key": key, **columns})
    facts = Facts(
        dataset=dataset.name,
        catalog=catalog_mark(dataset),
        data=_data_mark(records),
        keys=secret.version,
        several=several,
        weighted=weight is not None,
        weight_decimals=dataset.weight_decimals if weight is not None else 0,
        classes=classes,
        numbers=numbers,
        decimals=decimals,
    )
    return Coded(facts, records)


def catalog_mark(dataset: Dataset) -> str:
    """A fingerprint of everything in the catalog that decides how records are coded; labels do not."""
    coding = [
        (v.name, v.kind, v.role == Role.IDENTIFIER, v.of, v.cutpoints, v.decimals, v.missing, v.codes and v.codes.names)
        for v in dataset.variables.values()
    ]
    text = json.dumps([dataset.unit, dataset.weight, dataset.weight_decimals, coding])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _data_mark(records: pa.Table) -> str:
    """A fingerprint of the records that does not depend on their order."""
    order = pc.sort_indices(records, sort_keys=[("unit", "ascending"), ("key", "ascending")])
    digest = hashlib.sha256()
    for column in records.take(order).columns:
        digest.update(np.ascontiguousarray(_filled(column)).tobytes())
    return digest.hexdigest()[:16]


def _filled(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The integers of a column, the least of all where none stands."""
    return np.asarray((column.fill_null(np.iinfo(np.int64).min) if column.null_count else column).to_numpy())


def _numbers(variable: Variable, column: pa.ChunkedArray) -> Floats:
    """The values of a numeric variable, NaN where missing, checked against its declared domain."""
    values = _floats(variable.column, column, variable.missing)
    absent = np.isnan(values)
    if absent.any() and not variable.missing:
        raise Mistake(
            f"{variable.column!r} has {absent.sum()} missing values, and the catalog declares none.",
            suggestions=[f'Add missing = [""] to [variables.{variable.column}].'],
        )
    scaled = values[~absent] * 10.0**variable.decimals
    if (np.abs(scaled - np.rint(scaled)) > 1e-6 * np.maximum(1, np.abs(scaled))).any():
        raise Mistake(f"{variable.name!r} has values with more decimals than the {variable.decimals} declared.")
    for bound, beyond in ((variable.minimum, np.less), (variable.maximum, np.greater)):
        if bound is not None and (count := int(beyond(values[~absent], bound).sum())):
            raise Mistake(f"{variable.name!r} has {count} values outside its declared minimum and maximum.")
    return values


def _floats(name: str, column: pa.ChunkedArray, missing: tuple[str, ...]) -> Floats:
    """A column as floats; texts that mean missing become NaN; anything else that is no number is a Mistake."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.utf8_trim_whitespace(column)
        marks = pa.array([m for m in missing if m] or ["\0"], column.type)
        column = pc.if_else(pc.is_in(column, value_set=marks), pa.scalar(None, column.type), column)
    try:
        values = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise Mistake(
            f"Column {name!r} is declared numeric but holds text.",
            suggestions=["Declare what means missing with 'missing', or make it categorical."],
        ) from None
    if np.isinf(values).any():
        raise Mistake(f"Column {name!r} holds infinite values.")
    return values


def _weights(dataset: Dataset, table: pa.Table) -> NDArray[np.int64] | None:
    if dataset.weight is None:
        return None
    values = _floats(dataset.weight, table[dataset.weight], ())
    bad = int((~(values >= 0)).sum())
    if bad:
        raise Mistake(
            f"The weight {dataset.weight!r} is negative or missing in {bad} records. Nothing was ingested.",
            suggestions=["Every record needs a weight of zero or more."],
        )
    return np.asarray(np.rint(values * 10**dataset.weight_decimals), dtype=np.int64)


def _columns(
    dataset: Dataset,
    table: pa.Table,
    classes: dict[str, str],
    numbers: dict[str, str],
    weight: NDArray[np.int64] | None,
) -> tuple[dict[str, pa.Array], dict[str, int]]:
    columns: dict[str, pa.Array] = {} if weight is None else {"weight": pa.array(weight)}
    decimals: dict[str, int] = {}
    for variable in dataset.variables.values():
        if variable.numeric and (variable.name in classes or variable.name in numbers):
            numbers_of = _numbers(variable, table[variable.column])
            if variable.name in numbers:
                column = numbers[variable.name]
                columns[column], decimals[variable.name] = _contributions(numbers_of, variable, weight, dataset)
            if variable.name in classes:
                columns[classes[variable.name]] = _small(_bins(variable, numbers_of), variable)
        elif variable.name in classes:
            columns[classes[variable.name]] = _small(_places(variable, table[variable.column]), variable)
    return columns, decimals


def _contributions(
    values: Floats, variable: Variable, weight: NDArray[np.int64] | None, dataset: Dataset
) -> tuple[pa.Array, int]:
    """Weighted values as fixed-point integers, with as many decimals as keep every sum exact."""
    scale = variable.decimals + (dataset.weight_decimals if weight is not None else 0)
    exact = values if weight is None else values * (weight / 10.0**dataset.weight_decimals)
    size = float(np.nansum(np.abs(exact)))
    while size * 10.0**scale >= LARGEST:
        scale -= 1
    absent = np.isnan(exact)
    whole = np.rint(np.where(absent, 0.0, exact) * 10.0**scale).astype(np.int64)
    return pa.array(whole, mask=absent), scale


def _bins(variable: Variable, values: Floats) -> NDArray[np.int64]:
    places = np.searchsorted(np.array(variable.cutpoints, dtype=np.float64), values, side="right")
    return np.where(np.isnan(values), len(variable.cutpoints) + 1, places)


def _places(variable: Variable, column: pa.ChunkedArray) -> NDArray[np.int64]:
    """The place of each record's code in the declared list; a null is the first missing code."""
    assert variable.codes is not None
    if pa.types.is_dictionary(column.type):
        column = column.combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) and column.num_chunks else column
    texts = _texts(column.dictionary if isinstance(column, pa.DictionaryArray) else column)
    found = pc.index_in(texts, value_set=pa.array(variable.codes.names, pa.string()))
    lost = pc.filter(texts, pc.and_(pc.is_null(found), pc.is_valid(texts)))
    if len(lost):
        some = ", ".join(repr(str(code)[:30]) for code in pc.unique(lost).to_pylist()[:3])
        raise Mistake(
            f"{variable.name!r} has codes that the catalog does not declare, such as {some}.",
            suggestions=[f"Add them to [variables.{variable.name}.codes]."],
        )
    if isinstance(column, pa.DictionaryArray):
        found = pc.take(found, column.indices)
    if found.null_count:
        missing = [place for place, code in enumerate(variable.codes) if code.missing]
        if not missing:
            raise Mistake(
                f"{variable.name!r} has {found.null_count} missing values, and the catalog declares no missing code.",
                suggestions=[f'Add missing = ["NA"] to [variables.{variable.name}].'],
            )
        found = pc.fill_null(found, missing[0])
    return np.asarray(
        found.to_numpy(zero_copy_only=False) if isinstance(found, pa.Array) else found.to_numpy(), np.int64
    )


def _texts(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Codes as text: whole numbers without a decimal point, true and false in small letters, no spaces around."""
    if pa.types.is_floating(column.type):
        whole = pc.all(pc.equal(pc.floor(column), column), skip_nulls=True).as_py() in (True, None)
        column = column.cast(pa.int64()) if whole else column
    return pc.utf8_trim_whitespace(column.cast(pa.string()))


def _small(places: NDArray[np.int64], variable: Variable) -> pa.Array:
    assert variable.codes is not None
    return pa.array(places.astype(np.uint8 if len(variable.codes) <= 255 else np.uint16))


def _check_levels(dataset: Dataset, columns: dict[str, pa.Array], classes: dict[str, str]) -> None:
    """The data must follow the declared hierarchy: a record's coarser class is the parent of its finer one."""
    for variable in dataset.variables.values():
        if variable.parent is None or variable.name not in classes:
            continue
        fine = columns[classes[variable.name]].to_numpy()
        expected = np.array(dataset.lift(variable.name, variable.parent))[fine]
        wrong = int((expected != columns[classes[variable.parent]].to_numpy()).sum())
        if wrong:
            raise Mistake(
                f"In {wrong} records {variable.parent!r} is not the declared parent of {variable.name!r}.",
                suggestions=["Mend the data or the parents in dataset.toml."],
            )


def _keys(
    dataset: Dataset, table: pa.Table, columns: dict[str, pa.Array], secret: Secret
) -> tuple[pa.Array, pa.Array, bool]:
    """Keys of units and records under the secret, and whether a unit has several records. File order plays no part."""
    names = _contents(columns) if dataset.unit is None else _unit_names(dataset.unit, table[dataset.unit])
    draws = secret.digests("record", names)
    unit, key = draws[:, 0].view(np.int64).copy(), draws[:, 1].astype(np.uint32)
    several = len(np.unique(unit)) < table.num_rows
    if several:
        turn = _turns(unit, columns)
        again = np.flatnonzero(turn)
        fresh = secret.digests("record", [names[i] + b"\0%d" % turn[i] for i in again])
        key[again] = fresh[:, 1].astype(np.uint32)
        if dataset.unit is None:
            unit[again] = fresh[:, 0].view(np.int64)
    return pa.array(unit), pa.array(key.view(np.int32)), several and dataset.unit is not None


def _unit_names(name: str, column: pa.ChunkedArray) -> list[bytes]:
    if column.null_count:
        raise Mistake(f"The unit {name!r} is missing in {column.null_count} records. Every record needs one.")
    texts = _texts(column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column)
    return [text.encode() for text in texts.to_pylist()]


def _contents(columns: dict[str, pa.Array]) -> list[bytes]:
    """A record's own content stands for it where no column names the unit."""
    table = np.column_stack([_filled(column).astype(np.int64) for column in columns.values()])
    return [row.tobytes() for row in np.ascontiguousarray(table)]


def _turns(unit: NDArray[np.int64], columns: dict[str, pa.Array]) -> NDArray[np.int64]:
    """For each record, how many records of its unit come before it when they are ordered by content."""
    contents = [_filled(column) for column in columns.values()]
    order = np.lexsort([*contents, unit])
    starts = np.r_[True, unit[order][1:] != unit[order][:-1]]
    position = np.arange(len(order))
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = position - np.maximum.accumulate(np.where(starts, position, 0))
    return turn
