"""The counts of a table as they are published, and as rules see them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from confide.answering.cube import Cube
from confide.answering.mechanisms.additive import additive, restores
from confide.answering.mechanisms.counts import CellKey
from confide.answering.rounding import power_below, significant
from confide.answering.shield import Shield
from confide.arrays import Floats, Ints
from confide.data.deviation_error import CELL_SIZES
from confide.engines import StoreFacts
from confide.model.release import Column

__all__ = ["Counts", "Marks", "Scales", "unmarked"]

Marks = NDArray[np.str_]


@dataclass(frozen=True)
class Scales:
    """What the integers of a store stand for: decimal places, the bits cut before squaring, the noise in the records."""

    weight: int
    total: int
    shift: int
    noise: float
    spread: tuple[float, ...] = (1.0,) * 6
    deviations: tuple[float, ...] = (0.0,) * 3
    """What standard deviations are off by, in standard errors, by sizes of cells: nothing where records are true."""
    within: int = 0
    """How many variables the universe has."""

    @classmethod
    def of(cls, facts: StoreFacts, name: str, *, within: int = 0) -> "Scales":
        """Those of a number, or of counts if it has no such name."""
        decimals, shift = facts.decimals.get(name, 0), facts.shifts.get(name, 0)
        spread = tuple(facts.spread.get(name, cls.spread))
        deviations = tuple(facts.deviations.get(name, (1.0,) * 3 if facts.records else cls.deviations))
        return cls(facts.weight_decimals, decimals, shift, facts.noise.get(name, 0.0), spread, deviations, within)

    def spreads(self, shape: tuple[int, ...], *, means: bool) -> Floats:
        """By what the noise of totals, or of means, is multiplied in each cell: by how many variables cut it out."""
        cut = np.full(shape, self.within)
        for axis, size in enumerate(shape):
            inner = np.arange(size) < size - 1
            cut += inner.reshape([-1 if a == axis else 1 for a in range(len(shape))])
        multiples = np.array(self.spread[3:] if means else self.spread[:3])
        return np.asarray(multiples[np.clip(cut, 1, 3) - 1])

    def deviation_spreads(self, units: Ints) -> Floats:
        """By what the standard error of a standard deviation is multiplied for its noise: by its number of units, as published."""
        return np.array(self.deviations)[np.searchsorted(CELL_SIZES, units, side="right")]

    def square(self, cube: Cube) -> Floats:
        """The sums of squared contributions."""
        assert cube.square is not None
        return np.asarray(cube.square * (2.0**self.shift / 10.0**self.total) ** 2, dtype=np.float64)


@dataclass(frozen=True)
class Counts:
    """A cube with its numbers of units as published and as rules see them."""

    cube: Cube
    units: Ints
    judged: Ints
    spread: Floats
    """The standard deviation of what protection changes the published number of units by."""
    scales: Scales

    @classmethod
    def draw(cls, cube: Cube, shield: Shield, scales: Scales) -> "Counts":
        mechanism = shield.counts
        publish, decide = shield.draws.counts(cube.records, cube.units, cube.key)
        judged = shield.decision.drawn(cube.units, decide)
        spread = np.full(cube.units.shape, mechanism.spread)
        return cls(cube, mechanism.units(cube.units, publish), judged, spread, scales)

    def of_base(self, base: Column) -> "Counts":
        """The same cells with the numbers of units that a protected base has: rules look at them too."""
        units = base.values.astype(np.int64)
        return replace(self, units=units, judged=units, spread=base.noise)

    def count(self, shield: Shield) -> Column:
        values = np.rint(CellKey.scale(self.cube.records, self.cube.units, self.units))
        mean = values / np.maximum(self.units, 1)
        spread = self.spread * np.where(self.units > 0, mean, 1.0)
        if restores(shield.policy, values.shape):
            adding = additive(values, shield.policy.counts, shield.secret).astype(np.float64)
            # Of what is added no cell is told its own, so all are told the same.
            spread = np.hypot(spread, np.sqrt(np.mean((adding - values) ** 2)))
            values = adding
        return Column("count", "Count", 0, values, unmarked(values), significant(spread, 3))

    def weighted(self) -> Column:
        values, noise = self.weights()
        return Column("weighted_count", "Weighted count", 0, values, unmarked(values), significant(noise, 3))

    @property
    def exact_weights(self) -> Floats:
        """The sums of weights of the records, which no count is published from."""
        assert self.cube.weight is not None
        return self.cube.weight / 10.0**self.scales.weight

    def weights(self) -> tuple[Floats, Floats]:
        """Protected weighted counts and the spread of their noise: no digit finer than a unit's mean weight."""
        scaled = CellKey.scale(self.exact_weights, self.cube.units, self.units)
        everyone = scaled.ravel()[-1] / max(int(self.units.ravel()[-1]), 1)
        mean = np.where((self.units > 0) & (self.cube.units > 0), scaled / np.maximum(self.units, 1), everyone)
        grain = np.where(self.spread > 0, np.maximum(power_below(mean), 1.0), 1e-9)
        return np.rint(mean * self.units / grain) * grain, self.spread * mean


def unmarked(values: Floats) -> Marks:
    """No marks: every cell has its number."""
    return np.full(values.shape, "", dtype="<U1")
