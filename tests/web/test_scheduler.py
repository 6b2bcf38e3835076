"""Whose work gives way: it waits for that of others, and its threads have a lower priority, as Linux has it."""

import os
import sys
from collections.abc import Callable, Iterator
from threading import Event, Thread

import pytest

from confide.web.under_way.scheduler import NICER, Scheduler

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
LONG = 60


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    made = Scheduler(workers=2, each=1)
    yield made
    made.close()


class Piece:
    """Work that tells how much nicer its thread is than this one, and goes on until it is let go."""

    def __init__(self, *, starts: bool = False) -> None:
        self._usual, self._starts = _niceness(), starts
        self.begun, self.go_on, self.nicer = Event(), Event(), 0

    def __call__(self) -> None:
        within: Callable[[Callable[[], None]], None] = _in_a_thread if self._starts else lambda look: look()
        within(self._look)
        self.begun.set()
        assert self.go_on.wait(LONG)

    def _look(self) -> None:
        self.nicer = _niceness() - self._usual

    def found(self) -> int:
        """How much nicer it was, once it has begun; it goes on until it is let go."""
        assert self.begun.wait(LONG)
        return self.nicer


class Giving(Piece):
    """Work that gives way after it is let go, and tells when it goes on."""

    def __init__(self, scheduler: Scheduler, gave_way: Event) -> None:
        super().__init__()
        self._scheduler, self._gave_way = scheduler, gave_way

    def __call__(self) -> None:
        super().__call__()
        self._scheduler.give_way()
        self._gave_way.set()


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)  # of this thread


def _lower() -> int:
    """How much nicer work that gives way is; 19 is the most there is, whatever these tests are started with."""
    return min(NICER, 19 - _niceness())


def _in_a_thread(work: Callable[[], None]) -> None:
    thread = Thread(target=work)
    thread.start()
    thread.join()


@on_linux
def test_one_question_at_a_time_gives_way_to_nobody(scheduler: Scheduler) -> None:
    for _ in range(3):
        piece = Piece()
        scheduler.submit("ana", piece)
        assert piece.found() == 0
        piece.go_on.set()


@on_linux
@pytest.mark.parametrize("starts", [False, True], ids=["itself", "threads-it-starts"])
def test_the_work_of_one_who_wants_several_pieces_gives_way_until_one_is_left(
    scheduler: Scheduler, starts: bool
) -> None:
    pieces = [Piece(starts=starts) for _ in range(3)]
    for piece in pieces:
        scheduler.submit("ana", piece)
    nicer = []
    for piece in pieces:
        nicer.append(piece.found())
        piece.go_on.set()
    assert nicer == [0, _lower(), 0]


@on_linux
def test_work_that_is_begun_by_a_thread_that_gives_way_has_the_usual_priority(scheduler: Scheduler) -> None:
    first, second, third, bob = (Piece() for _ in range(4))
    for piece in (first, second, third):
        scheduler.submit("ana", piece)
    first.go_on.set()
    assert second.found() == _lower()
    scheduler.submit("bob", bob)
    bob.found()
    second.go_on.set()
    assert third.found() == 0
    for piece in (third, bob):
        piece.go_on.set()


def test_work_of_one_who_wants_several_pieces_waits_for_that_of_others(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.web.under_way.scheduler.LONGEST", LONG)
    first, last, bob, gave_way = Piece(), Piece(), Piece(), Event()
    second = Giving(scheduler, gave_way)
    for piece in (first, second, last):
        scheduler.submit("ana", piece)
    first.go_on.set()
    second.found()
    scheduler.submit("bob", bob)
    bob.found()
    second.go_on.set()
    assert not gave_way.wait(0.2)
    bob.go_on.set()
    assert gave_way.wait(LONG)
    last.go_on.set()


def test_work_that_gives_way_is_never_kept_from_its_end(scheduler: Scheduler) -> None:
    first, last, bob, gave_way = Piece(), Piece(), Piece(), Event()
    second = Giving(scheduler, gave_way)
    for piece in (first, second, last):
        scheduler.submit("ana", piece)
    first.go_on.set()
    second.found()
    scheduler.submit("bob", bob)
    bob.found()
    second.go_on.set()
    assert gave_way.wait(LONG)
    for piece in (last, bob):
        piece.go_on.set()


def test_who_wants_one_piece_waits_for_nobody(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.web.under_way.scheduler.LONGEST", LONG)
    gave_way, bob = Event(), Piece()
    scheduler.submit("bob", bob)
    bob.found()
    ana = Giving(scheduler, gave_way)
    scheduler.submit("ana", ana)
    ana.go_on.set()
    assert gave_way.wait(LONG / 2)
    bob.go_on.set()
