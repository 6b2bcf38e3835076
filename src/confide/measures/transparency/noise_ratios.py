"""L9: multiplicative noise, measured on its own scale."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.measures.records import FileRecords
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import Links
from confide.measures.transparency.knowledge import Knowledge
from confide.measures.transparency.windows import Windows, compared, linked_within
from confide.microdata import MultiplicativeNoise

__all__ = ["NoiseRatios"]


@dataclass(frozen=True, eq=False)
class RatioScale:
    """The noise of a pair of values in logarithms, E, from the scheme, k and the means, which masking keeps.

    With s = sqrt(1 + k): positive, y = ((s - 1) m + x exp E) / s; z-scores, y = ((s - 1) m + x) exp(E) / s.
    """

    mean: Floats
    least: Floats
    s: float
    positive: bool

    @classmethod
    def of(cls, released: Floats, method: MultiplicativeNoise) -> "RatioScale":
        """Columns with negative values are moved by the least of them, as the method does."""
        least = np.minimum(np.nanmin(released, axis=0), 0.0)
        return cls(
            np.nanmean(released, axis=0) - least, least, float(np.sqrt(1 + method.k)), method.scheme == "positive"
        )

    def noise(self, before: Floats, after: Floats) -> Floats:
        """E, as far from 0 as it can be where no noise of this scheme leads from one value to the other."""
        x, y = before - self.least, after - self.least
        if self.positive:
            up, down = self.s * y - (self.s - 1) * self.mean, x
        else:
            up, down = self.s * y, (self.s - 1) * self.mean + x
        floor = 1e-6 * np.maximum(self.mean, 1e-300)
        return np.asarray(np.log(np.maximum(up, floor) / np.maximum(down, floor)))


@dataclass(frozen=True)
class NoiseRatios(FileAttack):
    """Linkage by the ratio of values: the noise of a true pair is small, in logarithms and in every direction.

    Knows that numbers were multiplied, by which scheme, and k. The intruder masks the released file once more to see how
    noise is spread and how columns share it, and takes the record whose noise would be the likeliest.
    """

    name: ClassVar = "noise-ratios"
    code: ClassVar = "L9"
    words: ClassVar = "Masks the file once more to see how the noise is spread, and takes the likeliest record."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        if not isinstance(known.method, MultiplicativeNoise):
            return "Against multiplicative noise only."
        if known.method.zones:
            return "Noise was drawn within zones."
        return "" if known.masked_keys else "No key has noise."

    def attack(self, released: pa.Table, known: Knowledge) -> Links:
        assert isinstance(known.method, MultiplicativeNoise)
        keys = compared(released, known)
        used = np.array([keys.names.index(name) for name in known.masked_keys])
        scale = RatioScale.of(keys.released[:, used], known.method)
        turn = _whitening(scale.noise(keys.released[:, used], _again(released, known, known.method)))
        windows = Windows.exact(keys)
        windows.low[:, used], windows.high[:, used] = -np.inf, np.inf

        def evidence(target: int, rows: Ints) -> Floats:
            noise = scale.noise(keys.targets[target, used], keys.released[np.ix_(rows, used)])
            return np.asarray(-np.sum((np.nan_to_num(noise) @ turn) ** 2, axis=1))

        return Links(linked_within(windows, evidence, known.rng()))


def _again(released: pa.Table, known: Knowledge, method: MultiplicativeNoise) -> Floats:
    """The released file masked once more, with draws of one's own."""
    masked = method.protect(released, columns=known.masked, teaching_seed=known.seed)
    columns = FileRecords.of(masked, known.masked_keys).columns
    return np.column_stack([columns[name].numbers for name in known.masked_keys])


def _whitening(noise: Floats) -> Floats:
    """What turns noise into coordinates of variance 1 without correlation."""
    whole = noise[~np.isnan(noise).any(axis=1)]
    values, vectors = np.linalg.eigh(whole.T @ whole / max(1, len(whole)))
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-9 * max(values.max(), 1e-300))))
