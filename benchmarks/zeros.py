"""What a published zero, and a small published count, tell of the truth under the default policy.

    python benchmarks/zeros.py [--data people] [--rows 20000] [--tables 250] [--secret 0]

Tables of counts by two variables, all of them, and by three, a sample; those that are answered. Then the two-way tables in which no
zero, or no small count, was false: there it proves something.
"""

import argparse
from hashlib import sha256
from itertools import combinations

import numpy as np

from confide import demo
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.arrays import Floats
from confide.demo.texts import catalog_text
from confide.engines.memory.engine import MemoryEngine
from confide.model.catalog.toml import read_dataset
from confide.model.policy import PRESETS
from confide.model.request import TableRequest
from confide.records.protect import protect_records
from confide.site.coding.encode import encode
from confide.site.secret import Secret

SMALL = 3
ENOUGH = 10
"""So many zeros, or small counts, of one table are enough to say that all were true."""


class Site:
    """One data set as it is answered from, and as it is."""

    def __init__(self, name: str, rows: int, number: int) -> None:
        self.book = read_dataset(catalog_text(name), name=name, read_file=str)
        secret, policy = Secret(sha256(f"secret {number}".encode()).digest()), PRESETS["standard"]
        true = encode(self.book, getattr(demo, name)(rows), secret=secret)
        protected, _ = protect_records(true, self.book, policy, secret)
        self.published = Road(self.book, MemoryEngine(protected), Shield(policy, secret))
        self.true = Road(self.book, MemoryEngine(true), Shield(PRESETS["open"], secret))
        self.classes = [v.name for v in self.book.variables.values() if v.classifies]

    def sets(self, size: int) -> list[tuple[str, ...]]:
        """Every set of so many class variables, no two of them levels or recodes of one."""
        column = {name: self.book.variables[self.book.root(name)].column for name in self.classes}
        return [some for some in combinations(self.classes, size) if len({column[name] for name in some}) == size]

    def cells(self, names: tuple[str, ...]) -> tuple[Floats, Floats] | None:
        """The inner cells of a table as published and as they are."""
        request = TableRequest(dataset=self.book.name, rows=names[:1], columns=names[1:])
        found = self.published.consider(self.published.admit(request))
        if found.reasons:
            return None
        answers = (self.published.release(found), self.true.release(self.true.consider(self.true.admit(request))))
        inner = tuple(slice(None, -1) for _ in names)
        published, true = (answer.columns["count"].values[inner].ravel() for answer in answers)
        return published, true


def said(published: Floats, true: Floats) -> tuple[int, int, int, int]:
    """Zeros, those that stand for somebody, small counts, those that stand for nobody."""
    zero, small = published == 0, (published >= 1) & (published <= SMALL)
    return int(zero.sum()), int((true[zero] > 0).sum()), int(small.sum()), int((true[small] == 0).sum())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="people", choices=["people", "firms"])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--tables", type=int, default=250)
    parser.add_argument("--secret", type=int, default=0)
    options = parser.parse_args()
    site, rng = Site(options.data, options.rows, options.secret), np.random.default_rng(1)
    for size in (2, 3):
        sets = site.sets(size)
        some = [sets[at] for at in rng.permutation(len(sets))[: options.tables if size == 3 else None]]
        tables = {names: said(*cells) for names in some if (cells := site.cells(names)) is not None}
        zeros, somebody, small, nobody = np.sum(list(tables.values()), axis=0)
        print(f"{size}-way, {len(tables)} of {len(some)} tables answered: {zeros:,} zeros, {somebody / zeros:.1%} of somebody; "
              f"{small:,} counts of 1 to {SMALL}, {nobody / small:.1%} of nobody")  # fmt: skip
        for what, at in (("zeros", 0), ("small counts", 2)):
            sure = [" x ".join(names) for names, found in tables.items() if found[at] >= ENOUGH and not found[at + 1]]
            print(f"    all {what} true, {ENOUGH} or more: {len(sure)} tables ({'; '.join(sorted(sure)[:20])})")


if __name__ == "__main__":
    main()
