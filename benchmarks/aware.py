"""How many records of a rank-swapped file an intruder links: by distance, and by the worst attack, with rank windows among them.

    python benchmarks/aware.py [FILE]

FILE is a CSV of numbers; without it, 1,080 companies of 13 attributes, skew and correlated as those of the CASC project.
"""

import argparse

import numpy as np
import pandas as pd

from confide.measures import risk, worst_attack
from confide.microdata import RankSwapping

SEED = 918273645
"""The same file in every run."""


def balance_sheets(rows: int, columns: int = 13) -> pd.DataFrame:
    random = np.random.default_rng(1)
    common = random.normal(size=(rows, 3)) @ random.normal(size=(3, columns))
    values = np.exp(5 + 0.7 * (common + 0.8 * random.normal(size=(rows, columns))))
    return pd.DataFrame({f"v{number}": values[:, number].round(2) for number in range(columns)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    given = parser.parse_args()
    firms = pd.read_csv(given.file) if given.file else balance_sheets(1_080)
    names = list(firms)
    print(f"{len(firms):,} records, {len(names)} attributes, all swapped; linked of them")
    print("   p   distance   worst attack")
    for p in (5, 10, 15, 20):
        method = RankSwapping(p=p)
        released = method.protect(firms, columns=names, teaching_seed=SEED)
        near = risk.distance_linkage(firms, released, columns=names).percent
        found = worst_attack(firms, released, columns=names, method=method)
        print(f"{p:4}   {near:6.1f} %   {found.percent:10.1f} %  ({found.attack})", flush=True)


if __name__ == "__main__":
    main()
