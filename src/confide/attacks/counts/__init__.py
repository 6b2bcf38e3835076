"""Attacks on counts: trackers, differences, averages, changed cells."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = (
    "universes.base_left_behind:BaseLeftBehind",
    "both_levels:BothLevels",
    "bounds:MarginBounds",
    "universes.changed_cells:ChangedCells",
    "pairs.differencing:Differencing",
    "exact_means:ExactMeans",
    "missing_levels:MissingLevels",
    "moving_cutpoints:MovingCutpoints",
    "moving_quantiles:MovingQuantiles",
    "pairs.noise_in_signal:NoiseInSignal",
    "universes.own_groups:OwnGroups",
    "pairs.padding:Padding",
    "partitions:Partitions",
    "universes.passing_cross:PassingCross",
    "universes.random_universes:RandomUniverses",
    "refusal_oracle:RefusalOracle",
    "repeating:Repeating",
    "rounding_edges:RoundingEdges",
    "quantile_errors:QuantileErrorCounts",
    "sampling_errors:SamplingErrors",
    "sampling_units:SamplingUnitCounts",
    "universes.secret_in_universe:SecretInUniverse",
    "slivers:Slivers",
    "syntactic_variants:SyntacticVariants",
    "tracker:Tracker",
    "unit_inflation:UnitInflation",
    "universes.words_for_a_set:WordsForASet",
    "zeros:Zeros",
)
"""The attacks of this room, as module:class."""
