"""The risk-utility map of all releases of a sensitive variable, its frontier, and the choice of one release.

A release frees some of the other variables and suppresses the rest: a regression is answered unless it holds the
sensitive and a suppressed variable together. Reference: Gomatam et al. (2004), sections 5.2 and 5.3.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from confide.answering.frontier.greedy import UtilityCeiling, ceiling, walk
from confide.answering.frontier.setting import Setting
from confide.answering.frontier.splits import Risk, Splits, Utility, every_split
from confide.arrays import Bools, Floats, Ints
from confide.data.risk_utility import Goal, RiskUtilityMap

__all__ = ["EXHAUSTIVE", "ReleaseChoice", "ReleaseMap", "evaluate"]


EXHAUSTIVE = 20


@dataclass(frozen=True)
class ReleaseChoice:
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

        >>> ReleaseChoice("income", ("age",), ("rent",), 0.1, 0.1, 0.1, 0.0).answers(["age", "income", "rent"])
        False
        """
        asked = set(variables)
        return self.sensitive not in asked or asked.isdisjoint(self.suppressed)


@dataclass(frozen=True, eq=False)
class ReleaseMap(RiskUtilityMap):
    """One row per release: which variables are free, ρ, the risk, the utility. `volume` colours the paper's figures.

    `ceiling` is None where every release was tried.
    """

    sensitive: str
    others: tuple[str, ...]
    free: Bools
    released: Floats
    ceiling: UtilityCeiling | None = None

    @property
    def volume(self) -> Ints:
        """How many variables each release frees."""
        return np.asarray(self.free.sum(axis=1), dtype=np.int64)

    def proper(self) -> "ReleaseMap":
        """Leave out the two ends, nothing free and everything free, as the paper's figures do."""
        keep = (self.volume > 0) & (self.volume < len(self.others))
        rows = {name: getattr(self, name)[keep] for name in ("free", "released", "risk", "utility")}
        return replace(self, **rows)

    def choose(self, *, threshold: float | None = None, slope: float | None = None) -> ReleaseChoice:
        """Choose the most useful release with at most so much risk, or the one with the highest benefit.

        >>> cross = np.array([[1, 0.6, 0.3], [0.6, 1, 0], [0.3, 0, 1]])
        >>> found = evaluate(Setting(cross, {"y": (0,), "a": (1,), "b": (2,)}, "y"), risk="released", utility="volume")
        >>> found.choose(threshold=0.1).free, found.choose(slope=0.4).free
        (('b',), ('a', 'b'))
        """
        goal = Goal(threshold, slope)
        row = self.best(goal)
        return self._release(row, 0.0 if self.ceiling is None else self._gap(goal, row, self.ceiling))

    def _gap(self, goal: Goal, row: int, top: UtilityCeiling) -> float:
        worth = goal.worth(self.risk, self.utility)[row]
        return max(0.0, float(np.max(goal.worth(top.risk, top.utility)) - worth))

    def _release(self, row: int, gap: float) -> ReleaseChoice:
        named = list(zip(self.others, self.free[row], strict=True))
        free, suppressed = (tuple(name for name, is_free in named if is_free == side) for side in (True, False))
        risk, utility, released = (float(column[row]) for column in (self.risk, self.utility, self.released))
        return ReleaseChoice(self.sensitive, free, suppressed, risk, utility, released, gap)


def evaluate(setting: Setting, *, risk: Risk = "attained", utility: Utility = "rsq") -> ReleaseMap:
    """Draw up the map: every release of up to 20 other variables, greedy paths and a ceiling beyond.

    >>> cross = np.array([[1, 0.6, 0.3], [0.6, 1, 0], [0.3, 0, 1]])
    >>> found = evaluate(Setting(cross, {"y": (0,), "a": (1,), "b": (2,)}, "y"))
    >>> found.risk.round(3).tolist()
    [-0.5, 0.147, -0.213, 0.45]
    """
    if len(setting.others) <= EXHAUSTIVE:
        return _map(every_split(setting), risk, utility)
    return _greedy(setting, risk, utility)


def _greedy(setting: Setting, risk: Risk, utility: Utility) -> ReleaseMap:
    found = _map(walk(setting, risk=risk, utility=utility), risk, utility)
    return replace(found, ceiling=ceiling(setting, risk=risk, utility=utility))


def _map(splits: Splits, risk: Risk, utility: Utility) -> ReleaseMap:
    setting = splits.setting
    measured = splits.risk(risk), splits.utility(utility)
    return ReleaseMap(*measured, setting.sensitive, setting.others, splits.free, splits.released)
