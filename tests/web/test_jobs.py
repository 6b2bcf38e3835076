"""Long work: done once for its owner, watched, stopped when nobody wants it, and bounded."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any

import pytest

from confide.cache import Cache
from confide.cancellation import StopReason, current_cancellation
from confide.errors import Fault, Mistake, Reason, Refused
from confide.web.under_way.jobs import LONGEST_RETRY, MOST_OPEN, MOST_OPEN_EACH, Job, Jobs, JobState, Progress, Stopped

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


def test_the_same_work_asked_for_at_the_same_time_is_done_once(make: Make) -> None:
    jobs, work = make(patience=LONG), Held()
    with ThreadPoolExecutor(8) as people:
        asking = [people.submit(jobs.start, "key", work, owner="ana") for _ in range(8)]
        assert work.begun.wait(LONG)
        work.go.set()
        assert {job.result(LONG).outcome for job in asking} == {1}


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
def test_what_may_be_otherwise_next_time_is_told_and_then_forgotten(make: Make, error: Exception) -> None:
    jobs = make(patience=LONG)
    with pytest.raises(type(error)):
        _ = jobs.start("key", failing(error), owner="ana").outcome
    assert len(jobs) == 0
    assert jobs.start("key", lambda progress: "well", owner="ana").outcome == "well"


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
    with pytest.raises(Refused, match=f"{MOST_OPEN_EACH} of your questions.*Wait until some are finished") as caught:
        jobs.start("more", work, owner="ana")
    assert caught.value.http_status == 429 and caught.value.reasons[0].rule == "quota.waiting"
    assert 1 <= caught.value.retry_after <= LONGEST_RETRY
    assert not jobs.start(0, work, owner="ana").done, "what is open can still be looked at"
    for number in range(MOST_OPEN - MOST_OPEN_EACH):
        jobs.start(number, work, owner=f"person {number}")
    with pytest.raises(Refused, match="busy with other questions") as caught:
        jobs.start("more", work, owner="zoe")
    assert caught.value.http_status == 503 and caught.value.retry_after == LONGEST_RETRY
    work.go.set()


def test_closing_waits_for_what_goes_on_and_never_begins_what_waits(make: Make) -> None:
    jobs, work = make(workers=1), Held()
    running, waiting = (jobs.start(key, work, owner="ana") for key in ("running", "waiting"))
    assert work.begun.wait(LONG)
    closing = Thread(target=jobs.close)
    closing.start()
    assert isinstance(finished(waiting).error, Stopped) and running.cancellation.stopping
    work.go.set()
    closing.join(LONG)
    assert (running.state, waiting.state) == (JobState.DONE, JobState.FAILED) and work.times == 1
    assert waiting.running_since is None


# ---- taking turns


def test_people_take_turns_however_much_one_of_them_wants(make: Make) -> None:
    jobs, first, order = make(workers=1), Held(), list[str]()
    jobs.start("first", first, owner="ana")
    assert first.begun.wait(LONG)
    wanted = [("ana", 10), ("bob", 2), ("zoe", 1)]
    rest = [
        jobs.start(number, lambda progress, who=who: order.append(who), owner=who)
        for who, many in wanted
        for number in range(many)
    ]
    first.go.set()
    for job in rest:
        finished(job)
    assert order == ["ana", "bob", "zoe", "ana", "bob", *["ana"] * 8]


def test_one_alone_never_has_all_the_workers(make: Make) -> None:
    jobs, works = make(workers=2, each=1), [Held(), Held()]
    mine = [jobs.start(number, work, owner="ana") for number, work in enumerate(works)]
    assert works[0].begun.wait(LONG)
    assert finished(jobs.start("key", lambda progress: "small", owner="bob")).outcome == "small"
    assert [job.state for job in mine] == [JobState.RUNNING, JobState.WAITING]
    for work in works:
        work.go.set()
    assert all(finished(job).outcome == 1 for job in mine)


# ---- stopping


class Endless:
    """Work that goes on until it is interrupted, as a statement of an engine does."""

    def __init__(self) -> None:
        self.begun, self.times = Event(), 0

    def __call__(self, progress: Progress) -> None:
        interrupted = Event()
        with current_cancellation().interrupting(interrupted.set):
            self.times += 1
            self.begun.set()
            assert interrupted.wait(LONG)
        progress.cancellation.check()


def test_what_everybody_has_left_is_interrupted_and_not_before(make: Make) -> None:
    jobs, work = make(abandoned=0), Endless()
    job, same = (jobs.begin("key", work, owner="ana") for _ in range(2))
    assert job is same and work.begun.wait(LONG)
    jobs.leave(job)
    assert not job.cancellation.stopping
    jobs.leave(job)
    assert isinstance(finished(job).error, Stopped) and len(jobs) == 0


def test_what_everybody_has_left_before_it_began_never_begins(make: Make) -> None:
    jobs, first, work = make(workers=1, abandoned=0), Held(), Endless()
    going_on = jobs.begin("first", first, owner="ana")
    assert first.begun.wait(LONG)
    for number in range(5 * MOST_OPEN_EACH):
        jobs.leave(jobs.begin(number, work, owner="ana"))
    assert len(jobs) == 1
    first.go.set()
    assert finished(going_on).outcome == 1 and work.times == 0


def test_who_comes_back_while_work_is_being_stopped_has_it_done_anew(make: Make) -> None:
    jobs, work = make(abandoned=0), Held()
    left = jobs.begin("key", work, owner="ana")
    assert work.begun.wait(LONG)
    jobs.leave(left)
    back = jobs.begin("key", lambda progress: "new", owner="ana")
    assert back is not left and finished(back).outcome == "new"
    work.go.set()
    finished(left)
    assert jobs.find("key", owner="ana") is back


def test_a_page_that_is_looked_at_keeps_its_work_going(make: Make) -> None:
    now = [0.0]
    jobs, work = make(abandoned=90, clock=lambda: now[0]), Endless()
    job = jobs.start("key", work, owner="ana")
    for now[0] in (80.0, 160.0):
        assert jobs.look_after() and not job.cancellation.stopping
        jobs.show(job)
    now[0] = 260.0
    jobs.look_after()
    assert isinstance(finished(job).error, Stopped)


def test_what_takes_longer_than_it_may_is_stopped_and_waiting_does_not_count(make: Make) -> None:
    now = [0.0]
    jobs, first, work = make(workers=1, clock=lambda: now[0]), Held(), Endless()
    jobs.begin("first", first, owner="ana")
    job = jobs.begin("key", work, owner="ana", seconds=10)
    now[0] = 100.0
    first.go.set()
    assert work.begun.wait(LONG)
    now[0] = 110.0
    jobs.look_after()
    assert not job.cancellation.stopping
    now[0] = 110.1
    jobs.look_after()
    error = finished(job).error
    assert isinstance(error, Stopped) and error.reason is StopReason.TIME


def test_an_interruption_that_came_too_early_is_repeated(make: Make) -> None:
    """DuckDB forgets one that comes before its statement begins."""
    jobs, begun, go, repeated = make(abandoned=0), Event(), Event(), Event()
    told = list[int]()

    def interrupt() -> None:
        told.append(1)
        repeated.set()

    def work(progress: Progress) -> None:
        with current_cancellation().interrupting(interrupt):
            begun.set()
            assert go.wait(LONG)
            told.clear()
            repeated.clear()
            assert repeated.wait(LONG)

    job = jobs.begin("key", work, owner="ana")
    assert begun.wait(LONG)
    jobs.leave(job)
    go.set()
    finished(job)
    assert told and job.error is None
