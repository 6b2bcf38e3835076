"""Linear models that tell one establishment's turnover: Tables 1 to 3 of Bleninger, Drechsler and Ronning (2011)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.studies.establishments import STATES, Establishments, establishments
from confide.attacks.studies.study import Figure, StudyResult, figures

__all__ = ["FirmRegressions", "dummy", "outlier"]

BLOCK = 256
"""Regressions done at once: a block of targets by all different values stays within some megabytes."""


@dataclass(frozen=True)
class FirmRegressions:
    """A remote access server that answers every least squares exactly; each establishment is the target of each attack once.

    Table 1: turnover on z = 1 / (|size - the target's| + eps). Table 2: the same with size and state in one number, one to one.
    Table 3: turnover on a dummy that is 1 for all that agree with what is known of the target: the size exactly or to
    within `width`, then also state, legal form, branch. The fitted value at the target is the claim.

    Comparable with the article: the shares of unique targets, and errors where targets are unique or the mean is not carried
    by a few establishments of next to no turnover, of which the panel has some (its mean errors of 10,000 and more).
    """

    title: ClassVar[str] = "Turnover from linear models"
    source: ClassVar[str] = "Bleninger, Drechsler and Ronning 2011"

    rows: int = 12_814
    eps: float = 1e-4
    width: float = 0.025
    quantiles: tuple[float, ...] = (0, 0.5, 0.75, 0.9, 0.99)
    seed: int = 1

    def run(self) -> StudyResult:
        """For the largest establishments above each quantile of size: unique ones and relative errors, table by table."""
        firms = establishments(self.rows, seed=self.seed)
        rng = np.random.default_rng((self.seed, 1))
        return StudyResult(self.title, (*self._outliers(firms), *self._roughly(firms, rng), *self._dummies(firms)))

    def _above(self, firms: Establishments, values: Floats | Bools, among: Bools | None = None) -> dict[str, float]:
        """Means over the establishments above each quantile, or over those `among` them."""
        wanted = np.ones(len(values), dtype=np.bool_) if among is None else among
        large = {_largest(q): firms.size >= np.quantile(firms.size, q) for q in self.quantiles}
        return {q: float(values[chosen & wanted].mean()) for q, chosen in large.items()}

    def _outliers(self, firms: Establishments) -> Iterator[Figure]:
        codes = {"Table 1: size": firms.size, "Table 2: size and state": firms.size * STATES + firms.state}
        for table, code in codes.items():
            unique = _alike(code) == 1
            error = _error(outlier(code, firms.turnover, known=code, eps=self.eps), firms)
            yield from figures(f"{table}: unique", self._above(firms, unique))
            yield from figures(f"{table}: mean error", self._above(firms, error))
            yield from figures(f"{table}: mean error if unique", self._above(firms, error, unique))

    def _roughly(self, firms: Establishments, rng: np.random.Generator) -> Iterator[Figure]:
        """The outlier for an intruder who knows the size to within `width`, of targets whose size is unique."""
        unique = _alike(firms.size) == 1
        off = rng.uniform(1 - self.width, 1 + self.width, self.rows)
        for words, known in {"exact": firms.size, "approximate": np.rint(off * firms.size).astype(np.int64)}.items():
            near = _error(outlier(firms.size, firms.turnover, known=known, eps=self.eps), firms) < 0.1
            what = f"Table 1: {words} size: within 10 % if unique"
            yield from figures(what, self._above(firms, near, unique))

    def _dummies(self, firms: Establishments) -> Iterator[Figure]:
        for words, (others, width) in self._knowledge(firms).items():
            alike, fitted = dummy(firms.size, others, firms.turnover, width=width)
            error = _error(fitted, firms)
            yield from figures(f"Table 3: {words}: unique", self._above(firms, alike == 1))
            yield from figures(f"Table 3: {words}: mean error", self._above(firms, error))

    def _knowledge(self, firms: Establishments) -> Mapping[str, tuple[tuple[Ints, ...], float]]:
        return {
            "exact size": ((), 0.0),
            "approximate size": ((), self.width),
            "+ state": ((firms.state,), self.width),
            "+ legal form": ((firms.state, firms.form), self.width),
            "+ branch": ((firms.state, firms.form, firms.branch), self.width),
        }


def outlier(values: Ints, y: Floats, *, known: Ints, eps: float) -> Floats:
    """The fitted values of y on 1 and z = 1 / (|values - known| + eps), at z = 1 / eps, for each known value.

    Records with equal values have equal z, so sums over different values suffice. With z over its largest possible value, w,
    the fit at w = 1 is mean(y) + (1 - mean(w)) cov(w, y) / var(w).
    """
    levels, which = np.unique(values, return_inverse=True)
    counts, sums = np.bincount(which), np.bincount(which, y).astype(np.float64)
    asked, back = np.unique(known, return_inverse=True)
    fitted = np.concatenate(
        [_fit(levels, counts, sums, some, eps) for some in np.array_split(asked, -(-len(asked) // BLOCK))]
    )
    return fitted[back]


def _fit(levels: Ints, counts: Ints, sums: Floats, known: Ints, eps: float) -> Floats:
    w = eps / (abs(levels - known[:, None]) + eps)
    n, mean = counts.sum(), sums.sum() / counts.sum()
    middle = w @ counts / n
    centred = w - middle[:, None]
    slope = (centred @ (sums - counts * mean)) / (centred**2 @ counts)
    fitted: Floats = mean + (1 - middle) * slope
    return fitted


def dummy(size: Ints, others: tuple[Ints, ...], y: Floats, *, width: float) -> tuple[Ints, Floats]:
    """How many records the dummy of each target holds, and its fitted value, which is their mean of y.

    A dummy is 1 where all the others equal the target's and the size is within `width` of the target's.
    """
    groups = np.unique(np.stack([*others, np.zeros_like(size)]), axis=1, return_inverse=True)[1].ravel()
    step = 4.0 * size.max()  # groups lie so far apart that no size reaches the next
    place = groups * step + size
    order = np.argsort(place)
    low = np.searchsorted(place[order], place - width * size - 1e-6)
    high = np.searchsorted(place[order], place + width * size + 1e-6)
    upto = np.append(0.0, np.cumsum(y[order]))
    single = y[order][low]  # a difference of long sums would be off by their rounding
    return high - low, np.where(high - low == 1, single, (upto[high] - upto[low]) / (high - low))


def _largest(quantile: float) -> str:
    return f"top {100 * (1 - quantile):g} %" if quantile else "all"


def _alike(code: Ints) -> Ints:
    _, which, counts = np.unique(code, return_inverse=True, return_counts=True)
    found: Ints = counts[which]
    return found


def _error(fitted: Floats, firms: Establishments) -> Floats:
    error: Floats = abs(fitted - firms.turnover) / firms.turnover
    return error
