"""What an intruder claims to know, and of whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints
from confide.model.request import Measure
from confide.model.universe import EVERYONE, Universe

__all__ = [
    "WITHIN",
    "Claims",
    "Known",
    "MemberTargets",
    "NotApplicable",
    "SetFact",
    "SetTargets",
    "UnitTargets",
    "Wanted",
]

WITHIN = 0.1
"""A number is disclosed by a claim that is off by no more than this share of it."""


class NotApplicable(Exception):
    """The data set or the policy has nothing that this attack could be tried on; says what is missing."""


@dataclass(frozen=True)
class UnitTargets:
    """Targets are units of whom the intruder knows the keys; a confidential variable of theirs is wanted.

    A target is alone in its cell of the cross of the keys (a public register tells the intruder so). With `number` the
    wanted thing is the sum of the variable over its records in that cell, weighted as totals are if `weighted`; else its
    class. `largest` takes the targets with the largest numbers, not a random sample. Targets lie in `where`. Where few are
    alone on the keys, those in `more` are known too, one after the other, until enough are: `Known.places` has those in use.
    With `rival` a target is the largest contributor to its cell instead of alone in it, and the intruder is the second largest.
    With `among`, candidates for the place of each key ("" for none), the keys are those on which most are alone, of all whose
    cells have `room` units on average: a question about them is answered.
    """

    keys: tuple[str, ...]
    secret: str
    number: bool = False
    weighted: bool = False
    largest: bool = False
    alone: bool = True
    where: Universe = EVERYONE
    more: tuple[str, ...] = ()
    rival: bool = False
    among: tuple[tuple[str, ...], ...] = ()
    room: float = 0.0

    def met(self, known: "Known") -> "UnitTargets":
        """The same with the keys in use."""
        return replace(self, keys=tuple(known.places))


@dataclass(frozen=True)
class MemberTargets:
    """Targets are units of whom everything in `keys` is known; whether they are in the data is wanted. Half of them are.

    With `alone` nobody else has their keys, and a public register tells the intruder so.
    """

    keys: tuple[str, ...]
    alone: bool = False


@dataclass(frozen=True)
class SetTargets:
    """The attack itself says which sets it learns something of: its claims carry the facts."""


Wanted = UnitTargets | MemberTargets | SetTargets


@dataclass(frozen=True, eq=False)
class Known:
    """What the intruder knows beforehand: for each target the place of its code in each key variable."""

    size: int
    places: Mapping[str, Ints] = field(default_factory=dict)
    own: Floats | None = None
    """What the intruder contributes to the cell of each target, where they are its rival."""


NOBODY = Known(0)


@dataclass(frozen=True)
class SetFact:
    """Something true of a set of units: how many records they have, or the total or mean of a variable.

    With `least` it is 1 if there are at least so many units, and 0 if not.
    """

    where: Universe
    measure: Measure = Measure.COUNT
    of: str | None = None
    least: int | None = None


@dataclass(frozen=True, eq=False)
class Claims:
    """One value a target, in the order of the targets or of `facts`; only those that are `made` are claimed.

    A class is claimed by the place of its code, membership by 1 or 0. A number is right if it is off by at most the share
    `within` of the truth; with 0 only the exact value is. `guesses` are what an honest reader would have taken for the
    facts, where there are facts.
    """

    values: Floats
    made: Bools
    facts: tuple[SetFact, ...] = ()
    guesses: Floats | None = None
    within: float = 0.0

    @classmethod
    def of(cls, values: NDArray[Any], **more: Any) -> "Claims":
        """Claims of all values that are finite."""
        found = np.asarray(values, np.float64)
        return cls(found, np.isfinite(found), **more)

    @classmethod
    def joined(cls, claims: "Sequence[Claims]") -> "Claims":
        """Claims of different facts as one; they are right within the same."""
        facts = tuple(fact for claim in claims for fact in claim.facts)
        guesses = np.concatenate([claim.guesses for claim in claims if claim.guesses is not None])
        return cls.of(np.concatenate([c.values for c in claims]), facts=facts, guesses=guesses, within=claims[0].within)
