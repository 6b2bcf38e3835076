"""Lots: uniform numbers for units, the same for ever, one purpose telling nothing of another.

The key of a unit is drawn from the secret already and never leaves the site; it is mixed with a number that the secret gives
for the purpose (the finaliser of SplitMix64: Steele, Lea and Flood 2014).
"""

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.site.secret import Secret

__all__ = ["drawn", "lots"]


def lots(keys: Ints, secret: Secret, purpose: str) -> Floats:
    """A number from 0 to 1 for each key.

    >>> lots(np.array([1, 2, 3]), Secret(bytes(32)), "noise").round(2).tolist()
    [0.89, 0.6, 0.07]
    """
    start, step = np.frombuffer(secret.digest("records " + purpose, b"")[:16], "<u8")
    mixed = (np.ascontiguousarray(keys, np.int64).view(np.uint64) ^ start) + step
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.asarray(((mixed >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)


def drawn(keys: Ints, secret: Secret, purpose: str, share: float | Floats) -> Bools:
    """Which keys a draw of that share picks, the same for all or one for each."""
    return np.asarray(lots(keys, secret, purpose) < share)
