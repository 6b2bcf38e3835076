"""The risk-utility map of all releases of a sensitive variable, its frontier, and the choice of one release.

A release frees some of the other variables and suppresses the rest: a regression is answered unless it holds the
sensitive and a suppressed variable together. Reference: Gomatam et al. (2004), sections 5.2 and 5.3.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from confide.answering.frontier.greedy import Ceiling, ceiling, walk
from confide.answering.frontier.setting import Setting
from confide.answering.frontier.splits import Risk, Splits, Utility, every_split
from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake

__all__ = ["EXHAUSTIVE", "Release", "RiskUtilityMap", "evaluate"]


EXHAUSTIVE = 20


@dataclass(frozen=True)
class Release:
    """An answer space: the variables that may and may not meet the sensitive one.

    `released` is the R² of the sensitive variable on the free ones, which anybody can compute from the answers. `gap`
    is the most by which a release that was not tried could be better, in utility or, by slope, in benefit.
    """

    sensitive: str
    free: tuple[str, ...]
    suppressed: tuple[str, ...]
    risk: float
    utility: float
    released: float
    gap: float

    def answers(self, variables: Iterable[str]) -> bool:
        """Say whether a regression of these variables, in whatever role, is in the answer space.

        The paper's section 5.2 bars suppressed variables only as predictors of the sensitive one and the reverse;
        both as predictors of a third variable give the cross-product away, as its section 4.2 says.

        >>> Release("income", ("age",), ("rent",), 0.1, 0.1, 0.1, 0.0).answers(["age", "income", "rent"])
        False
        """
        asked = set(variables)
        return self.sensitive not in asked or asked.isdisjoint(self.suppressed)


@dataclass(frozen=True)
class RiskUtilityMap:
    """One row per release: which variables are free, ρ, the risk, the utility. `volume` colours the paper's figures.

    `ceiling` is None where every release was tried.
    """

    sensitive: str
    others: tuple[str, ...]
    free: Bools
    released: Floats
    risk: Floats
    utility: Floats
    ceiling: Ceiling | None = None

    @property
    def volume(self) -> Ints:
        """How many variables each release frees."""
        return np.asarray(self.free.sum(axis=1), dtype=np.int64)

    def proper(self) -> "RiskUtilityMap":
        """Leave out the two ends, nothing free and everything free, as the paper's figures do."""
        keep = (self.volume > 0) & (self.volume < len(self.others))
        rows = {name: getattr(self, name)[keep] for name in ("free", "released", "risk", "utility")}
        return replace(self, **rows)

    def frontier(self) -> Ints:
        """Give the rows that no other row beats, by increasing risk: less risk at no less utility, or the reverse.

        Promise: every row left out has a row on the frontier with no more risk and no less utility.
        """
        order = np.lexsort((-self.utility, self.risk))
        best = np.maximum.accumulate(self.utility[order])
        return np.asarray(order[np.append(True, best[1:] > best[:-1])[: len(order)]], dtype=np.int64)

    def choose(self, *, threshold: float | None = None, slope: float | None = None) -> Release:
        """Choose the most useful release with at most so much risk, or the one with the highest benefit.

        The benefit is slope × utility - risk: the slope is the risk that one unit of utility is worth.

        >>> cross = np.array([[1, 0.6, 0.3], [0.6, 1, 0], [0.3, 0, 1]])
        >>> found = evaluate(Setting(cross, {"y": (0,), "a": (1,), "b": (2,)}, "y"), risk="released", utility="volume")
        >>> found.choose(threshold=0.1).free, found.choose(slope=0.4).free
        (('b',), ('a', 'b'))
        """
        goal = _Goal(threshold, slope)
        worth = goal.worth(self.risk, self.utility)
        if not len(worth) or np.max(worth) == -np.inf:
            raise Mistake(
                "No release has so little risk.", suggestions=["Allow more risk, or use another measure of it."]
            )
        best = np.flatnonzero(worth == np.max(worth))
        row = int(best[np.argmin(self.risk[best])])
        return self._release(row, 0.0 if self.ceiling is None else goal.gap(float(worth[row]), self.ceiling))

    def _release(self, row: int, gap: float) -> Release:
        named = list(zip(self.others, self.free[row], strict=True))
        free, suppressed = (tuple(name for name, is_free in named if is_free == side) for side in (True, False))
        risk, utility, released = (float(column[row]) for column in (self.risk, self.utility, self.released))
        return Release(self.sensitive, free, suppressed, risk, utility, released, gap)


@dataclass(frozen=True)
class _Goal:
    threshold: float | None
    slope: float | None

    def __post_init__(self) -> None:
        given = [number for number in (self.threshold, self.slope) if number is not None]
        if len(given) != 1 or not np.isfinite(given[0]):
            raise Mistake("Choose by a risk threshold or by a benefit slope. Give one of them, as a finite number.")
        if self.slope is not None and self.slope < 0:
            raise Mistake("A benefit slope says how much risk a unit of utility is worth. Give 0 or more.")

    def worth(self, risk: Floats, utility: Floats) -> Floats:
        if self.threshold is not None:
            return np.where(risk <= self.threshold, utility, -np.inf)
        return np.asarray((self.slope or 0.0) * utility - risk)

    def gap(self, worth: float, top: Ceiling) -> float:
        return max(0.0, float(np.max(self.worth(top.risk, top.utility))) - worth)


def evaluate(setting: Setting, *, risk: Risk = "attained", utility: Utility = "rsq") -> RiskUtilityMap:
    """Draw up the map: every release of up to 20 other variables, greedy paths and a ceiling beyond.

    >>> cross = np.array([[1, 0.6, 0.3], [0.6, 1, 0], [0.3, 0, 1]])
    >>> found = evaluate(Setting(cross, {"y": (0,), "a": (1,), "b": (2,)}, "y"))
    >>> found.risk.round(3).tolist()
    [-0.5, 0.147, -0.213, 0.45]
    """
    if len(setting.others) <= EXHAUSTIVE:
        return _map(every_split(setting), risk, utility)
    return _greedy(setting, risk, utility)


def _greedy(setting: Setting, risk: Risk, utility: Utility) -> RiskUtilityMap:
    found = _map(walk(setting, risk=risk, utility=utility), risk, utility)
    return replace(found, ceiling=ceiling(setting, risk=risk, utility=utility))


def _map(splits: Splits, risk: Risk, utility: Utility) -> RiskUtilityMap:
    setting = splits.setting
    measured = splits.risk(risk), splits.utility(utility)
    return RiskUtilityMap(setting.sensitive, setting.others, splits.free, splits.released, *measured)
