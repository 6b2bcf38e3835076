"""R7: residual and fitted value make the response."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import number_secret
from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.intruder import Intruder
from confide.attacks.models.reading import fit_of, quoted
from confide.attacks.models.sizes import bin_middles
from confide.attacks.models.targets import class_and_bins, held
from confide.attacks.passing import candidates, within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.model_release import PLOT
from confide.model.policy import Policy

__all__ = ["ResidualPlots"]

BACK: dict[str, Callable[[float], float]] = {"log": np.exp, "sqrt": lambda value: max(value, 0.0) ** 2, "": float}
"""From what was done to a response back to it."""


@dataclass(frozen=True)
class ResidualPlots:
    """Read the number of people who are alone of their class in a bin, off plots of residuals along that number.

    Over the universe of the target's class, points whose x lies in the target's bin come from the target. The value
    is the fit there and the residual times sigma. The response enters as it is, as its root and as its logarithm, whose
    noise is drawn apart.

    Tried: (1) one response. (2) The middle of three responses, whose noise is drawn apart: kept. (3) Every point in the
    target's bin, not the nearest: kept. Against synthetic plots none helps: where few people are, no point is drawn.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "residual-plots"
    code: ClassVar = "R7"
    words: ClassVar = "the residual in a plot and the fitted value of the target"
    knows: ClassVar = "a class of the target and a bin of a number, and that nobody else has both"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        chosen = self.keys or class_and_bins(book)
        wanted = UnitTargets(chosen, number_secret(book, self.secret), number=True)
        among = (candidates(book, lambda v: not v.binned), chosen[1:])
        return within_rules(wanted, book, policy, given=self.keys, among=among)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        found = np.full((len(BACK), intruder.known.size), np.nan)
        for row, transform in enumerate(BACK):
            for target in range(intruder.known.size):
                found[row, target] = _plotted(intruder, target, wanted, transform)
            yield Claims.of(_middle(found[: row + 1]))


def _middle(found: Floats) -> Floats:
    """The median of what there is, NaN where there is nothing."""
    there = np.isfinite(found).any(axis=0)
    middle = np.full(found.shape[1], np.nan)
    middle[there] = np.nanmedian(found[:, there], axis=0)
    return middle


def _plotted(intruder: Intruder, target: int, wanted: UnitTargets, transform: str) -> float:
    """The target's value as a plot gives it, NaN where no point lies in its bin."""
    classes, x = wanted.keys
    response = f"{transform}({quoted(wanted.secret)})" if transform else quoted(wanted.secret)
    formula, where = f"{response} ~ {quoted(x)}", held(intruder, target, classes)
    release = intruder.regression(formula, where=where, diagnostics=True)
    fit = fit_of(release)
    if release is None or fit is None or f"{PLOT}{x}" not in release.grids:
        return np.nan
    points = np.array(release.grids[f"{PLOT}{x}"].rows, np.float64).reshape(-1, 2)
    middles, own = bin_middles(intruder, x), int(intruder.known.places[x][target])
    away = np.abs(points[:, 0] - middles[own])
    near = away <= np.diff(middles).mean() / 2
    if not near.any():
        return np.nan
    residual = float(np.median(points[near, 1])) * fit.statistics["sigma"]
    return float(BACK[transform](fit.intercept + fit.estimates[x] * middles[own] + residual))
