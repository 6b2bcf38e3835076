"""The red team's run: many attacks on one data set, side by side, within a number of questions and a time."""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from confide.attacks.attack import Attack
from confide.attacks.registry import attacks
from confide.attacks.result import Result
from confide.attacks.runner import Battlefield, LocalField, Settings, carry_out
from confide.attacks.truth.truth import Truth, truth_of_site
from confide.errors import ConfideError
from confide.model.policy import Policy

__all__ = ["PROCESSES", "local_field", "run_here", "run_side_by_side"]

PROCESSES = 2

LONG = ("boxes", "search", "many-accounts", "logistic-counts", "withheld-totals", "subset-totals")

_truth: Callable[[Path, str], Truth] = cache(truth_of_site)

_asked: Any = None
"""In a process of the pool: how many questions all of them have asked."""


@dataclass(frozen=True)
class _Job:
    """What a process needs to carry out an attack; it reads the data itself."""

    site: Path
    dataset: str
    policy: Policy
    attack: str
    settings: Settings


def local_field(site: Path, dataset: str, policy: Policy) -> LocalField:
    """A site of this machine under its own policy or another."""
    return LocalField(site, dataset, policy, _truth(site, dataset))


def run_here(
    chosen: Mapping[str, Attack], field: Battlefield, settings: Settings, *, progress: Callable[[int], None]
) -> Iterator[Result]:
    """The attacks one after the other in this process; `progress` is told every question."""
    for attack in chosen.values():
        yield _carried_out(attack, field, settings, progress)


def run_side_by_side(
    chosen: Mapping[str, Attack], field: LocalField, settings: Settings, *, progress: Callable[[int], None]
) -> Iterator[Result]:
    """The attacks in several processes, each result as it comes; `progress` is told how many questions there were since."""
    context = multiprocessing.get_context("spawn")
    asked = context.Value("q", 0)
    with ProcessPoolExecutor(PROCESSES, context, initializer=_start, initargs=(asked,)) as pool:
        # The attacks that take longest come first, so that none of them is left over at the end.
        names = sorted(chosen, key=lambda name: name not in LONG)
        jobs = [_Job(field.site, field.name, field.policy, name, settings) for name in names]
        futures = [pool.submit(_run, job) for job in jobs]
        try:
            yield from _results(futures, lambda: int(asked.value), progress)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _results(
    futures: list[Future[Result]], asked: Callable[[], int], progress: Callable[[int], None]
) -> Iterator[Result]:
    told, waiting = 0, set(futures)
    while waiting:
        done = {future for future in waiting if future.done()}
        now = asked()
        progress(now - told)
        told, waiting = now, waiting - done
        yield from (future.result() for future in as_completed(done))
        if waiting and not done:
            time.sleep(0.1)


def _start(asked: Any) -> None:
    global _asked
    _asked = asked


def _run(job: _Job) -> Result:
    def count(asked: int) -> None:
        with _asked.get_lock():
            _asked.value += 1

    return _carried_out(attacks()[job.attack], local_field(job.site, job.dataset, job.policy), job.settings, count)


def _carried_out(attack: Attack, field: Battlefield, settings: Settings, progress: Callable[[int], None]) -> Result:
    """The result, whatever happens: an attack that breaks down says so and lets the others go on."""
    about = Result(attack=attack.name, code=attack.code, words=attack.words)
    if time.monotonic() > settings.until:
        return replace(about, stopped="The time ran out before it began.")
    try:
        return carry_out(attack, field, settings, progress=lambda asked: progress(1))
    except (ConfideError, ArithmeticError, LookupError, ValueError) as error:
        return replace(about, stopped=f"The attack itself broke down ({type(error).__name__}: {str(error)[:200]}).")
