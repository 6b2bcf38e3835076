"""How large classes are in parts of the data, by protected tables: what turns a difference of means into a number."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes
from confide.attacks.intruder import Intruder, values

__all__ = ["ClassSizes", "Part", "bin_middles"]

Part = tuple[tuple[str, str], ...]
"""Codes of some keys, which a universe holds fixed."""


@dataclass(frozen=True)
class ClassSizes:
    """Sizes of the classes of one variable in units of a mean weight; each table is asked for once."""

    intruder: Intruder
    classes: str
    seen: dict[Part, Floats | None] = field(default_factory=dict)

    def of(self, part: Part) -> Floats | None:
        """The sums of weights of the classes in a part, None where the table is refused."""
        if part not in self.seen:
            measure = "weighted_count" if self.intruder.book.weight else "count"
            table = self.intruder.table(self.classes, where={key: (code,) for key, code in part}, measure=measure)
            self.seen[part] = None if table is None else values(table, measure)
        return self.seen[part]

    def shares(self, key: str) -> Floats:
        """How each class spreads over the bins of a key: a row a class; evenly where the table is refused."""
        book = self.intruder.book
        table = self.intruder.table(self.classes, key)
        even = np.ones((len(codes(book, self.classes)), len(codes(book, key))))
        counts = even if table is None else np.nan_to_num(values(table))
        return np.asarray(np.maximum(counts, 0.1) / np.maximum(counts, 0.1).sum(axis=1, keepdims=True))

    def taking(self, number: str) -> tuple[Floats, Floats]:
        """The share of each class that has the number at all, and that has more than none of it, as a logarithm needs."""
        variable, even = self.intruder.book.variable(number), np.ones(len(codes(self.intruder.book, self.classes)))
        table = self.intruder.table(self.classes, number) if variable.classifies else None
        if table is None:
            return even, even
        counts = np.nan_to_num(values(table))
        there = np.array([not code.missing for code in variable.codes or ()])
        some = there.copy()
        some[0] &= not (variable.cutpoints and variable.cutpoints[0] <= 1)
        whole = np.maximum(counts.sum(axis=1), 1)
        return counts[:, there].sum(axis=1) / whole, counts[:, some].sum(axis=1) / whole

    def weights(self, key: str) -> Floats:
        """The mean weight in each bin of a key, as a share of the mean of all."""
        even = np.ones(len(codes(self.intruder.book, key)))
        if not self.intruder.book.weight:
            return even
        table = self.intruder.table(key, measure=("count", "weighted_count"))
        if table is None:
            return even
        counts = values(table)
        return np.divide(values(table, "weighted_count") / self.mean_weight, counts, out=even, where=counts > 0)

    @cached_property
    def mean_weight(self) -> float:
        if not self.intruder.book.weight:
            return 1.0
        table = self.intruder.table(self.classes, measure=("count", "weighted_count"))
        return 1.0 if table is None else float(np.nansum(values(table, "weighted_count")) / np.nansum(values(table)))


def bin_middles(intruder: Intruder, name: str) -> Floats:
    """The middle of each bin of a number; the outer bins count as wide as their neighbours unless its range is declared."""
    variable = intruder.book.variable(name)
    cuts = np.array(variable.cutpoints, np.float64)
    low = cuts[0] - np.diff(cuts[:2])[0] if variable.minimum is None else variable.minimum
    high = cuts[-1] + np.diff(cuts[-2:])[0]
    edges = np.concatenate([[low], cuts, [high]])
    middles = (edges[1:] + edges[:-1]) / 2
    missing = len(codes(intruder.book, name)) - len(middles)
    return np.concatenate([middles, np.full(missing, middles.mean())])
