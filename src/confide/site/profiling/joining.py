"""Codes that few records have, joined with those next to them in their classification: as fine as tables by two have room for."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confide.site.profiling.column import ProfiledColumn
from confide.site.profiling.grouping import TOO_MANY, Grouping, classified, room
from confide.site.profiling.relations import parent_codes

__all__ = ["Joined", "codes_above", "join_codes", "join_levels"]

Class = tuple[str, str]
"""A code of the level above, and how the codes of the class begin: nothing if that is all they have in common."""


@dataclass(frozen=True)
class Joined:
    """A shorter list of codes: the codes that each class has, in order, and the label of those that have several."""

    members: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, str]

    @property
    def of(self) -> dict[str, str]:
        """The class of each code."""
        return {code: name for name, codes in self.members.items() for code in codes}

    @property
    def lost(self) -> int:
        """How many codes no longer stand alone."""
        return sum(len(codes) for codes in self.members.values() if len(codes) > 1)


def join_levels(
    columns: Iterable[ProfiledColumn],
    parents: Mapping[str, ProfiledColumn],
    groupings: Mapping[str, Grouping],
    *,
    share: float,
) -> dict[str, Joined]:
    """A shorter list of codes for each column that has a level above it and wants one; `share` is that of units to records."""
    found: dict[str, Joined] = {}
    for column in sorted(columns, key=lambda c: c.size):  # a level above has fewer codes, and is joined first
        parent, group = parents.get(column.name), groupings.get(column.name)
        if parent is not None:
            up = codes_above(column, parent, found)
            joined = join_codes(column, up, share=share, labels=parent.labels)
        else:
            joined = join_codes(column, group.of, share=share, labels={}) if group is not None else None
        if joined is not None:
            found[column.name] = joined
    return found


def codes_above(column: ProfiledColumn, parent: ProfiledColumn, joined: Mapping[str, Joined]) -> dict[str, str]:
    """The code of each on the level above, which may have fewer than its column."""
    of = joined[parent.name].of if parent.name in joined else {}
    return {code: of.get(up, up) for code, up in parent_codes(column, parent).items()}


def join_codes(
    column: ProfiledColumn, above: Mapping[str, str], *, share: float, labels: Mapping[str, str]
) -> Joined | None:
    """A shorter list of a column's codes, if they are too many for tables by two; nothing otherwise.

    `above` has the code of each on the level above, whose labels are given; `share` is that of units to records. The rarest join
    first: those that begin alike where codes have one length, as classifications have, else all that have one code above them.
    """
    counts = dict.fromkeys([*column.labels, *column.codes], 0) | dict(
        zip(column.codes, map(int, column.counts), strict=True)
    )
    counts = {code: n for code, n in counts.items() if code not in column.marks}
    most = room(sum(counts.values()) * share, by=2)
    if len(counts) <= TOO_MANY * most or not set(counts) <= set(above):
        return None
    alike = classified(counts)
    steps = {code: _steps(code, above[code], classified=alike) for code in counts}
    least = sorted(set(counts.values()))
    low, high = 0, len(least) - 1
    while low < high:  # the smallest that leaves few enough: the more a class must have, the fewer there are
        middle = (low + high) // 2
        few = len(set(_classes(counts, steps, least[middle]).values())) <= most
        low, high = (low, middle) if few else (middle + 1, high)
    spellings = {other for others in column.synonyms.values() for other in others}
    taken = {*counts, *column.marks, *spellings}
    return _named(_classes(counts, steps, least[low]), above, {**labels, **column.labels}, taken)


def _steps(code: str, up: str, *, classified: bool) -> list[Class]:
    """The classes that a code may stand in, from itself to all that have the same code above them."""
    shorter = [code[:length] for length in range(len(code) - 1, 0, -1)] if classified else []
    return [(up, code), *((up, "" if up.startswith(begin) else begin) for begin in shorter), (up, "")]


def _classes(counts: Mapping[str, int], steps: Mapping[str, list[Class]], least: int) -> dict[str, Class]:
    """The class of each code: the first of its steps in which at least so many records are left, or the last."""
    found: dict[str, Class] = {}
    for place in range(max(map(len, steps.values()))):
        left = {code: each[min(place, len(each) - 1)] for code, each in steps.items() if code not in found}
        sums = Counter[Class]()
        for code, step in left.items():
            sums[step] += counts[code]
        found |= {code: step for code, step in left.items() if sums[step] >= least or step == steps[code][-1]}
    return {code: found[code] for code in counts}


def _named(
    classes: Mapping[str, Class], above: Mapping[str, str], labels: Mapping[str, str], taken: set[str]
) -> Joined:
    """The classes by names that are no code of another: how their codes begin, or the code above them."""
    members: dict[Class, list[str]] = {}
    for code, step in classes.items():
        members.setdefault(step, []).append(code)
    named: dict[str, tuple[str, ...]] = {}
    said: dict[str, str] = {}
    for (up, begin), codes in members.items():
        if len(codes) == 1:
            named[codes[0]] = (codes[0],)
            continue
        whole = all(step == (up, begin) for code, step in classes.items() if _within(code, above[code], up, begin))
        name = _free(begin or up if whole else f"{begin or up} other", (taken - set(codes)) | set(named))
        named[name] = tuple(codes)
        said[name] = labels.get(begin or up, begin or up) + ("" if whole else ": other")
    return Joined(named, said)


def _within(code: str, up: str, above: str, begin: str) -> bool:
    return up == above and code.startswith(begin)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
