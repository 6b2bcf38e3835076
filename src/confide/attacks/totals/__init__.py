"""Attacks on totals and means: contributions of single units, and totals that were withheld."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = (
    "without_largest:WithoutLargest",
    "rival:Rival",
    "mean_and_count:MeanAndCount",
    "mean_and_deviation:MeanAndDeviation",
    "sampling_unit_totals:SamplingUnitTotals",
    "subset_totals:SubsetTotals",
    "withheld_totals:WithheldTotals",
)
"""The attacks of this room, as module:class."""
