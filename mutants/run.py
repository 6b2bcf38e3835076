"""The mutation gate: what would break a promise, done on purpose, must make a test fail.

Each `[[module.mutant]]` of the TOML files beside this one changes one text of one module. A mutant is imported in a process
of its own, forked from one in which the libraries are loaded already, and the tests that concern it run there until one fails.
It passes if a test fails, or if it has a written reason to survive; a text that its module does not hold exactly once fails.

    python mutants/run.py [--sample] [WORDS]

`--sample` takes the marked ones only; WORDS those whose description or module contains them.
"""

import importlib
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src" / "confide"
LIBRARIES = (
    *("numpy", "pyarrow.compute", "duckdb", "scipy.stats", "scipy.optimize", "numba", "pandas", "statsmodels.api"),
    *("pytest", "hypothesis"),
)
"""What the tests need and no mutant touches: loaded once."""

OPTIONS = ("-x", "-q", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Stop at the first failure; and hypothesis, which is loaded already, is none of the modules whose asserts are explained."""

AT_ONCE = 2
MOST_CPU = 120
"""Seconds of a processor: a mutant that never ends is found out. The tests themselves need a small part of it."""
MOST_WALL = 600
"""Seconds for one that sleeps for ever. This is a fault of the gate, not a pass."""

OUTCOMES, BROKEN = {0: "survived", 1: "killed"}, 70
"""What pytest says when a test failed, and when all passed. Anything else, such as no tests, is a fault of the list."""


@dataclass(frozen=True)
class Mutant:
    """One change of one module, and the tests that must notice it; without `old` nothing is changed."""

    what: str
    file: str
    tests: tuple[str, ...]
    old: str = ""
    new: str = ""
    sample: bool = False
    survives: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"

    @property
    def source(self) -> str:
        return (SOURCE / self.file).read_text(encoding="utf-8")

    @property
    def text(self) -> str:
        """The module as changed."""
        return self.source.replace(self.old, self.new)

    @property
    def fault(self) -> str:
        """Why it cannot be made, or nothing."""
        if not (SOURCE / self.file).exists():
            return "there is no such module"
        if self.source.count(self.old) != 1:
            return f"its text is {self.source.count(self.old)} times in the module, not once: {self.old!r}"
        # A mutant must not be written where compiled code is kept.
        return "the module is compiled and kept on disk" if "compiling" in self.source else ""


class Changed(SourceFileLoader, importlib.abc.MetaPathFinder):
    """Finds and loads the one changed module."""

    def __init__(self, mutant: Mutant) -> None:
        name = "confide." + mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        super().__init__(name, str(SOURCE / mutant.file))
        self.text = mutant.text

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return (
            importlib.util.spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None
        )

    def get_code(self, fullname: str) -> object:
        return compile(self.text, self.path, "exec", dont_inherit=True)


def mutants() -> Iterator[Mutant]:
    """Every mutant of the list."""
    for path in sorted(HERE.glob("*.toml")):
        for module in tomllib.loads(path.read_text(encoding="utf-8"))["module"]:
            for given in module["mutant"]:
                tests = tuple(given.pop("tests", module["tests"]))
                yield Mutant(file=module["file"], tests=tests, **given)


def run(mutant: Mutant, log: Path) -> None:
    """Run its tests in this process, which ends with what pytest says, or with BROKEN."""
    said = BROKEN
    try:
        if mutant.old:
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, MOST_CPU + 5))
            signal.alarm(MOST_WALL)
        output = os.open(log, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if mutant.old:
            sys.meta_path.insert(0, Changed(mutant))
        said = importlib.import_module("pytest").main([*OPTIONS, *mutant.tests])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(said)


def outcome(status: int) -> str:
    """How its tests ended."""
    if os.WIFSIGNALED(status):
        ended = os.WTERMSIG(status)
        return "killed" if ended == signal.SIGXCPU else f"ended by signal {ended}"
    return OUTCOMES.get(os.WEXITSTATUS(status), f"not tested (pytest says {os.WEXITSTATUS(status)})")


def judge(chosen: Sequence[Mutant]) -> list[Mutant]:
    """Run them, two at a time, and give those that fail: not killed and without a reason, or with one and killed."""
    failed: list[Mutant] = []
    running: dict[int, tuple[Mutant, float]] = {}
    waiting = list(reversed(chosen))
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                mutant = waiting.pop()
                child = os.fork()
                if not child:
                    run(mutant, Path(folder) / str(os.getpid()))
                running[child] = mutant, time.monotonic()
            child, status = os.wait()
            mutant, begun = running.pop(child)
            found = outcome(status)
            passed = found == ("survived" if mutant.survives else "killed")
            print(f"{time.monotonic() - begun:5.1f} s  {'' if passed else 'FAILED, '}{found}: {mutant}", flush=True)
            if not passed:
                failed.append(mutant)
                print((Path(folder) / str(child)).read_text(encoding="utf-8")[-1500:])
    return failed


def main(words: Sequence[str]) -> int:
    """Judge the chosen mutants and say how many passed."""
    every = list(mutants())
    named = [word for word in words if word != "--sample"]
    chosen = [m for m in every if m.sample or "--sample" not in words]
    chosen = [m for m in chosen if all(word in str(m) for word in named)]
    faults = [f"FAILED {m}: {m.fault}" for m in every if m.fault]
    if faults:
        print(*faults, f"0 passed, {len(faults)} failed", sep="\n")
        return 1
    for library in LIBRARIES:
        importlib.import_module(library)
    if not words:
        tests = dict.fromkeys(test for mutant in every for test in mutant.tests)
        unchanged = Mutant("nothing changed", "the tests themselves", tuple(tests), survives="as it must")
        if judge([unchanged]):
            return 1
    failed = judge(chosen)
    reasons = [mutant for mutant in chosen if mutant.survives and mutant not in failed]
    print(f"{len(chosen) - len(failed) - len(reasons)} killed, {len(reasons)} survive for a written reason")
    for mutant in failed:
        print(f"FAILED {mutant}")
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
