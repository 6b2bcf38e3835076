"""Long work: done once for its owner, watched, stopped when nobody wants it, and bounded."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any

import pytest

from confide.errors import Fault, Mistake, Reason, Refused
from confide.web.cache import Cache
from confide.web.jobs import MOST_OPEN, MOST_OPEN_EACH, Job, Jobs, JobState, Progress, Stopped

LONG = 60
"""Seconds after which a test gives up: only a test that fails waits so long."""

Make = Callable[..., Jobs]


@pytest.fixture
def make() -> Iterator[Make]:
    """Make jobs that end with the test. Without patience nothing is waited for."""
    made: list[Jobs] = []

    def making(*, most: float = 100, **options: Any) -> Jobs:
        made.append(Jobs(Cache(most), policy="standard", **{"workers": 2, "patience": 0, **options}))
        return made[-1]

    yield making
    for jobs in made:
        jobs.close()


def finished(job: Job[Any]) -> Job[Any]:
    assert job.wait(LONG)
    return job


def failing(error: Exception) -> Callable[[Progress], Any]:
    def fail(progress: Progress) -> Any:
        raise error

    return fail


class Held:
    """Work that waits until it is let go, and says when it has begun."""

    def __init__(self) -> None:
        self.begun, self.go, self.times = Event(), Event(), 0

    def __call__(self, progress: Progress) -> int:
        self.times += 1
        self.begun.set()
        assert self.go.wait(LONG)
        return self.times


def test_work_is_done_once_however_often_its_page_is_opened(make: Make) -> None:
    jobs, done = make(patience=LONG), list[int]()
    for _ in range(3):
        job = jobs.start("key", lambda progress: done.append(1) or len(done), owner="ana")
        assert job.done and job.outcome == 1 and job.state is JobState.DONE
    assert jobs.find("key", owner="ana") is job and jobs.find("other", owner="ana") is None


@pytest.mark.parametrize("here", [True, False])
def test_the_same_work_asked_for_at_the_same_time_is_done_once(make: Make, here: bool) -> None:
    jobs, work = make(patience=LONG), Held()
    ask = jobs.run if here else jobs.start
    with ThreadPoolExecutor(8) as people:
        asking = [people.submit(ask, "key", work, owner="ana") for _ in range(8)]
        assert work.begun.wait(LONG)
        work.go.set()
        assert {job.result(LONG).outcome for job in asking} == {1}


def test_what_is_done_here_is_what_a_page_finds_and_the_other_way_round(make: Make) -> None:
    jobs, work = make(patience=LONG), Held()
    work.go.set()
    assert jobs.run("here", work, owner="ana").outcome == jobs.start("here", work, owner="ana").outcome == 1
    assert jobs.start("there", work, owner="ana").outcome == jobs.run("there", work, owner="ana").outcome == 2


def test_who_wants_an_outcome_here_waits_for_the_job_that_goes_on(make: Make) -> None:
    jobs, work, found = make(), Held(), list[int]()
    job = jobs.start("key", work, owner="ana")
    waiting = Thread(target=lambda: found.append(jobs.run("key", work, owner="ana").outcome))
    waiting.start()
    assert work.begun.wait(LONG)
    assert not job.done and not found
    work.go.set()
    waiting.join(LONG)
    assert found == [1] == [finished(job).outcome]


def test_a_job_and_its_outcome_are_the_owners_alone(make: Make) -> None:
    jobs = make()
    mine, theirs = (finished(jobs.start("key", lambda progress: [], owner=who)) for who in ("ana", "bob"))
    assert mine.outcome is not theirs.outcome and mine.id != theirs.id
    assert jobs.numbered(mine.id, owner="ana") is mine and jobs.numbered(mine.id, owner="bob") is None
    assert jobs.numbered("", owner="ana") is None and jobs.numbered(mine.id + "é", owner="ana") is None


def test_a_mistake_is_told_to_whoever_looks_and_does_not_grow_with_looking(make: Make) -> None:
    jobs, depths = make(patience=LONG), set[int]()
    for _ in range(5):
        with pytest.raises(Mistake, match="no") as caught:
            _ = jobs.start("key", failing(Mistake("no")), owner="ana").outcome
        depths.add(len(caught.traceback))
    assert len(jobs) == 1 and len(depths) == 1


OTHER_TIMES = [Refused([Reason("quota.per_day", "enough")], policy="p"), Fault("broken"), ZeroDivisionError()]


@pytest.mark.parametrize("error", OTHER_TIMES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("here", [True, False])
def test_what_may_be_otherwise_next_time_is_told_and_then_forgotten(make: Make, error: Exception, here: bool) -> None:
    jobs = make(patience=LONG)
    ask = jobs.run if here else jobs.start
    with pytest.raises(type(error)):
        _ = ask("key", failing(error), owner="ana").outcome
    assert len(jobs) == 0
    assert ask("key", lambda progress: "well", owner="ana").outcome == "well"


def test_a_failure_is_kept_until_somebody_was_told(make: Make) -> None:
    """Otherwise the page would ask again whenever its job sends the browser back."""
    jobs = make()
    job = finished(jobs.start("key", failing(Fault("broken")), owner="ana"))
    assert job.state is JobState.FAILED
    again = jobs.start("key", failing(AssertionError("asked again")), owner="ana")
    with pytest.raises(Fault, match="broken"):
        _ = again.outcome


def test_one_who_looks_too_early_is_told_how_far_it_is(make: Make) -> None:
    jobs, go, came = make(), Event(), Event()

    def work(progress: Progress) -> str:
        progress.of = 2
        progress.step()
        came.set()
        assert go.wait(LONG)
        progress.step()
        return "done"

    job = jobs.start("key", work, owner="ana")
    assert came.wait(LONG)
    assert job.state is JobState.RUNNING and (job.progress.done, job.progress.of) == (1, 2)
    go.set()
    assert finished(job).outcome == "done" and job.progress.done == 2


def test_work_that_nobody_wants_stops_at_its_next_step_and_is_forgotten(make: Make) -> None:
    jobs, came = make(), Event()

    def work(progress: Progress) -> None:
        while True:
            came.set()
            progress.step()

    job = jobs.start(("replay", 1), work, owner="ana")
    other = finished(jobs.start(("replay", 1), lambda progress: 1, owner="bob"))
    assert came.wait(LONG)
    jobs.forget(lambda key: key == ("replay", 1), owner="ana")
    assert isinstance(finished(job).error, Stopped) and jobs.find(("replay", 1), owner="ana") is None
    assert jobs.find(("replay", 1), owner="bob") is other
    endless = jobs.start(("replay", 2), work, owner="ana")
    jobs.close()
    assert endless.done


def test_what_was_forgotten_does_not_take_the_place_of_what_came_after(make: Make) -> None:
    jobs, work = make(), Held()
    old = jobs.start("key", work, owner="ana")
    assert work.begun.wait(LONG)
    jobs.forget(lambda key: True, owner="ana")
    new = finished(jobs.start("key", lambda progress: "new", owner="ana"))
    work.go.set()
    finished(old)
    assert jobs.find("key", owner="ana") is new


def test_outcomes_are_bounded_but_what_goes_on_is_not_forgotten(make: Make) -> None:
    jobs, work = make(most=12), Held()
    waiting = jobs.start("slow", work, owner="ana")
    for number in range(17):
        finished(jobs.start(number, lambda progress: 1, owner="ana"))
    assert jobs.find("slow", owner="ana") is waiting and len(jobs) == 13
    assert jobs.find(0, owner="ana") is None and jobs.find(16, owner="ana") is not None
    work.go.set()


def test_nobody_can_have_too_many_jobs_open(make: Make) -> None:
    jobs, work = make(), Held()
    for number in range(MOST_OPEN_EACH):
        jobs.start(number, work, owner="ana")
    with pytest.raises(Refused, match="8 of your questions.*Wait until one is finished") as caught:
        jobs.start("more", work, owner="ana")
    assert caught.value.http_status == 429 and caught.value.reasons[0].rule == "quota.waiting"
    assert not jobs.start(0, work, owner="ana").done, "what is open can still be looked at"
    for number in range(MOST_OPEN - MOST_OPEN_EACH):
        jobs.start(number, work, owner=f"person {number}")
    with pytest.raises(Refused, match="busy with other questions"):
        jobs.start("more", work, owner="zoe")
    assert jobs.run("here", lambda progress: 1, owner="ana").outcome == 1, "what needs no worker takes none"
    work.go.set()


def test_closing_finishes_what_goes_on_and_never_begins_what_waits(make: Make) -> None:
    jobs, work = make(workers=1), Held()
    running, waiting = (jobs.start(key, work, owner="ana") for key in ("running", "waiting"))
    assert work.begun.wait(LONG)
    closing = Thread(target=jobs.close)
    closing.start()
    assert running.progress.stopping.wait(LONG) and waiting.progress.stopping.wait(LONG)
    work.go.set()
    closing.join(LONG)
    assert (running.state, waiting.state) == (JobState.DONE, JobState.FAILED) and work.times == 1
    assert waiting.running_since is None
