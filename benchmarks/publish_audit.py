"""How long the audit of a large sparse table takes: businesses by four variables, 105,840 cells, seconds of CPU.

    python benchmarks/publish_audit.py [--attackers outsider] [--records 9200] [--below 5] [--time-limit 600]

Contributions are skew (lognormal), and most cells have nobody or one contributor in them. The pattern is one that somebody may
think enough: all primary cells, and of the others those with fewer than `below` contributors.

Before that, in seconds: how many of some 60 primary cells a contributor learns from patterns made against fewer attackers.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from time import process_time

import numpy as np

from confide.tables import PPercent, Status, Table, Threshold, audit, suppress
from confide.tables.suppression.insiders import ATTACKERS

SIZES = {"activity": 20, "region": 20, "size": 19, "form": 11}
"""With the totals 21 x 21 x 20 x 12 cells."""


SMALL = {"activity": 8, "region": 5, "form": 3}


def businesses(records: int) -> Table:
    """The table with its primary cells."""
    random = np.random.default_rng(1)
    data = {name: random.choice(codes, records, p=_uneven(codes, random)) for name, codes in SIZES.items()}
    data["turnover"] = np.round(random.lognormal(4, 2, records), 1)
    return Table.from_microdata(data, by=list(SIZES), of="turnover").flag(PPercent(15), Threshold(3))


def _uneven(codes: int, random: np.random.Generator) -> np.ndarray:
    weight = 1 / random.permutation(np.arange(1, codes + 1)) ** 0.7
    return weight / weight.sum()


def suppressed(table: Table, below: int) -> Table:
    few = (table.status == Status.SAFE) & (table.units < below)
    return replace(table, status=np.where(few, Status.SECONDARY, table.status).astype(np.int8))


def firms(seed: int) -> Table:
    """Four hundred firms by three variables, some 60 primary cells by the rule of p percent."""
    random = np.random.default_rng(seed)
    data = {name: random.integers(0, codes, 400).astype(str) for name, codes in SMALL.items()}
    data["turnover"] = np.round(random.lognormal(4, 1.5, 400), 1)
    return Table.from_microdata(data, by=list(SMALL), of="turnover").flag(PPercent(10))


def learned(seed: int) -> None:
    """What contributors learn of patterns made against fewer, a line."""
    table = firms(seed)
    made = {who: suppress(table, attackers=who, method="fast", time_limit=None) for who in ATTACKERS[:3]}
    known = [f"{len(audit(one.table).missed)} ({who}, {len(one.secondaries)} secondaries)" for who, one in made.items()]
    print(f"of {int(table.primary.sum())} primary cells a contributor learns {', '.join(known)}", flush=True)


def told() -> Callable[[float, str], None]:
    """Progress, a line each."""
    started = process_time()
    return lambda share, words: print(f"  {process_time() - started:6.1f} s  {share:7.2%}  {words}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attackers", default="contributors")
    parser.add_argument("--records", type=int, default=9_200)
    parser.add_argument("--below", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds by the clock")
    given = parser.parse_args()
    for seed in range(2, 5):
        learned(seed)
    table = suppressed(businesses(given.records), given.below)
    gone = int(table.suppressed.sum())
    print(
        f"{len(table):,} cells, {int(table.primary.sum()):,} primary, {gone:,} suppressed; {given.attackers}",
        flush=True,
    )
    started = process_time()
    judged = audit(table, attackers=given.attackers, time_limit=given.time_limit, progress=told())
    primary, undecided = int(table.primary.sum()), len(judged.undecided)
    print(judged.verdict)
    print(
        f"{primary - undecided:,} of {primary:,} primary cells decided, {len(judged.missed) - undecided:,} of them not protected; "
        f"{undecided:,} not decided; {process_time() - started:.0f} s of CPU"
    )


if __name__ == "__main__":
    main()
