"""Estimates from several versions of a file made one, with a variance that counts the drawing in."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from confide.arrays import Floats
from confide.errors import Mistake, nearest

__all__ = ["Combined", "combine"]

RULES = ("partial", "full", "missing")


@dataclass(frozen=True)
class Combined:
    """An estimate, its variance, and the degrees of freedom of its t distribution; arrays, if several were combined."""

    estimate: Floats
    variance: Floats
    freedom: Floats

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Between which values the true one lies, at this level of confidence."""
        if not 0 < level < 1:
            raise Mistake(f"The level of an interval is between 0 and 1, not {level!r}.")
        half = student.ppf((1 + level) / 2, self.freedom) * np.sqrt(self.variance)
        return self.estimate - half, self.estimate + half


def combine(estimates: ArrayLike, variances: ArrayLike, *, rule: str = "partial") -> Combined:
    """Combining rules for m versions of a file (Rubin 1987; Reiter 2003): one estimate and its variance from those of each.

    Both have one entry for each version; several quantities stand in columns. With q the mean of the estimates, b their
    variance between versions and v the mean of the variances, the variance of q is

    - partial: v + b / m (Reiter 2003), for files in which some columns are synthetic;
    - full: (1 + 1/m) b - v (Raghunathan, Reiter and Rubin 2003), for files that are synthetic throughout; if that is
      not positive, v (Reiter 2002), with m - 1 degrees of freedom;
    - missing: v + (1 + 1/m) b (Rubin 1987), for files in which missing values were drawn.

    >>> found = combine([10.0, 12.0, 11.0], [4.0, 4.0, 4.0])
    >>> float(found.estimate), round(float(found.variance), 4)
    (11.0, 4.3333)
    """
    q, v = (np.asarray(one, np.float64) for one in (estimates, variances))
    if rule not in RULES:
        raise Mistake(f"The rule is one of {', '.join(RULES)}, not {rule!r}.", suggestions=nearest(str(rule), RULES))
    if q.shape != v.shape or q.ndim not in (1, 2):
        raise Mistake("Give one estimate and one variance for each version: lists of the same shape.")
    if len(q) < 2:
        raise Mistake("One version does not show how much drawing matters.", suggestions=["Draw two versions or more."])
    if not (np.isfinite(q).all() and np.isfinite(v).all() and (v >= 0).all()):
        raise Mistake("Estimates must be known, and variances too and not negative.")
    m, b, v = len(q), q.var(axis=0, ddof=1), v.mean(axis=0)
    between = {"partial": b / m, "full": (1 + 1 / m) * b, "missing": (1 + 1 / m) * b}[rule]
    sign = -1.0 if rule == "full" else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(between > 0, (m - 1) * (1 + sign * v / between) ** 2, np.inf)
    total = between + sign * v
    lacking = total <= 0 if rule == "full" else np.zeros_like(total, bool)
    return Combined(q.mean(axis=0), np.where(lacking, v, total), np.where(lacking, m - 1.0, freedom))
