"""Classes of a number that carries noise: how far it draws coefficients towards 0, and what is put right.

Noise moves people from class to class, so that classes differ less between groups than they do in truth, and slopes shrink. By how
much follows from public numbers alone: the law of the noise, the share of units that have more of it, and the protected counts by the
declared bins of the number. From these the distribution of the number is had without noise (Richardson 1972; Lucy 1974), moved by a
small odds ratio, and classed with and without noise: the ratio of what both show is what noise leaves of a slope.
That is the attenuation where all have the distribution of everybody. Within groups people are more alike, and noise moves more of
them: on people of the demonstration about two thirds of the shrinkage are found so. Errors therefore include as much again as is
put right. Of durations it is the hazard that is moved, and those to whom nothing happened are classed as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.special import expit, logit

from confide.answering.regressions.inference import Inference, wald
from confide.arrays import Floats, Ints
from confide.data.noise_law import factors_below
from confide.model.catalog.dataset import Dataset
from confide.model.policy import RecordRules

__all__ = ["PUT_RIGHT", "NoisyClasses", "NoisyDurations", "Stretch", "apart", "noisy_classes"]

POINTS = 20
"""So many values stand for those in a bin."""

STEPS = 30
"""Of Richardson and Lucy: a hundred give the same to three digits."""

OPEN_END = 2.5
"""The last bin ends at so many times its beginning."""

SHIFT = 0.05
"""The logarithm of the odds ratio by which the distribution is moved either way."""

LEAST = 0.5
"""No slope is more than doubled."""

PUT_RIGHT = 2 / 3
"""Of what predictors by classes are drawn by: all of it overshoots as often as not."""

MOST_MIXED = 10.0
"""The condition number of who is in which class in truth, above which nothing is put right."""


@dataclass(frozen=True)
class NoisyClasses:
    """The bins of a number that carries noise, by the variable that has them: for each the level of the response, or -1."""

    name: str
    number: str
    cutpoints: Floats
    levels: Ints
    spreads: tuple[tuple[float, float], ...]
    """How many units have how much noise: pairs of a share and a spread."""

    def kept(self, counts: Floats, *, ordered: bool) -> Floats:
        """What noise leaves of a slope: of classes in their order, or of the log odds of each level from 1 on against level 0."""
        points, bins = self._points()
        noise = self._noise(points)
        share = self._without_noise(counts, noise, bins)
        if share is None:
            return np.ones(1 if ordered else int(self.levels.max()))
        moved = [self._by_level(_moved(share, by), noise, bins) for by in (0.0, SHIFT, -SHIFT)]
        true, seen = ([each[at] / each[at].sum() for each in moved] for at in (0, 1))
        tell = _ordered_slope if ordered else _log_odds
        there, left = tell(*true), tell(*seen)
        ratio = np.divide(left, there, out=np.ones_like(there), where=np.abs(there) > SHIFT**2)
        return np.clip(ratio, LEAST, 1.0)

    def words(self, kept: Floats) -> str:
        """What is said of it, first of all."""
        by = " to ".join(dict.fromkeys(f"{1 / end:.2f}" for end in (kept.max(), kept.min())))
        return (
            f"Noise of {self.number} moves units between its classes and draws coefficients towards 0: they are multiplied by {by} "
            f"for it, and standard errors include as much again. A model of log({self.number}) is not drawn so."
        )

    def in_truth(self, counts: Floats) -> Floats:
        """Of those in each level (a row) the share that is in each in truth."""
        points, bins = self._points()
        noise, every = self._noise(points), range(int(self.levels.max()) + 1)
        share = self._without_noise(counts, noise, bins)
        if share is None:
            return np.eye(len(every))
        moved, of_points = share[:, None] * noise, self.levels[bins]
        each = [[moved[np.ix_(of_points == true, self.levels == seen)].sum() for true in every] for seen in every]
        found = np.maximum(np.array(each), 1e-12)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def words_of_predictor(self, name: str, in_truth: Floats, *, put_right: bool) -> str:
        """What is said of a predictor, or of a variable to correlate, that has these classes."""
        shares = np.round(100 * np.diag(in_truth))
        by = " to ".join(dict.fromkeys(f"{end:.0f}" for end in (shares.min(), shares.max())))
        right = (
            f"Of the coefficients of {name} two thirds of that are put right, and standard errors include as much again"
        )
        return (
            f"Noise of {self.number} moves units between the classes of {name}: {by} % of those in a class are in it in truth. "
            "So what tells these classes apart is drawn towards 0, and other terms take up part of it. "
            f"{right if put_right else 'That is not put right'}; {self.number} itself and log({self.number}) are not drawn so."
        )

    def _points(self) -> tuple[Floats, Ints]:
        """Values in each bin, evenly, and their bins. What is below 1 is taken for 0, which has no noise."""
        ends = np.array([0.0, *self.cutpoints, self.cutpoints[-1] * OPEN_END])
        inside = (np.arange(POINTS) + 0.5) / POINTS
        each = [low + inside * (high - low) if high > 1 else np.zeros(1) for low, high in pairwise(ends)]
        return np.concatenate(each), np.repeat(np.arange(len(each)), [len(some) for some in each])

    def _noise(self, points: Floats) -> Floats:
        """The chance of every bin for each value."""
        with np.errstate(divide="ignore"):
            beyond = np.log(self.cutpoints) - np.log(points)[:, None]
        below = sum(share * factors_below(beyond, spread) for share, spread in self.spreads)
        return np.diff(np.column_stack([np.zeros(len(points)), below, np.ones(len(points))]), axis=1)

    def _without_noise(self, counts: Floats, noise: Floats, bins: Ints) -> Floats | None:
        """The share of each value; none where nobody is in any bin."""
        there = np.maximum(counts[: len(self.levels)], 0.0)
        if not there.sum() > 0:
            return None
        seen = there / there.sum()
        share: Floats = (seen / np.bincount(bins))[bins]
        for _ in range(STEPS):
            share = share * (noise @ (seen / np.maximum(share @ noise, 1e-12)))
            share = share / share.sum()
        return share

    def _by_level(self, share: Floats, noise: Floats, bins: Ints) -> tuple[Floats, Floats]:
        """The share of each level, without noise and with it."""
        by_bin = np.bincount(bins, share, minlength=len(self.levels)), share @ noise
        inside = self.levels >= 0
        true, seen = (np.asarray(np.bincount(self.levels[inside], each[inside]), np.float64) for each in by_bin)
        return true, seen


@dataclass(frozen=True)
class NoisyDurations(NoisyClasses):
    """The same of how long something lasted: `counts` are in two columns, of those it did not happen to and of those it did."""

    def kept(self, counts: Floats, *, ordered: bool = True) -> Floats:
        points, bins = self._points()
        noise, sizes = self._noise(points), np.maximum(counts, 0.0)[: len(self.levels)].sum(axis=0)
        lived, happened = (self._without_noise(own, noise, bins) for own in counts.T)
        if happened is None:
            return np.ones(1)
        ends = np.zeros(len(points)) if lived is None else lived * sizes[0], happened * sizes[1]
        up, down = ([self._by_level(own, noise, bins) for own in _hurried(*ends, by)] for by in (SHIFT, -SHIFT))
        there, left = (_hazard_slope(*(np.array([own[at] for own in each]) for each in (up, down))) for at in (0, 1))
        return np.array([min(max(left / there, LEAST), 1.0) if there > SHIFT**2 else 1.0])

    def words(self, kept: Floats) -> str:
        return (
            f"Noise of {self.number} moves units between its periods and draws coefficients towards 0: they are multiplied by "
            f"{1 / kept.min():.2f} for it, and standard errors include as much again. Hazards are those of the periods with noise."
        )


def _moved(share: Floats, by: float) -> Floats:
    """The distribution with all odds of being at or below a value multiplied."""
    below = np.clip(np.cumsum(share), 1e-12, 1 - 1e-12)
    return np.diff(np.append(expit(logit(below[:-1]) - by), 1.0), prepend=0.0)


def _hurried(lived: Floats, happened: Floats, by: float) -> tuple[Floats, Floats]:
    """Those it did not happen to and those it did at each value, in their order, with the odds of all hazards multiplied."""
    there = np.cumsum((lived + happened)[::-1])[::-1]
    hazard = expit(logit(np.clip(happened / np.maximum(there, 1e-12), 1e-12, 1 - 1e-12)) + by)
    leaves = lived / np.maximum(there - happened, 1e-12)
    stays = np.cumprod(np.append(there[0], (1 - hazard) * (1 - np.minimum(leaves, 1.0))))[:-1]
    return stays * (1 - hazard) * np.minimum(leaves, 1.0), stays * hazard


def _hazard_slope(up: Floats, down: Floats) -> float:
    """The slope of a model of durations between those hurried up and down: a step of Fisher's scoring."""
    there = np.array([np.cumsum(own.sum(axis=0)[::-1])[::-1] for own in (up, down)])
    hazard = (up[1] + down[1]) / np.maximum(there.sum(axis=0), 1e-12)
    score = (up[1] - down[1] - (there[0] - there[1]) * hazard).sum() / 2
    information = hazard * (1 - hazard) * there.prod(axis=0) / np.maximum(there.sum(axis=0), 1e-12)
    return float(score / max(information.sum(), 1e-12))


def _ordered_slope(at: Floats, up: Floats, down: Floats) -> Floats:
    """The slope of a model of ordered classes between those moved up and down: a step of Fisher's scoring."""
    below = np.cumsum(at)[:-1]
    moves = np.diff(-below * (1 - below), prepend=0.0, append=0.0)
    score = moves / np.maximum(at, 1e-12)
    return np.array([score @ (up - down) / (score @ moves)])


def _log_odds(at: Floats, up: Floats, down: Floats) -> Floats:
    up, down = (np.log(np.maximum(each, 1e-12)) for each in (up, down))
    return np.asarray((up - up[0] - down + down[0])[1:])


def noisy_classes(
    name: str,
    levels: Sequence[int],
    dataset: Dataset,
    noise: dict[str, float],
    rules: RecordRules,
    *,
    lasting: bool = False,
) -> NoisyClasses | None:
    """The bins behind a response by classes, or by periods of `lasting`, if these are of one number that carries noise."""
    made = dataset.variables[name].made
    if made is not None and len(made.sources) > 1:
        return None
    source = dataset.variables[made.sources[0]] if made else dataset.variables[name]
    number = next((v.name for v in dataset.variables.values() if v.name in noise and v.column == source.column), None)
    if number is None or not source.binned or min(source.cutpoints) <= 0:
        return None
    of_bins = np.array(levels, np.int64)[list(made.places)] if made else np.array(levels, np.int64)
    cutpoints = np.array(source.cutpoints, np.float64)
    of_bins = of_bins[: len(cutpoints) + 1]
    if len(np.unique(of_bins[of_bins >= 0])) < 2:  # whether a number is there at all has no noise
        return None
    usual, exposed = rules.noise**2, rules.noise_exposed**2
    mean = noise.get(f"log({number})", noise[number]) ** 2
    more = float(np.clip((mean - usual) / (exposed - usual), 0.0, 1.0)) if exposed > usual else 0.0
    spreads = ((1 - more, rules.noise), (more, rules.noise_exposed))
    kind = NoisyDurations if lasting else NoisyClasses
    return kind(source.name, number, cutpoints, of_bins, spreads)


@dataclass(frozen=True)
class Stretch:
    """The matrix on coefficients of the fit that puts right what noise left of their slopes: levels follow, so that shares stay."""

    matrix: Floats

    @classmethod
    def of(cls, kept: Floats, levels: int, gram: Floats) -> "Stretch":
        """`kept` is what noise left of each coefficient after the `levels`, which come first."""
        matrix = np.diag(np.concatenate([np.ones(levels), 1 / kept]))
        follow = np.linalg.lstsq(gram[:levels, :levels], gram[:levels, levels:], rcond=None)[0]
        matrix[:levels, levels:] = -follow * (1 / kept - 1)
        return cls(matrix)

    def inferred(self, inference: Inference, back: Floats, *, share: float = 1.0) -> Inference:
        """Estimates and errors as stretched, or by a share of it; these include as much again as estimates were moved by."""
        there = np.linalg.inv(back)
        told = share * back @ self.matrix @ there + (1 - share) * np.eye(len(there))
        estimates = told @ inference.estimates
        moved = estimates - inference.estimates
        covariance = told @ inference.covariance @ told.T + np.outer(moved, moved)
        tests = wald(there @ estimates, there @ covariance @ there.T, inference.widths)
        return replace(inference, estimates=estimates, covariance=covariance, tests=tests)


def apart(in_truth: Floats) -> Floats | None:
    """The matrix from coefficients of classes as published, against the first, to those of true ones, its first row the intercept's.

    The mean of a published class is that of those who are in it, by their true classes, if these are all that matters (Kuha and
    Skinner 1997). Who is in a wrong class is near its border, so that this overshoots; nothing where it would be wild.
    """
    if np.linalg.cond(in_truth) > MOST_MIXED:
        return None
    solved = np.linalg.inv(in_truth)[:, 1:]
    return np.vstack([solved[:1], solved[1:] - solved[:1]])
