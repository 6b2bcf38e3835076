"""What questions say of the cells of a cross, by least squares."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, sqrt

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import erf

from confide.answering.auditing.asked import AskedTable
from confide.answering.auditing.counting import Store
from confide.answering.auditing.families import table_families
from confide.answering.auditing.isolated import NOTHING, Isolated, together
from confide.answering.auditing.system import QuestionSystem, marks_of
from confide.arrays import Bools, Floats, Ints

__all__ = ["isolated_by_cells", "least_tables", "posterior_spread"]

TOLD = 0.5
"""A count is told when its standard deviation is at most this: rounding is then right in 68 % of cases or more."""

BEFORE = 4.0
"""The least variance of a count beforehand: an intruder knows a small count to within 2 units, not better."""

MOST_CELLS = 10_000
"""Larger crosses are looked at table by table."""

MOST_ENTRIES = 4_000_000
"""So many entries (numbers times cells) a system may have: 32 megabytes as floats."""

MOST_UNKNOWN = 800
"""The smaller of numbers and sets may be this large: about a quarter of a second of linear algebra."""


def isolated_by_cells(questions: Sequence[AskedTable], store: Store) -> Isolated:
    """The small cells of one cross that the questions tell together and no single answer tells.

    The sets looked at are the smallest that the questions tell apart. Each answered number is the sum of some of them, with
    noise of variance V that belongs to the set of units; beforehand a set is known to within the square root of the number
    of units that an average set of its width has. That gives each set a standard deviation afterwards.
    """
    distinct = tuple({asked.told: asked for asked in questions}.values())
    if not _enough(distinct, store):
        return NOTHING
    system = QuestionSystem.by_cross(distinct, store.dataset)
    if system.told < least_tables(store.noise):
        return NOTHING
    return _isolated(system, store) if _fits(system) else _by_table(distinct, store)


def least_tables(noise: float) -> int:
    """So many tables at least must tell a class of a variable from each other class before a cell with it can be told.

    If all else were known, and the sum of two cells that differ in this variable alone, each table that tells the two
    apart would add 1/V to what is known of one: 1/P + 1/P' beforehand, with P at least BEFORE.
    """
    return max(1, ceil(noise * (1 / TOLD**2 - 2 / BEFORE)))


def _by_table(questions: Sequence[AskedTable], store: Store) -> Isolated:
    """The same for each table by itself, where the whole is too large; what only several tables tell stays unseen."""
    tables = [tables for tables in table_families(questions).values() if _enough(tables, store)]
    systems = [QuestionSystem.by_cross(members, store.dataset) for members in tables]
    hopeful = [system for system in systems if system.told >= least_tables(store.noise)]
    found = [_isolated(system, store) if _fits(system) else Isolated(too_large=True) for system in hopeful]
    return replace(together(found), too_large=True)


def _enough(questions: Sequence[AskedTable], store: Store) -> bool:
    """Whether so many numbers could tell any set, if all else were known."""
    return len(questions) >= max(2.0, store.noise * (1 / TOLD**2 - 1 / BEFORE))


def _fits(system: QuestionSystem) -> bool:
    return system.cells <= MOST_CELLS and system.rows_needed * system.cells <= MOST_ENTRIES


def _isolated(system: QuestionSystem, store: Store) -> Isolated:
    rows, sources = system.rows()
    _, first, owner = np.unique(marks_of(rows.T), return_index=True, return_inverse=True)
    owner, sets = owner.ravel(), rows[:, first]
    if min(sets.shape) > MOST_UNKNOWN:
        return Isolated(too_large=True)
    prior = _prior(system, owner, store.size)
    spread = posterior_spread(sets, prior=prior, noise=store.noise)
    alone = sets[sets.sum(axis=1) == 1].any(axis=0)
    single = np.sqrt(1 / (1 / prior + alone / store.noise))
    told = (spread <= TOLD) & (single > TOLD)
    if not told.any():
        return NOTHING
    return _small(system, store, owner=owner, told=told, spread=spread, sources=sources[sets[:, told].any(axis=1)])


def _small(
    system: QuestionSystem, store: Store, *, owner: Ints, told: Bools, spread: Floats, sources: Ints
) -> Isolated:
    """How many of the sets that are told are small, in each class of what is apart."""
    sets, which = store.cells(system).each(np.where(told[owner], owner, -1), len(told))
    reached = spread[which[store.small(sets)]]
    if not len(reached):
        return NOTHING
    entries = tuple(sorted({system.questions[at].number for at in sources.tolist()}))
    return Isolated(float(_right(reached).sum()), len(reached), entries, float(np.median(reached)))


def _prior(system: QuestionSystem, owner: Ints, units: int) -> Floats:
    """The variance of each set beforehand: the units of an average set of as many elementary cells, at least BEFORE."""
    width = np.bincount(owner, weights=system.merged)
    return np.maximum(BEFORE, width * units / system.elementary)


def _right(spread: Floats) -> Floats:
    """How probably the nearest whole number is the true one."""
    return np.asarray(erf(0.5 / (sqrt(2) * np.maximum(spread, 1e-9))))


def posterior_spread(rows: Bools, *, prior: Floats, noise: float) -> Floats:
    """The standard deviation of each of several independent unknowns, given noisy sums of some of them.

    With prior variances P, rows A and noise variance V: the diagonal of (A'A/V + P^-1)^-1, by the smaller of two systems.

    >>> posterior_spread(np.array([[True, True], [True, False]]), prior=np.array([4.0, 4.0]), noise=1e-9).round(3)
    array([0., 0.])
    """
    a = rows.astype(np.float64)
    if len(a) < a.shape[1]:
        scaled = a * prior
        inner = cho_factor(scaled @ a.T + noise * np.eye(len(a)))
        variance = prior - np.einsum("ij,ij->j", scaled, cho_solve(inner, scaled))
    else:
        information = a.T @ a / noise + np.diag(1 / prior)
        variance = np.diag(cho_solve(cho_factor(information), np.eye(a.shape[1])))
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))
