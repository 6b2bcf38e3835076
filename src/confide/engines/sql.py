"""The few SQL statements relational engines share. We name the columns and values are integers: nothing to quote."""

from collections.abc import Iterable, Sequence

from confide.engines import Facts
from confide.model.evidence import Box, Tally

__all__ = ["inside", "listed", "over_records", "over_units", "where"]


def listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(int(n)) for n in numbers)


def inside(within: Sequence[Box], facts: Facts) -> str:
    """The condition for being in any of the boxes."""
    boxes = (" AND ".join(f"{facts.classes[name]} IN ({listed(places)})" for name, places in box) for box in within)
    return "(" + " OR ".join(f"({box})" for box in boxes) + ")"


def where(tally: Tally, facts: Facts, *extra: str) -> str:
    """The WHERE clause of a tally with any further conditions, or nothing."""
    conditions = [inside(tally.within, facts)] if tally.within else []
    if tally.of:
        conditions.append(f"{facts.numbers[tally.of]} IS NOT NULL")
    conditions.extend(extra)
    return " WHERE " + " AND ".join(conditions) if conditions else ""


def over_records(tally: Tally, facts: Facts, only: Iterable[str] = (), *, signed: bool) -> str:
    """The aggregates where every record is a unit: records, key, then as asked weight, total, size, top."""
    by = [facts.classes[name] for name in tally.by]
    picks = [*by, "count(*)", "bit_xor(key)"]
    if tally.weighted:
        picks.append("CAST(sum(weight) AS BIGINT)" if facts.weighted else "count(*)")
    if tally.of:
        column = facts.numbers[tally.of]
        size = f"abs({column})" if signed else column
        picks += [f"CAST(sum({column}) AS BIGINT)", f"CAST(sum({size}) AS BIGINT)"]
        picks += [f"max({size}, {tally.top})"] if tally.top else []
    return f"SELECT {', '.join(picks)} FROM records{where(tally, facts, *only)}" + _group(by)


def over_units(tally: Tally, facts: Facts) -> str:
    """The same where a unit may have several records: first by unit, then by class; the number of units last."""
    by = [facts.classes[name] for name in tally.by]
    inner, outer = [*by, "count(*) AS n", "bit_xor(key) AS k"], [*by, "CAST(sum(n) AS BIGINT)", "bit_xor(k)"]
    if tally.weighted:
        inner.append("sum(weight) AS w" if facts.weighted else "count(*) AS w")
        outer.append("CAST(sum(w) AS BIGINT)")
    if tally.of:
        inner.append(f"CAST(sum({facts.numbers[tally.of]}) AS BIGINT) AS v")
        outer += ["CAST(sum(v) AS BIGINT)", "CAST(sum(abs(v)) AS BIGINT)"]
        outer += [f"max(abs(v), {tally.top})"] if tally.top else []
    outer.append("count(*)")
    drops = [f"unit NOT IN ({listed(tally.without)})"] if tally.without else []
    units = f"SELECT {', '.join(inner)} FROM records{where(tally, facts, *drops)}" + _group([*by, "unit"])
    return f"SELECT {', '.join(outer)} FROM ({units})" + _group(by)


def _group(by: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(by)}" if by else ""
