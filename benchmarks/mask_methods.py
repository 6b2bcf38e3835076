"""How long noise, swapping, PRAM, shuffling and resampling take.

    python benchmarks/mask_methods.py [--quick]

Times are CPU seconds of one run, after a first small one that compiles.
"""

import argparse
import time

import numpy as np
import pyarrow as pa

from confide.microdata import (
    AdditiveNoise,
    DataSwapping,
    Method,
    MultiplicativeNoise,
    Pram,
    RankSwapping,
    RecordSwapping,
    Resampling,
    Shuffling,
)


def amounts(rows: int, columns: int) -> pa.Table:
    rng = np.random.default_rng(1)
    common = rng.standard_normal(rows)
    return pa.table({f"x{j}": np.exp((common + rng.standard_normal(rows)) / 2) for j in range(columns)})


def codes(rows: int, columns: int) -> pa.Table:
    rng = np.random.default_rng(2)
    labels = pa.array([f"code {i}" for i in range(20)])
    return pa.table({f"x{j}": labels.take(pa.array(rng.binomial(19, 0.3, rows))) for j in range(columns)})


def seconds(method: Method, frame: pa.Table) -> float:
    masked = [name for name in frame.column_names if name not in method.reads]
    masked = masked[:2] if isinstance(method, RecordSwapping) else masked  # areas: 20, and 400 within them
    start = time.process_time()
    method.protect(frame, columns=masked, teaching_seed=1)
    return time.process_time() - start


def noise_swapping(rows: int, columns: int) -> None:
    """Every method on a small file, on one of 100,000 records, and on a large one."""
    print(f"{'method':>24} {'100,000 x 5':>12} {f'{rows:,} x {columns}':>16}")
    for what, method, make in [
        ("additive-noise", AdditiveNoise(), amounts),
        ("additive-noise, exact", AdditiveNoise(exact=True), amounts),
        ("multiplicative-noise", MultiplicativeNoise(), amounts),
        ("multiplicative, exact", MultiplicativeNoise(exact=True), amounts),
        ("rank-swapping", RankSwapping(p=15), amounts),
        ("record-swapping", RecordSwapping(keys=["x0", "x1"], match=["x2"], share=0.1), codes),
        ("data-swapping", DataSwapping(match=["x0"]), codes),
        ("pram", Pram(), codes),
        ("shuffling", Shuffling(given=["x0"]), amounts),
        ("resampling", Resampling(), amounts),
    ]:
        seconds(method, make(1_000, 5))
        taken = seconds(method, make(100_000, 5))
        print(f"{what:>24} {taken:>10.2f} s {seconds(method, make(rows, columns)):>14.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200,000 rows at most")
    noise_swapping(200_000 if parser.parse_args().quick else 1_000_000, 20)


if __name__ == "__main__":
    main()
