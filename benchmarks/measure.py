"""How long the large measures take, in seconds on this machine.

    python benchmarks/measure.py [--rows 100000] [--quick]

Linkage compares every released record with every original one; noise is 5, 30 or 100 percent of the standard deviation:
little noise is linked, much noise is not, and in between a search has most to look at. Ratios are to a search for the
nearest record by scipy's tree of the same points, which does not count ties. SUDA looks at all sets of ten keys.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from confide.measures import report
from confide.measures.risk import distance_linkage, individual_risk, one_to_one_linkage, probabilistic_linkage, suda

NOISE = (0.05, 0.3, 1.0)


def companies(rows: int, columns: int, noise: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Correlated numbers, and the same with noise."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=(rows, 1))
    x = 0.6 * common + 0.8 * rng.normal(size=(rows, columns))
    names = [f"x{i}" for i in range(columns)]
    return pd.DataFrame(x, columns=names), pd.DataFrame(x + noise * rng.normal(size=x.shape), columns=names)


def people(rows: int, keys: int) -> pd.DataFrame:
    """Skewed categories."""
    rng = np.random.default_rng(2)
    return pd.DataFrame({f"k{i}": rng.zipf(1.6, rows).clip(max=3 + i) for i in range(keys)}).assign(w=10.0)


def timed(run: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def linkage(rows: int, dimensions: tuple[int, ...]) -> None:
    print(f"distance linkage, {rows:,} x {rows:,}")
    for columns in dimensions:
        for noise in NOISE:
            original, released = companies(rows, columns, noise)
            seconds, found = timed(lambda a=original, b=released: distance_linkage(a, b, columns=list(a)))
            plain, _ = timed(lambda a=original, b=released: cKDTree(a.to_numpy()).query(b.to_numpy()))
            print(
                f"  {columns:>3} columns, noise {noise:<4}  {seconds:8.2f} s  ratio {seconds / plain:6.2f}  {found.percent:6.2f} %"
            )


def others(rows: int) -> None:
    original, released = companies(rows, 5, 0.3)
    seconds, found = timed(lambda: probabilistic_linkage(original, released, columns=list(original)))
    print(f"probabilistic linkage, {rows:,} x {rows:,} x 5          {seconds:8.2f} s  {found.percent:6.2f} %")
    few = original.head(4000), released.head(4000)
    seconds, found = timed(lambda: one_to_one_linkage(*few, columns=list(original)))
    print(f"one-to-one linkage, 4,000 x 4,000 x 5                {seconds:8.2f} s  {found.percent:6.2f} %")
    for size, keys, sets in ((5_000, 10, None), (rows, 8, 3)):
        file = people(size, keys)
        names = [name for name in file if name != "w"]
        seconds, found = timed(lambda f=file, n=names, s=sets: suda(f, keys=n, size=s))
        print(
            f"SUDA, {size:,} x {keys} keys, sets of up to {sets or keys:<2}            {seconds:8.2f} s  {found.percent:6.2f} %"
        )
    file = people(10 * rows, 6)
    seconds, found = timed(lambda: individual_risk(file, keys=[f"k{i}" for i in range(6)], weight="w"))
    print(f"individual risk, {10 * rows:,} x 6 keys                {seconds:8.2f} s  expected {found.expected:,.1f}")
    both = [frame.assign(s=(frame["x0"] > 0).map(str)) for frame in (original, released)]
    seconds, _ = timed(lambda: report(*both, keys=["x0", "s"], confidential=["x1", "x2"]))
    print(f"whole report, {rows:,} records, 4 columns              {seconds:8.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="10,000 records, and no 13 columns")
    given = parser.parse_args()
    rows = 10_000 if given.quick else given.rows
    warm = companies(200, 3, 0.3)
    for run in (distance_linkage, probabilistic_linkage):
        run(*warm, columns=list(warm[0]))  # compile
    suda(people(50, 4), keys=["k0", "k1", "k2", "k3"])
    linkage(rows, (3, 5) if given.quick else (3, 5, 13))
    others(rows)


if __name__ == "__main__":
    main()
