"""Made-up establishments on which the figures of Bleninger, Drechsler and Ronning (2011) come out much as they printed them.

Their data, the IAB Establishment Panel of 2007, are confidential. What matters for identification is how many establishments
share a size, a state, a legal form and a branch; the shares here were chosen to come near the printed shares of unique ones.
"""

from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats, Ints

__all__ = ["Establishments", "establishments"]

STATES, BRANCHES = 16, 40
SIZE_CLASSES = (20, 250)
FORMS = np.array([[45, 45, 4, 3, 2, 1], [12, 78, 6, 2, 1, 1], [2, 85, 7, 3, 2, 1]]) / 100
"""Legal forms of small, middling and large establishments."""


@dataclass(frozen=True, eq=False)
class Establishments:
    """What an intruder may know of each (employees, state, legal form, branch), and the turnover that they may not."""

    size: Ints
    state: Ints
    form: Ints
    branch: Ints
    turnover: Floats


def establishments(rows: int, *, seed: int) -> Establishments:
    """Draw them: sizes by a log-normal law, branches by Zipf's within a legal form, turnover in proportion to size."""
    rng = np.random.default_rng(seed)
    size = np.maximum(np.floor(17 * np.exp(1.95 * rng.standard_normal(rows))), 1).astype(np.int64)
    shares = np.linspace(1, 3, STATES)
    form = _drawn(rng, FORMS[np.searchsorted(SIZE_CLASSES, size, "right")])
    zipf = np.arange(1, BRANCHES + 1) ** -0.9
    common = np.array([zipf[rng.permutation(BRANCHES)] for _ in FORMS[0]])
    return Establishments(
        size=size,
        state=_drawn(rng, np.tile(shares, (rows, 1))),
        form=form,
        branch=_drawn(rng, common[form]),
        turnover=size * np.exp(np.log(110_000) + 0.9 * rng.standard_normal(rows)),
    )


def _drawn(rng: np.random.Generator, chances: Floats) -> Ints:
    """One class for each row of chances, which need not add up to 1."""
    upto = np.cumsum(chances, axis=1)
    found: Ints = (rng.random(len(chances))[:, None] * upto[:, -1:] >= upto).sum(axis=1)
    return found
