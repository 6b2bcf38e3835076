"""Confidential values that an intruder learns by looking up somebody's keys, beyond what they could guess anyway."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from confide.arrays import Floats, Ints
from confide.data.kdtree.static import build, close, distinct_rows, nearest, within
from confide.errors import Mistake
from confide.measures.pairs import Both, Pair, side_by_side
from confide.measures.records import listed
from confide.measures.space import Scaling, Space

__all__ = ["AttributeDisclosure", "attribute_disclosure"]


@dataclass(frozen=True)
class AttributeDisclosure:
    """How likely the intruder is to be right about each original record, NaN where it has no value to learn.

    `guessing` is the percentage that they get right by one and the same guess for everybody, made from the released
    file without looking anyone up.
    """

    correct: Floats
    guessing: float

    @property
    def percent(self) -> float:
        """The percentage of confidential values that are learnt."""
        known = self.correct[~np.isnan(self.correct)]
        return 100 * float(known.mean()) if len(known) else 0.0

    @property
    def gain(self) -> float:
        """How many percentage points that is more than guessing."""
        return self.percent - self.guessing


def attribute_disclosure(
    original: Any,
    released: Any,
    *,
    keys: str | Sequence[str],
    confidential: str,
    within_percent: float = 10,
    scaling: Scaling = "standardised",
    identifier: str | None = None,
) -> AttributeDisclosure:
    """Attribute disclosure (Dalenius 1977): how often an intruder who knows the keys learns a confidential value.

    They find the released records nearest in the keys, all of them if several tie, and take the commonest category,
    or the number that is within so many percent of most of theirs: a number is learnt if that is true of it too. Files
    need not have the same records, so it serves synthetic files too. Reference: the survey's attribute disclosure: "more
    accurately with access to the released statistic than it is possible without".

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 30, 40, 50], "ill": ["no", "no", "no", "yes"]})
    >>> found = attribute_disclosure(people, people, keys="age", confidential="ill")
    >>> found.percent, found.guessing
    (100.0, 75.0)
    """
    names = listed(keys, "keys")
    if confidential in names:
        raise Mistake(f"Column {confidential!r} is a key, so it cannot be confidential.")
    if not 0 <= within_percent < 100:
        raise Mistake(f"A number is learnt if it is within 0 to 100 percent, not {within_percent}.")
    found = _looked_up(side_by_side(original, released, names, identifier=identifier), scaling)
    column = side_by_side(original, released, [confidential], identifier=identifier).columns[0]
    if column.numeric:
        return _numbers(column, found, within_percent / 100)
    return _categories(column, found)


@dataclass(frozen=True)
class _LookedUp:
    """Whom the intruder finds: kinds of targets against kinds of released records, 1 if found."""

    target: Ints
    released: Ints
    found: csr_array


def _looked_up(pair: Pair, scaling: Scaling) -> _LookedUp:
    space = Space.of(pair, scaling)
    asked, target, _ = distinct_rows(space.original)
    there, kind, _ = distinct_rows(space.released)
    tree = build(space.released[there], space.nominal)
    points = space.original[asked]
    at, places = within(points, tree, close(nearest(points, tree), tree))
    found = csr_array((np.ones(len(places)), places, at), shape=(len(asked), len(there)))
    found.sort_indices()  # sums then do not depend on how the tree was cut
    return _LookedUp(target, kind, found)


def _categories(column: Both, looked: _LookedUp) -> AttributeDisclosure:
    width, there = max(1, len(column.labels or ())), column.released >= 0
    cells = np.ones(int(there.sum())), (looked.released[there], column.released[there])
    counts = looked.found @ csr_array(cells, shape=(looked.found.shape[1], width))
    overall = np.bincount(column.released[there], minlength=width).astype(np.float64)
    guess = _modes(csr_array(overall[None, :]))
    known = column.original >= 0
    correct = np.full(len(known), np.nan)
    chance = _modes(counts)
    nothing = np.asarray(counts.sum(axis=1)).ravel() == 0  # nobody found has a value: they guess
    correct[known] = np.asarray(chance[looked.target[known], column.original[known]]).ravel()
    alone = np.zeros(width + 1)  # the last is for what is missing
    alone[guess.indices] = guess.data
    correct = np.where(known & nothing[looked.target], alone[column.original], correct)
    return AttributeDisclosure(correct, 100 * float(alone[column.original[known]].mean()) if known.any() else 0.0)


def _modes(counts: csr_array) -> csr_array:
    """The chance that each category is named: the commonest of a row, or one of them by chance."""
    counts = csr_array(counts)
    counts.eliminate_zeros()
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    most = np.zeros(counts.shape[0])
    np.maximum.at(most, rows, counts.data)
    top = (counts.data >= most[rows] - 1e-9).astype(np.float64)
    ties = np.bincount(rows, top, minlength=counts.shape[0])
    return csr_array((top / np.maximum(ties, 1)[rows], counts.indices, counts.indptr), shape=counts.shape)


def _numbers(column: Both, looked: _LookedUp, share: float) -> AttributeDisclosure:
    there, known = ~np.isnan(column.released), ~np.isnan(column.original)
    size = looked.found.shape[1]
    many = np.bincount(looked.released[there], minlength=size).astype(np.float64)
    guesses = _best_guesses(column.released[there], looked.released[there], share, size)
    found = looked.found @ many
    constant = float(_best_guesses(column.released[there], np.zeros(int(there.sum()), np.int64), share, 1)[0])
    guess = np.where(found > 0, looked.found @ (many * np.nan_to_num(guesses)) / np.maximum(found, 1), constant)
    reach = (share + 1e-12) * np.abs(column.original)
    correct = np.where(known, np.abs(guess[looked.target] - column.original) <= reach, np.nan)
    alone = np.abs(constant - column.original) <= reach
    return AttributeDisclosure(correct, 100 * float(alone[known].mean()) if known.any() else 0.0)


def _best_guesses(values: Floats, group: Ints, share: float, groups: int) -> Floats:
    """For each group the number within a share of most of its values: a sweep over the ends of intervals about them."""
    reach = share * np.abs(values)
    ends, step = np.concatenate([values - reach, values + reach]), np.repeat([1, -1], len(values))
    which = np.concatenate([group, group])
    order = np.lexsort((-step, ends, which))  # at one point, intervals begin before others end
    covered, which, ends = np.cumsum(step[order]), which[order], ends[order]
    best = np.lexsort((-covered, which))
    first = np.unique(which[best], return_index=True)
    found = np.full(groups, np.nan)
    found[first[0]] = ends[best[first[1]]]
    return found
