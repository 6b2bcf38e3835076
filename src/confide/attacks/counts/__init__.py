"""Attacks on counts: trackers, differences, averages, changed cells."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = (
    "secret_in_universe:SecretInUniverse",
    "differencing:Differencing",
    "padding:Padding",
    "noise_in_signal:NoiseInSignal",
    "repeating:Repeating",
    "partitions:Partitions",
    "bounds:Bounds",
    "tracker:Tracker",
    "exact_means:ExactMeans",
    "refusal_oracle:RefusalOracle",
    "rounding_edges:RoundingEdges",
    "moving_cutpoints:MovingCutpoints",
    "slivers:Slivers",
    "zeros:Zeros",
    "missing_levels:MissingLevels",
    "unit_inflation:UnitInflation",
    "syntactic_variants:SyntacticVariants",
)
"""The attacks of this room, as module:class."""
