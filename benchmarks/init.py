"""What `confide init` costs, and what its draft answers without an edit.

    python benchmarks/init.py [--rows 1000000] [--data FOLDER] [--most 400]

First a CSV file of 25 columns (14 of codes, four amounts, a hierarchy, an age, a weight, an identifier) becomes a site in a
process of its own, whose CPU seconds and peak memory are printed. The limits are 30 s and 1 GB for a million records. With
`--data`, the folder of real files, the share of all two-way and three-way tables of each, or of so many drawn at random, that is
answered after `init` alone.
"""

import argparse
import itertools
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from confide.answering.opening import open_roads
from confide.model.catalog.dataset import Dataset
from confide.model.request import TableRequest
from confide.records import ingest
from confide.site.folder import Folder

SECONDS, MEGABYTES = 30, 1000

FILES = ("census_income_kdd_test.parquet", "acs2019_nist_ma.csv.gz", "eusilc_laeken.csv.gz")


def survey(rows: int) -> pa.Table:
    """A generated survey of 25 columns."""
    rng = np.random.default_rng(1)
    region = rng.choice(list("NSEW"), rows)
    return pa.table(
        {
            "person_id": np.arange(rows),
            **{f"q{i}": rng.integers(0, 3 + i % 6, rows) for i in range(14)},
            "region": region,
            "town": np.char.add(region, rng.integers(0, 9, rows).astype(str)),
            "sex": rng.choice(["female", "male"], rows),
            "age": rng.integers(0, 95, rows),
            "income": rng.lognormal(10, 0.6, rows).round(),
            "rent": rng.lognormal(6, 0.4, rows).round(2),
            "hours": rng.integers(0, 80, rows),
            "savings": np.where(rng.random(rows) < 0.5, 0, rng.lognormal(9, 1, rows).round()),
            "weight": rng.random(rows).round(2) + 1,
            "marital": rng.choice(list("abcd"), rows),
        }
    )


def cost(file: str) -> None:
    """Make a site of the file, and print what it took: run in a child, so that nothing else counts."""
    with tempfile.TemporaryDirectory() as place:
        ingest.add(file, place, name="survey")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{time.process_time():.1f} s of CPU (limit {SECONDS}), {peak:.0f} MB at most (limit {MEGABYTES})")


def shares(site: Path, name: str, *, most: int) -> str:
    """How many tables by two and by three variables are answered, of all or of so many."""
    with open_roads(Folder(site), None, allow_open=True) as roads:
        road = roads[name]
        said = []
        for size in (2, 3):
            names = [v.name for v in road.dataset.variables.values() if v.classifies]
            asked = [by for by in itertools.combinations(names, size) if _unrelated(road.dataset, by)]
            random.Random(1).shuffle(asked)
            answered = [not road.consider(road.admit(TableRequest(name, by))).reasons for by in asked[:most]]
            said.append(f"{size}-way {sum(answered)} of {len(answered)} ({100 * sum(answered) / len(answered):.1f} %)")
        return ", ".join(said)


def _unrelated(dataset: Dataset, by: tuple[str, ...]) -> bool:
    """Levels of one hierarchy or recodes of one number may not stand in one table."""
    return len({dataset.levels(name)[0].name for name in by}) == len(by)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--most", type=int, default=400)
    parser.add_argument("--cost", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cost:
        return cost(asked.cost)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "survey.csv"
        pyarrow.csv.write_csv(survey(asked.rows), file)
        print(f"init of {asked.rows:,} x 25: ", end="", flush=True)
        subprocess.run([sys.executable, __file__, "--cost", str(file)], check=True)
    for name in FILES if asked.data else ():
        with tempfile.TemporaryDirectory() as place:
            ingest.add(asked.data / name, place, name="d")
            print(f"{name}: {shares(Path(place), 'd', most=asked.most)}", flush=True)
    return None


if __name__ == "__main__":
    main()
