"""How long publishing tables takes and how good it is: each figure beside its limit.

    python benchmarks/publish.py [--quick]

The figures of suppression and of annealing are in files of their own, each with a function `figures(*, quick)`
that gives (what, measured, limit, unit); they are printed too where those files are. Times are seconds of CPU.
"""

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time

import numpy as np

from confide.answering.mechanisms.additive import additive
from confide.model.policy import CountRules
from confide.site.secret import Secret
from confide.tables.perturbation.invariance import invariant
from confide.tables.perturbation.transitions import feasible, intervals, transitions

Figure = tuple[str, float, float, str]
"""What was measured, the figure, the limit it is to stay under, and the unit."""

OTHERS = ("publish_suppression", "publish_delta")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how tables are published, beside the limits.")
    parser.add_argument("--quick", action="store_true", help="Fewer repetitions and smaller tables.")
    quick = parser.parse_args().quick
    sys.path.insert(0, str(Path(__file__).parent))
    beyond = 0
    print(f"{'':<80}{'measured':>10}{'limit':>10}")
    for what, measured, limit, unit in figures(quick=quick):
        beyond += measured > limit
        print(f"{what:<80}{measured:>10.3g}{limit:>10.3g} {unit}{'  BEYOND' if measured > limit else ''}", flush=True)
    return min(beyond, 1)


def figures(*, quick: bool) -> Iterator[Figure]:
    yield from matrices(quick=quick)
    yield from online(quick=quick)
    for name in OTHERS:
        if importlib.util.find_spec(name) is None:
            print(f"(benchmarks/{name}.py is not there)")
        else:
            yield from importlib.import_module(name).figures(quick=quick)


def matrices(*, quick: bool) -> Iterator[Figure]:
    """Transition matrices, on the boundary of what is feasible and inside, none of them made before."""
    wishes = {
        "maximum entropy": {},
        "stay .7": {"stay": 0.7},
        "monotone": {"monotone": True},
        "symmetry .02": {"symmetry": 0.02},
    }
    transitions(D=4, V=2.5, js=1, monotone=True, symmetry=0.0)
    for words, wish in wishes.items():
        falling = bool({"stay", "monotone"} & set(wish))
        slowest = 0.0
        for D in (3, 5, 15) if quick else range(3, 16):
            least, greatest = feasible(D=D, js=2, monotone=falling)
            slowest = max(
                slowest,
                *(_timed(transitions, D=D, V=V, js=2, **wish) for V in (least, (least + greatest) / 2, greatest)),
            )
        yield f"slowest transition matrix, D = 3 to 15, least to greatest V, {words}", 1000 * slowest, 100.0, "ms"
    yield "feasibility intervals, D = 15, V = 2", 1000 * _timed(intervals, D=15, V=2.0, js=2), 100.0, "ms"
    frequencies = [100_000 // count for count in range(1, 201)]
    yield "invariant matrix for counts to 200", 1000 * _timed(lambda: invariant(frequencies)), 100.0, "ms"


def online(*, quick: bool) -> Iterator[Figure]:
    """Additive tables from the server: the largest up to 2,000 cells, and what they cost in accuracy."""
    rules, secret, random = CountRules(), Secret(bytes(32)), np.random.default_rng(1)
    matrix = transitions(D=rules.distance, V=rules.variance, js=rules.small)
    additive(np.zeros((2, 2)), rules, secret)
    shapes = [((43, 43), 5), ((11, 11, 11), 5), ((11, 11, 11), 50), ((4, 4, 4, 14), 3), ((6, 6, 6, 4), 1)]
    for shape, mean in shapes[:2] if quick else shapes:
        true = _with_totals(random.poisson(random.gamma(0.7, mean / 0.7, shape)))
        noisy = matrix.draw(true, random.random(true.shape))
        start = process_time()
        adding = additive(noisy, rules, secret)
        took = process_time() - start
        there = true > 0
        before, now = (np.abs(counts - true)[there].mean() for counts in (noisy, adding))
        words = f"{' x '.join(map(str, shape))}, mean count {mean}"
        yield f"online additivity, {words}: {true.size:,} cells", took, 0.3, "s"
        yield (
            f"  its mean deviation (cell keys alone {before:.2f}), largest {np.abs(adding - true).max()}",
            now,
            np.inf,
            "",
        )


def _with_totals(inner: np.ndarray) -> np.ndarray:
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    return inner


def _timed(make, **parameters) -> float:
    start = process_time()
    make(**parameters)
    return process_time() - start


if __name__ == "__main__":
    sys.exit(main())
