"""Attacks on counts: trackers, differences, averages, changed cells."""

__all__ = ["ATTACKS"]

ATTACKS: tuple[str, ...] = (
    "base_left_behind:BaseLeftBehind",
    "changed_cells:ChangedCells",
    "random_universes:RandomUniverses",
    "secret_in_universe:SecretInUniverse",
    "words_for_a_set:WordsForASet",
)
"""The attacks of this room, as module:class."""
