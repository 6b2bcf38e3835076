"""Records that an intruder links by weight of evidence: Fellegi and Sunter, with EM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.arrays import Floats
from confide.data.kdtree.static import distinct_rows
from confide.measures.pairs import paired
from confide.measures.risk.comparisons import LEVELS, MISSING, Comparison, Patterns, better
from confide.measures.risk.linkage import Linkage

__all__ = ["ProbabilisticLinkage", "probabilistic_linkage"]

STEPS, ENOUGH = 200, 1e-7
"""EM stops after so many steps, or when no probability changes by more than this."""

LEAST = 1e-6
"""No level of true pairs is held to be rarer than this, so that no single attribute can rule a link out."""


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
    attributes of true pairs are equal, close, near or unlike, and link each released record with the original one of
    the largest sum of log2(m / u). Ties count by their probability of being right. They know that one of the original
    records is right, and attributes are held to be independent given that. Numbers are compared by the share of the
    file between them, so no unit matters. Reference: Fellegi and Sunter (1969); Jaro (1989); Torra and
    Domingo-Ferrer (2003).

    >>> import pyarrow as pa
    >>> original = pa.table({"sex": list("ffmm"), "age": [20, 30, 40, 50]})
    >>> released = pa.table({"sex": list("ffmm"), "age": [20, 30, 50, 40]})
    >>> probabilistic_linkage(original, released, columns=["sex", "age"]).percent
    50.0
    """
    pair = paired(original, released, columns, identifier=identifier, recoded=True)
    compared = Comparison.of(pair)
    unlinked = compared.unlinked()
    linked = estimated(compared.patterns(), unlinked, share=1 / pair.rows[0])
    first, _, count = distinct_rows(compared.original)
    tied = better(compared, pair.truth, evidence(linked, unlinked), (first, count))
    chance = np.where(tied > 0, 1 / np.maximum(tied, 1), 0.0)
    names = tuple(column.name for column in pair.columns)
    return ProbabilisticLinkage(chance, pair.rows[0], names, linked, unlinked)


def evidence(linked: Floats, unlinked: Floats) -> Floats:
    """The weight of each level of each attribute, log2(m / u); a missing value, in the last column, weighs nothing."""
    seen = unlinked > 0
    weight = np.zeros((len(linked), len(LEVELS) + 1))
    weight[:, :-1][seen] = np.log2(linked[seen] / unlinked[seen])
    return weight


def estimated(patterns: Patterns, unlinked: Floats, *, share: float) -> Floats:
    """Estimate by EM how often each level occurs among true pairs, which are this share of all."""
    linked, false = _guess(unlinked), _likelihood(patterns, unlinked)
    known = patterns.levels < MISSING
    for _ in range(STEPS):
        true = _likelihood(patterns, linked)
        weight = patterns.count * share * true / np.maximum(share * true + (1 - share) * false, 1e-300)
        after = np.empty_like(linked)
        for k, (levels, there) in enumerate(zip(patterns.levels.T, known.T, strict=True)):
            after[k] = np.bincount(levels[there], weight[there], len(LEVELS))[: len(LEVELS)]
        after = np.where(unlinked > 0, np.maximum(after / np.maximum(after.sum(axis=1), 1e-300)[:, None], LEAST), 0.0)
        after /= np.maximum(after.sum(axis=1), 1e-300)[:, None]
        change, linked = float(np.abs(after - linked).max()), after
        if change < ENOUGH:
            break
    return linked


def _guess(unlinked: Floats) -> Floats:
    """Where EM starts: true pairs are mostly alike."""
    guess = np.where(unlinked > 0, np.array([0.6, 0.2, 0.1, 0.1]), 0.0)
    return np.asarray(guess / np.maximum(guess.sum(axis=1), 1e-300)[:, None])


def _likelihood(patterns: Patterns, probability: Floats) -> Floats:
    total = np.ones(len(patterns.count))
    for levels, each in zip(patterns.levels.T, probability, strict=True):
        total *= np.append(each, 1.0)[levels]
    return total
