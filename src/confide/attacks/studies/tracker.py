"""T1, the general tracker: limits on the size of a set protect nothing (Denning, Denning and Schwartz 1979)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Ints
from confide.attacks.studies.study import StudyResult, figures

__all__ = ["GeneralTracker"]

LEVELS = (2, 9, 12, 8, 6, 5)
"""Classes of the variables that the intruder knows: enough for most people to be alone."""
SECRETS = 5

Count = Callable[[Bools], int | None]


@dataclass(frozen=True)
class GeneralTracker:
    """Exact counts, refused for sets of fewer than `least` of the people or of more than all but so many.

    The target C is alone on what the intruder knows, so C is refused. With a tracker T, about half of the people,
    q(C or T) + q(C or not T) - q(T) - q(not T) = q(C), and all four are answered.
    """

    title: ClassVar[str] = "General tracker"
    source: ClassVar[str] = "Denning, Denning and Schwartz 1979"

    people: int = 3_000
    targets: int = 500
    least: float = 0.1
    seed: int = 1

    def run(self) -> StudyResult:
        """How many of the secrets are answered directly, and how many by way of the tracker."""
        rng = np.random.default_rng(self.seed)
        keys = np.stack([rng.integers(0, levels, self.people) for levels in LEVELS], axis=1)
        secret = rng.integers(0, SECRETS, self.people)
        targets = rng.choice(_alone(keys), self.targets, replace=False)
        count = partial(_limited, least=self.least * self.people)
        half = keys[:, 0] == 0
        direct = right = 0
        for target in targets:
            one = (keys == keys[target]).all(axis=1)
            direct += count(one) is not None
            told = [_tracked(count, one & (secret == code), half) for code in range(SECRETS)]
            right += told == [int(code == secret[target]) for code in range(SECRETS)]
        return StudyResult(
            self.title,
            figures(
                f"secrets of {self.targets} people read",
                {"directly": direct / self.targets, "tracker": right / self.targets},
            ),
        )


def _alone(keys: Ints) -> Ints:
    """The people whom nobody equals."""
    _, which, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[which.ravel()] == 1)


def _limited(chosen: Bools, *, least: float) -> int | None:
    """The server: the count, or nothing where the set or what is left of the people is small."""
    size = int(chosen.sum())
    return size if least <= size <= len(chosen) - least else None


def _tracked(count: Count, one: Bools, half: Bools) -> int | None:
    """The count of a set that is too small to ask for."""
    asked = [count(one | half), count(one | ~half), count(half), count(~half)]
    if None in asked:
        return None
    first, second, third, fourth = (answer or 0 for answer in asked)
    return first + second - third - fourth
