"""How long the gate takes: a masked file of 1 million rows x 20 columns, by format, and where the time goes.

    python benchmarks/release.py [--quick]

Seconds are of the wall and of the processor; nothing is compiled. Half of the columns are amounts with cents or measures, the
others whole numbers, texts and categories; one in ten has values missing; a name for each record is taken out.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from confide import ReleaseKey
from confide.data.writing import write_frame
from confide.microdata import Released, ReleaseGate


def file(rows: int) -> pa.Table:
    """Twenty columns and a name."""
    rng = np.random.default_rng(1)
    some = rng.random(rows) < 0.1
    columns: dict[str, object] = {f"cents{j}": rng.lognormal(8, 1, rows).round(2) for j in range(6)}
    columns |= {f"measure{j}": rng.normal(170, 10, rows) for j in range(4)}
    columns |= {f"code{j}": rng.integers(0, 1000, rows) for j in range(4)}
    columns |= {
        f"town{j}": pa.array([f"town {n}" for n in range(3000)]).take(rng.integers(0, 3000, rows)) for j in range(3)
    }
    columns |= {"job": pa.DictionaryArray.from_arrays(rng.integers(0, 50, rows), [f"job {n}" for n in range(50)])}
    columns |= {"rent": pa.array(rng.lognormal(6, 1, rows).round(0), mask=some)}
    columns |= {"ill": pa.array(rng.choice(["flu", "gout", "cough"], rows), mask=some)}
    return pa.table(columns | {"name": [f"Somebody Number {n}" for n in range(rows)]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100,000 rows only")
    rows = 100_000 if parser.parse_args().quick else 1_000_000
    table = file(rows)
    print(f"{rows:,} rows x {table.num_columns - 1} columns, a name for each record taken out")
    print(f"{'format':>8} {'seconds':>8} {'CPU':>8} {'writing alone':>14} {'MB':>6}")
    for ending in ("csv", "parquet", "arrow"):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / f"public.{ending}"
            start = time.perf_counter()
            write_frame(table.drop_columns("name"), Path(folder) / f"plain.{ending}")
            plain = time.perf_counter() - start
            wall, cpu = time.perf_counter(), time.process_time()
            ReleaseGate(table, key=ReleaseKey.taught(1), identifiers=["name"]).write(Released((table,), {}), out)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(f"{ending:>8} {wall:>8.1f} {cpu:>8.1f} {plain:>14.1f} {out.stat().st_size / 1e6:>6.0f}", flush=True)


if __name__ == "__main__":
    main()
