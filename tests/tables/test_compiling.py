"""Compiling does not count against a time limit, and what an older version has left on disk is no matter."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FRESH = """
import json, sys, time

# A clock on which compiling takes a thousand seconds a function and all else nothing. It listens first, so that whoever
# times the compiler sees those seconds.
now = [0.0]
time.monotonic = lambda: now[0]

from numba.core import event

class Slow(event.Listener):
    def on_start(self, event):
        pass

    def on_end(self, event):
        now[0] += 1000.0

event.register("numba:compiler_lock", Slow())

import numpy as np
from confide.tables import Table, Threshold, adjust, round, safe, suppress

random = np.random.default_rng(1)
people = {name: random.choice(list("abcd"), 60).tolist() for name in ("u", "v")} | {"t": random.integers(1, 99, 60).tolist()}
counts = Table.from_microdata(people, by=["u", "v"])
methods = {
    "suppress": lambda: suppress(
        Table.from_microdata(people, by=["u", "v"], of="t").flag(Threshold(5)), method="fast", time_limit=10
    ).complete,
    "round": lambda: round(counts, base=5, method="small", time_limit=10, teaching_seed=1).finished,
    "adjust": lambda: adjust(counts, time_limit=10, teaching_seed=1).finished,
    "safe": lambda: safe(people, by=["u", "v"], sweeps=10, time_limit=10, teaching_seed=1).finished,
}
print(json.dumps([methods[sys.argv[1]](), now[0]]))
"""


@pytest.mark.parametrize("method", ["suppress", "round", "adjust", "safe"])
def test_the_first_search_of_a_process_is_not_cut_short_by_compiling(tmp_path: Path, method: str) -> None:
    empty = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    said = subprocess.check_output([sys.executable, "-c", FRESH, method], env=empty, text=True)
    complete, seconds = json.loads(said)
    assert seconds >= 1000, "something was compiled while the clock ran"
    assert complete


VERSION = """
from typing import NamedTuple

from confide.data.compiling import compiled


class {name}(NamedTuple):
    a: int


@compiled
def double(given: {name}) -> int:
    return 2 * given.a


if __name__ == "__main__":
    import hot

    print(hot.double(hot.{name}(21)), sum(hot.double.stats.cache_hits.values()))
"""


def test_what_was_compiled_for_a_class_that_has_another_name_now_is_compiled_anew_and_kept(tmp_path: Path) -> None:
    def run(name: str) -> str:
        (tmp_path / "hot.py").write_text(VERSION.format(name=name))
        there = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        return subprocess.check_output([sys.executable, tmp_path / "hot.py"], env=there, text=True).strip()

    assert [run(name) for name in ("Old", "Old", "New", "New")] == ["42 0", "42 1", "42 0", "42 1"]
