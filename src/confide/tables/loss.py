"""Information loss (Giessing and Höhne 2011, section 7): of the whole table, and of cells without saying how far each moved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats, Ints
from confide.data.release_key import ReleaseKey, chosen_key
from confide.errors import Mistake
from confide.tables.annealing.safe.base import SafeBase
from confide.tables.changed import Changed, distribution
from confide.tables.perturbation.invariance import invariant_matrix

__all__ = ["Loss", "cell_loss", "information_loss"]


SIZES = (1, 3, 5, 10, 20, 50, 100, 300, 500, 1000, 5000)
"""Where classes of sizes begin; from 20 on as in Giessing and Höhne (2011), Table 4."""

PERCENT = (0, 0.1, 1, 2, 5, 10, 20, 50, 100)
"""Where classes of relative deviations end."""


@dataclass(frozen=True, eq=False)
class Loss:
    """The cells that were not 0: their values before and now, and by how many variables each is."""

    before: Floats
    after: Floats
    dimension: Ints

    @property
    def deviations(self) -> Floats:
        return self.after - self.before

    @property
    def mean(self) -> float:
        """The mean absolute deviation."""
        return float(np.abs(self.deviations).mean()) if len(self.before) else 0.0

    @property
    def largest(self) -> float:
        """The largest absolute deviation."""
        return float(np.abs(self.deviations).max(initial=0.0))

    def histogram(self) -> pa.Table:
        """How many cells deviate by how much, up or down: Table 5 of Giessing and Höhne (2011)."""
        return distribution(np.abs(self.deviations))

    def signed(self) -> pa.Table:
        """How many cells deviate by how much in which direction: their Table 6."""
        return distribution(self.deviations)

    @property
    def whole(self) -> bool:
        """Whether all deviations are whole numbers, as those of counts are."""
        return bool((self.deviations == np.rint(self.deviations)).all())

    def relative(self) -> pa.Table:
        """How many cells deviate by how many percent of their value, up or down: for totals, which deviate by any number."""
        percent = 100 * np.abs(self.deviations) / np.abs(self.before)
        places = np.searchsorted(PERCENT, percent, side="left")
        labels = ["0", *(f"up to {end:g}" for end in PERCENT[1:]), f"over {PERCENT[-1]:g}"]
        cells = np.bincount(places, minlength=len(labels))
        return pa.table({"percent of the value": labels, "cells": cells, "percent": 100 * cells / max(1, len(places))})

    def by_dimension(self) -> pa.Table:
        """Cells, mean and largest deviation of inner cells and of totals, by the number of variables that span the cell."""
        groups = [(int(size), self.dimension == size) for size in np.unique(self.dimension)]
        return self._grouped("dimension", groups)

    def by_size(self) -> pa.Table:
        """Cells, mean and largest deviation by classes of the true value: their Table 4."""
        ends = (*(start - 1 for start in SIZES[1:]), None)
        labels = [f"{start}-{end}" if end else f"{start} and more" for start, end in zip(SIZES, ends, strict=True)]
        places = np.searchsorted(SIZES, np.abs(self.before), side="right") - 1
        groups = [(label, places == place) for place, label in enumerate(labels) if (places == place).any()]
        return self._grouped("size", groups)

    def __repr__(self) -> str:
        return f"Loss over {len(self.before):,} cells: largest deviation {self.largest:,.10g}, mean {self.mean:,.3f}"

    def _grouped(self, name: str, groups: Sequence[tuple[int | str, Bools]]) -> pa.Table:
        away = [np.abs(self.deviations[here]) for _, here in groups]
        columns = {name: [label for label, _ in groups], "cells": [len(some) for some in away]}
        means, most = [float(some.mean()) for some in away], [float(some.max()) for some in away]
        return pa.table({**columns, "mean": pa.array(means, pa.float64()), "largest": pa.array(most, pa.float64())})


def information_loss(result: Changed | SafeBase) -> Loss:
    """Give how far a result is from the truth: for a SAFE base, in all its controlled tables.

    >>> from confide import tables
    >>> t = tables.Table.from_microdata({"sex": list("ffffmmm")}, by=["sex"])
    >>> information_loss(Changed.to(np.array([8.0, 5, 3]), of=t))
    Loss over 3 cells: largest deviation 1, mean 0.667
    """
    if not isinstance(result, Changed | SafeBase):
        raise Mistake("Not a result.", suggestions=["Give what tables.round, adjust, perturb or safe gave."])
    if isinstance(result, SafeBase):
        before, after, dimension = (np.concatenate(part) for part in zip(*_controlled(result), strict=True))
        return Loss(before, after, dimension)
    there = result.before.value != 0
    dimension = (result.before.places > 0).sum(axis=1)[there]
    return Loss(result.before.value[there], result.table.value[there], dimension)


def _controlled(base: SafeBase) -> Iterator[tuple[Floats, Floats, Ints]]:
    for by in base.controlled:
        cells = base.compare(by=by)
        before, after = (cells[name].to_numpy().astype(np.float64) for name in ("before", "count"))
        yield before, after, np.full(len(before), len(by))


def cell_loss(
    deviations: Floats,
    *,
    key: ReleaseKey | None = None,
    teaching_seed: int | None = None,
    alpha: float = 0.4,
    stay: float = 0.7,
) -> Ints:
    """Give a number for each cell that says about how far it is from the truth, to be published beside it.

    It is the absolute value of a deviation that was itself perturbed: by an invariant matrix, so that as many cells as
    before have each deviation. Values that are not whole are rounded.

    Promise: the frequencies of all deviations are kept exactly, so what is published of the whole table stays true;
    which cells are told another deviation than their own is drawn from the key.
    Reference: Giessing and Höhne (2011), section 7 and Table 6.

    >>> told = cell_loss(np.repeat([-1.0, 0, 1, 2], [30, 40, 20, 10]), teaching_seed=1)
    >>> np.bincount(told).tolist()
    [40, 50, 10]
    """
    given = chosen_key("The loss of cells", key, teaching_seed)
    if not np.isfinite(deviations).all():
        raise Mistake("Some deviations are missing or infinite.")
    whole = np.rint(deviations).astype(np.int64)
    found, place = np.unique(whole, return_inverse=True)
    if len(found) < 2:
        return np.abs(whole)
    random = given.generator("cell loss", whole.tobytes())
    flows = _flows(np.bincount(place).astype(np.float64), alpha, stay, random)
    order = random.permutation(len(whole))
    order = order[np.argsort(place[order], kind="stable")]
    told = np.empty_like(whole)
    told[order] = np.repeat(np.tile(found, len(found)), flows.ravel())
    return np.abs(told)


def _flows(frequencies: Floats, alpha: float, stay: float, random: np.random.Generator) -> Ints:
    """How many cells of each deviation are told as each: whole numbers with the same sums of rows and of columns.

    The expected numbers are symmetric, since R = PQ; rounded in pairs they stay so, and the diagonal takes the rest.
    """
    classes = len(frequencies)
    initial = stay * np.eye(classes) + (1 - stay) / 2 * (np.eye(classes, k=1) + np.eye(classes, k=-1))
    initial[0, 0] = initial[-1, -1] = (1 + stay) / 2
    expected = frequencies[:, None] * invariant_matrix(initial, frequencies, alpha=alpha)
    above = np.floor(np.triu(expected, k=1) + random.random(expected.shape)).astype(np.int64)
    flows = np.triu(above, k=1)
    flows = flows + flows.T
    left = frequencies.astype(np.int64) - flows.sum(axis=1)
    for place in np.flatnonzero(left < 0):  # rounding up took more than there are
        for other in np.argsort(-flows[place]):
            less = min(-left[place], flows[place, other]) if left[place] < 0 else 0
            flows[place, other] -= less
            flows[other, place] -= less
            left[[place, other]] += less
    np.fill_diagonal(flows, left)
    return flows
