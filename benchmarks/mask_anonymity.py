"""How many values local suppression blanks and how long it takes, on generated files and on a survey; then generalisation.

    python benchmarks/mask_anonymity.py [--quick]

Times are CPU seconds of one run. The survey is read from ../shared/data where that is there.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from confide.microdata import Generalisation, LocalSuppression

SURVEY = Path(__file__).parents[2] / "shared" / "data" / "ihsn_testdata_sdcmicro.csv.gz"
KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
CATEGORIES = (2, 10, 15, 20, 30, 4, 3, 5, 8)


def generated(rows: int, keys: int) -> pa.Table:
    """Skew categories: a few are common, many are rare."""
    rng = np.random.default_rng(1)
    return pa.table({f"key{j}": np.minimum(rng.geometric(0.25, rows), CATEGORIES[j]) for j in range(keys)})


def line(what: str, frame: pa.Table, columns: list[str]) -> None:
    for blank in ("category", "anything"):
        start = time.process_time()
        report = LocalSuppression(k=3, blank=blank).protect(frame, columns=columns).report
        taken = time.process_time() - start
        facts = f"{report['suppressed']:>11,} {report['records']:>9,} {report['below']:>8,} {taken:>8.2f}"
        print(f"{what:>24} {blank:>9} {facts}", flush=True)


def generalisation(rows: int) -> None:
    """Five keys, each with two levels above its categories: five in one, and all in one."""
    frame = generated(rows, 5)
    text = "".join(
        f"from {5 * five}\n" + "".join(f"@{code}\n" for code in range(5 * five, 5 * five + 5)) for five in range(7)
    )
    print(f"\nGeneralisation, {rows:,} rows, 5 keys, 3 levels each")
    for left_out in (0.0, 0.02):
        method = Generalisation(k=5, hierarchies=dict.fromkeys(frame.column_names, text), left_out=left_out)
        start = time.process_time()
        report = method.protect(frame, columns=frame.column_names).report
        taken = time.process_time() - start
        facts = f"loss {report['loss']:.3f}, {report['looked_at']} of {3**5} combinations looked at"
        print(f"  left out at most {left_out:.0%}: {facts}, {taken:.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 100,000 rows only")
    quick = parser.parse_args().quick
    print("Local suppression, k = 3; below: records in classes below k if a blank is a category of its own")
    columns = f"{'suppressed':>11} {'records':>9} {'below':>8} {'seconds':>8}"
    print(f"{'file':>24} {'blank':>9} {columns}")
    for rows, keys in [(20_000, 8), (100_000, 5), (100_000, 9), *([] if quick else [(1_000_000, 5)])]:
        frame = generated(rows, keys)
        line(f"{rows:,} x {keys} keys", frame, frame.column_names)
    if SURVEY.exists():
        line("survey, 4,580 x 7 keys", pa.csv.read_csv(SURVEY), KEYS)
    generalisation(100_000 if quick else 1_000_000)


if __name__ == "__main__":
    main()
