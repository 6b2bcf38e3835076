"""Attacks by way of regressions, correlations and plots."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = (
    "boxes:Boxes",
    "cross_products:CrossProducts",
    "dummy_correlations:DummyCorrelations",
    "covariate_switch:CovariateSwitch",
    "logistic_counts:LogisticCounts",
    "plot_sizes:PlotSizes",
    "precision:Precision",
    "saturated:Saturated",
)
"""The attacks of this room, as module:class."""
