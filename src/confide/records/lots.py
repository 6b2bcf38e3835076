"""Lots: uniform numbers for units, the same for ever, one purpose telling nothing of another.

The key of a unit is drawn from the secret already and never leaves the site; it is mixed with a number that the secret gives
for the purpose (the finaliser of SplitMix64: Steele, Lea and Flood 2014).
"""

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.data.compiling import compiled
from confide.site.secret import Secret

__all__ = ["drawn", "lots"]


def lots(keys: Ints, secret: Secret, purpose: str) -> Floats:
    """A number from 0 to 1 for each key.

    >>> lots(np.array([1, 2, 3]), Secret(bytes(32)), "noise").round(2).tolist()
    [0.89, 0.6, 0.07]
    """
    start, step = np.frombuffer(secret.digest("records " + purpose, b"")[:16], "<u8")
    return _mixed(np.ascontiguousarray(keys, np.int64), start, step)


@compiled
def _mixed(keys: Ints, start: np.uint64, step: np.uint64) -> Floats:  # pragma: no cover - compiled
    found = np.empty(len(keys))
    for i in range(len(keys)):
        mixed = (np.uint64(keys[i]) ^ start) + step
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        found[i] = (np.float64(mixed >> np.uint64(11)) + 0.5) * 2.0**-53
    return found


def drawn(keys: Ints, secret: Secret, purpose: str, share: float | Floats) -> Bools:
    """Which keys a draw of that share picks, the same for all or one for each."""
    return np.asarray(lots(keys, secret, purpose) < share)
