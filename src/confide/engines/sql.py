"""The few SQL statements relational engines share. We name the columns and values are integers: nothing to quote."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from confide.engines import StoreFacts
from confide.model.design import Number
from confide.model.evidence import Box, Tally
from confide.model.formula import Transform

__all__ = ["Dialect", "defined", "inside", "largest", "listed", "over_records", "over_units", "present", "where"]


@dataclass(frozen=True)
class Dialect:
    """Where engines speak differently: of expressions that are zero or more, the sum of squares and the largest values.

    `square` cuts by some bits first, so that neither a square nor the sum leaves 64 bits; `largest` gives so many at most.
    """

    square: Callable[[str, int], str]
    largest: Callable[[str, int], str]


def listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(int(n)) for n in numbers)


LISTED_CELLS = 4096
"""Up to so many cells a union of boxes is asked for by the numbers of its cells: several times faster than ORs of ANDs."""


def inside(within: Sequence[Box], facts: StoreFacts, sizes: Mapping[str, int]) -> str:
    """The condition for being in any of the boxes; `sizes` are the numbers of places of each variable."""
    names = sorted({name for box in within for name, _ in box})
    chosen = [[[p for p in dict(box).get(n, range(sizes[n])) if p < sizes[n]] for n in names] for box in within]
    if len(within) > 1 and sum(prod(map(len, places)) for places in chosen) <= LISTED_CELLS:
        cells = {_number(cell, names, sizes) for places in chosen for cell in itertools.product(*places)}
        return f"{_number_sql(names, facts, sizes)} IN ({listed(sorted(cells) or [-1])})"
    boxes = (" AND ".join(f"{facts.classes[name]} IN ({listed(places)})" for name, places in box) for box in within)
    return "(" + " OR ".join(f"({box})" for box in boxes) + ")"


def _number(cell: Iterable[int], names: Iterable[str], sizes: Mapping[str, int]) -> int:
    number = 0
    for place, name in zip(cell, names, strict=True):
        number = number * sizes[name] + place
    return number


def _number_sql(names: Sequence[str], facts: StoreFacts, sizes: Mapping[str, int]) -> str:
    """The number of a record's cell: its places as digits of a mixed-radix number."""
    sql = f"CAST({facts.classes[names[0]]} AS BIGINT)"
    for name in names[1:]:
        sql = f"({sql} * {sizes[name]} + {facts.classes[name]})"
    return sql


def where(tally: Tally, facts: StoreFacts, sizes: Mapping[str, int], *extra: str) -> str:
    """The WHERE clause of a tally with any further conditions, or nothing."""
    conditions = [inside(tally.within, facts, sizes)] if tally.within else []
    conditions.extend(extra)
    return " WHERE " + " AND ".join(conditions) if conditions else ""


def present(of: str | None, facts: StoreFacts) -> list[str]:
    """The condition that a value is there."""
    return [f"{facts.numbers[of]} IS NOT NULL"] if of else []


_DOMAIN = {
    Transform.NONE: "{} IS NOT NULL",
    Transform.SQUARE: "{} IS NOT NULL",
    Transform.LOG: "{} > 0",
    Transform.SQRT: "{} >= 0",
}


def defined(numbers: Iterable[Number], facts: StoreFacts) -> list[str]:
    """The conditions that transformed values are there; a comparison leaves out what is missing too."""
    return [_DOMAIN[number.transform].format(facts.value(number)) for number in numbers]


def over_records(tally: Tally, facts: StoreFacts, condition: str, *, signed: bool, dialect: Dialect) -> str:
    """The aggregates where every record is a unit: records, key, then as asked weight, total, size, square, top."""
    by = [facts.classes[name] for name in tally.by]
    picks = [*by, "count(*)", "bit_xor(key)"]
    if tally.weighted:
        picks.append("CAST(sum(weight) AS BIGINT)" if facts.weighted else "count(*)")
    if tally.of:
        column = facts.numbers[tally.of]
        size = f"abs({column})" if signed else column
        picks += [f"CAST(sum({column}) AS BIGINT)", f"CAST(sum({size}) AS BIGINT)"]
        picks.append(dialect.square(size, facts.shifts.get(tally.of, 0)))
        picks += [dialect.largest(size, tally.top)] if tally.top else []
    return f"SELECT {', '.join(picks)} FROM records{condition}" + _group(by)


def over_units(tally: Tally, facts: StoreFacts, condition: str, *, dialect: Dialect) -> str:
    """The same where a unit may have several records: first by unit, then by class; the number of units last."""
    by = [facts.classes[name] for name in tally.by]
    inner, outer = [*by, "count(*) AS n", "bit_xor(key) AS k"], [*by, "CAST(sum(n) AS BIGINT)", "bit_xor(k)"]
    if tally.weighted:
        inner.append("sum(weight) AS w" if facts.weighted else "count(*) AS w")
        outer.append("CAST(sum(w) AS BIGINT)")
    if tally.of:
        inner.append(f"CAST(sum({facts.numbers[tally.of]}) AS BIGINT) AS v")
        outer += ["CAST(sum(v) AS BIGINT)", "CAST(sum(abs(v)) AS BIGINT)"]
        outer.append(dialect.square("abs(v)", facts.shifts.get(tally.of, 0)))
        outer += [dialect.largest("abs(v)", tally.top)] if tally.top else []
    outer.append("count(*)")
    units = f"SELECT {', '.join(inner)} FROM records{condition}" + _group([*by, "unit"])
    return f"SELECT {', '.join(outer)} FROM ({units}) AS units" + _group(by)


def largest(tally: Tally, facts: StoreFacts, condition: str) -> str:
    """The largest contributions of each cell: its places and one contribution a row, in descending order."""
    assert tally.of
    by, column = [facts.classes[name] for name in tally.by], facts.numbers[tally.of]
    size = f"abs(CAST(sum({column}) AS BIGINT))" if facts.several else f"abs({column})"
    group = f" GROUP BY {', '.join([*by, 'unit'])}" if facts.several else ""
    sizes = f"SELECT {', '.join([*by, f'{size} AS size'])} FROM records{condition}{group}"
    partition = f"PARTITION BY {', '.join(by)} " if by else ""
    ranked = f"SELECT *, row_number() OVER ({partition}ORDER BY size DESC) AS rank FROM ({sizes}) AS sizes"
    order = ", ".join([*by, "rank"])
    return f"SELECT {', '.join([*by, 'size'])} FROM ({ranked}) AS ranked WHERE rank <= {tally.top} ORDER BY {order}"


def _group(by: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(by)}" if by else ""
