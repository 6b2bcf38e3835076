"""An engine with further classes, each made of stored ones. All numbers are those that a stored column would give.

Nothing is stored: tallies are asked by what the classes are made of and added up. Where a unit may have several records, units do
not add up, so then every derived class is asked for by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from confide.arrays import Floats, Ints
from confide.engines import Engine, StoreFacts
from confide.engines.cells import bounded, merged
from confide.engines.derived.designs import StoredDesign
from confide.model.catalog.dataset import Dataset, Derivation
from confide.model.catalog.derivation import combinations_of, table_of
from confide.model.design import Block, Number
from confide.model.evidence import Box, Cells, Moments, Rows, Spread, Step, Tally

__all__ = ["DerivedEngine", "deriving"]


def deriving(engine: Engine, dataset: Dataset) -> Engine:
    """The engine with the variables that a request adds to a data set; itself if it adds none."""
    made = {name: variable.made for name, variable in dataset.variables.items() if variable.made}
    return DerivedEngine(engine, made) if made else engine


class DerivedEngine:
    """Answers from another engine. Universes are in declared words, so boxes are of stored classes."""

    def __init__(self, engine: Engine, made: Mapping[str, Derivation]) -> None:
        self._engine, self._made = engine, made

    @property
    def facts(self) -> StoreFacts:
        return self._engine.facts

    def tally(self, tally: Tally) -> Cells:
        if not any(name in self._made for name in tally.by):
            return self._engine.tally(tally)
        return self._class_by_class(tally) if self.facts.several else self._added(tally)

    def units(self, within: Sequence[Box], *, low: int, high: int) -> Ints:
        return self._engine.units(within, low=low, high=high)

    def moments(self, step: Step) -> Moments:
        stored = self._stored(step)
        found = self._engine.moments(self._asked(step, stored))
        if stored.same:
            return found
        gram, score = stored.all_sums @ found.gram @ stored.all_sums.T, stored.all_sums @ found.score
        support = self._support(step, stored, found.support[: stored.design.columns])
        return replace(found, gram=gram, score=score, support=np.tile(support, step.design.predictors))

    def spread(self, step: Step, inverse: Floats) -> Spread:
        stored = self._stored(step)
        asked, inner = self._asked(step, stored), _inner(inverse, stored)
        found = self._engine.spread(asked, inner)
        fits = tuple(self._fits(name, found, asked, inner, stored) for name in step.design.classes)
        if stored.same:
            return replace(found, fits=fits)
        pull = None if found.pull is None else stored.all_sums @ found.pull @ stored.sums.T
        scores = None if found.scores is None else found.scores @ stored.all_sums.T
        meat = stored.all_sums @ found.meat @ stored.all_sums.T
        return replace(found, meat=meat, fits=fits, pull=pull, scores=scores)

    def rows(self, step: Step, inverse: Floats, *, low: int, high: int) -> Rows:
        stored = self._stored(step)
        found = self._engine.rows(self._asked(step, stored), _inner(inverse, stored), low=low, high=high)
        places = [stored.place(name, found.classes) for name in step.design.classes]
        return replace(found, classes=np.column_stack(places) if places else found.classes)

    def close(self) -> None:
        self._engine.close()

    def _sources(self, name: str) -> tuple[str, ...]:
        return self._made[name].sources if name in self._made else (name,)

    def _added(self, tally: Tally) -> Cells:
        """The cells of the finer table, added up. Contributions must all be exact for that."""
        by = tuple(dict.fromkeys(source for name in tally.by for source in self._sources(name)))
        fine = self._engine.tally(replace(tally, by=by, share=0.0))
        places = np.column_stack([self._places(name, fine) for name in tally.by])
        return bounded(merged(fine, tally.by, np.arange(len(fine.records)), places), tally)

    def _places(self, name: str, fine: Cells) -> Ints:
        columns = [fine.places[:, fine.by.index(source)] for source in self._sources(name)]
        return table_of(self._made[name])[tuple(columns)] if name in self._made else columns[0]

    def _class_by_class(self, tally: Tally) -> Cells:
        """One tally for every combination of derived classes, of which each unit counts once in it."""
        own = [name for name in tally.by if name in self._made]
        rest = tuple(name for name in tally.by if name not in self._made)
        found = []
        for classes in product(*(sorted(set(self._made[name].places)) for name in own)):
            boxes: tuple[Box, ...] = tally.within or ((),)
            for name, place in zip(own, classes, strict=True):
                boxes = _both(boxes, combinations_of(self._made[name], [place]))
            if boxes:
                cells = self._engine.tally(replace(tally, by=rest, within=boxes))
                found.append(_with_places(cells, tally.by, dict(zip(own, classes, strict=True))))
        return _joined(found)

    def _stored(self, step: Step) -> StoredDesign:
        return StoredDesign(step.design, self._made)

    def _asked(self, step: Step, stored: StoredDesign) -> Step:
        if stored.same:
            return replace(step, design=stored.design)
        beta = tuple((np.array(step.beta) @ stored.all_sums).tolist()) if step.beta else ()
        calibration = tuple(tuple((np.array(row) @ stored.sums).tolist()) for row in step.calibration)
        return replace(step, design=stored.design, beta=beta, calibration=calibration)

    def _support(self, step: Step, stored: StoredDesign, support: Ints) -> Ints:
        """The units in the classes of each column; where one has several records they are counted anew."""
        found: Ints = np.rint(stored.sums @ support).astype(np.int64)
        if self.facts.several:
            for block in step.design.blocks:
                names = {step.design.classes[at] for at, _ in block.classes}
                if any(len(self._sources(name)) > 1 for name in names):
                    found[block.offset : block.offset + block.width] = self._units(step, block)
        return found

    def _units(self, step: Step, block: Block) -> Ints:
        """The units in the classes of each column of a block, among the complete records of a model."""
        by = tuple(step.design.classes[at] for at, _ in block.classes)
        numbers = [*step.design.numbers, *([r] if isinstance(r := step.design.response, Number) else [])]
        complete = tuple(dict.fromkeys(Number(number.variable, number.transform) for number in numbers))
        cells = self.tally(Tally(by, step.within, step.without, complete=complete))
        found = np.zeros(block.width, np.int64)
        widths = [max(levels) + 1 for _, levels in block.classes]
        for place, units in zip(cells.places.tolist(), cells.units.tolist(), strict=True):
            levels = [own[at] for (_, own), at in zip(block.classes, place, strict=True)]
            if min(levels) >= 0:
                found[int(np.ravel_multi_index(levels, widths))] = units
        return found

    def _fits(self, name: str, found: Spread, asked: Step, inner: Floats, stored: StoredDesign) -> Floats:
        """The fit in each class of a variable: added up, or asked for where it is made of several."""
        if name not in self._made:
            return found.fits[stored.classes.index(name)]
        made = self._made[name]
        fits = np.zeros((max(made.places) + 1, 2))
        if len(made.sources) == 1:
            own = found.fits[stored.classes.index(made.sources[0])]
            np.add.at(fits, np.array(made.places), own)
            return fits
        for place in sorted(set(made.places)):
            within = _both(asked.within or ((),), combinations_of(made, [place]))
            if within:
                part = self._engine.spread(replace(asked, within=within), inner)
                fits[place] = part.squares, part.fits[0][:, 1].sum()
        return fits


def _inner(inverse: Floats, stored: StoredDesign) -> Floats:
    """The inverse by stored columns: leverages are the same by it."""
    return inverse if stored.same else stored.all_sums.T @ inverse @ stored.all_sums


def _both(within: Sequence[Box], boxes: Sequence[Box]) -> tuple[Box, ...]:
    """The disjoint boxes of those in one of each; none if nobody can be. The box of no conditions is everyone."""
    found = []
    for one, other in product(within, boxes):
        allowed = dict(one)
        for name, places in other:
            allowed[name] = tuple(sorted(set(places) & set(allowed.get(name, places))))
        if all(allowed.values()):
            found.append(tuple(sorted(allowed.items())))
    return tuple(found)


def _with_places(cells: Cells, by: tuple[str, ...], fixed: Mapping[str, int]) -> Cells:
    """Cells by further variables, in which they all have the same place."""
    n = len(cells.records)
    columns = [np.full(n, fixed[name]) if name in fixed else cells.places[:, cells.by.index(name)] for name in by]
    return replace(cells, by=by, places=np.column_stack(columns))


def _joined(parts: Sequence[Cells]) -> Cells:
    """Cells of different places together, in order."""
    names = ("places", "records", "units", "key", "weight", "total", "size", "square", "top")
    there = [name for name in names if getattr(parts[0], name) is not None]
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in there}
    order = np.lexsort(arrays["places"].T[::-1])
    ordered: dict[str, Any] = {name: array[order] for name, array in arrays.items()}
    return replace(parts[0], **ordered)
