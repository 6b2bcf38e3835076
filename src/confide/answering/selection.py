"""The units a question is about: its universe less the dropped ones, and the engine that counts them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from confide.answering.cube import Cube, gather_cube
from confide.answering.mechanisms.safe.base import Base
from confide.arrays import Floats
from confide.engines import CLUSTER, Engine, StoreFacts
from confide.model.catalog.dataset import Dataset
from confide.model.design import Design
from confide.model.evidence import Box, Cells, Moments, Rows, Spread, Step, Tally
from confide.model.request import Family

__all__ = ["Selection"]


@dataclass(frozen=True)
class Selection:
    """Answers with true numbers, so it stays inside `answering`. Counts come from the `base`, if there is one."""

    dataset: Dataset
    engine: Engine
    within: tuple[Box, ...]
    without: tuple[int, ...]
    base: Base | None = None

    @property
    def facts(self) -> StoreFacts:
        return self.engine.facts

    def cube(self, by: Sequence[str], **more: Any) -> Cube:
        """The table by these variables with all its margins; `more` is what else a tally can ask for."""
        sizes = [len(self.dataset.classifier(name).codes or ()) for name in by]
        question = replace(Tally(tuple(by), self.within, self.without), **more)
        return gather_cube(self.engine.tally, question, sizes, several=self.facts.several)

    def only(self, name: str, place: int) -> "Selection | None":
        """Those of the units that are of one class; None if the universe leaves it out."""
        having = [box for box in self.within or ((),) if place in dict(box).get(name, (place,))]
        boxes = tuple((*(each for each in box if each[0] != name), (name, (place,))) for box in having)
        return replace(self, within=boxes) if boxes else None

    def by_sampling_unit(self, by: Sequence[str], of: str | None = None) -> Cells:
        """Weights, and contributions to the totals of a number, by these variables and by the sampling units of the design."""
        return self.engine.tally(Tally((*by, CLUSTER), self.within, self.without, of=of, weighted=True))

    def step(self, design: Design, family: Family = Family.GAUSSIAN) -> Step:
        """The first step of fitting a model to these units."""
        return Step(design, family, self.within, self.without)

    def moments(self, step: Step) -> Moments:
        return self.engine.moments(step)

    def spread(self, step: Step, inverse: Floats) -> Spread:
        return self.engine.spread(step, inverse)

    def rows(self, step: Step, inverse: Floats, low: int, high: int) -> Rows:
        """Records, for synthetic diagnostics only."""
        return self.engine.rows(step, inverse, low=low, high=high)
