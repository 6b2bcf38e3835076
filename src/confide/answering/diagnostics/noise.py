"""Responses with noise that belongs to the unit: the only form in which a plot sees them.

Every unit has, for every response, one number that never changes: `y + noise * draw(unit, response)` for a quantity, the
outcome flipped or not for a yes-or-no. Plots are computed from that number, from predictors and from the published
model. Whatever is asked, of however many models, universes and predictors, is a function of the same noisy responses,
so averaging over plots, predictors or models gains nothing, and neither does subtracting them.

This is stricter than one seed per response as in Lucero et al. (2011, sec. 3.2.1), where the noise belongs to the
synthetic point and to standardised residuals. There the plots of 20 predictors give 20 independent readings of one unit, and
two models with residual spreads s and s' give t - t' = y (1/s - 1/s') + known: the noise cancels (tests do both).

The caller keeps three duties. `noise` is a constant of the response and the data set, never computed from a universe or
a model. `seed` is one per response as it enters the model: log(y) has its own, and T transformations of y are T
readings of it, so a site that allows T of them takes sqrt(T) times the noise. Residuals are taken from the coefficients
that are published.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.answering.diagnostics.arrays import finite
from confide.answering.diagnostics.plots import LIMIT
from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake

__all__ = ["Blurred", "Flipped", "blur", "flip", "least_error", "most_odds"]

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Blurred:
    """Standardised residuals of noisy responses, within -4 and 4; `noise_sd` is the noise in the same measure, to two digits."""

    values: Floats
    noise_sd: float


@dataclass(frozen=True)
class Flipped:
    """Yes-or-no outcomes, each turned round with this chance, for ever the same ones."""

    values: Bools
    chance: float


def blur(residuals: ArrayLike, keys: Ints, *, seed: bytes, noise: float, scale: ArrayLike = 1.0) -> Blurred:
    """Give (residual + noise * draw) / scale, where the draw is standard normal and belongs to the unit.

    `residuals` and `noise` are in the units of the response; `scale` is s sqrt(1 - leverage). Promise: plots show a unit's
    response only as y + noise * draw; see `least_error` for what that leaves to guess.

    >>> blurred = blur([1.0, -100.0], np.array([17, 18]), seed=b"income", noise=0.5)
    >>> blurred.values[1], blurred.noise_sd
    (np.float64(-4.0), 0.5)
    """
    given = finite(residuals, "residuals", size=len(keys))
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), given.shape)
    if not (noise > 0 and np.isfinite(noise)):
        raise Mistake("Residuals need noise.", suggestions=["Take noise above 0, in the units of the response."])
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise Mistake("A residual has no scale.", suggestions=["Leave out the units that the model fits exactly."])
    values = np.clip((given + noise * _normals(keys, seed)) / scales, -LIMIT, LIMIT)
    return Blurred(values, float(f"{noise / np.median(scales):.2g}") if scales.size else 0.0)


def flip(outcomes: ArrayLike, keys: Ints, *, seed: bytes, chance: float) -> Flipped:
    """Give the outcomes with about this share of them turned round (randomised response, Warner 1965).

    Promise: whatever is plotted, the odds that an intruder gives to an outcome change at most by `most_odds(chance)`.

    >>> flip([True] * 1000, np.arange(1000), seed=b"employed", chance=0.1).values.mean()
    np.float64(0.907)
    """
    given = finite(outcomes, "outcomes", size=len(keys))
    if not ((given == 0) | (given == 1)).all():
        raise Mistake("An outcome is neither yes nor no.", suggestions=["Give 1 for yes and 0 for no."])
    if not 0 < chance < 0.5:
        raise Mistake(
            "Outcomes cannot be turned round that often.", suggestions=["Take a chance above 0 and below 0.5."]
        )
    turned = (_words(keys, seed, b"flip") >> np.uint64(11)) < np.uint64(round(chance * 2**53))
    return Flipped((given == 1) ^ turned, chance)


def least_error(noise: float, spread: float) -> float:
    """Give the least root mean squared error of any estimate of a response, from any number of plots and models.

    The intruder knows all predictors and all other units, and that responses lie about their fit with this spread:
    noise / sqrt(1 + (noise / spread)^2), for normal residuals the error of the posterior mean, for others the van Trees
    bound with 1 / spread^2 for their information. Without such knowledge it is the noise.

    >>> round(least_error(0.5, 1.0), 3)
    0.447
    """
    return noise / float(np.hypot(1.0, noise / spread))


def most_odds(chance: float) -> float:
    """Give the factor by which plots can change the odds of an outcome: (1 - chance) / chance.

    >>> round(most_odds(0.1), 6)
    9.0
    """
    return (1 - chance) / chance


def _normals(keys: Ints, seed: bytes) -> Floats:
    """Standard normal draws by Box and Muller, from the two halves of a word."""
    words = _words(keys, seed, b"blur")
    radius = ((words >> np.uint64(32)).astype(np.float64) + 0.5) * 2.0**-32
    angle = (words & np.uint64(0xFFFFFFFF)).astype(np.float64) * (2 * np.pi * 2.0**-32)
    return np.asarray(np.sqrt(-2 * np.log(radius)) * np.cos(angle))


def _words(keys: Ints, seed: bytes, purpose: bytes) -> Words:
    """A pseudo-random word for each key: a million hashes of the standard library would take seconds."""
    secret = hashlib.sha256(b"diagnostics " + purpose + b"\0" + seed).digest()
    return siphash(np.ascontiguousarray(keys, dtype=np.int64).view(np.uint64), secret[:16])


def siphash(words: Words, secret: bytes) -> Words:
    """Give the SipHash-2-4 of each 8-byte message (Aumasson & Bernstein 2012), a keyed pseudo-random function.

    >>> hex(siphash(np.array([0x0706050403020100], dtype=np.uint64), bytes(range(16)))[0])
    '0x93f5f5799a932462'
    """
    left, right = np.frombuffer(secret, dtype="<u8")
    start = [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573]
    state = [np.full(words.shape, np.uint64(s) ^ k) for s, k in zip(start, [left, right, left, right], strict=True)]
    for block in (words, np.uint64(8 << 56)):
        state[3] ^= block
        _rounds(state, 2)
        state[0] ^= block
    state[2] ^= np.uint64(0xFF)
    _rounds(state, 4)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3])


def _rounds(state: list[Words], times: int) -> None:
    for _ in range(times):
        _mix(state, 0, 1, 13)
        state[0] = _rotated(state[0], 32)
        _mix(state, 2, 3, 16)
        _mix(state, 0, 3, 21)
        _mix(state, 2, 1, 17)
        state[2] = _rotated(state[2], 32)


def _mix(state: list[Words], into: int, of: int, bits: int) -> None:
    state[into] += state[of]
    state[of] = _rotated(state[of], bits) ^ state[into]


def _rotated(word: Words, bits: int) -> Words:
    return np.asarray((word << np.uint64(bits)) | (word >> np.uint64(64 - bits)))
