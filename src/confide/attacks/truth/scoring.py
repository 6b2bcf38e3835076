"""How right an intruder is: claims beside the truth, and beside what could have been guessed."""

from dataclasses import dataclass

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.claims import WITHIN, Claims, MemberTargets, SetTargets, UnitTargets, Wanted
from confide.attacks.truth.truth import Chosen, Truth

__all__ = ["ClaimScore", "score"]


@dataclass(frozen=True)
class ClaimScore:
    """Of so many targets: how many were claimed, how many of those rightly, and the shares right in the end and by guessing."""

    targets: int
    claimed: int
    right: int
    success: float
    guess: float


def score(claims: Claims, wanted: Wanted, chosen: Chosen | None, truth: Truth) -> ClaimScore:
    """The score of some claims; where none is made, the intruder falls back on the best guess."""
    if isinstance(wanted, SetTargets):
        true, guesses = truth.facts(claims), claims.guesses
        guessed = _right(guesses, true, claims.within) if guesses is not None else np.zeros(len(true), bool)
        right = _right(claims.values, true, claims.within)
    elif isinstance(wanted, MemberTargets):
        assert chosen is not None
        right, guessed = claims.values == chosen.truth, np.arange(chosen.known.size) % 2 == 0
    else:
        assert chosen is not None
        within = WITHIN if wanted.number else 0.0
        right, guessed = _right(claims.values, chosen.truth, within), _guessed(wanted, chosen, within)
    made = claims.made
    size = max(len(made), 1)
    success = float(np.where(made, right, guessed).sum()) / size
    return ClaimScore(len(made), int(made.sum()), int((right & made).sum()), success, float(guessed.sum()) / size)


def _guessed(wanted: UnitTargets, chosen: Chosen, within: float) -> Bools:
    return _right(np.full(chosen.known.size, chosen.guess), chosen.truth, within)


def _right(values: Floats, true: Floats, within: float) -> Bools:
    # Sums of decimals differ in their last bits, so exact means to nine digits.
    return np.asarray(np.abs(values - true) <= within * np.abs(true) + 1e-9 * np.abs(true))
