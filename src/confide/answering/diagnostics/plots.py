"""What a diagnostic plot shows. Nothing in here is the residual, the outcome or (unless many share it) the predictor of a unit."""

from dataclasses import dataclass

from confide.arrays import Bools, Floats

__all__ = ["LIMIT", "CategoricalPlot", "GroupedPlot", "NumericPlot"]


LIMIT = 4.0
"""No residual further out than this is drawn (Lucero et al. 2011), or moves any curve."""


@dataclass(frozen=True)
class NumericPlot:
    """Synthetic points (x, t) ordered by x, and the smooth course of t. Without points if the units are too few."""

    x: Floats
    t: Floats
    smooth_x: Floats
    smooth_t: Floats
    noise_sd: float


@dataclass(frozen=True)
class CategoricalPlot:
    """One box a class: the 5, 25, 50, 75 and 95 percent points of synthetic residuals, NaN where suppressed."""

    classes: tuple[str, ...]
    low: Floats
    quarter: Floats
    median: Floats
    three_quarters: Floats
    high: Floats
    suppressed: Bools
    noise_sd: float


@dataclass(frozen=True)
class GroupedPlot:
    """Groups of units along x: their mean residual, and how far from zero it would be by chance (two standard errors)."""

    x: Floats
    residual: Floats
    bound: Floats
    chance: float
