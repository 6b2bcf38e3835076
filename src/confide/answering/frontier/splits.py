"""Splits of the other variables into free and suppressed ones, and the measures of each."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from confide.answering.frontier import measures
from confide.answering.frontier.setting import Setting
from confide.answering.frontier.subsets import all_subsets, memberships
from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake

__all__ = ["RISKS", "UTILITIES", "Risk", "Splits", "Utility", "every_split", "these_splits", "weights"]


Risk = Literal["attained", "released", "predicted", "residual"]
Utility = Literal["rsq", "rsqwt", "volume"]
RISKS: tuple[Risk, ...] = ("attained", "released", "predicted", "residual")
UTILITIES: tuple[Utility, ...] = ("rsq", "rsqwt", "volume")


@dataclass(frozen=True)
class Splits:
    """One row per split: which variables are free, ρ, and the target's sum of squared residuals."""

    setting: Setting
    free: Bools
    released: Floats
    squares: Floats | None

    @cached_property
    def hidden(self) -> Ints:
        """How many columns are suppressed in each split."""
        sizes = [len(block) for block in self.setting.blocks]
        return np.asarray(sum(sizes) - self.free.astype(np.int16) @ np.array(sizes, dtype=np.int16), dtype=np.int64)

    def risk(self, kind: Risk) -> Floats:
        """Give one of the risk measures; the names are those of `RISKS`."""
        if kind == "attained":
            return measures.attained(self.released, self.hidden)
        if kind == "released":
            return self.released
        if kind == "predicted":
            return measures.r_pred(self.released, self.hidden)
        if kind == "residual":
            return self._residual()
        raise Mistake(f"No risk measure called {kind!r}. Choose from {', '.join(RISKS)}.")

    def utility(self, kind: Utility) -> Floats:
        """Give one of the utility measures; the names are those of `UTILITIES`."""
        if kind == "rsq":
            return self.released
        if kind == "rsqwt":
            return measures.u_rsqwt(self.released, self.free, weights(self.setting))
        if kind == "volume":
            return measures.volume(self.free).astype(np.float64)
        raise Mistake(f"No utility measure called {kind!r}. Choose from {', '.join(UTILITIES)}.")

    def _residual(self) -> Floats:
        if self.setting.target is None or self.squares is None:
            raise Mistake("Residual risk is the risk of chosen units. Give a target set.")
        return measures.r_res(self.squares, self.setting.target.units)


def weights(setting: Setting) -> Floats:
    """Give the worth of each of the other variables in R² points."""
    if setting.weights is None:
        return these_splits(setting, np.eye(len(setting.others), dtype=bool)).released
    return np.array([setting.weights.get(name, 0.0) for name in setting.others])


def every_split(setting: Setting) -> Splits:
    """Evaluate all 2^d splits, the two ends included.

    >>> every_split(Setting(np.eye(3), {"y": (0,), "a": (1,), "b": (2,)}, "y")).released
    array([0., 0., 0., 0.])
    """
    target = None if setting.target is None else setting.target.cross
    found = all_subsets(setting.cross, response=setting.response, blocks=setting.blocks, target=target)
    return Splits(setting, memberships(len(setting.others)), found.released, found.squares)


def these_splits(setting: Setting, free: Bools) -> Splits:
    """Evaluate the given splits, one per row, each by its own regression.

    >>> setting = Setting(np.array([[1, 0.6], [0.6, 1]]), {"y": (0,), "x": (1,)}, "y")
    >>> these_splits(setting, np.array([[True]])).released
    array([0.36])
    """
    numbers = np.array([_one(setting, row) for row in free]).reshape(-1, 2)
    return Splits(setting, free, numbers[:, 0], None if setting.target is None else numbers[:, 1])


def _one(setting: Setting, free: Bools) -> tuple[float, float]:
    columns = [column for block, taken in zip(setting.blocks, free, strict=True) if taken for column in block]
    across = setting.cross[columns, setting.response]
    slopes = np.linalg.solve(setting.cross[np.ix_(columns, columns)], across)
    released = float(slopes @ across / setting.cross[setting.response, setting.response])
    if setting.target is None:
        return released, np.nan
    contrast = np.array([1.0, *-slopes])
    places = [setting.response, *columns]
    return released, float(contrast @ setting.target.cross[np.ix_(places, places)] @ contrast)
