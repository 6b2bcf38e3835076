"""Drop q (Lucero et al. 2011, sec. 3.1.2): every part of a universe loses a few units, the same ones for ever.

Promise: which units go depends on the set of units in the part and on the secret, on nothing else. Padding a universe with
other classes therefore neither absorbs the drops of a part nor draws them anew. More bins of the same cutpoint variable,
or all classes of a coarser one, make another part with drops of its own.
"""

from collections.abc import Callable, Sequence

from confide.answering.universe.census import Census
from confide.arrays import Ints
from confide.model.evidence import Box
from confide.site.draws import fingerprint
from confide.site.secret import Secret

__all__ = ["UnitsFunction", "drop"]

UnitsFunction = Callable[[Sequence[Box], int, int], Ints]

BLOCK_UNITS = 256
"""Units are ranked within a block of keys that holds about so many: no need to rank a whole file to take five."""


def drop(boxes: Sequence[Box], census: Census, units: UnitsFunction, *, k: int, secret: Secret) -> tuple[int, ...]:
    """The keys of the units dropped: from each part q of them, q uniform on 2 to k."""
    groups = census.count(boxes)
    dropped: set[int] = set()
    prints = fingerprint(groups.records, groups.units, groups.key)
    for box, size, mark in zip(boxes, groups.units.tolist(), prints, strict=True):
        if not size:
            continue
        seed = secret.digest("drop", mark)
        q = 2 + int.from_bytes(seed[:8], "little") % (k - 1)
        keys = _block(box, units, size=size, want=min(q, size), seed=seed)
        ranked = sorted(keys, key=lambda key: secret.digest("drop rank", seed + key.to_bytes(8, "little", signed=True)))
        dropped.update(ranked[:q])
    return tuple(sorted(dropped))


def _block(box: Box, units: UnitsFunction, *, size: int, want: int, seed: bytes) -> list[int]:
    """The units of the box in a block of keys that the seed picks, widened until it holds enough of them."""
    blocks = max(1, size // BLOCK_UNITS)
    levels = blocks.bit_length() - 1
    place = int.from_bytes(seed[8:16], "little") >> (64 - levels) if levels else 0
    while True:
        width = 1 << (64 - levels)
        low = place * width - (1 << 63)
        found: list[int] = units((box,) if box else (), low, low + width - 1).tolist()
        if len(found) >= want or levels == 0:
            return found
        levels, place = levels - 1, place >> 1
