"""Generalisation: all keys together are made as coarse as they must be, and no coarser."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Ints
from confide.errors import Fault, Mistake, nearest
from confide.microdata.hierarchies import parsed, placed, texts
from confide.microdata.method import Method
from confide.microdata.records import Categories, Masked, Records, kind_of
from confide.microdata.search.classes import class_of
from confide.microdata.search.lattice import Judged, Node, search
from confide.microdata.search.protected_classes import ClassCells, Demands
from confide.model.parameter import parameter

__all__ = ["Generalisation"]

MOST = 250_000
"""Nodes of a lattice that is searched."""


@dataclass(frozen=True)
class Generalisation(Method):
    """Full-domain generalisation (Samarati 2001): the least coarse categories with which the file is k-anonymous.

    Promise: in the file that is released every record shares its keys with k or more, itself among them; with `diversity`
    each such class has so many different known values of the `confidential` column, and with `closeness` its distribution
    there is no farther from that of the file as given (earth mover's distance). Of all combinations of levels that
    promise it, the one with the least loss is taken. A column climbs its hierarchy, in the whole stratum alike; one without
    a hierarchy stays or becomes "*", as does the top of any. At most the share `left_out` of the records may be left out for
    it. Missing values stay missing, a category of their own. Columns come back as text. References: Samarati (2001); Li
    et al. (2007); Kohlmayer et al. (2012).

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("fmfm"), "town": ["A1", "A2", "A2", "A1"]})
    >>> towns = "West\\n@A\\n@@A1\\n@@A2\\n"
    >>> released = Generalisation(k=2, hierarchies={"town": towns}).protect(people, columns=["sex", "town"])
    >>> released.frame["sex"].to_pylist(), released.frame["town"].to_pylist(), released.report["loss"]
    (['f', 'm', 'f', 'm'], ['A', 'A', 'A', 'A'], 0.25)
    """

    best_attack: ClassVar = "own-list"
    takes: ClassVar = frozenset({"numbers", "categories"})
    keeps: ClassVar = frozenset()

    k: int = parameter(3, "Least records that share their keys.", low=2)
    hierarchies: Mapping[str, str] = parameter({}, "Hierarchies in the τ-ARGUS format, by column.")
    confidential: str | None = parameter(None, "The column that diversity and closeness are about.")
    diversity: int | None = parameter(None, "Least different confidential values in a class (l-diversity).", low=2)
    closeness: float | None = parameter(
        None, "Most distance of a class from the whole file (t-closeness).", low=0, high=1
    )
    left_out: float = parameter(0.0, "Most of the records, as a share, that are left out.", low=0, below=1)
    loss: str = parameter(
        "levels", "levels: how far values climbed. classes: how many records look alike.", among=("levels", "classes")
    )

    @property
    def reads(self) -> tuple[str, ...]:
        return () if self.confidential is None else (self.confidential,)

    def _check(self) -> None:
        wanted = self.diversity is not None or self.closeness is not None
        if wanted and self.confidential is None:
            raise Mistake("Generalisation: diversity and closeness need a confidential column. Name it.")
        if self.confidential is not None and not wanted:
            raise Mistake("Generalisation: say what the confidential column needs: diversity, closeness or both.")

    def _mask(self, records: Records) -> Masked:
        if len(records) < self.k:
            raise Mistake(
                f"Generalisation: k is {self.k}, and there are {len(records)} records{records.where}.",
                suggestions=["Take a smaller k, or fewer strata."],
            )
        ladders = self._ladders(records)
        task = self._task(records, ladders)
        found = search(task.heights, task.judged, monotone=self._monotone(records))
        if found is None:
            raise Mistake(
                f"Generalisation: not even the coarsest categories do what is asked{records.where}.",
                suggestions=["Ask less, or let records be left out: left_out=0.05."],
            )
        return self._released(records, task, found.node, {"loss": found.loss, "looked_at": found.looked_at})

    def _monotone(self, records: Records) -> bool:
        """Whether whatever is above a node that suffices does so too, records that are left out counted."""
        if self.left_out == 0 or self.confidential is None:
            return True
        return self.closeness is None and records.categories(self.confidential).codes.min() >= 0

    def _task(self, records: Records, ladders: "list[Ladder]") -> "_Task":
        heights = tuple(len(ladder.labels) for ladder in ladders)
        if prod(heights) > MOST:
            raise Mistake(
                f"Generalisation: {prod(heights):,} combinations of levels are too many to search.",
                suggestions=["Recode some columns first, or name fewer."],
            )
        codes = np.column_stack([ladder.codes for ladder in ladders])
        confidential = None if self.confidential is None else records.categories(self.confidential)
        cells = ClassCells.of(codes, confidential, ranked=self._ranked(records))
        demands = Demands(self.k, self.diversity, self.closeness)
        return _Task(ladders, cells, demands, self.left_out, self.loss)

    def _ranked(self, records: Records) -> bool:
        if self.confidential is None:
            return False
        column = records.array(self.confidential)
        return kind_of(self.confidential, column.type) == "numbers" or records.categories(self.confidential).ordered

    def _ladders(self, records: Records) -> "list[Ladder]":
        if self.confidential in records.columns:
            raise Mistake(f"Generalisation: {self.confidential!r} is to be masked, so it cannot be confidential too.")
        for name in self.hierarchies:
            if name not in records.columns:
                hint = nearest(name, records.columns)
                raise Mistake(f"Generalisation: {name!r} is not among the columns to mask.", suggestions=hint)
        return [Ladder.of(name, records.categories(name), self.hierarchies.get(name)) for name in records.columns]

    def _released(self, records: Records, task: "_Task", node: Node, report: dict[str, Any]) -> Masked:
        kept = np.flatnonzero(~task.violating(node)[task.cells.pattern])
        shown = np.column_stack([ladder.climbed(level) for ladder, level in zip(task.ladders, node, strict=True)])
        if len(kept) and np.bincount(class_of(shown[kept])).min() < self.k:
            raise Fault("Generalisation did not reach k.")
        levels = dict(zip(records.columns, node, strict=True))
        new = {name: task.ladders[j].column(node[j]) for j, name in enumerate(records.columns)}
        facts = {**report, "left_out": len(records) - len(kept), "levels": levels}
        return Masked(new, facts, rows=None if len(kept) == len(records) else kept)

    def _combined(self, reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        if len(reports) == 1:
            return dict(reports[0])
        return {name: sum(report[name] for report in reports) for name in ("looked_at", "left_out")}


@dataclass(frozen=True)
class Ladder:
    """A column with its levels, from its own categories up to one that has them all.

    `labels[level]` are the categories of a level and `moved[level]` says which of them each own category belongs to.
    """

    codes: Ints
    labels: tuple[Sequence[str], ...]
    moved: tuple[Ints, ...]

    @classmethod
    def of(cls, name: str, own: Categories, text: str | None) -> "Ladder":
        """The levels of a hierarchy, or without one two: as it is, and all in one."""
        levels: list[Sequence[str]] = [texts(own.labels)]
        if text is not None:
            hierarchy = parsed(text)
            above = hierarchy.levels[:, placed(own, hierarchy, column=name)]
            levels += [[hierarchy.codes[place] for place in level] for level in above[-2::-1]]
        if len(set(levels[-1])) != 1:
            levels.append(["*"] * len(own))
        numbered = [np.unique(np.array(level, object).astype(str), return_inverse=True) for level in levels]
        labels = tuple([str(label) for label in names] for names, _ in numbered)
        return cls(own.codes, labels, tuple(moved.astype(np.int64) for _, moved in numbered))

    def climbed(self, level: int) -> Ints:
        """The code of each record on a level; missing stays missing."""
        return np.append(self.moved[level], -1)[self.codes]

    def column(self, level: int) -> pa.Array:
        """The column on a level, as text."""
        codes = self.climbed(level)
        return pa.array(self.labels[level], pa.string()).take(pa.array(codes, mask=codes < 0))


@dataclass(frozen=True)
class _Task:
    """What the search asks of a node."""

    ladders: Sequence[Ladder]
    cells: ClassCells
    demands: Demands
    left_out: float
    loss: str

    @property
    def heights(self) -> Node:
        return tuple(len(ladder.labels) for ladder in self.ladders)

    def classes(self, node: Node) -> Ints:
        """Which class each pattern of categories belongs to, if the columns climb so far."""
        shown = self.cells.shown
        moved = [np.append(self.ladders[j].moved[level], -1)[shown[:, j]] for j, level in enumerate(node)]
        return class_of(np.column_stack(moved))

    def violating(self, node: Node) -> Bools:
        """The patterns whose class does not do what is asked."""
        number = self.classes(node)
        return self.demands.violated(self.cells, number)[number]

    def judged(self, node: Node) -> Judged:
        number = self.classes(node)
        size = np.bincount(number, self.cells.count)
        violated = self.demands.violated(self.cells, number)
        n = float(size.sum())
        out = float(size[violated].sum()) / n
        suffices = out <= self.left_out and not violated.all()
        if self.loss == "classes":
            least = float(np.square(size / n).sum())
            alone = size[violated] / n
            return Judged(suffices, least + float((alone * (1 - alone)).sum()), least)
        share = self._share(node)
        return Judged(suffices, share + out * (1 - share), share)

    def _share(self, node: Node) -> float:
        return float(np.mean([level / max(height - 1, 1) for level, height in zip(node, self.heights, strict=True)]))
