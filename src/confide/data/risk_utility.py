"""Maps of risk and utility: ways to release something, the frontier of those that no other beats, and the choice of one.

The ways may be methods of masking a file or answer spaces of a server. Reference: Duncan, Keller-McNulty and Stokes
(2001), R-U confidentiality maps; Gomatam et al. (2004), section 5.3, thresholds and slopes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.data.report import SCHEMA
from confide.errors import Mistake
from confide.formats.charts.colours import LINE
from confide.formats.charts.theme import Spec

__all__ = ["Goal", "RiskUtilityMap", "axes", "layer", "map_chart", "named"]


@dataclass(frozen=True)
class Goal:
    """What a choice is to reach: the most utility with at most a `threshold` of risk, or the highest benefit.

    The benefit is slope × utility - risk: the slope is the risk that one unit of utility is worth.
    """

    threshold: float | None = None
    slope: float | None = None

    def __post_init__(self) -> None:
        given = [number for number in (self.threshold, self.slope) if number is not None]
        if len(given) != 1 or not np.isfinite(given[0]):
            raise Mistake("Choose by a risk threshold or by a benefit slope. Give one of them, as a finite number.")
        if self.slope is not None and self.slope < 0:
            raise Mistake("A benefit slope says how much risk a unit of utility is worth. Give 0 or more.")

    def worth(self, risk: Floats, utility: Floats) -> Floats:
        """What each way is worth; minus infinity where its risk is too high."""
        if self.threshold is not None:
            return np.where(risk <= self.threshold, utility, -np.inf)
        return np.asarray((self.slope or 0.0) * utility - risk)


@dataclass(frozen=True, eq=False)
class RiskUtilityMap:
    """Ways by their risk and their utility, the more of which the better; a loss is a negative utility.

    >>> found = RiskUtilityMap(np.array([0.1, 0.5, 0.5]), np.array([1.0, 3.0, 2.0]))
    >>> found.frontier(), found.best(Goal(threshold=0.2))
    (array([0, 1]), 0)
    """

    risk: Floats
    utility: Floats

    def frontier(self) -> Ints:
        """Give the rows that no other row beats, by increasing risk: less risk at no less utility, or the reverse.

        Promise: every row left out, unless it could not be measured, has a row on the frontier with no more risk and no less utility.
        """
        order = np.lexsort((-self.utility, self.risk))
        order = order[~np.isnan(self.risk + self.utility)[order]]
        best = np.maximum.accumulate(self.utility[order])
        return np.asarray(order[np.append(True, best[1:] > best[:-1])[: len(order)]], dtype=np.int64)

    def unbeaten(self) -> Bools:
        """Say of every row whether no other beats it. Of rows that are equal all are, while one is on the frontier."""
        rows = self.frontier()
        best = set(zip(self.risk[rows].tolist(), self.utility[rows].tolist(), strict=True))
        return np.array([pair in best for pair in zip(self.risk.tolist(), self.utility.tolist(), strict=True)], bool)

    def best(self, goal: Goal) -> int:
        """Give the row that reaches a goal best; of several the one with the least risk."""
        worth = np.nan_to_num(goal.worth(self.risk, self.utility), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        if not len(worth) or np.max(worth) == -np.inf:
            raise Mistake(
                "No release has so little risk.", suggestions=["Allow more risk, or use another measure of it."]
            )
        rows = np.flatnonzero(worth == np.max(worth))
        return int(rows[np.argmin(self.risk[rows])])


def axes(utility: str, risk: str, *, field: str = "utility") -> Spec:
    """Utility, or a loss, to the right, and risk upwards, with these titles."""
    return {
        "x": {"field": field, "type": "quantitative", "title": utility},
        "y": {"field": "risk", "type": "quantitative", "title": risk},
    }


def layer(mark: Spec, values: Sequence[Mapping[str, Any]], encoding: Mapping[str, Any]) -> Spec:
    """One layer of a map."""
    return {"mark": mark, "data": {"values": list(values)}, "encoding": dict(encoding)}


def named(rows: Sequence[Mapping[str, Any]], sides: Spec, text: str) -> list[Spec]:
    """Layers of names beside their points, towards the middle, so that none runs out of the picture."""
    field, zero = sides["x"]["field"], sides["x"].get("scale", {}).get("zero", True)
    along = [row[field] for row in rows] or [0]
    middle = (max(along) + (0 if zero else min(along))) / 2
    return [
        layer(
            {"type": "text", "align": align, "dx": dx, "dy": -8, "fontSize": 10},
            [row for row in rows if (row[field] > middle) is right],
            {**sides, "text": {"field": text}},
        )
        for align, dx, right in (("left", 6, False), ("right", -6, True))
    ]


def map_chart(title: str, words: str, *, points: Spec, line: Sequence[Mapping[str, Any]], more: Sequence[Spec]) -> Spec:
    """A map in Vega-Lite: a layer of points, the frontier as a line through its points, and what is drawn over both."""
    sides = {side: points["encoding"][side] for side in ("x", "y")}
    frontier = layer({"type": "line", "color": LINE}, line, {**sides, "order": sides["y"]})
    shown = {"title": title, "description": words, "width": 480, "height": 320}
    return {"$schema": SCHEMA, **shown, "layer": [points, frontier, *more]}
