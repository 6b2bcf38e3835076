"""How fine a draft may be: the classes that tables by three variables have room for, and a coarser level for codes beyond it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from confide.site.profiling.column import ProfiledColumn

__all__ = ["TOO_MANY", "Grouping", "classified", "grouping", "room"]

MEAN_CELL = 5
"""So many units a cell the standard policy asks for, on average."""

FEWEST = 5
"""Fewer groups than this are no level of a classification, but an accident of how codes are written."""

SHORTEST = 3
"""Codes of two characters are mostly numbered through: their first says nothing."""

TOO_MANY = 2
"""Codes that are more than so many times as many as there is room for get a coarser level of no more than that."""


def room(units: float, *, by: int = 3) -> int:
    """How many classes each of so many variables may have, for their table to have enough units a cell on average.

    >>> room(834), room(5000), room(100_000), room(5000, by=2)
    (5, 10, 27, 31)
    """
    return int((units / MEAN_CELL) ** (1 / by) + 1e-9)


def classified(codes: Collection[str]) -> bool:
    """Whether codes are written as those of a classification, of which the beginning says more than the rest.

    >>> classified(["236115", "236116"]), classified(["A1", "B2"]), classified(["170", "1070"])
    (True, False, False)
    """
    lengths = {len(code) for code in codes}
    return len(lengths) == 1 and min(lengths) >= SHORTEST and all(map(str.isalnum, codes))


@dataclass(frozen=True)
class Grouping:
    """A coarser level of a column's codes: its name, and the group of each code, which is how the code begins."""

    name: str
    of: Mapping[str, str]
    length: int

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.of.values()))


def grouping(column: ProfiledColumn, *, share: float) -> Grouping | None:
    """A coarser level of a column's codes, if they are too many for tables by three; `share` is that of units to records.

    Codes of one length, as classifications have, are grouped by the beginning that gives the most groups, of those that give few
    enough. What other codes have in common they do not say: to join all but the commonest makes tables of little use.
    """
    codes = [code for code in dict.fromkeys([*column.labels, *column.codes]) if code not in column.marks]
    there = sum(int(n) for code, n in zip(column.codes, column.counts, strict=True) if code not in column.marks)
    most = TOO_MANY * room(there * share)
    if len(codes) <= most or not classified(codes):
        return None
    groups = {length: len({code[:length] for code in codes}) for length in range(1, len(codes[0]))}
    few = [length for length, number in groups.items() if FEWEST <= number <= most]
    if not few:
        return None
    length = max(few, key=lambda length: (groups[length], -length))
    return Grouping(f"{column.name}_group", {code: code[:length] for code in codes}, length)
