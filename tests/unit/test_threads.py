"""Work on every core gives what work on one does."""

import threading
from functools import partial

import pytest

from confide.data.threads import FEW, MANY, beside, cores_for, in_order


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_results_come_in_the_order_of_the_calls(cores: int) -> None:
    assert list(in_order((partial(pow, n, 2) for n in range(50)), cores=cores)) == [n * n for n in range(50)]
    assert list(in_order((), cores=cores)) == []


def test_two_calls_run_at_once() -> None:
    """Each waits for the other: one after the other they would never end."""
    both = threading.Barrier(2, timeout=60)
    assert sorted(in_order([both.wait, both.wait], cores=2)) == [0, 1]


def test_no_more_results_wait_than_there_are_cores() -> None:
    begun: list[int] = []
    results = in_order((partial(begun.append, n) for n in range(10)), cores=2)
    next(results)
    assert len(begun) <= 3
    results.close()


@pytest.mark.parametrize("cores", [1, 2])
def test_an_error_of_a_call_reaches_who_waits(cores: int) -> None:
    results = in_order([partial(int, "1"), partial(int, "one")], cores=cores)
    assert next(results) == 1
    with pytest.raises(ValueError, match="one"):
        next(results)


def test_a_call_runs_beside_other_work() -> None:
    both = threading.Barrier(2, timeout=60)
    with beside(both.wait, cores=2) as place:
        assert {both.wait(), place()} == {0, 1}


@pytest.mark.parametrize("cores", [1, 2])
def test_an_error_of_a_call_beside_reaches_who_asks(cores: int) -> None:
    with beside(partial(int, "one"), cores=cores) as number, pytest.raises(ValueError, match="one"):
        number()


def test_few_records_and_very_many_are_left_to_one_core() -> None:
    assert cores_for(FEW - 1) == cores_for(MANY + 1) == 1
    assert cores_for(FEW) == cores_for(MANY) >= 1
