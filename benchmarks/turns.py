"""What it costs processes to take turns at one ledger: turns an answer, and what passes within them.

    python benchmarks/turns.py [--answers 100] [--busy 0.004]

One process and then two, of four threads each, as `confide serve` has them: a place among the day's questions is taken, the
processor is busy, the question is recorded. What is by the clock depends on all else that the machine does, the rest little.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from confide.answering.recording.quotas import DayPlaces, DayQuota
from confide.site.ledger import Ledger, verify
from confide.site.ledger.tail import Tail
from confide.site.state.file import FileState, shared_file

THREADS = 4
REQUEST = {"ask": "table", "rows": ["sex", "age_group"], "where": [{"employment": ["employed"], "education": ["2"]}]}
ENTRY: dict[str, Any] = {"who": "ana", "dataset": "people", "request": REQUEST, "outcome": "released"}
ENTRY |= {"receipt": "r" * 40, "answer": "a" * 64, "policy": "standard, version 1", "data": "d" * 64}


class Turns:
    """How many there were, and what they took: seconds of the processor and by the clock."""

    def __init__(self) -> None:
        self.many, self.processor, self.clock = 0, 0.0, 0.0

    def watch(self) -> None:
        held = Tail.held_here

        @contextmanager
        def watched(tail: Tail) -> Iterator[os.stat_result]:
            with held(tail) as now:
                used, begun = time.thread_time(), time.perf_counter()
                try:
                    yield now
                finally:
                    self.many, self.processor = self.many + 1, self.processor + time.thread_time() - used
                    self.clock += time.perf_counter() - begun

        Tail.held_here = watched  # type: ignore[method-assign]


def work(folder: Path, worker: int, answers: int, busy: float) -> None:
    ledger, turns = Ledger(folder / "ledger.jsonl", alone=False), Turns()
    places, quota = DayPlaces(ledger, FileState(folder / "state.sqlite", worker=worker)), DayQuota("ana", None, 10**9)

    def answer() -> None:
        for _ in range(answers):
            place = places.take([quota], dataset="people", policy="p")
            until = time.thread_time() + busy
            while time.thread_time() < until:
                sum(range(300))
            ledger.append(**ENTRY, before=lambda number, place=place: places.use(place, number))

    print("ready", flush=True)
    sys.stdin.readline()
    turns.watch()
    used, begun, threads = time.process_time(), time.perf_counter(), [Thread(target=answer) for _ in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    used, took, all_answers = time.process_time() - used, time.perf_counter() - begun, THREADS * answers
    each_answer = [turns.many, 1e6 * turns.processor, 1e6 * used, 1e6 * turns.clock]
    print(json.dumps([*(one / all_answers for one in each_answer), all_answers / took]), flush=True)
    ledger.close()


def measured(processes: int, answers: int, busy: float) -> None:
    with tempfile.TemporaryDirectory() as folder, shared_file(Path(folder) / "state.sqlite"):
        words = [[sys.executable, __file__, "--work", folder, str(each)] for each in range(processes)]
        more = ["--answers", str(answers), "--busy", str(busy)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started = [subprocess.Popen([*each, *more], **pipes) for each in words]
        for each in started:
            each.stdout.readline()
        for each in started:
            each.stdin.write("\n")
            each.stdin.flush()
        for each in started:
            many, within, used, clock, rate = json.loads(each.stdout.readline())
            print(
                f"{processes} processes: {many:.2f} turns an answer, {within:4.0f} µs of the processor within them",
                end="",
            )
            print(f" of {used:5.0f} in all; {clock:5.0f} µs by the clock, {rate:4.0f} answers a second", flush=True)
            each.wait()
        found = verify(Path(folder) / "ledger.jsonl")
        assert (found.entries, found.problem) == (processes * THREADS * answers, None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=100, help="of each thread")
    parser.add_argument("--busy", type=float, default=0.004, help="seconds of the processor for each answer")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(Path(given.work[0]), int(given.work[1]), given.answers, given.busy)
        return
    for processes in (1, 2):
        measured(processes, given.answers, given.busy)


if __name__ == "__main__":
    main()
