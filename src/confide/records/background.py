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
    shares: Floats, cell: Ints, columns: Ints, effects: Floats, most: float
) -> None:  # pragma: no cover - compiled
    """Raise the shares of records that exchange, in cells that expect fewer than one change, to no more than `most`.

    `columns` are those of `shares` that concern the cells, and `effects` the share of each column's exchanges that can change
    one. The first that has any is raised, by the same for all in a cell.
    """
    cells = cell.max() + 1 if len(cell) else 0
    size, expected = np.zeros(cells), np.zeros(cells)
    first = np.argmax(effects > 0.0)
    for i in range(len(cell)):
        size[cell[i]] += effects[first]
        for t in range(len(columns)):
            expected[cell[i]] += effects[t] * shares[i, columns[t]]
    for i in range(len(cell)):
        missing = 1.0 - expected[cell[i]]
        now = shares[i, columns[first]]
        if missing > 0.0 and now < most:
            shares[i, columns[first]] = min(now + missing / size[cell[i]], most)
