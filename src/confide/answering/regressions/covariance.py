"""The covariance of coefficients, as far as it may leave.

The inverse of a covariance is, but for a factor, the table of the classes of every two terms: to enough digits it would be
that table without its noise. So between two terms that both have classes none is told, and the correlations of the others
are rounded to a step that is no finer than their sampling error. Beside the published standard errors these say little
more of a count than the standard errors do: what comes of solving for the counts all the same is tried in the tests.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from confide.answering.correlations.correlate import sampling_errors
from confide.answering.regressions.inference import Inference
from confide.answering.rounding import DOUBLE, power_below, significant, to_error
from confide.arrays import Bools, Floats
from confide.model.design import Design
from confide.model.model_release import Grid, Value

__all__ = ["covariance_grid", "step_above"]


def step_above(values: Floats) -> Floats:
    """The smallest of 1, 2 and 5 times a power of ten that is not below each value.

    >>> step_above(np.array([0.0103, 0.05, 0.3])).tolist()
    [0.02, 0.05, 0.5]
    """
    power = power_below(values)
    steps = np.array([1.0, 2.0, 5.0, 10.0])[:, None] * power
    return np.asarray(np.min(np.where(steps >= values * (1 - 1e-9), steps, np.inf), axis=0))


def covariance_grid(inference: Inference, design: Design, *, labels: Sequence[str], n: int) -> Grid:
    """The covariances of the coefficients; nothing between two terms of classes. `n` is the protected number of units.

    Promise: a variance is the square of the published standard error, and a covariance the product of two of these with
    a correlation that is a multiple of a step not below its standard error.
    """
    errors = to_error(inference.errors, inference.errors, digits=DOUBLE)
    told, classes = _told(design)
    correlations = inference.covariance / np.outer(inference.errors, inference.errors)
    wide = np.where(classes[:, None] | classes, 1 / np.sqrt(max(n, 1)), sampling_errors(correlations, n))
    step = step_above(wide.ravel()).reshape(wide.shape)
    rounded = np.clip(np.rint(correlations / step) * step, -1, 1)
    np.fill_diagonal(rounded, 1.0)
    found = significant(rounded * np.outer(errors, errors), 6) + 0.0
    rows: list[tuple[Value, ...]] = [
        (label, *(float(value) if tell else None for value, tell in zip(values, tells, strict=True)))
        for label, values, tells in zip(labels, found, told, strict=True)
    ]
    title = "Covariance of the coefficients (none between two terms of classes)"
    return Grid("covariance", title, ("term", *labels), tuple(rows))


def _told(design: Design) -> tuple[Bools, Bools]:
    """Which pairs of columns are told, and which columns have classes."""
    offsets = [block.offset for block in design.blocks] + [design.columns]
    term, classes = np.zeros(design.columns, np.int64), np.zeros(design.columns, bool)
    for at, (block, (start, end)) in enumerate(zip(design.blocks, pairwise(offsets), strict=True)):
        term[start:end], classes[start:end] = at, bool(block.classes)
    return (term[:, None] == term) | ~(classes[:, None] & classes), classes
