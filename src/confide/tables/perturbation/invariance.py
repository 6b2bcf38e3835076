"""Transition matrices that leave the frequencies of counts as they are (Shlomo and Young 2008; Giessing and Höhne 2011).

A fixed-variance matrix keeps each count right on average but changes how many 4s and 5s there are. These keep that.
"""

from collections.abc import Sequence

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake
from confide.tables.perturbation.transitions import Transitions

__all__ = ["invariant", "invariant_matrix"]


def invariant_matrix(initial: Floats, frequencies: Floats, *, alpha: float = 1.0) -> Floats:
    """Give the matrix R* = αR + (1 - α)I with R = PQ, under which the frequencies v stay as they are: v R* = v.

    Q is the initial matrix P transposed, its columns weighted by the frequencies and its rows scaled to 1.

    >>> invariant_matrix(np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([3.0, 1.0])).round(3).tolist()
    [[0.824, 0.176], [0.527, 0.473]]
    """
    if not 0 <= alpha <= 1:
        raise Mistake(f"alpha={alpha:g} is not a share.", suggestions=["Take alpha from 0 to 1."])
    if (frequencies < 0).any() or not frequencies.any():
        raise Mistake("Frequencies are 0 or more, and some are more.")
    weighted = (initial * frequencies[:, None]).T
    reached = weighted.sum(axis=1, keepdims=True)
    # What nothing is moved to stays where it is.
    back = np.where(reached > 0, weighted / np.where(reached > 0, reached, 1.0), np.eye(len(frequencies)))
    mixed: Floats = alpha * (initial @ back) + (1 - alpha) * np.eye(len(frequencies))
    return mixed


def invariant(
    frequencies: Sequence[float], *, D: int = 2, js: int = 2, alpha: float = 0.4, stay: float = 0.7
) -> Transitions:
    """Give the matrix that moves counts by at most D, and none to 1..js, and keeps how often each count occurs.

    `frequencies` are the numbers of cells with the counts 1, 2, 3 and so on; larger counts stay as they are. A count first
    stays with the probability `stay` or moves by up to D/2 either way, then moves back as others moved here; all that
    happens with probability `alpha`. Counts up to js become 0 or js + 1, however far that is; so may js + 1 itself.

    Promise: expected frequencies of counts above js + 1 are kept, and so are the number and the sum of the counts up to
    it; with js = 0 the frequencies of all counts.
    Reference: Giessing and Höhne (2011), section 3.2; the defaults are those of Tables 2 and 3.

    >>> matrix = invariant([96, 32, 20, 16, 15, 13, 9, 6]).matrix
    >>> (16 * matrix[4]).round(2).tolist()
    [0.0, 0.0, 2.97, 11.82, 1.09, 0.13, 0.0]
    """
    given = np.asarray(frequencies, dtype=np.float64)
    _check(given, D, js, stay)
    joint = np.concatenate([[given[: js + 1].sum()], given[js + 1 :]])
    shared = invariant_matrix(_initial(len(joint), D // 2, stay), joint, alpha=alpha)
    square = np.zeros((len(given) + 1, len(given) + 1))
    square[0, 0] = 1.0
    square[js + 2 :, js + 1 :] = shared[1:]
    square[1 : js + 2] = _small_counts(given[: js + 1], joint[0] * shared[0, 1:], alpha, len(given))
    return _banded(square, given, D, js, stay)


def _check(given: Floats, D: int, js: int, stay: float) -> None:
    if D < 2 or D % 2:
        raise Mistake(f"D={D} is not an even number from 2.", suggestions=["Take 2 or 4: there and back."])
    if js < 0 or given.ndim != 1 or len(given) < js + 2:
        raise Mistake(f"Give the frequencies of the counts from 1 to at least {max(js, 0) + 2}, and js of 0 or more.")
    if not 0 <= stay <= 1:
        raise Mistake(f"stay={stay:g} is not a probability.", suggestions=["Take stay from 0 to 1."])
    if not np.isfinite(given).all():
        raise Mistake("A frequency is missing or infinite.")


def _initial(classes: int, reach: int, stay: float) -> Floats:
    """A matrix that moves by up to `reach`; beyond an end is at the end. The small counts go up by one, half as often."""
    place = np.arange(classes)
    matrix = np.diag(np.full(classes, stay))
    for move in (*range(-reach, 0), *range(1, reach + 1)):
        np.add.at(matrix, (place, np.clip(place + move, 0, classes - 1)), (1 - stay) / (2 * reach))
    matrix[0] = 0.0
    matrix[0, 1] = (1 - stay) / (4 * reach)
    matrix[0, 0] = 1 - matrix[0, 1]
    return matrix


def _small_counts(given: Floats, leaving: Floats, alpha: float, counts: int) -> Floats:
    """The rows of the counts up to js + 1, of which only the last leave for larger ones, as many as come from there.

    So that the sum of these counts is kept, what the last of them lose by going to 0 the others gain, all alike.
    """
    js, top, others = len(given) - 1, given[-1], given[:-1].sum()
    left = leaving.sum()
    if left > top:
        raise Mistake(
            f"There are too few cells with the count {js + 1} to change places with larger counts.",
            suggestions=[f"Take alpha of at most {alpha * top / left:.6g}."],
        )
    to_zero = min(max(0.0, 0.4 * top - left), others / (js + 1))
    gain = (js + 1) * to_zero / others if others else 0.0
    rows = np.zeros((js + 1, counts + 1))
    rows[:-1, js + 1] = (np.arange(1, js + 1) + gain) / (js + 1)
    rows[:-1, 0] = 1 - rows[:-1, js + 1]
    rows[-1, js + 2 :] = leaving / (top or 1.0)
    rows[-1, 0] = to_zero / (top or 1.0)
    rows[-1, js + 1] = 1 - rows[-1].sum()
    return rows


def _banded(square: Floats, given: Floats, D: int, js: int, stay: float) -> Transitions:
    """The matrix by moves, with a last row in which larger counts stay; its V is the mean square of all moves."""
    D = max(D, js + 1)
    matrix = np.zeros((len(square) + 1, 2 * D + 1))
    count, to = np.nonzero(square)
    matrix[count, to - count + D] = square[count, to]
    matrix[-1, D] = 1.0
    matrix.setflags(write=False)
    V = float(given @ (matrix[1:-1] @ np.arange(-D, D + 1.0) ** 2) / given.sum())
    return Transitions(D=D, V=V, js=js, stay=stay, matrix=matrix)
