"""What engines do with the cells of a tally once they are counted."""

from dataclasses import replace

import numpy as np

from confide.model.evidence import Cells, Tally

__all__ = ["bounded"]


def bounded(cells: Cells, tally: Tally) -> Cells:
    """The contract of `Tally.share` for contributions that are all exact."""
    if not tally.share or cells.top is None or cells.size is None:
        return cells
    matters = cells.top[:, 0] > tally.share * cells.size
    return replace(cells, top=np.where(matters[:, None], cells.top, cells.top[:, :1]))
