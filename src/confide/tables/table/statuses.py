"""The words that people and programs have for what is to happen to a cell."""

from confide.errors import Mistake, nearest
from confide.tables.table.table import Status

__all__ = ["STATUSES", "read_status"]

STATUSES = [status.name.lower() for status in Status]
"""Our own words, by the number of the status."""

_WORDS = {
    **dict(zip(STATUSES, Status, strict=True)),
    # The letters of τ-ARGUS and of JJ files; sdcTable has them too, and x.
    "s": Status.SAFE,
    "u": Status.PRIMARY,
    "m": Status.SECONDARY,
    "x": Status.SECONDARY,
    "p": Status.PUBLISHED,
    "z": Status.PUBLISHED,
    "e": Status.EMPTY,
    # What we write beside a suppressed cell: which are primary is for rules to say.
    "c": Status.SECONDARY,
    # The letters of rtauargus: too few contributors, dominated, secondary, valid.
    "a": Status.PRIMARY,
    "b": Status.PRIMARY,
    "d": Status.SECONDARY,
    "v": Status.SAFE,
    # The numbers in the output files of τ-ARGUS.
    **dict.fromkeys(("1", "2"), Status.SAFE),
    **dict.fromkeys(map(str, range(3, 10)), Status.PRIMARY),
    "10": Status.PUBLISHED,
    **dict.fromkeys(("11", "12"), Status.SECONDARY),
    **dict.fromkeys(("13", "14"), Status.EMPTY),
    # Whether a cell is primary.
    "true": Status.PRIMARY,
    "false": Status.SAFE,
}


def read_status(word: str) -> Status:
    """A status from our word for it, a letter or number of τ-ARGUS, or yes or no for primary.

    >>> [read_status(word).name for word in ("safe", "U", "11", "True")]
    ['SAFE', 'PRIMARY', 'SECONDARY', 'PRIMARY']
    """
    status = _WORDS.get(word.strip().lower())
    if status is None:
        raise Mistake(
            f"There is no status {word[:60]!r}.", suggestions=nearest(word, STATUSES) or [f"{', '.join(STATUSES)}."]
        )
    return status
