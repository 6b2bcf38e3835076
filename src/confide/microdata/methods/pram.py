"""PRAM, the post-randomisation method: categories change by chance, with known chances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.data.compiling import compiled
from confide.errors import Mistake, nearest
from confide.microdata.method import Method
from confide.microdata.records import Categories, Masked, Records
from confide.model.parameter import parameter

__all__ = ["Pram", "estimated_counts"]

MOST = 2_000
"""More categories than this are not categories, and their matrix would not fit."""


@dataclass(frozen=True)
class Pram(Method):
    """PRAM, post-randomisation (Gouweleeuw et al. 1998): categories are changed by chance, with chances that are known.

    Promise: a value j becomes l with chance R(j, l), whatever the other values; the report has R for each column under
    `matrices`. R is the given matrix, or one by which a value is drawn anew with chance `change`: from the file's own
    distribution if `invariant`, else from all categories alike. A given matrix P is made invariant as R = P Q, with
    Q(l, j) the chance that what became l was j. If R is invariant, counts stay on average; otherwise `estimated_counts`
    corrects them. With weights, it is the weighted counts that stay. Missing values stay missing.

    Reference: Gouweleeuw, Kooiman, Willenborg and de Wolf (1998).

    >>> import pyarrow as pa
    >>> released = Pram(change=0.5).protect(pa.table({"sex": ["f", "m", "f", "m", "m", "m"]}), columns="sex", teaching_seed=1)
    >>> released.frame["sex"].to_pylist()
    ['m', 'm', 'f', 'm', 'm', 'm']
    >>> released.report["matrices"]["sex"]
    {'labels': ['f', 'm'], 'chances': array([[0.66666667, 0.33333333],
           [0.16666667, 0.83333333]])}
    """

    best_attack: ClassVar = "pram-linkage"
    draws: ClassVar = True
    takes: ClassVar = frozenset({"numbers", "categories"})
    weighs: ClassVar = True

    change: float = parameter(0.2, "Chance that a value is drawn anew, where no matrix is given.", above=0, high=1)
    matrices: Mapping[str, Mapping[str, Mapping[str, float]]] = parameter(
        {}, "The chance of each new category for each old one, by column; those left out are 0."
    )
    invariant: bool = parameter(True, "Chances are made such that counts stay on average.")

    def _check(self) -> None:
        for name, matrix in self.matrices.items():
            for old, row in matrix.items():
                if min(row.values(), default=0) < 0 or abs(sum(row.values()) - 1) > 1e-9:
                    raise Mistake(
                        f"Pram: in matrices, the chances of {old!r} of {name!r} must be positive and sum to 1."
                    )
                if stray := [new for new in row if new not in matrix]:
                    raise Mistake(f"Pram: in matrices, {stray[0]!r} of {name!r} has chances to appear but no row.")

    def _mask(self, records: Records) -> Masked:
        for name in self.matrices:
            if name not in records.columns:
                hint = nearest(name, records.columns)
                raise Mistake(f"Pram: matrices has {name!r}, which is not among the columns to mask.", suggestions=hint)
        columns, matrices, changed = {}, {}, 0
        for number, name in enumerate(records.columns):
            categories = records.categories(name)
            if len(categories) > MOST:
                raise Mistake(f"Pram: {name!r} has more than {MOST:,} categories.", suggestions=["Recode it first."])
            labels, matrix = self._matrix(name, categories, records.weights)
            codes = drawn(categories.codes, np.cumsum(matrix, axis=1), records.rng(name).random(len(records)))
            columns[name] = _column(name, categories, labels, codes)
            changed += int(np.sum(codes != categories.codes))
            matrices[name] = {"labels": labels.to_pylist(), "chances": matrix}
            records.progress((number + 1) / len(records.columns))
        return Masked(columns, {"changed": changed, "matrices": matrices})

    def _matrix(self, name: str, categories: Categories, weights: Floats | None) -> tuple[pa.Array, Floats]:
        """The categories there can be, those of the file first, and the chances of each to become each."""
        known = categories.codes >= 0
        counts = np.bincount(categories.codes[known], None if weights is None else weights[known], len(categories))
        share = counts / max(counts.sum(), 1e-300)
        if name not in self.matrices:
            size = len(share)
            anew = np.tile(share, (size, 1)) if self.invariant else np.full((size, size), 1 / max(size, 1))
            return categories.labels, (1 - self.change) * np.eye(size) + self.change * anew
        labels, matrix = _given(name, self.matrices[name], categories)
        share = np.r_[share, np.zeros(len(labels) - len(share))]
        return labels, matrix @ _back(matrix, share) if self.invariant else matrix

    def _combined(self, reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Chances stand by stratum; of a file without strata they are in its report."""
        return super()._combined(reports) if reports else {"changed": 0, "matrices": {}}


def estimated_counts(counts: Mapping[Any, float], matrix: Mapping[str, Any]) -> dict[Any, float]:
    """The counts of categories before PRAM (Gouweleeuw et al. 1998), estimated from those after it and the report's matrix.

    Promise: unbiased, T = (R')^-1 T*, for counts and for weighted counts (Gouweleeuw et al. 1998). An estimate may be
    negative.

    >>> matrix = {"labels": ["f", "m"], "chances": [[0.9, 0.1], [0.2, 0.8]]}
    >>> estimated_counts({"f": 62.0, "m": 38.0}, matrix)
    {'f': 60.0, 'm': 40.0}
    """
    labels, chances = list(matrix["labels"]), np.asarray(matrix["chances"], float)
    if stray := [label for label in counts if label not in labels]:
        raise Mistake(f"The matrix has no category {stray[0]!r}.", suggestions=nearest(str(stray[0]), map(str, labels)))
    if np.linalg.cond(chances) > 1e12:
        raise Mistake("Counts cannot be estimated: the matrix has no inverse.")
    found = np.linalg.solve(chances.T, [float(counts.get(label, 0.0)) for label in labels])
    return {label: round(float(value), 9) for label, value in zip(labels, found, strict=True)}


def _given(name: str, matrix: Mapping[str, Mapping[str, float]], categories: Categories) -> tuple[pa.Array, Floats]:
    """A matrix as given, in the order of the file's categories and then those that do not occur."""
    there = categories.labels.cast(pa.string()).to_pylist()
    if missing := [label for label in there if label not in matrix]:
        hint = nearest(missing[0], matrix)
        raise Mistake(f"Pram: matrices has no row for {missing[0]!r} of column {name!r}.", suggestions=hint)
    words = [*there, *(label for label in matrix if label not in there)]
    try:
        others = pa.array(words[len(there) :], pa.string()).cast(categories.labels.type)
    except pa.ArrowInvalid:
        raise Mistake(
            f"Pram: column {name!r} holds {categories.labels.type}, and matrices has categories of other kinds."
        ) from None
    chances = np.array([[matrix[old].get(new, 0.0) for new in words] for old in words])
    return pa.concat_arrays([categories.labels, others]), chances.reshape(len(words), len(words))


def _back(matrix: Floats, share: Floats) -> Floats:
    """The chance that what is now l was j; for what cannot come up, nothing changes."""
    joint = (matrix * share[:, None]).T
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1.0), np.eye(len(share)))


def _column(name: str, categories: Categories, labels: pa.Array, codes: Ints) -> pa.Array:
    """The column that codes of labels stand for; a new category that a categorical does not declare is a Mistake."""
    whole = Categories(codes, labels, categories.ordered, categories.source).column(codes)
    if whole.null_count > int(np.sum(codes < 0)):
        raise Mistake(
            f"Pram: matrices has categories that {name!r} does not declare.", suggestions=["Declare them first."]
        )
    return whole


@compiled
def drawn(codes: Ints, cumulative: Floats, uniform: Floats) -> Ints:
    """For each code a new one, by the cumulative chances of its row; -1 stays."""
    new = codes.copy()
    size = cumulative.shape[1]
    for i in range(len(codes)):
        if codes[i] >= 0:
            row = cumulative[codes[i]]
            # rounding may leave the last sum a little below 1
            new[i] = min(np.searchsorted(row, uniform[i] * row[size - 1], side="right"), size - 1)
    return new
