"""How long masking a file takes: microaggregation by size; then other methods on a large file.

    python benchmarks/mask.py [--quick]

Times are CPU seconds of one run, after a first small one that compiles.
"""

import argparse
import time
from collections.abc import Callable
from math import log

import numpy as np
import pyarrow as pa

from confide.microdata import GlobalRecoding, Method, Microaggregation, Rounding, Sampling, TopBottomCoding

K, COLUMNS = 5, 5


def numbers(rows: int, columns: int, draw: Callable[[np.random.Generator, int], object]) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table({f"x{j}": draw(rng, rows) for j in range(columns)})


def seconds(method: Method, frame: pa.Table, **about: object) -> float:
    start = time.process_time()
    method.protect(frame, columns=frame.column_names if method.takes else (), teaching_seed=1, **about)
    return time.process_time() - start


def microaggregation(sizes: list[int]) -> None:
    shapes: dict[str, Callable[[np.random.Generator, int], object]] = {
        "normal": lambda rng, n: rng.standard_normal(n),
        "lognormal": lambda rng, n: rng.lognormal(0, 1, n),
        "whole numbers": lambda rng, n: rng.integers(0, 100, n),
    }
    print(f"Microaggregation, k = {K}, {COLUMNS} columns; growth is the exponent of n since the row above")
    print(f"{'data':>14} {'algorithm':>10} {'rows':>10} {'seconds':>9} {'growth':>7}")
    for shape, algorithm in [*((shape, "mdav") for shape in shapes), ("normal", "v-mdav"), ("normal", "optimal")]:
        method, before = Microaggregation(k=K, algorithm=algorithm), (0, 0.0)
        seconds(method, numbers(1000, COLUMNS, shapes[shape]))
        for rows in sizes:
            taken = seconds(method, numbers(rows, COLUMNS, shapes[shape]))
            growth = f"{log(taken / before[1]) / log(rows / before[0]):.2f}" if before[0] else ""
            print(f"{shape:>14} {algorithm:>10} {rows:>10,} {taken:>9.2f} {growth:>7}", flush=True)
            before = (rows, taken)


def others(rows: int, columns: int) -> None:
    print(f"\n{rows:,} rows x {columns} columns")
    whole = numbers(rows, columns, lambda rng, n: rng.integers(0, 1000, n))
    cutpoints = {name: tuple(range(100, 1000, 100)) for name in whole.column_names}
    codes = pa.table(
        {name: pa.compute.cast(whole[name], pa.string()).dictionary_encode() for name in whole.column_names}
    )
    new = {name: {str(code): str(code // 100) for code in range(1000)} for name in whole.column_names}
    for what, method, frame in [
        ("rounding", Rounding(base=10), whole),
        ("top-bottom-coding", TopBottomCoding(top_share=0.01, bottom_share=0.01), whole),
        ("global-recoding, cutpoints", GlobalRecoding(cutpoints=cutpoints), whole),
        ("global-recoding, codes", GlobalRecoding(codes=new), codes),
        ("sampling", Sampling(share=0.1), whole),
    ]:
        print(f"{what:>28} {seconds(method, frame):>9.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 100,000 rows only")
    quick = parser.parse_args().quick
    microaggregation([10_000, 50_000, 100_000] + ([] if quick else [300_000, 1_000_000]))
    others(100_000 if quick else 1_000_000, 20)


if __name__ == "__main__":
    main()
