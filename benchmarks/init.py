"""What `confide init` costs, and what its draft answers without an edit.

    python benchmarks/init.py [--rows 1000000] [--data FOLDER] [--most 400]

First a CSV file of 25 columns (14 of codes, four amounts, a hierarchy, an age, a weight, an identifier) becomes a site in a
process of its own, whose CPU seconds and peak memory are printed. The limits are 30 s and 1 GB for a million records. With
`--data`, the folder of real files, the share of all two-way and three-way tables of each, or of so many drawn at random, that is
answered after `init` alone, and the three variables that most of the refused ones have.
"""

import argparse
import itertools
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
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

FILES = (
    ("census_income_kdd_test.parquet", None),
    ("acs2019_nist_ma.csv.gz", None),
    ("acs2019_nist_ma.csv.gz", "acs2019_nist_dictionary.json"),
    ("eusilc_laeken.csv.gz", None),
    ("ihsn_testdata_sdcmicro.csv.gz", None),
    ("synth_business_maine_2021.csv.gz", None),
    ("casc_tarragona.csv.gz", None),
)
"""Data, and the codebook given with them."""

TEACHING = 569_741
"""Records of the UK's teaching file."""

SECRET = "c0f1de" * 12
"""Always the same, since the number of units that rules see follows from it."""


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


def census(rows: int) -> pa.Table:
    """Generated records with the columns and codes of the UK's 2011 census teaching file, which is not ours to give along.

    -9 is "no code required": of students away most is not asked, of children no work, of who never worked no occupation.
    """
    rng = np.random.default_rng(2)
    age = rng.choice(8, rows, p=[0.19, 0.13, 0.13, 0.14, 0.14, 0.12, 0.08, 0.07]) + 1
    away = (age == 2) & (rng.random(rows) < 0.09)

    def asked(codes: int, who: np.ndarray) -> np.ndarray:
        shares = rng.dirichlet(np.full(codes, 2.0))
        return np.where(who & ~away, rng.choice(codes, rows, p=shares) + 1, -9)

    adult, working = age > 1, (age > 1) & (rng.random(rows) < 0.57)
    worked = working | (adult & (rng.random(rows) < 0.7))
    return pa.table(
        {
            "Person ID": 7394483 + np.arange(rows) * 3,
            "Region": rng.choice([f"E1200000{i}" for i in range(1, 10)] + ["W92000004"], rows),
            "Residence Type": rng.choice(["H", "C"], rows, p=[0.98, 0.02]),
            "Family Composition": asked(6, rng.random(rows) < 0.98),
            "Population Base": np.where(away, 2, np.where(rng.random(rows) < 0.002, 3, 1)),
            "Sex": rng.integers(1, 3, rows),
            "Age": age,
            "Marital Status": np.where(age == 1, 1, rng.integers(1, 6, rows)),
            "Student": np.where(age <= 2, 1 + (rng.random(rows) < 0.4), 2 - (rng.random(rows) < 0.04)),
            "Country of Birth": asked(2, age > 0),
            "Health": asked(5, age > 0),
            "Ethnic Group": asked(5, age > 0),
            "Religion": asked(9, age > 0),
            "Economic Activity": asked(9, adult),
            "Occupation": asked(9, worked),
            "Industry": asked(12, worked),
            "Hours worked per week": asked(4, working),
            "Approximated Social Grade": asked(4, adult & (rng.random(rows) < 0.98)),
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
            asked = asked[:most]
            refused = [by for by in asked if road.consider(road.admit(TableRequest(name, by))).reasons]
            answered = len(asked) - len(refused)
            said.append(f"{size}-way {answered} of {len(asked)} ({100 * answered / len(asked):.1f} %){_most(refused)}")
        return ", ".join(said)


def _most(refused: list[tuple[str, ...]]) -> str:
    counts = Counter(name for by in refused for name in by).most_common(3)
    return f" [refused: {', '.join(f'{name} {n}' for name, n in counts)}]" if counts else ""


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
    if asked.data:
        with tempfile.TemporaryDirectory() as place:
            ingest.add(census(TEACHING), place, name="d")
            print(f"as the census teaching file: {shares(Path(place), 'd', most=10**6)}", flush=True)
    for name, codebook in FILES if asked.data else ():
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "secret").touch(0o600)
            (Path(place) / "secret").write_text(SECRET + "\n")
            ingest.add(asked.data / name, place, name="d", dictionary=asked.data / codebook if codebook else None)
            told = f"{name} with {codebook}" if codebook else name
            print(f"{told}: {shares(Path(place), 'd', most=asked.most)}", flush=True)
    return None


if __name__ == "__main__":
    main()
