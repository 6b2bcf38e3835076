"""Long work of custodians: done once, watched, stopped when nobody wants it, and bounded in memory."""

from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from confide.errors import Mistake
from confide.web.tasks import MOST_KEPT, Progress, Stopped, Tasks


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    made = Tasks(patience=5)
    yield made
    made.close()


def test_work_is_done_once_however_often_its_page_is_opened(tasks: Tasks) -> None:
    done: list[int] = []
    for _ in range(3):
        task = tasks.get("key", lambda progress: done.append(1) or len(done))
        assert task.done and task.outcome == 1
    assert tasks.find("key") is task and tasks.find("other") is None


def test_a_mistake_of_the_work_is_told_to_whoever_looks(tasks: Tasks) -> None:
    def fail(progress: Progress) -> Any:
        raise Mistake("no")

    for _ in range(2):
        with pytest.raises(Mistake, match="no"):
            _ = tasks.get("key", fail).outcome


def test_one_who_looks_too_early_is_told_how_far_it_is() -> None:
    tasks, go, came = Tasks(patience=0), Event(), Event()

    def work(progress: Progress) -> str:
        progress.of = 2
        progress.step()
        came.set()
        assert go.wait(10)
        progress.step()
        return "done"

    task = tasks.get("key", work)
    assert came.wait(10)
    assert not task.done and (task.progress.done, task.progress.of) == (1, 2)
    go.set()
    assert task.outcome == "done" and task.progress.done == 2
    tasks.close()


def test_work_that_nobody_wants_stops_at_its_next_step_and_is_forgotten() -> None:
    tasks, came = Tasks(patience=0), Event()

    def work(progress: Progress) -> None:
        while True:
            came.set()
            progress.step()

    task = tasks.get(("replay", 1), work)
    assert came.wait(10)
    tasks.forget(lambda key: key == ("replay", 1))
    assert isinstance(task.future.exception(10), Stopped) and tasks.find(("replay", 1)) is None
    endless = tasks.get(("replay", 2), work)
    tasks.close()
    assert endless.done


def test_outcomes_are_bounded_but_what_goes_on_is_not_forgotten(tasks: Tasks) -> None:
    go = Event()
    slow = Tasks(patience=0)
    waiting = slow.get("slow", lambda progress: go.wait(10))
    for number in range(MOST_KEPT + 5):
        slow.get(number, lambda progress: 1).future.result(10)
    assert slow.find("slow") is waiting
    assert slow.find(0) is None and slow.find(MOST_KEPT + 4) is not None
    go.set()
    slow.close()
