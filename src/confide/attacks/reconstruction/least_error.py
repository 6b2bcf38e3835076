"""The numbers whose sums come closest to many answers, by absolute error: the linear program of reconstruction."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import eye_array, hstack, kron

from confide.arrays import Bools, Floats

__all__ = ["least_error"]


def least_error(asked: Bools, answers: Floats, most: Floats) -> Floats:
    """For every row of answers the numbers from 0 to `most` whose sums over the sets asked for come closest to them.

    `asked` has a row a set and a column a person; `answers` and `most` have a row for each of several such problems, which
    are solved as one program.

    >>> least_error(np.array([[True, False], [True, True]]), np.array([[0.1, 1.2]]), np.ones((1, 2))).round(1).tolist()
    [[0.1, 1.0]]
    """
    problems, sets = answers.shape
    # Each error is the difference of two numbers of 0 or more; what is minimised is the sum of both.
    errors = eye_array(problems * sets)
    equal = hstack([kron(eye_array(problems), asked.astype(np.float64)), errors, -errors]).tocsr()
    cost = np.repeat([0.0, 1.0], [most.size, 2 * answers.size])
    upper = np.append(most.ravel(), np.full(2 * answers.size, np.inf))
    bounds = np.column_stack([np.zeros(len(upper)), upper])
    found = linprog(cost, A_eq=equal, b_eq=answers.ravel(), bounds=bounds, method="highs")
    return np.asarray(found.x[: most.size], np.float64).reshape(most.shape)
