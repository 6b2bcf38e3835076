"""Boxes of codes: one code of each of a few keys. What the attacks on membership ask about."""

from collections.abc import Sequence

from confide.attacks.choosing import codes, keys
from confide.attacks.claims import NotApplicable
from confide.attacks.intruder import Intruder, Where
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Box", "around", "box_keys", "exactly", "nobody"]

Box = tuple[int, ...]
"""The place of the code of each key."""


def box_keys(book: Dataset, policy: Policy, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """As many of the finest keys as may define a universe, and as it may have pieces, but no more than three.

    With four keys the site takes some ten times as long to refuse a question.
    """
    most = min(policy.universe.variables, policy.universe.pieces, 3)
    found = chosen or tuple(v.name for v in keys(book))[:most]
    if len(found) < 2:
        raise NotApplicable("It needs two keys that may define a universe.")
    return found


def exactly(book: Dataset, names: Sequence[str], box: Box) -> Where:
    """The universe of a box."""
    return {name: [codes(book, name)[place]] for name, place in zip(names, box, strict=True)}


def around(book: Dataset, names: Sequence[str], box: Box) -> Where:
    """The universe of all but a box: one piece for each key, of its other codes."""
    rest = [[code for at, code in enumerate(codes(book, name)) if at != p] for name, p in zip(names, box, strict=True)]
    return [{name: others} for name, others in zip(names, rest, strict=True)]


def nobody(intruder: Intruder, names: Sequence[str], number: int) -> list[Box]:
    """Boxes of codes drawn each for itself, which hold nobody as a rule where keys are fine."""
    sizes = [len(codes(intruder.book, name)) for name in names]
    return [tuple(int(p) for p in intruder.rng.integers(sizes)) for _ in range(number)]
