"""What an intruder makes of a covariance who knows the margins and sigma: with and without what is withheld and rounded."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares

from confide.answering.regressions.covariance import covariance_grid
from confide.answering.regressions.inference import Inference
from confide.model.design import Block, Design, Number

SHARES = [
    (900, (0.6, 0.2, 0.1, 0.05, 0.05)),
    (5_000, (0.7, 0.2, 0.05, 0.03, 0.02)),
    (20_000, (0.8, 0.15, 0.02, 0.02, 0.01)),
]
"""Units, and the shares of the classes of both variables."""

NOISE = 2**0.5
"""The standard deviation of a count under `standard`."""


def table(n: int, shares: tuple[float, ...], seed: int) -> Any:
    """Counts by two variables that go together; the first classes are the references."""
    rng, k = np.random.default_rng(seed), len(shares)
    first, second = rng.choice(k, n, p=shares), rng.choice(k, n, p=shares)
    second = np.where(rng.random(n) < 0.3, first, second)
    counts = np.zeros((k, k))
    np.add.at(counts, (first, second), 1)
    return counts


def gram(margins: Any, inner: Any) -> Any:
    width = len(inner)
    found = np.diag(margins)
    found[0, :] = found[:, 0] = margins
    found[1 : 1 + width, 1 + width :], found[1 + width :, 1 : 1 + width] = inner, inner.T
    return found


def solved(covariance: Any, margins: Any, start: Any) -> Any:
    """The counts whose gram has this covariance, where it is told, by least squares from independence.

    Correlations are fitted, which may have more digits than the variances; these have little weight.
    """
    errors = np.sqrt(np.diag(covariance))
    wanted, known = covariance / np.outer(errors, errors), np.isfinite(covariance)

    def off(inner: Any) -> Any:
        found = np.linalg.pinv(gram(margins, inner.reshape(start.shape)))
        own = np.sqrt(np.abs(np.diag(found)) + 1e-300)
        return np.concatenate([(found / np.outer(own, own) - wanted)[known], 1e-3 * np.log(own / errors)])

    return least_squares(off, start.ravel(), x_scale=np.sqrt(start.ravel() + 1)).x.reshape(start.shape)


def published(exact: Any, n: int, width: int) -> Any:
    levels = (-1, *range(width))
    blocks = (
        Block((), (), 0, 1),
        Block((), ((0, levels),), 1, width),
        Block((), ((1, levels),), 1 + width, width),
    )
    inference = Inference(np.ones(len(exact)), exact, False, (1, width, width), np.ones(2))
    design = Design(Number("y"), (), ("a", "b"), blocks)
    grid = covariance_grid(inference, design, labels=[str(at) for at in range(len(exact))], n=n)
    return np.array([[np.nan if value is None else value for value in row[1:]] for row in grid.rows])


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("n", "shares"), SHARES)
def test_a_published_covariance_does_not_give_the_table_of_two_terms_back(n: int, shares: Any, seed: int) -> None:
    """All digits of all entries are the table. As it is told, what comes out is off by more than the noise of that table.

    In cells of at most ten units, of which a table tells least.
    """
    counts = table(n, shares, seed)
    true, width = counts[1:, 1:], len(shares) - 1
    margins = np.array([n, *counts.sum(1)[1:], *counts.sum(0)[1:]])
    start = np.outer(margins[1 : 1 + width], margins[1 + width :]) / n
    exact, small = np.linalg.inv(gram(margins, true)), true <= 10
    assert small.any()

    def error(covariance: Any) -> float:
        return float(np.sqrt(np.mean((solved(covariance, margins, start) - true)[small] ** 2)))

    assert error(exact) < 0.01, "the attack works where nothing is withheld"
    assert error(published(exact, n, width)) > 2 * NOISE
