"""The equations of a law of numbers and classes are those of a matrix with a column for each class."""

import numpy as np
import pytest

from confide.records.ceilings.equations import equations, predicted


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_equations_and_predictions_are_those_of_a_column_for_each_class(size: int) -> None:
    """Two numbers, then three classes of one variable and two of another as terms; what is beyond the last counts nowhere."""
    rng = np.random.default_rng(size)
    numbers, wanted = np.column_stack([np.ones(60), rng.normal(size=60)]), rng.normal(size=60)
    classes = np.column_stack([rng.choice([2, 3, 4, 9], 60), rng.choice([5, 6, 9], 60)])
    design = np.column_stack([numbers, *((classes == term).any(axis=1) for term in range(2, 9))])[:, :size]
    terms = np.minimum(classes, size)
    gram, against = equations(numbers, terms, wanted, size)
    np.testing.assert_allclose(gram, design.T @ design, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(against, design.T @ wanted, rtol=1e-12, atol=1e-12)
    law = rng.normal(size=size)
    np.testing.assert_allclose(predicted(numbers, terms, np.append(law, 0.0)), design @ law, rtol=1e-12, atol=1e-12)
