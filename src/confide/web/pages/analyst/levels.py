"""Levels of detail: the same thing told finer or coarser, and which level to begin with. From public metadata alone."""

from collections.abc import Iterable
from itertools import groupby

from confide.model.catalog.dataset import Dataset, Variable

__all__ = ["Option", "by_subject", "options", "suggested"]

COMFORTABLE = 25
"""So many classes can be taken in at a glance, and seldom hold too few units."""

Option = tuple[str, str, int]
"""What is chosen, in which words, and how many classes it has."""


def size(variable: Variable) -> int:
    """The number of classes."""
    return len(variable.codes or ())


def suggested(dataset: Dataset, name: str) -> str:
    """The level to begin with: the finest that can be taken in at a glance."""
    known = dataset.levels(name)
    fitting = [level for level in known if size(level) <= COMFORTABLE]
    return (fitting[-1] if fitting else known[0]).name


def options(dataset: Dataset, variables: Iterable[Variable]) -> list[Option]:
    """Variables as one chooses them: label, number of classes, and whether it is the level to begin with."""
    return [(v.name, _words(dataset, v), size(v)) for v in variables]


def _words(dataset: Dataset, variable: Variable) -> str:
    if not variable.classifies:
        return variable.label
    best = len(dataset.levels(variable.name)) > 1 and suggested(dataset, variable.name) == variable.name
    return f"{variable.label} ({size(variable)} classes{', suggested' if best else ''})"


def by_subject(variables: Iterable[Variable]) -> list[tuple[str, list[Variable]]]:
    """Variables under the headings of the codebook, in its order; those without a heading come last."""
    listed = list(variables)
    order = {subject: place for place, subject in enumerate(dict.fromkeys(v.subject for v in listed))}
    listed.sort(key=lambda v: (not v.subject, order[v.subject]))
    return [(subject or "Other", list(group)) for subject, group in groupby(listed, key=lambda v: v.subject)]
