"""Targets by their keys: the codes that a universe names them by, and keys to know them by."""

from confide.attacks.choosing import codes, keys, size
from confide.attacks.claims import NotApplicable
from confide.attacks.intruder import Intruder
from confide.model.catalog.dataset import Dataset

__all__ = ["class_and_bins", "code_of", "held", "other_codes"]


def code_of(intruder: Intruder, target: int, key: str) -> str:
    """The code of a target."""
    return codes(intruder.book, key)[int(intruder.known.places[key][target])]


def held(intruder: Intruder, target: int, *names: str) -> dict[str, tuple[str, ...]]:
    """A piece of a universe in which these keys are the target's."""
    return {key: (code_of(intruder, target, key),) for key in names}


def other_codes(intruder: Intruder, target: int, key: str) -> tuple[str, ...]:
    """All codes of a key but the target's."""
    return tuple(code for code in codes(intruder.book, key) if code != code_of(intruder, target, key))


def class_and_bins(book: Dataset) -> tuple[str, str]:
    """A key with many classes, not the one with most, which is often geography; and a number in bins."""
    numbers = [v.name for v in keys(book) if v.binned and v.measurable and size(v) > 3]
    classes = [v.name for v in keys(book) if not v.binned and size(v) > 2]
    if not (numbers and classes):
        raise NotApplicable("It needs a key with classes, and a key that is a number in bins.")
    return classes[min(1, len(classes) - 1)], numbers[0]
