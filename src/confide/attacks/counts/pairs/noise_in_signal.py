"""T15: noise in the signal (Gadotti et al. 2019). Pairs that cancel static noise, and a test of what is left."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.choosing import codes
from confide.attacks.claims import Claims
from confide.attacks.counts.alone import AloneOnKeys
from confide.attacks.counts.pairs.comparing import Pairs
from confide.attacks.intruder import Intruder

__all__ = ["NoiseInSignal"]

ROUNDS = 25


@dataclass(frozen=True)
class NoiseInSignal(AloneOnKeys):
    """Read the confidential class of people who are alone on three keys from the variance of differences.

    Noise that belongs to a set of records cancels in a pair of questions that select the same records. So ask for the
    cell of the target within some confidential classes, with and without a condition that leaves out nobody but the target:
    where its class is among them the difference varies from pad to pad, where it is not it does not.

    Tried, with cell keys alone: (1) the mean square of the differences: 85 % right with 204 questions; (2) the share that is not
    zero: 97 %, kept; (3) pads of random halves of the bins alone: under `standard` often refused by the remainder, so
    everyone and such a half in turn, and everyone alone once a half was refused.
    """

    name: ClassVar = "noise-in-signal"
    code: ClassVar = "T15"
    words: ClassVar = "pairs of questions that cancel static noise; the variance of what is left"

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        hidden, *shown = wanted.keys
        classes = codes(intruder.book, wanted.secret)
        pairs = Pairs(intruder, hidden, tuple(shown))
        gained: list[Floats] = []
        halves: list[Bools] = []
        padded = True
        while intruder.left > len(pairs.bins) and len(gained) < ROUNDS:
            half = np.asarray(intruder.rng.permutation(len(classes)) < (len(classes) + 1) // 2)
            inside = [code for code, there in zip(classes, half, strict=True) if there]
            base = pairs.half() if padded and len(gained) % 2 else pairs.everyone()
            gained.append(pairs.compare(base, {wanted.secret: inside}).gained)
            padded &= bool(np.isfinite(gained[-1]).any()) or bool(base.all())
            halves.append(half)
            yield variance_test(np.stack(gained, axis=1), np.stack(halves))


def variance_test(gained: Floats, halves: Bools) -> Claims:
    """The class within whose halves the largest share of differences is not zero, beside the other halves."""
    seen = np.isfinite(gained)
    varied = (seen & (gained != 0)).astype(float)
    within, without = (
        varied @ side / np.maximum(seen @ side, 1.0) for side in (halves.astype(float), (~halves).astype(float))
    )
    return Claims((within - without).argmax(axis=1).astype(np.float64), np.asarray(seen.any(axis=1)))
