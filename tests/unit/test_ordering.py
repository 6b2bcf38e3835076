"""Numbers that are spread evenly are put in order as numpy would, also where they are few, equal or dense."""

import numpy as np
import pytest

from confide.data.ordering import ascending


@pytest.mark.parametrize("size", [0, 1, 2, 1000])
@pytest.mark.parametrize("most", [0, 5, 1000, 2**50, 2**64 - 1])
def test_places_are_those_of_a_stable_sort(size: int, most: int) -> None:
    numbers = np.random.default_rng(size).integers(0, most, size, np.uint64, endpoint=True)
    assert ascending(numbers).tolist() == np.argsort(numbers, kind="stable").tolist()


def test_numbers_with_the_same_leading_bits_are_told_apart_by_the_others() -> None:
    numbers = np.array([9, 4, 2**64 - 1, 3, 4, 0], np.uint64)
    assert ascending(numbers).tolist() == [5, 3, 1, 4, 0, 2]


def test_floats_above_zero_are_in_the_order_of_their_bits() -> None:
    spots = np.random.default_rng(7).random(1000)
    assert ascending(spots.view(np.uint64)).tolist() == np.argsort(spots).tolist()
