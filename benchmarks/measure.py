"""How long the large measures take, in seconds of CPU on one core of this machine.

    python benchmarks/measure.py [--rows 100000] [--quick]

The process is kept on one core, ours and the peer's alike. Linkage compares every released record with every original one; noise is 5,
30 or 100 percent of the standard deviation: little noise is linked, much noise is not, and in between a search has most to
look at. Ratios are to a search for the nearest record by scipy's tree of the same points (`cKDTree(a).query(b)`, workers=1),
which does not count ties. Probabilistic linkage stands beside Splink's training and prediction on DuckDB with one thread, if
splink is installed: the same EM over all pairs of categories. SUDA looks at all sets of ten keys.
"""

import argparse
import logging
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from peers import machine, on_one_core
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


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of CPU, whatever else the machine does; the threads of a process are added up."""
    start = time.process_time()
    found = run()
    return time.process_time() - start, found


def linkage(rows: int, dimensions: tuple[int, ...]) -> None:
    print(f"distance linkage, {rows:,} x {rows:,}")
    for columns in dimensions:
        for noise in NOISE:
            original, released = companies(rows, columns, noise)
            seconds, found = timed(lambda a=original, b=released: distance_linkage(a, b, columns=list(a)))
            plain, _ = timed(lambda a=original, b=released: cKDTree(a.to_numpy()).query(b.to_numpy(), workers=1))
            print(
                f"  {columns:>3} columns, noise {noise:<4}  {seconds:8.2f} s  ratio {seconds / plain:6.2f}  {found.percent:6.2f} %"
            )


def beside_splink(rows: int) -> None:
    """Four keys of 40 categories, a tenth of them changed; all pairs are compared by both."""
    rng = np.random.default_rng(4)
    original = pd.DataFrame({name: rng.integers(0, 40, rows).astype(str) for name in "abcd"})
    changed = rng.random(original.shape) < 0.1
    released = original.mask(
        changed, pd.DataFrame(rng.integers(0, 40, original.shape).astype(str), columns=list("abcd"))
    )
    seconds, found = timed(lambda: probabilistic_linkage(original, released, columns=list("abcd")))
    print(
        f"probabilistic linkage, {rows:,} x {rows:,} x 4 categories  {seconds:8.2f} s  {found.percent:6.2f} %", end=""
    )
    try:
        peer, _ = timed(lambda: _splink(original, released))
        print(f"  splink {version('splink')} {peer:.2f} s  ratio {seconds / peer:.3f}")
    except ImportError:
        print("  (splink is not installed)")


def _splink(original: pd.DataFrame, released: pd.DataFrame) -> object:
    import duckdb
    import splink
    import splink.comparison_library as library

    logging.disable(logging.WARNING)  # it tells every step
    settings = splink.SettingsCreator(
        link_type="link_only", comparisons=[library.ExactMatch(name) for name in original],
        blocking_rules_to_generate_predictions=["1=1"], unique_id_column_name="id",
        probability_two_random_records_match=1 / len(original),
    )  # fmt: skip
    database = splink.DuckDBAPI(duckdb.connect(config={"threads": 1}))
    sides = [
        database.register(frame.assign(id=range(len(frame))), dataset_display_name=name)
        for name, frame in (("original", original), ("released", released))
    ]
    linker = splink.Linker(sides, settings)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    linker.training.estimate_parameters_using_expectation_maximisation("1=1", fix_u_probabilities=True)
    return linker.inference.predict(threshold_match_probability=0.5).as_pandas_dataframe()


def others(rows: int) -> None:
    beside_splink(2_000)
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
    on_one_core()
    print(f"one core of: {machine()}")
    warm = companies(200, 3, 0.3)
    for run in (distance_linkage, probabilistic_linkage):
        run(*warm, columns=list(warm[0]))  # compile
    suda(people(50, 4), keys=["k0", "k1", "k2", "k3"])
    linkage(rows, (3, 5) if given.quick else (3, 5, 13))
    others(rows)


if __name__ == "__main__":
    main()
