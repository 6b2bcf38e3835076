"""Hierarchies of codes: which codes are the parts of which, from the total of all down to the finest level.

Tables add up along them, masking makes categories coarser along them. The catalog of a data set keeps its levels as
variables of their own (`model.catalog`); both read the same files.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate

import numpy as np

from confide.arrays import Bools, Ints
from confide.errors import Mistake, nearest
from confide.model.catalog.hrc import read_hrc

__all__ = ["TOTAL", "Hierarchy"]


TOTAL = "Total"
"""What a total is called where nothing else is said."""


@dataclass(frozen=True)
class Hierarchy:
    """The codes of a variable, every total before its parts; `parents` has the place of each code's parent, or -1.

    The first code is the total of all.

    >>> nace = Hierarchy.of({"A": None, "A1": "A", "A2": "A", "B": None})
    >>> nace.codes, nace.parents
    (('Total', 'A', 'A1', 'A2', 'B'), (-1, 0, 1, 1, 0))
    """

    codes: tuple[str, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(set(self.codes)) < len(self.codes):
            twice = next(code for code in self.codes if self.codes.count(code) > 1)
            raise Mistake(f"Code {twice!r} stands twice in a hierarchy.")
        if not all(parent < place for place, parent in enumerate(self.parents)):
            raise Mistake("A code stands before the code it is a part of.", suggestions=["Use Hierarchy.of."])

    @classmethod
    def of(cls, parents: Mapping[str, str | None], *, total: str = TOTAL) -> "Hierarchy":
        """From codes to the codes they are parts of; a part of the total has None, or the total.

        Promise: a tree. A code under itself, by whatever way, and a parent that is not in the list are mistakes.
        """
        up = {_code(code): _code(parent) if parent else total for code, parent in parents.items()}
        up.pop(total, None)
        for code, parent in up.items():
            if parent != total and parent not in up:
                raise Mistake(
                    f"Code {code!r} is a part of {parent!r}, which is not in the hierarchy.",
                    suggestions=nearest(parent, up)
                    or [f"List {parent!r} too, or let {code!r} be a part of {total!r}."],
                )
        try:
            TopologicalSorter({code: [parent] for code, parent in up.items()}).prepare()
        except CycleError as error:
            raise Mistake(f"The hierarchy runs in a circle: {' -> '.join(map(repr, error.args[1]))}.") from None
        return cls._ordered(up, total)

    @classmethod
    def flat(cls, codes: Iterable[str], *, total: str = TOTAL) -> "Hierarchy":
        """A total and its parts.

        >>> Hierarchy.flat(["f", "m"]).codes
        ('Total', 'f', 'm')
        """
        return cls.of(dict.fromkeys(codes), total=total)

    @classmethod
    def parse(cls, text: str, *, total: str = TOTAL, lead: str = "@") -> "Hierarchy":
        """From a text in the τ-ARGUS format: a code a line, with a `lead` for each level of depth.

        >>> Hierarchy.parse("A\\n@A1\\n@A2\\nB\\n").codes
        ('Total', 'A', 'A1', 'A2', 'B')
        """
        levels = read_hrc(text, lead=lead)
        # A branch that ends early is its own parent on deeper levels.
        return cls.of({code: up for level in levels for code, up in level.items() if code != up}, total=total)

    @classmethod
    def paths(cls, paths: Iterable[Sequence[str]], *, total: str = TOTAL) -> "Hierarchy":
        """From the codes of nested levels, coarsest first: one path for each code of the finest level.

        >>> Hierarchy.paths([("A", "A1"), ("A", "A2"), ("B", "B")]).codes
        ('Total', 'A', 'A1', 'A2', 'B')
        """
        up: dict[str, str | None] = {}
        for path in paths:
            # A level that repeats the code of the level above adds nothing to it.
            steps = list(dict.fromkeys(_code(code) for code in path))
            for code, parent in zip(steps, [None, *steps[:-1]], strict=True):
                if up.setdefault(code, parent) != parent:
                    raise Mistake(f"Code {code!r} is a part of both {up[code] or total!r} and {parent or total!r}.")
        return cls.of(up, total=total)

    @classmethod
    def digits(cls, codes: Iterable[str], widths: Sequence[int], *, total: str = TOTAL) -> "Hierarchy":
        """From the leading characters of each code: `widths` says how many each level adds.

        >>> Hierarchy.digits(["011", "012", "02"], [2, 1]).codes
        ('Total', '01', '011', '012', '02')
        """
        ends = list(accumulate(width for width in widths if width > 0))
        return cls.paths(([code[:end].strip() for end in ends] for code in map(_code, codes)), total=total)

    @classmethod
    def _ordered(cls, up: Mapping[str, str], total: str) -> "Hierarchy":
        """Depth first, and otherwise in the order given."""
        parts: dict[str, list[str]] = {total: []}
        for code, parent in up.items():
            parts.setdefault(parent, []).append(code)
        codes: list[str] = []
        waiting = [total]
        while waiting:
            codes.append(waiting.pop())
            waiting += reversed(parts.get(codes[-1], []))
        place = {code: number for number, code in enumerate(codes)}
        return cls(tuple(codes), tuple(place[up[code]] if code in up else -1 for code in codes))

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each code."""
        return {code: place for place, code in enumerate(self.codes)}

    @cached_property
    def parts(self) -> dict[int, Ints]:
        """The places of the parts of each total, by the place of the total."""
        above = np.array(self.parents)
        return {int(total): np.flatnonzero(above == total) for total in np.unique(above[above >= 0])}

    @cached_property
    def leaves(self) -> Bools:
        """Which codes have no parts."""
        leaves = np.ones(len(self.codes), dtype=bool)
        leaves[[parent for parent in self.parents if parent >= 0]] = False
        return leaves

    @cached_property
    def depths(self) -> Ints:
        """How many totals stand above each code."""
        depths = np.zeros(len(self.codes), dtype=np.int64)
        for place, parent in enumerate(self.parents):
            depths[place] = depths[parent] + 1 if parent >= 0 else 0
        return depths

    @cached_property
    def ancestors(self) -> Ints:
        """For every code, a column for each depth: the total of that depth above it, or itself; -1 beyond its own."""
        ancestors = np.full((len(self.codes), self.depths.max() + 1), -1, dtype=np.int64)
        for place, parent in enumerate(self.parents):
            ancestors[place] = ancestors[parent] if parent >= 0 else -1
            ancestors[place, self.depths[place]] = place
        return ancestors

    @cached_property
    def finest(self) -> tuple[str, ...]:
        """The codes that have no parts, in order."""
        return tuple(self.codes[place] for place in np.flatnonzero(self.leaves))

    @cached_property
    def levels(self) -> Ints:
        """Level by level below the total, the place of the code that each of the finest codes belongs to.

        A branch that ends early is carried down, so every level is complete.

        >>> Hierarchy.parse("A\\n@A1\\n@A2\\nB\\n").levels
        array([[1, 1, 4],
               [2, 3, 4]])
        """
        # Places grow downwards, so the greatest so far is the last code above.
        return np.maximum.accumulate(self.ancestors[self.leaves, 1:], axis=1).T

    def only(self, codes: Iterable[str]) -> "Hierarchy":
        """The hierarchy of some of its codes; what was a part of a code left out is a part of the total above that.

        >>> Hierarchy.of({"A": None, "A1": "A", "A2": "A", "B": None}).only(["A1", "B"]).codes
        ('Total', 'A1', 'B')
        """
        kept = {0, *(self.places[code] for code in codes)}
        up: dict[str, str | None] = {}
        for place in sorted(kept - {0}):
            parent = self.parents[place]
            while parent not in kept:
                parent = self.parents[parent]
            up[self.codes[place]] = self.codes[parent]
        return Hierarchy.of(up, total=self.codes[0])

    def place(self, code: str, *, variable: str) -> int:
        """The place of a code; a `Mistake` that offers the nearest where there is none."""
        if code not in self.places:
            raise Mistake(
                f"{variable!r} has no code {code[:60]!r}.",
                suggestions=[*nearest(code, self.codes), "Every code must be in the hierarchy."],
            )
        return self.places[code]


def _code(code: str) -> str:
    """Spaces around a code do not matter."""
    return str(code).strip()
