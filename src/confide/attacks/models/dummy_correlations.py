"""R3: correlations of indicators are a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, confidential, keys, size
from confide.attacks.claims import WITHIN, Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["DummyCorrelations"]

MOST_CLASSES = 30


@dataclass(frozen=True)
class DummyCorrelations:
    """Read the counts of a two-way table from correlations of its indicators.

    The share of a cell is p q + r sqrt(p (1-p) q (1-q)) for the shares p and q of its classes, which one-way tables tell. With
    weights it is a share of the weights, which is taken for that of the units.

    Tried: (1) r as it stands: 98 % within a tenth, kept. (2) The cells made to add up to the one-way counts by proportional
    fitting: the same. (3) Exact counts: two decimals do not give them, so a cell counts as read if it is known to a tenth.
    Where the table itself is published, that is as good; what is learnt is the table where it is not.
    """

    keys: tuple[str, ...] = ()

    name: ClassVar = "dummy-correlations"
    code: ClassVar = "R3"
    words: ClassVar = "a table from the correlations of its indicators"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        if len(self._variables(book)) < 2:
            raise NotApplicable("It needs two variables with classes.")
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        names = self._variables(intruder.book)
        margins = {name: intruder.table(name) for name in names}
        counts = {name: np.nan_to_num(values(table)) for name, table in margins.items() if table is not None}
        found: list[float] = []
        guesses: list[float] = []
        facts: tuple[SetFact, ...] = ()
        for a, b in combinations([name for name in names if name in counts], 2):
            cells = _table(intruder, a, b, counts)
            table = intruder.table(a, b)
            expected = np.round(np.outer(counts[a], counts[b]) / counts[a].sum())
            read = expected if table is None else np.nan_to_num(values(table))
            for one, two in zip(*np.nonzero(np.isfinite(cells)), strict=True):
                found.append(float(np.round(cells[one, two])))
                guesses.append(float(read[one, two]))
                where = {a: (codes(intruder.book, a)[one],), b: (codes(intruder.book, b)[two],)}
                facts += (SetFact(universe(where)),)
            if found:
                yield Claims.of(np.array(found), facts=facts, guesses=np.array(guesses), within=WITHIN)

    def _variables(self, book: Dataset) -> list[str]:
        if self.keys:
            return list(self.keys)
        secret = [v.name for v in confidential(book) if v.classifies and size(v) <= MOST_CLASSES][:1]
        roots = dict.fromkeys(book.root(v.name) for v in keys(book))
        coarse = [
            name for name in roots if 1 < size(book.variable(name)) <= MOST_CLASSES and not book.variable(name).binned
        ]
        return [*secret, *sorted(coarse, key=lambda name: size(book.variable(name)))][:5]


def _table(intruder: Intruder, a: str, b: str, counts: dict[str, Floats]) -> Floats:
    """The counts of the table of two variables, NaN where a class has no indicator."""
    book = intruder.book
    # A number would enter as itself: its bins have no correlation.
    release = None if book.variable(a).measurable or book.variable(b).measurable else intruder.correlation(a, b)
    rows, columns = codes(book, a), codes(book, b)
    cells = np.full((len(rows), len(columns)), np.nan)
    if release is None:
        return cells
    grid = release.grids["correlations"]
    places = {label: place for place, label in enumerate(grid.columns)}
    by_row = {str(row[0]): row for row in grid.rows}
    total = counts[a].sum()
    p, q = counts[a] / total, counts[b] / total
    for i, j in np.ndindex(cells.shape):
        one, two = f"{a}={rows[i]}", f"{b}={columns[j]}"
        if one in by_row and two in places:
            r = float(by_row[one][places[two]] or 0.0)
            cells[i, j] = max(total * (p[i] * q[j] + r * (p[i] * (1 - p[i]) * q[j] * (1 - q[j])) ** 0.5), 0.5)
    return cells
