"""The rate limit: a plain bucket is its oracle."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.site.state import FileState
from confide.web.rate_limit import Pace, RateLimit, SharedRateLimit, rate_limit

pauses = st.floats(0, 40) | st.just(0.0)
rates = st.integers(1, 30)
KINDS = [RateLimit, lambda per_minute: SharedRateLimit(FileState(), "requests", per_minute)]
both = pytest.mark.parametrize("kind", KINDS, ids=["of one machine", "of several"])
Kind = Callable[[int], Pace]


class Bucket:
    """A token bucket as textbooks draw it: it starts full and refills evenly."""

    def __init__(self, per_minute: int) -> None:
        self.size, self.level, self.last = float(per_minute), float(per_minute), 0.0

    def take(self, now: float) -> bool:
        self.level = min(self.size, self.level + (now - self.last) * self.size / 60)
        self.last = now
        taken = self.level > 1 - 1e-6
        self.level -= taken
        return taken


@both
@given(per_minute=rates, steps=st.lists(pauses, max_size=80))
def test_it_lets_in_exactly_whom_a_plain_bucket_lets_in(kind: Kind, per_minute: int, steps: list[float]) -> None:
    limit, bucket = kind(per_minute), Bucket(per_minute)
    for now in accumulate(steps):
        wait = limit.allow("a", now)
        level = bucket.level + (now - bucket.last) * per_minute / 60
        if abs(level - 1) > 1e-5:
            assert (wait == 0.0) == bucket.take(now)
        elif wait == 0.0:
            bucket.take(now)
            bucket.level = max(bucket.level, 0.0)


@both
@given(per_minute=rates, steps=st.lists(pauses, max_size=80))
def test_no_stretch_of_time_lets_in_more_than_promised(kind: Kind, per_minute: int, steps: list[float]) -> None:
    limit = kind(per_minute)
    let_in = [now for now in accumulate(steps) if limit.allow("a", now) == 0.0]
    for first, start in enumerate(let_in):
        for last, end in enumerate(let_in[first:], first):
            assert last - first + 1 <= per_minute * (1 + (end - start) / 60) + 1e-3


@both
@given(per_minute=st.integers(1, 1_000), start=st.floats(0, 1e9), extra=st.integers(1, 3))
def test_who_waits_as_long_as_told_is_let_in_and_not_before(
    kind: Kind, per_minute: int, start: float, extra: int
) -> None:
    limit = kind(per_minute)
    for _ in range(per_minute):
        assert limit.allow("a", start) == 0.0
    for _ in range(extra):
        wait = limit.allow("a", start)
        assert 0.0 < wait <= 60 / per_minute + 1e-6
        assert limit.allow("a", start + 0.9 * wait) > 0.0 or wait < 1e-4
        start += wait
        assert limit.allow("a", start) == 0.0


def test_one_client_does_not_use_up_anothers_share() -> None:
    limit = RateLimit(1)
    assert limit.allow("a", 0.0) == 0.0
    assert limit.allow("a", 0.0) == 60.0
    assert limit.allow("b", 0.0) == 0.0


def test_being_refused_does_not_lengthen_the_wait() -> None:
    limit = RateLimit(2)
    waits = [limit.allow("a", float(second)) for second in [0, 0, 1, 2, 29, 30, 31]]
    assert waits == [0.0, 0.0, 29.0, 28.0, 1.0, 0.0, 29.0]


def test_zero_means_no_limit_and_remembers_nobody() -> None:
    limit = RateLimit(0)
    assert [limit.allow("a", 0.0) for _ in range(1000)] == [0.0] * 1000
    assert len(limit) == 0


def test_a_negative_limit_is_a_mistake() -> None:
    with pytest.raises(Mistake, match="0 \\(none\\) or more"):
        RateLimit(-1)


def test_idle_clients_are_forgotten() -> None:
    limit = RateLimit(60)
    for client in range(1000):
        limit.allow(str(client), 0.0)
    assert len(limit) == 1000
    limit.allow("late", 1.5)
    assert len(limit) == 1


def test_memory_is_bounded_and_the_busy_client_is_still_held_back() -> None:
    limit = RateLimit(1, clients=100)
    assert limit.allow("busy", 0.0) == 0.0
    for client in range(5000):
        limit.allow(str(client), client / 1000)
        assert len(limit) <= 100
        if client % 50 == 0:
            assert limit.allow("busy", client / 1000) > 0.0


def test_a_limit_finer_than_the_clock_lets_everybody_in() -> None:
    limit = RateLimit(10**12)
    assert [limit.allow("a", 1e9) for _ in range(3)] == [0.0, 0.0, 0.0]


class Slow(float):
    """A moment that takes its time when subtracted from, so that threads meet in the middle of a decision."""

    def __sub__(self, other: float) -> float:
        time.sleep(0.001)
        return float(self) - other


def test_threads_together_get_no_more_than_one_would() -> None:
    limit = RateLimit(10)
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: limit.allow("a", Slow(5.0)), range(80)))
    assert waits.count(0.0) == 10


def test_where_one_machine_serves_a_site_nobody_else_is_asked() -> None:
    assert isinstance(rate_limit(FileState(), "requests", 5), RateLimit)


def test_a_shared_limit_forgets_who_may_knock_as_often_as_ever() -> None:
    state = FileState()
    limit = SharedRateLimit(state, "requests", 60)
    for client in range(100):
        limit.allow(str(client), 100.0)
    limit.allow("late", 161.5)
    assert state.run("SELECT client FROM paces") == [("late",)]
    assert SharedRateLimit(state, "requests", 0).allow("late", 161.5) == 0.0 and limit.at(60) is limit
