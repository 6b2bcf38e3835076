"""The hot loops of a linear law of numbers and classes: its normal equations, and what it predicts, with no column for a class.

A record has one class of each variable, so that most of what a matrix with a column for each would multiply is 0. Nothing here
uses several threads: for sums as small as these, threads that wait for each other cost more than they add up.
"""

import numpy as np

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled

__all__ = ["equations", "predicted"]


@compiled
def equations(
    numbers: Floats, terms: Ints, wanted: Floats, size: int
) -> tuple[Floats, Floats]:  # pragma: no cover - compiled
    """The products of all terms with each other, and with what is wanted.

    The first terms are `numbers`; `terms` has the term that each class of a record is, rising with the columns, or `size` for none.
    """
    products, against = np.zeros((size + 1, size + 1)), np.zeros(size + 1)
    width = numbers.shape[1]
    for i in range(len(wanted)):
        for a in range(width):
            against[a] += numbers[i, a] * wanted[i]
            for b in range(a + 1):
                products[a, b] += numbers[i, a] * numbers[i, b]
        for c in range(terms.shape[1]):
            term = terms[i, c]
            against[term] += wanted[i]
            for b in range(width):
                products[term, b] += numbers[i, b]
            for d in range(c + 1):
                products[term, terms[i, d]] += 1
    for a in range(size):
        for b in range(a):
            products[b, a] = products[a, b]
    return products[:size, :size].copy(), against[:size].copy()


@compiled
def predicted(numbers: Floats, terms: Ints, law: Floats) -> Floats:  # pragma: no cover - compiled
    """What a law gives for each record; the last of the law is that of no term."""
    found = np.zeros(len(numbers))
    for i in range(len(numbers)):
        for a in range(numbers.shape[1]):
            found[i] += numbers[i, a] * law[a]
        for c in range(terms.shape[1]):
            found[i] += law[terms[i, c]]
    return found
