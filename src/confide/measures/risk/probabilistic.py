"""Records that an intruder links by weight of evidence: Fellegi and Sunter, with EM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.arrays import Floats
from confide.data.kdtree.static import distinct_rows
from confide.measures.pairs import paired
from confide.measures.risk.comparisons import Comparison, better
from confide.measures.risk.linkage import Linkage
from confide.measures.risk.mixture import fitted, ratios, start

__all__ = ["ProbabilisticLinkage", "probabilistic_linkage"]


@dataclass(frozen=True)
class ProbabilisticLinkage(Linkage):
    """A linkage with what the intruder learnt of the masking: one row an attribute, one column a level of `LEVELS`.

    `linked` are the probabilities of levels for records that belong together, `unlinked` for any two; the evidence of
    a level is the logarithm of their ratio.
    """

    columns: tuple[str, ...]
    linked: Floats
    unlinked: Floats


def probabilistic_linkage(
    original: Any, released: Any, *, columns: str | Sequence[str], identifier: str | None = None
) -> ProbabilisticLinkage:
    """Probabilistic record linkage, PLD (Fellegi and Sunter 1969): how many records are found by weighing likeness.

    They do not know how the file was masked: from the patterns of likeness of all pairs they estimate, by EM, how often
    attributes of true pairs are of each level of likeness, and link each released record with the original one of
    the largest sum of log2(m / u). Ties count by their probability of being right. They know that one of the original
    records is right and that likeness is evidence for it: a level weighs more than the next. Attributes are held to be
    independent given that. Numbers are compared by the share of the file between them, so no unit matters.
    Promise: a file against itself is linked at least as often as it has uniques. Reference: Fellegi and Sunter (1969);
    Jaro (1989); Winkler (1993) for EM with such an order; Torra and Domingo-Ferrer (2003).

    >>> import pyarrow as pa
    >>> original = pa.table({"sex": list("ffmm"), "age": [20, 30, 40, 50]})
    >>> released = pa.table({"sex": list("ffmm"), "age": [20, 30, 50, 40]})
    >>> probabilistic_linkage(original, released, columns=["sex", "age"]).percent
    50.0
    """
    pair = paired(original, released, columns, identifier=identifier, recoded=True)
    compared = Comparison.of(pair)
    unlinked = compared.unlinked()
    patterns = compared.patterns(evidence(start(unlinked), unlinked))
    linked = fitted(patterns, unlinked, share=1 / pair.rows[0])
    first, _, count = distinct_rows(compared.original)
    tied = better(compared, pair.truth, evidence(linked, unlinked), (first, count))
    chance = np.where(tied > 0, 1 / np.maximum(tied, 1), 0.0)
    names = tuple(column.name for column in pair.columns)
    return ProbabilisticLinkage(chance, pair.rows[0], names, linked, unlinked)


def evidence(linked: Floats, unlinked: Floats) -> Floats:
    """The weight of each level of each attribute, log2(m / u); a missing value, in the last column, weighs nothing."""
    return np.asarray(np.log2(ratios(linked, unlinked)))
