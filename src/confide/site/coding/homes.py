"""Households of coded records: who lives with whom, who is the head, and what is taken of the people of each.

What a household is, is made of its people's records whatever these are: of true ones, or of protected ones.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints
from confide.data.scratch import Keep
from confide.engines import Coded
from confide.engines.squares import square_shifts
from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset, Taking, Variable
from confide.site.coding.columns import bins, contributions, narrow, small

__all__ = ["Households", "find_homes", "shared_variables", "with_taken"]


@dataclass(frozen=True, eq=False)
class Households:
    """The households of records in the order of their keys: `of` numbers each record's, `head` is the row of each one's head."""

    keys: Ints
    of: Ints
    head: Ints

    @classmethod
    def among(cls, coded: Coded) -> "Households":
        """Those of some records. Where the head is not among them it is whoever comes first."""
        assert coded.homes is not None
        keys, of = np.unique(coded.homes["household"].to_numpy(), return_inverse=True)
        order = np.lexsort((~np.asarray(coded.homes["head"].to_numpy(zero_copy_only=False), bool), of))
        starts = np.flatnonzero(np.diff(of[order], prepend=-1))
        return cls(keys, of, order[starts])

    def same(self, values: NDArray[Any]) -> bool:
        """Whether all of a household have the same value."""
        return bool(np.array_equal(values, values[self.head][self.of], equal_nan=values.dtype.kind == "f"))

    def sums(self, values: NDArray[Any]) -> Floats:
        """The sum over each household."""
        return np.asarray(np.bincount(self.of, values, minlength=len(self.keys)), np.float64)


def shared_variables(dataset: Dataset) -> list[Variable]:
    """The variables that households have under the same name as their people."""
    level = dataset.above
    if level is None:
        return []
    shown = [v for v in level.variables.values() if v.classifies or v.measurable]
    return [v for v in shown if level.taken(v.name) is None]


def find_homes(coded: Coded, dataset: Dataset, households: pa.Array, weight: Ints | None) -> pa.Table:
    """Where each record lives, whether it is the head's, and the household's weight; what does not fit is a Mistake."""
    columns = {"household": households, "head": pa.array(_heads(coded, dataset, households))}
    if weight is not None:
        columns["weight"] = pa.array(weight)
    homes = pa.table(columns)
    _check_shared(replace(coded, homes=homes), dataset, weight)
    return homes


def _heads(coded: Coded, dataset: Dataset, households: pa.Array) -> Bools:
    """Which records are those of heads: one in each household."""
    _, first, of = np.unique(households.to_numpy(), return_index=True, return_inverse=True)
    assert dataset.above is not None and dataset.above.level is not None
    head = dataset.above.level.head
    if head is None:
        heads = np.zeros(len(of), bool)
        heads[first] = True
        return heads
    name, code = head
    heads = coded.places(name) == dataset.variables[name].place(code)
    number = np.bincount(of, heads, minlength=len(first))
    for wrong, words in ((int((number == 0).sum()), "no head"), (int((number > 1).sum()), "several heads")):
        if wrong:
            raise Mistake(
                f"{wrong} households have {words}, by {name!r}. Nothing was ingested.",
                suggestions=[
                    "Mend the data; or leave 'head' out, and the first record of each household is the head's."
                ],
            )
    return np.asarray(heads)


def _check_shared(coded: Coded, dataset: Dataset, weight: Ints | None) -> None:
    """A Mistake if what is declared of households differs within one: at whatever level of detail, for these move together."""
    homes = Households.among(coded)
    if weight is not None and not homes.same(weight):
        assert dataset.above is not None
        raise Mistake(f"The weight {dataset.above.weight!r} of households differs within some. Nothing was ingested.")
    for variable in shared_variables(dataset):
        for each in dataset.levels(variable.name) if variable.classifies else (variable,):
            values = coded.classes(each.name) if each.classifies else coded.numbers(each.name)
            if not homes.same(values) or (each.measurable and not homes.same(coded.numbers(each.name))):
                raise Mistake(
                    f"{each.name!r} differs within some households, so {variable.name!r} is none of theirs.",
                    suggestions=[
                        f'Take it of the head (take = "head", from = "{variable.name}"), or leave it out of '
                        f"dataset.toml of {dataset.above.name if dataset.above else ''!r}."
                    ],
                )


def with_taken(coded: Coded, dataset: Dataset, keep: Keep) -> Coded:
    """The records with what is taken of the people of their households; of records that have it, taken anew."""
    if dataset.above is None:
        return coded
    homes, facts, records = Households.among(coded), coded.facts, coded.records
    weight = np.asarray(records["weight"].to_numpy()) if facts.weighted else None
    classes, numbers, decimals = dict(facts.classes), dict(facts.numbers), dict(facts.decimals)
    values, value_decimals = dict(facts.values), dict(facts.value_decimals)
    for place, variable in enumerate(dataset.variables.values()):
        if dataset.taken(variable.name) is None:
            continue
        found = _taken(coded, dataset, dataset.variables[variable.column], homes)
        if variable.codes is not None:
            classes[variable.name] = f"h{place}"
            places = small(bins(variable, found) if variable.numeric else found.astype(np.int32), variable)
            records = _put(records, f"h{place}", keep(places.take(pa.array(homes.of))))
        if variable.measurable:
            column, decimals[variable.name] = contributions(
                found[homes.of], variable.decimals, weight, facts.weight_decimals
            )
            numbers[variable.name] = values[variable.name] = f"m{place}"
            value_decimals[variable.name] = decimals[variable.name]
            records = _put(records, f"m{place}", keep(column))
        if variable.measurable and weight is not None:
            plain, value_decimals[variable.name] = contributions(found[homes.of], variable.decimals, None, 0)
            values[variable.name] = f"y{place}"
            records = _put(records, f"y{place}", keep(narrow(plain)))
    facts = replace(
        facts,
        classes=classes,
        numbers=numbers,
        decimals=decimals,
        values=values,
        value_decimals=value_decimals,
        shifts=square_shifts(records, numbers),
    )
    return replace(coded, facts=facts, records=records)


def _put(records: pa.Table, name: str, column: pa.Array) -> pa.Table:
    if name not in records.column_names:
        return records.append_column(name, column)
    return records.set_column(records.column_names.index(name), name, column)


def _taken(coded: Coded, dataset: Dataset, variable: Variable, homes: Households) -> Floats:
    """What is taken of the people of each household: a number, or the place of a class."""
    taken = variable.taken
    assert taken is not None
    if taken.how is Taking.HEAD and not variable.numeric:
        return coded.places(taken.source)[homes.head].astype(np.float64)
    if taken.how is Taking.ANY or taken.how is Taking.NUMBER:
        source = dataset.variables[taken.source]
        counted = np.isin(coded.places(taken.source), [source.place(code) for code in taken.among])
        number = homes.sums(counted)
        if taken.how is Taking.ANY:
            return np.where(number > 0, float(variable.place("yes")), float(variable.place("no")))
    elif taken.how is Taking.SIZE:
        number = homes.sums(np.ones(len(homes.of)))
    else:
        number = _amount(taken.how, coded.numbers(taken.source), homes)
    if np.isnan(number).any() and not variable.missing:
        raise Mistake(
            f"{variable.name!r} is missing in some households, and the catalog declares none.",
            suggestions=[f'Add missing = [""] to [variables.{variable.name}].'],
        )
    rounded: Floats = np.round(number, variable.decimals)
    return np.clip(rounded, variable.minimum, variable.maximum)


def _amount(how: Taking, values: Floats, homes: Households) -> Floats:
    """The head's number, or the sum or mean of those that are there; NaN where none is."""
    if how is Taking.HEAD:
        return values[homes.head]
    there = homes.sums(~np.isnan(values))
    total = homes.sums(np.nan_to_num(values))
    return np.where(there > 0, total / np.where((there > 0) & (how is Taking.MEAN), there, 1.0), np.nan)
