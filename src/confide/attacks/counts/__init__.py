"""Attacks on counts: trackers, differences, averages, changed cells."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = (
    "base_left_behind:BaseLeftBehind",
    "bounds:Bounds",
    "changed_cells:ChangedCells",
    "differencing:Differencing",
    "exact_means:ExactMeans",
    "missing_levels:MissingLevels",
    "moving_cutpoints:MovingCutpoints",
    "noise_in_signal:NoiseInSignal",
    "padding:Padding",
    "partitions:Partitions",
    "random_universes:RandomUniverses",
    "refusal_oracle:RefusalOracle",
    "repeating:Repeating",
    "rounding_edges:RoundingEdges",
    "secret_in_universe:SecretInUniverse",
    "slivers:Slivers",
    "syntactic_variants:SyntacticVariants",
    "tracker:Tracker",
    "unit_inflation:UnitInflation",
    "words_for_a_set:WordsForASet",
    "zeros:Zeros",
)
"""The attacks of this room, as module:class."""
