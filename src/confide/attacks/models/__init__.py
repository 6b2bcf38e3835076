"""Attacks by way of regressions, correlations and plots."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = (
    "artificial_outlier:ArtificialOutlier",
    "strategic_dummy:StrategicDummy",
    "dummy_correlations:DummyCorrelations",
    "dummy_ranks:DummyRanks",
    "known_vectors:KnownVectors",
    "influence:Influence",
    "saturated:Saturated",
    "residual_plots:ResidualPlots",
    "precision:Precision",
    "cross_products:CrossProducts",
    "boxes:BoxesInModels",
    "covariate_switch:CovariateSwitch",
    "logistic_counts:LogisticCounts",
    "several_counts:SeveralCounts",
    "plot_sizes:PlotSizes",
    "passing_numbers:PassingNumbers",
    "passing_numbers:ClassOfNumber",
    "sampling_unit_means:SamplingUnitMeans",
    "sampling_unit_classes:SamplingUnitClasses",
)
"""The attacks of this room, as module:class."""
