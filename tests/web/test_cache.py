"""The one store of the site: what was used last stays, within the bound, and no change is lost among threads."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from confide.cache import Cache

keys = st.integers(0, 9)
uses = st.lists(st.tuples(keys, st.none() | st.binary(max_size=40)), max_size=60)


@given(uses=uses, most=st.integers(0, 100))
def test_the_last_used_are_kept_within_the_bound(uses: list[tuple[int, bytes | None]], most: int) -> None:
    cache: Cache[int, bytes] = Cache(most, weigh=len)
    held: dict[int, bytes] = {}
    for key, content in uses:
        if content is None:
            assert cache.get(key) == held.get(key)
        else:
            cache.put(key, content)
        if content is not None or key in held:
            held[key] = held.pop(key) if content is None else (held.pop(key, b""), content)[1]
        while sum(map(len, held.values())) > most:
            held.pop(next(iter(held)))
        assert cache.weight == sum(map(len, held.values())) <= most and len(cache) == len(held)
    assert {key: cache.get(key) for key in held} == held
    assert all(cache.get(key) is None for key, _ in uses if key not in held)


def test_without_weights_each_value_is_one() -> None:
    cache: Cache[int, str] = Cache(2)
    for number in range(5):
        cache.put(number, "x" * number)
    assert len(cache) == cache.weight == 2
    assert [cache.get(number) for number in range(5)] == [None, None, None, "xxx", "xxxx"]


def test_a_value_heavier_than_everything_may_weigh_is_not_kept() -> None:
    cache: Cache[str, bytes] = Cache(3, weigh=len)
    cache.put("a", b"1234")
    assert cache.get("a") is None and cache.weight == len(cache) == 0


def expiring(most: float = 10) -> Cache[str, float]:
    """A cache of moments, each of which is over after ten seconds."""
    return Cache(most, expired=lambda began, now: now - began > 10)


def test_what_is_expired_is_never_given_however_often_it_is_used() -> None:
    cache = expiring()
    cache.put("a", 0.0, now=0.0)
    assert [cache.get("a", now=now) for now in (5.0, 10.0, 10.5, 0.0)] == [0.0, 0.0, None, None]
    assert len(cache) == 0


def test_what_expired_is_not_what_a_change_is_told() -> None:
    cache, told = expiring(), list[float | None]()

    def note(found: float | None) -> float:
        told.append(found)
        return 11.0

    cache.put("a", 0.0, now=0.0)
    cache.change("a", note, now=11.0)
    cache.change("a", note, now=12.0)
    assert told == [None, 11.0]


def test_what_expired_leaves_when_something_else_is_put() -> None:
    cache = expiring()
    for name in "abc":
        cache.put(name, 0.0, now=0.0)
    cache.put("d", 20.0, now=20.0)
    assert len(cache) == cache.weight == 1


def test_looking_at_everything_shows_nothing_expired_and_uses_nothing() -> None:
    cache = expiring(most=2)
    cache.put("old", 0.0, now=0.0)
    cache.put("new", 5.0, now=5.0)
    assert cache.items(now=5.0) == [("old", 0.0), ("new", 5.0)]
    assert cache.items(now=11.0) == [("new", 5.0)]
    cache.put("newer", 6.0, now=6.0)
    assert [key for key, _ in cache.items(now=6.0)] == ["new", "newer"]


def test_what_is_popped_is_gone_and_weighs_nothing() -> None:
    cache: Cache[str, bytes] = Cache(10, weigh=len)
    cache.put("a", b"123")
    assert (cache.pop("a"), cache.pop("a"), cache.get("a"), cache.weight) == (b"123", None, None, 0)


def test_a_change_that_gives_nothing_keeps_nothing() -> None:
    cache: Cache[str, int] = Cache(10)
    cache.put("a", 1)
    assert cache.change("a", lambda found: None) is None and len(cache) == 0


def slowly(change: Callable[[int | None], int]) -> Callable[[int | None], int]:
    """The same change, in the middle of which other threads get their turn."""

    def slow(found: int | None) -> int:
        time.sleep(0.0005)
        return change(found)

    return slow


def test_no_change_is_lost_among_threads() -> None:
    cache: Cache[str, int] = Cache(2)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: cache.change("ab"[n % 2], slowly(lambda found: (found or 0) + 1)), range(200)))
    assert (cache.get("a"), cache.get("b")) == (100, 100)


def test_threads_never_see_more_than_the_bound() -> None:
    cache: Cache[int, bytes] = Cache(100, weigh=len)

    def use(number: int) -> None:
        cache.put(number % 37, b"x" * (number % 13))
        cache.get(number % 29)
        cache.pop(number % 31)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(4000)))
    left = {key: found for key in range(37) if (found := cache.get(key)) is not None}
    assert cache.weight == sum(map(len, left.values())) <= 100 and len(cache) == len(left)
