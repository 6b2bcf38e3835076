"""Attacks by way of regressions, correlations and plots."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = (
    "artificial_outlier:ArtificialOutlier",
    "strategic_dummy:StrategicDummy",
    "dummy_correlations:DummyCorrelations",
    "known_vectors:KnownVectors",
    "influence:Influence",
    "saturated:Saturated",
    "residual_plots:ResidualPlots",
    "precision:Precision",
    "cross_products:CrossProducts",
    "boxes:BoxesInModels",
    "covariate_switch:CovariateSwitch",
    "logistic_counts:LogisticCounts",
    "plot_sizes:PlotSizes",
    "passing_numbers:PassingNumbers",
    "passing_numbers:ClassOfNumber",
)
"""The attacks of this room, as module:class."""
