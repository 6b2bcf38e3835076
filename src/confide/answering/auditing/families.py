"""Questions that belong together: by their table, and by the cross of all class variables that they name."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from confide.answering.auditing.asked import AskedTable, kin
from confide.model.catalog.dataset import Dataset

__all__ = ["Cross", "core_families", "core_of", "cross_families", "cross_of", "table_families", "widest", "within"]

Cross = frozenset[str]
"""Every class variable that a question names, whatever level of it."""


def table_families(questions: Iterable[AskedTable]) -> dict[tuple[str, ...], list[AskedTable]]:
    """The questions by the variables of their tables."""
    found: dict[tuple[str, ...], list[AskedTable]] = {}
    for asked in questions:
        found.setdefault(asked.by, []).append(asked)
    return found


def cross_families(questions: Iterable[AskedTable], dataset: Dataset) -> dict[Cross, list[AskedTable]]:
    """The questions by their cross, the widest ones: one whose cross is within another belongs to that."""
    exact = _by_cross(questions, dataset)
    return {cross: within(cross, exact) for cross in widest(exact)}


def core_families(questions: Iterable[AskedTable], dataset: Dataset, *, least: int) -> dict[Cross, list[AskedTable]]:
    """The same without what hides a pattern: see `core_of`. Of the same question asked again there is one."""
    exact = _by_cross({asked.told: asked for asked in questions}.values(), dataset)
    sizes = {cross: len(members) for cross, members in exact.items()}
    return {cross: within(cross, exact) for cross in widest({core_of(cross, sizes, least) for cross in exact})}


def cross_of(asked: AskedTable, dataset: Dataset) -> Cross:
    """Every class variable that a question names."""
    return frozenset(kin(dataset, name) for name in asked.variables)


def core_of(cross: Cross, sizes: Mapping[Cross, int], least: int) -> Cross:
    """The cross without the variables that fewer than `least` different tables within it name; `sizes` counts tables by cross.

    What such a variable tells apart stays unknown, so it is left out, and the tables that name it.
    """
    inside = {part: size for part, size in sizes.items() if part <= cross}
    while True:
        named: Counter[str] = Counter()
        for part, size in inside.items():
            named.update(dict.fromkeys(part, size))
        kept = frozenset(name for name in cross if named[name] >= least)
        if kept == cross:
            return cross
        cross, inside = kept, {part: size for part, size in inside.items() if part <= kept}


def widest(crosses: Iterable[Cross]) -> list[Cross]:
    """Those that are within no other, in order; the cross of nothing is none."""
    some = set(crosses) - {frozenset()}
    return sorted((cross for cross in some if not any(cross < other for other in some)), key=sorted)


def within(cross: Cross, exact: Mapping[Cross, Sequence[AskedTable]]) -> list[AskedTable]:
    """The questions whose own cross is within this one."""
    return [asked for part, members in exact.items() if part <= cross for asked in members]


def _by_cross(questions: Iterable[AskedTable], dataset: Dataset) -> dict[Cross, list[AskedTable]]:
    found: dict[Cross, list[AskedTable]] = {}
    for asked in questions:
        found.setdefault(cross_of(asked, dataset), []).append(asked)
    return found
