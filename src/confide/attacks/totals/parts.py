"""What the parts of a sum are, when sums of many subsets of them are told with noise of their own."""

from itertools import product

import numpy as np
from scipy.optimize import nnls

from confide.arrays import Bools, Floats
from confide.attacks.choosing import size
from confide.attacks.claims import NotApplicable
from confide.attacks.intruder import Where
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.model.release import Release

__all__ = ["classes_for_table", "leaving", "noisy_totals", "parts_of_sums", "subsets"]

CELLS = 250
"""A table of about so many cells: fewer hide a large unit among many others, in more the others are too few to be told."""

ROUNDING = 3e-4
"""Four digits tell no more of a number than this share of it."""

ROUNDS = 5
MOST_BINS = 8


def subsets(bins: int) -> Bools:
    """All subsets of the bins but the empty one; of the last few bins, where there are many, all others going together."""
    free = min(bins, MOST_BINS)
    chosen = np.array(list(product([False, True], repeat=free)))[1:]
    return np.hstack([np.repeat(chosen[:, :1], bins - free, axis=1), chosen])


def leaving(names: tuple[str, ...], variable: str, chosen: Bools) -> Where:
    """The universe of some codes of a variable; everyone, if it is all of them."""
    return {} if chosen.all() else {variable: [name for name, there in zip(names, chosen, strict=True) if there]}


def classes_for_table(book: Dataset, *, besides: str, cells: int = CELLS) -> tuple[Variable, Variable]:
    """Two keys of different kinds whose table has about so many cells."""
    found = [v for v in book.variables.values() if v.role is Role.KEY and v.classifies and not v.binned and size(v) > 1]
    found = [v for v in found if book.root(v.name) != book.root(besides)]
    pairs = [(a, b) for a in found for b in found if a.name < b.name and _apart(book, a, b)]
    if not pairs:
        raise NotApplicable("It needs two keys with classes for a table.")
    return min(pairs, key=lambda p: (abs(np.log(size(p[0]) * size(p[1]) / cells)), -min(size(p[0]), size(p[1]))))


def _apart(book: Dataset, first: Variable, second: Variable) -> bool:
    grouped = first.group is not None and first.group == second.group
    return book.root(first.name) != book.root(second.name) and not grouped


def noisy_totals(release: Release) -> tuple[Floats, Floats]:
    """The totals of a table without margins, and the relative spread of their noise; NaN where nothing is told."""
    column = release.columns["total"]
    inner = tuple(slice(0, -1) for _ in column.values.shape)
    shown = column.values[inner]
    return shown, np.hypot(column.noise[inner] / np.where(shown > 0, shown, 1.0), ROUNDING)


def parts_of_sums(chosen: Bools, sums: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """The parts, none negative, and their variances, by weighted least squares over the sums that are told.

    `chosen` has a row a sum and a column a part; `spread` is the noise as a share of each sum. The noise of a sum goes with
    its true size, so the weights come from the fitted sums, not from the noisy ones. A part that no sum holds has an
    infinite variance. A sum of zero stands where the protected count is zero, whatever the true sum is: it says nothing
    unless all are zero.
    """
    told = sums > 0
    design, seen = chosen[told].astype(np.float64), sums[told]
    unseen: Bools = np.asarray(~design.any(axis=0))
    if not told.any():
        return np.zeros(len(unseen)), np.full(len(unseen), 0.0 if (sums == 0).any() else np.inf)
    fitted = seen
    for _ in range(ROUNDS):
        scaled = design / (spread[told] * fitted)[:, None]
        parts, _ = nnls(scaled, seen / (spread[told] * fitted))
        # Half of what is told bounds the weight of a sum that the others deny: its unit may have been dropped there.
        fitted = np.maximum(design @ parts, seen / 2)
    # Of a direction that no sum tells apart nothing is known but that it is no larger than the whole.
    information = scaled.T @ scaled + np.eye(design.shape[1]) / (3 * seen.max()) ** 2
    return parts, np.where(unseen, np.inf, np.diag(np.linalg.inv(information)))
