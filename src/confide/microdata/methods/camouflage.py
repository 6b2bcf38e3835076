"""Camouflage: sums and means answered by intervals that hold the truth and tell nobody's value too closely."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.data.release_key import ReleaseKey, chosen_key
from confide.errors import Mistake

__all__ = ["Camouflage", "Interval"]


class Interval(NamedTuple):
    """The answer to a question: the truth lies between these ends."""

    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Camouflage:
    """Confidentiality via camouflage (Gopal, Garfinkel and Goes 2002): questions are answered by intervals, without limit.

    Promise: every answer contains the truth. Whatever is asked, and however often, answers narrow no value to less than
    its protection interval: each is the least and the most over the same set, the convex hull of the `points`, in
    which the vector is hidden and in which every value reaches both ends of its interval. Answers tell that set and no more.
    Who knows besides how it is made finds the corners by asking, and the truth is near their mean, off by about
    a twentieth of half the interval (`measures.transparency.camouflage_intervals`); and who knows a rule by which ends
    follow from values turns it round: choose ends wider than they must be, and by no rule. Missing values are a Mistake.

    >>> pay = [1000.0, 2000.0, 3000.0, 4000.0]
    >>> hidden = Camouflage.hide(pay, lower=[900, 1700, 2800, 3500], upper=[1200, 2200, 3300, 4400], teaching_seed=1)
    >>> total = hidden.total([0, 1, 2, 3])
    >>> total.low < 10_000 < total.high, hidden.total([0]).low <= 900, hidden.total([0]).high >= 1200
    (True, True, True)
    """

    best_attack: ClassVar = "camouflage-intervals"

    points: Floats

    @classmethod
    def hide(
        cls,
        values: ArrayLike,
        *,
        lower: ArrayLike,
        upper: ArrayLike,
        vectors: int = 8,
        key: ReleaseKey | None = None,
        teaching_seed: int | None = None,
    ) -> "Camouflage":
        """Hide values among `vectors` others. No value may be known more closely than from its `lower` to its `upper`.

        Values lie strictly between; where all three are equal the value is public. More vectors allow intervals that
        reach farther to one side than to the other, and make answers a little wider. They are drawn from
        `key`, or, in tests and teaching, from `teaching_seed`.
        """
        value, low, high = (
            _numbers(name, one) for name, one in (("values", values), ("lower", lower), ("upper", upper))
        )
        if not len(value) == len(low) == len(high):
            raise Mistake("Camouflage: give one lower and one upper end for each value.")
        if type(vectors) is not int or vectors < 3:
            raise Mistake(f"Camouflage: vectors must be a whole number from 3, not {vectors!r}.")
        random = chosen_key("Camouflage", key, teaching_seed).generator("camouflage", value.tobytes())
        down, up = value - low, high - value
        share = _shares(random, vectors, _most(down, up, vectors))
        order = np.argsort(-(down + up), kind="stable")
        return cls(value + _scattered(down, up, order, share))

    def __len__(self) -> int:
        return int(self.points.shape[1])

    def __repr__(self) -> str:
        return f"Camouflage({len(self):,} values)"

    def total(self, rows: ArrayLike) -> Interval:
        """The sum over some records: by place, or true or false for each record."""
        return self._between(np.ones(len(picked := self._picked(rows))), picked)

    def mean(self, rows: ArrayLike) -> Interval:
        """The mean over some records; one at least."""
        picked = self._picked(rows)
        if not len(picked):
            raise Mistake("Nobody is in this selection, so it has no mean.")
        return self._between(np.full(len(picked), 1 / len(picked)), picked)

    def weighted(self, weights: ArrayLike) -> Interval:
        """The sum of all values, each times its weight; weights may be negative, as in a difference."""
        factors = _numbers("weights", weights)
        if len(factors) != len(self):
            raise Mistake(f"Give one weight for each of the {len(self):,} values, not {len(factors):,}.")
        return self._between(factors, np.arange(len(self)))

    def _picked(self, rows: ArrayLike) -> Ints:
        places = np.asarray(rows)
        if places.dtype == bool and places.shape == (len(self),):
            return np.flatnonzero(places)
        if places.ndim != 1 or (places.size and not np.issubdtype(places.dtype, np.integer)):
            raise Mistake("Name records by place, or by true or false for each.")
        picked: Ints = places.astype(np.int64)
        if len(np.unique(picked)) < len(picked) or np.any((picked < 0) | (picked >= len(self))):
            raise Mistake(f"Records are named once, by places from 0 to {len(self) - 1}.")
        return picked

    def _between(self, weights: Floats, rows: Ints) -> Interval:
        """The least and the most at the corners; a linear function has both there. Rounding goes outwards."""
        parts = self.points[:, rows] * weights
        found = parts.sum(axis=1)
        slack = 1e-12 * float(np.abs(parts).sum(axis=1).max())
        return Interval(float(found.min()) - slack, float(found.max()) + slack)


def _numbers(name: str, given: ArrayLike) -> Floats:
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise Mistake(f"Camouflage: {name} must be numbers.") from None
    if values.ndim != 1 or not np.isfinite(values).all():
        raise Mistake(f"Camouflage: {name} must be a list of numbers, all known.")
    return values


def _most(down: Floats, up: Floats, vectors: int) -> float:
    """The most that one vector may have in the mixture, so that all intervals can be balanced.

    A Mistake where a value is not inside its interval, or so near to an end that so few vectors cannot hide it.
    """
    public = (down == 0) & (up == 0)
    outside = np.flatnonzero(((down <= 0) | (up <= 0)) & ~public)
    if len(outside):
        raise Mistake(
            f"Camouflage: values must lie strictly inside their intervals; that of record {_shown(outside)} does not.",
            suggestions=["Move the end that is too near. Where lower, value and upper are equal, the value is public."],
        )
    near = np.where(public, 1.0, np.minimum(down, up) / np.where(public, 1.0, np.maximum(down, up)))
    steep = np.flatnonzero(near / (1 + near) < 1.5 / vectors)  # at 1 / vectors the mixture would be no secret
    if len(steep):
        raise Mistake(
            f"Camouflage: with {vectors} vectors an interval cannot reach so much farther to one side as that of record"
            f" {_shown(steep)}.",
            suggestions=["Take more vectors, or move the nearer end away."],
        )
    least = float(near.min(initial=1.0))
    return least / (1 + least)


def _shares(rng: np.random.Generator, vectors: int, most: float) -> Floats:
    """Secret weights of the vectors, whose mixture is the truth: any that add to 1, drawn in to at most `most`."""
    drawn = rng.dirichlet(np.ones(vectors))
    equal = 1 / vectors
    return np.asarray(equal + min(1.0, 0.999 * (most - equal) / (drawn.max() - equal)) * (drawn - equal))


def _shown(places: Ints) -> str:
    return f"{int(places[0]) + 1}" + (f" (and {len(places) - 1} more)" if len(places) > 1 else "")


@compiled
def _scattered(down: Floats, up: Floats, order: Ints, share: Floats) -> Floats:
    """How far each value moves in each vector: to its upper end in one, to its lower in another, and in the rest so
    that the mean, weighted by `share`, does not move. The two are chosen to keep the totals of vectors together."""
    vectors, n = len(share), len(down)
    moved, total = np.zeros((vectors, n)), np.zeros(vectors)
    for i in order:
        p = int(np.argmin(total))
        q = (p + 1) % vectors
        for j in range(vectors):
            if j != p and total[j] > total[q]:
                q = j
        rest = (share[q] * down[i] - share[p] * up[i]) / (1.0 - share[p] - share[q])
        moved[:, i] = rest
        moved[p, i], moved[q, i] = up[i], -down[i]
        total += moved[:, i]
    return moved
