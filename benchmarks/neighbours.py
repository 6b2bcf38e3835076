"""What sites that differ in one unit let an analyst see: decisions, sizes, calls of the engine, and time.

    python benchmarks/neighbours.py [--people 20000] [--questions 300] [--repeat 5] [--seed 1]

The same random questions are put to a site and to a neighbour, in turns, so that whatever else the machine does meets both. A
question's latency is the median of `repeat` runs, nothing kept from before. Refused and answered apart it prints the ratio of
the medians, and the signed-rank test of the pairs (Wilcoxon 1945) with the share of pairs in which the site was the slower.
The last lines compare the site with itself: what a machine at work takes for a difference.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from confide import demo
from confide.answering.road import Road
from confide.model.policy import preset_policy

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from neighbours import NEIGHBOURS, Counting, Seen, ask, demo_dataset, site  # where tests keep them
from questions import questions

Site = tuple[Road, Counting]
Pair = tuple[Seen, Seen]


def fresh(road: Road, engine: Counting) -> None:
    """Forget what was counted before."""
    road._cached.cache_clear()
    road._drops.cache_clear()
    engine._engine._whole_file.cache_clear()


def timed(one: Site, request: Any) -> tuple[Seen, float]:
    fresh(*one)
    start = time.perf_counter()
    seen = ask(*one, request)
    return seen, time.perf_counter() - start


def compare(here: Site, there: Site, asked: Sequence[Any], repeat: int) -> tuple[list[Pair], Any]:
    """What both say to each question, and how many seconds each takes."""
    pairs, seconds = [], []
    for request in asked:
        # Each is first as often as the other, but for one run.
        rounds = [[timed(one, request) for one in ((here, there), (there, here))[turn % 2]] for turn in range(repeat)]
        ordered = [taken if turn % 2 == 0 else taken[::-1] for turn, taken in enumerate(rounds)]
        pairs.append((ordered[0][0][0], ordered[0][1][0]))
        seconds.append([statistics.median(taken[side][1] for taken in ordered) for side in (0, 1)])
    return pairs, np.array(seconds)


def share(pairs: Sequence[Pair], same: Callable[[Seen, Seen], bool]) -> str:
    return f"{np.mean([same(*pair) for pair in pairs]):.1%}" if pairs else "none"


def decisions(pairs: list[Pair]) -> None:
    released = [pair for pair in pairs if pair[0].outcome == pair[1].outcome == "released"]
    alike = [pair for pair in pairs if pair[0].rules == pair[1].rules and pair[0].outcome == pair[1].outcome]
    print(f"  decisions agree {share(pairs, lambda a, b: a.rules == b.rules)} of {len(pairs)}")
    differ = Counter(rule for one, other in pairs for rule in {*one.rules} ^ {*other.rules})
    print("  rules that disagreed: " + (", ".join(f"{rule} {n}" for rule, n in differ.most_common()) or "none"))
    print(
        f"  of {len(released)} released by both: same shape {share(released, lambda a, b: a.shape == b.shape)}, "
        f"same bytes {share(released, lambda a, b: a.size == b.size)}, "
        f"bytes at most {max((abs(a.size / b.size - 1) for a, b in released), default=0):.1%} apart"
    )
    print(f"  calls of the engine, decisions alike: the same in {share(alike, lambda a, b: a.calls == b.calls)}")


def latency(pairs: list[Pair], seconds: Any) -> None:
    for outcome in ("refused", "released"):
        chosen = np.array([one.outcome == other.outcome == outcome for one, other in pairs])
        here, there = seconds[chosen].T
        if len(here) < 10:
            print(f"  {outcome}: too few")
            continue
        found = wilcoxon(here, there)
        print(
            f"  {outcome} ({len(here)}): medians {np.median(here) * 1e3:.1f} and {np.median(there) * 1e3:.1f} ms, "
            f"ratio {np.median(there) / np.median(here):.3f}; slower here {np.mean(here > there):.0%}, "
            f"signed-rank p = {found.pvalue:.2g}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("people", 20_000), ("questions", 300), ("repeat", 5), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    people, policy = demo.people(options.people), preset_policy("standard")
    asked = questions(demo_dataset(), options.questions, seed=options.seed)
    others = {**NEIGHBOURS, "nobody left: the same people": lambda people: people}
    with tempfile.TemporaryDirectory() as folder, site(people, policy, Path(folder) / "here.duckdb") as here:
        for number, (name, change) in enumerate(others.items()):
            with site(change(people), policy, Path(folder) / f"{number}.duckdb") as there:
                print(f"{name} ({options.people:,} people)")
                pairs, seconds = compare(here, there, asked, options.repeat)
                decisions(pairs)
                latency(pairs, seconds)


if __name__ == "__main__":
    main()
