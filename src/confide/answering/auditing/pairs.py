"""Differencing pairs: one table over two universes that differ by a narrow set.

A count of cells under cell keys changes if and only if its units do (but for chance), so each class of the table in which the
narrow set has somebody shows itself.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from confide.answering.auditing.asked import AskedTable
from confide.answering.auditing.counting import Store
from confide.answering.auditing.families import cross_families
from confide.answering.auditing.isolated import NOTHING, Isolated, together
from confide.answering.auditing.system import QuestionSystem, marks_of
from confide.arrays import Bools, Ints

__all__ = ["isolated_by_pairs"]

NARROW = 0.1
"""Two universes make a pair if they differ by at most this share of the larger. Everybody against women is no pair: what such
tables say of each other is the table of all three variables, which is a question of its own."""

MOST_UNIVERSES = 1_500
"""So many different universes of one table are compared with each other, the last ones."""

MOST_CELLS = 10_000
"""Universes whose variables together make more cells than this are compared only where the variables of one are among those of
the other."""

MOST_SETS = 2_000
"""So many different sets by which universes differ are looked at, the smallest first."""


def isolated_by_pairs(questions: Sequence[AskedTable], store: Store) -> Isolated:
    """What the questions of one table isolate by differences of two, compared as sets whatever variables select them.

    Each set by which two universes differ is looked at with the cells of the table in it, unless sets that are smaller
    cover it; a cell told by m pairs is told with probability 1 - (1 - p)^m.
    """
    latest = {asked.universe.boxes: asked for asked in questions}
    if len(latest) < 2:
        return NOTHING
    system = QuestionSystem.by_table(tuple(latest.values())[-MOST_UNIVERSES:], store.dataset)
    if system.cells <= MOST_CELLS:
        return replace(_isolated(system, store), too_large=len(latest) > MOST_UNIVERSES)
    crosses = cross_families(latest.values(), store.dataset)
    if len(crosses) == 1:
        return Isolated(too_large=True)
    return together([isolated_by_pairs(members, store) for members in crosses.values()])


def _isolated(system: QuestionSystem, store: Store) -> Isolated:
    first, second, times = _narrow(system.universes, store.sizes(system))
    if not len(first):
        return NOTHING
    cells, universes, chosen = store.cells(system), system.universes, system.questions
    score, sets, numbers = 0.0, 0, set[int]()
    for a, b, m in zip(first, second, times, strict=True):
        small = int(store.small(cells.sets(universes[a] ^ universes[b])).sum())
        score, sets = score + small * (1 - (1 - store.shows) ** m), sets + small
        numbers |= {chosen[a].number, chosen[b].number} if small else set()
    return Isolated(float(score), sets, tuple(sorted(numbers)))


def _narrow(universes: Bools, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """Pairs of universes that differ by a narrow set, one for each set that smaller ones do not cover, and how many have it."""
    weight, inside = sizes.astype(np.float64), universes.astype(np.float64)
    total = inside @ weight
    differ = total[:, None] + total[None, :] - 2 * (inside * weight) @ inside.T
    first, second = np.nonzero(np.triu((differ > 0.5) & (differ <= NARROW * np.maximum.outer(total, total)), 1))
    if not len(first):
        return first, second, first
    marks = marks_of(universes)
    _, one, times = np.unique(marks[first] ^ marks[second], return_index=True, return_counts=True)
    order = np.argsort(differ[first[one], second[one]], kind="stable")[:MOST_SETS]
    kept = _uncovered(universes, first[one[order]], second[one[order]])
    at = one[order][kept]
    return first[at], second[at], times[order][kept]


def _uncovered(universes: Bools, first: Ints, second: Ints) -> Bools:
    """Which sets, the smallest first, hold a cell that no smaller set holds."""
    covered, kept = np.zeros(universes.shape[1], dtype=bool), np.zeros(len(first), dtype=bool)
    for at, (a, b) in enumerate(zip(first, second, strict=True)):
        differ = universes[a] ^ universes[b]
        kept[at] = bool((differ & ~covered).any())
        covered |= differ
    return kept
