"""The R² of a response on every subset of the other variables, in one pass.

The variables are decided one after another. A variable left out is crossed out of the cross-product matrix; a variable
taken in is pivoted out of it. Each decision doubles the number of matrices and shrinks them by one row, so that 2^d
residual sums of squares cost about 2^d small steps in plain numpy. A Gray-code sweep, which changes one variable at a
time, gives the same to 1e-11 and is the oracle in the tests.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.arrays import Bools, Floats

__all__ = ["Subsets", "all_subsets", "memberships"]


@dataclass(frozen=True)
class Subsets:
    """What each subset explains: bit i of its index says that variable i is in it.

    `released` is the R² of the response on the subset; `squares` the sum of squared residuals of the target units.
    """

    released: Floats
    squares: Floats | None = None


def all_subsets(
    cross: Floats, *, response: int, blocks: Sequence[Sequence[int]], target: Floats | None = None
) -> Subsets:
    """Give R² of the response on every subset of the variables; a variable is a block of one or more columns.

    `target` holds the cross-products of chosen units, centred on the means of all units; their residuals follow from it.
    Formula: R² = s' S⁻¹ s / s00, by successive Schur complements (Furnival and Wilson 1974).

    >>> correlation = np.array([[1, 0.6, 0.8], [0.6, 1, 0], [0.8, 0, 1]])
    >>> all_subsets(correlation, response=0, blocks=[[1], [2]]).released.round(2)
    array([0.  , 0.36, 0.64, 1.  ])
    """
    order = [column for block in blocks for column in block] + [response]
    left = cross[np.ix_(order, order)][..., None]
    aimed = None if target is None else target[np.ix_(order, order)][..., None]
    for block in blocks:
        size = len(block)
        taken, shifted = _pivot(left, aimed, size)
        left = np.concatenate([left[size:, size:], taken], axis=-1)
        if aimed is not None and shifted is not None:
            aimed = np.concatenate([aimed[size:, size:], shifted], axis=-1)
    return Subsets(1 - left[0, 0] / cross[response, response], None if aimed is None else aimed[0, 0])


def _pivot(left: Floats, aimed: Floats | None, columns: int) -> tuple[Floats, Floats | None]:
    """Replace every later variable by its residual on the first columns, in both matrices."""
    for _ in range(columns):
        slope = left[0, 1:] / left[0, 0]
        if aimed is not None:
            first = slope[:, None] * aimed[0, 1:]
            both = slope[:, None] * slope * aimed[0, 0]
            aimed = aimed[1:, 1:] - first - first.swapaxes(0, 1) + both
        left = left[1:, 1:] - slope[:, None] * left[0, 1:]
    return left, aimed


def memberships(variables: int) -> Bools:
    """Say which variables each subset holds: one row per subset, in the order of `all_subsets`.

    >>> memberships(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    numbers = np.arange(1 << variables, dtype="<u4")
    bits = np.unpackbits(numbers.view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    return bits[:, :variables].astype(bool)
