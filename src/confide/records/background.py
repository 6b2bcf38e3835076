"""How likely each of the others exchanges a key: so that a count of every small cell may be another in the protected records.

The noise of an answer can be averaged out by asking for the same people in many ways; what then remains is the count of the
protected records. Where nobody in a cell exchanges a key that count is the true one, and so is the record found there. So every
cell of a cross that the rules let pass is to expect one exchange that may change it: whoever is alone there takes part with
the share `records.background_exposed`, each of ten with a tenth, and of large groups hardly anybody.
"""

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled

__all__ = ["raise_shares"]


@compiled
def raise_shares(
    shares: Floats, cell: Ints, ways: Ints, effects: Floats, most: float
) -> None:  # pragma: no cover - compiled
    """Raise the shares of records that exchange, in cells that expect fewer than one change, to no more than `most`.

    `ways` are the rows of `shares` that can change a cell, and `effects` how often an exchange of each does. The first is raised,
    by the same for all in a cell.
    """
    cells = cell.max() + 1 if len(cell) else 0
    size, missing = np.zeros(cells), np.ones(cells)
    for i in range(len(cell)):
        size[cell[i]] += effects[0]
    for way in range(len(ways)):
        share, effect = shares[ways[way]], effects[way]
        for i in range(len(cell)):
            missing[cell[i]] -= effect * share[i]
    if cells == 0 or missing.max() <= 0.0:
        return
    share = shares[ways[0]]
    for i in range(len(cell)):
        lacks = missing[cell[i]]
        if lacks > 0.0 and share[i] < most:
            share[i] = min(share[i] + lacks / size[cell[i]], most)
