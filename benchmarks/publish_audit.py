"""How long the audit of a large sparse table takes: businesses by four variables, 105,840 cells, seconds of CPU.

    python benchmarks/publish_audit.py [--attackers outsider] [--records 9200] [--below 5]

Contributions are skew (lognormal), and most cells have nobody or one contributor in them. The pattern is one that somebody may
think enough: all primary cells, and of the others those with fewer than `below` contributors.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from time import process_time

import numpy as np

from confide.tables import PPercent, Status, Table, Threshold, audit

SIZES = {"activity": 20, "region": 20, "size": 19, "form": 11}
"""With the totals 21 x 21 x 20 x 12 cells."""


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


def told() -> Callable[[float, str], None]:
    """Progress, a line each."""
    started = process_time()
    return lambda share, words: print(f"  {process_time() - started:6.1f} s  {share:7.2%}  {words}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attackers", default="contributors")
    parser.add_argument("--records", type=int, default=9_200)
    parser.add_argument("--below", type=int, default=5)
    given = parser.parse_args()
    table = suppressed(businesses(given.records), given.below)
    gone = int(table.suppressed.sum())
    print(
        f"{len(table):,} cells, {int(table.primary.sum()):,} primary, {gone:,} suppressed; {given.attackers}",
        flush=True,
    )
    started = process_time()
    judged = audit(table, attackers=given.attackers, progress=told())
    print(f"{judged.verdict} {process_time() - started:.0f} s of CPU")


if __name__ == "__main__":
    main()
