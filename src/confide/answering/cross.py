"""The cross of a question as rules see it: protected numbers of units over the whole file, whatever its universe is.

Nothing here depends on the universe, the measures or the words of a question; so all questions over the same class variables
have the same verdict, and it is found once.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from confide.answering.mechanisms.decision import DecisionNoise
from confide.answering.universe.census import TallyFunction, UnitSets
from confide.arrays import Bools, Ints
from confide.model.admission.cross import declared_cells, present_places
from confide.model.catalog.dataset import Dataset, Role
from confide.model.evidence import Box, Cells, Tally

__all__ = ["CrossCells", "JudgedCross"]


@dataclass(frozen=True)
class CrossCells:
    """What rules ask of the cells: how many hold somebody, how many of those are sparse, and the confidential variables
    of which a whole group falls into one class."""

    occupied: int
    sparse: int
    disclosed: tuple[str, ...]


@dataclass(frozen=True)
class JudgedCross:
    """Each number is found when a rule first asks for it. Codes of missing values are left out of all of them."""

    names: tuple[str, ...]
    dataset: Dataset
    tally: TallyFunction
    noise: DecisionNoise
    sparse_below: int

    @property
    def declared(self) -> int:
        """The declared cells."""
        return declared_cells(self.names, self.dataset)

    @cached_property
    def units(self) -> int:
        """In the whole file, those with a missing value aside. It needs no table: one count for each set of variables
        that have missing codes, which many crosses share."""
        lacking = [
            v for v in map(self.dataset.variables.__getitem__, self.names) if any(c.missing for c in v.codes or ())
        ]
        box: Box = tuple((variable.name, present_places(variable)) for variable in lacking)
        if not all(places for _, places in box):
            return 0
        cells = self.tally(Tally((), (box,) if box else ()))
        return int(self._judged(cells).sum())

    @cached_property
    def cells(self) -> CrossCells:
        """From one table of the whole file, which is not kept."""
        cells = self.tally(Tally(self.names))
        counts = self._judged(cells)
        here = (counts > 0) & self._present(cells.places)
        sparse = here & (counts < self.sparse_below)
        return CrossCells(int(here.sum()), int(sparse.sum()), tuple(self._disclosed(cells.places[here])))

    def _judged(self, cells: Cells) -> Ints:
        return self.noise.units(UnitSets(cells.records, cells.units, cells.key))

    def _present(self, places: Ints) -> Bools:
        here = np.ones(len(places), dtype=bool)
        for column, name in enumerate(self.names):
            here &= np.isin(places[:, column], present_places(self.dataset.variables[name]))
        return here

    def _disclosed(self, places: Ints) -> list[str]:
        """The confidential variables that some group of the others has one class of; recodes of a number are one variable."""
        variables = sorted((self.dataset.variables[name] for name in self.names), key=lambda v: v.column)
        found = []
        for _, recodes in groupby(variables, key=lambda v: v.column):
            own = list(recodes)
            if own[0].role is Role.CONFIDENTIAL and declared_cells([v.name for v in own], self.dataset) > 1:
                others = [column for column, name in enumerate(self.names) if name not in {v.name for v in own}]
                if _whole_group(places[:, others]):
                    found.append(own[0].name)
        return found


def _whole_group(groups: Ints) -> bool:
    """Whether some group has one class: it stands once among the cells, which are all different."""
    if not groups.shape[1]:
        return len(groups) == 1
    return bool((np.unique(groups, axis=0, return_counts=True)[1] == 1).any())
