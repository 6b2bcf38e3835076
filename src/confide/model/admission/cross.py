"""The cross of a question: all class variables that it names, wherever it names them.

Everything that questions over the same variables can address is a union of cells of their cross, and differences of their
answers reach every cell; so rules judge the cross. Which variables it has, and how many cells, is public.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from confide.model.catalog.dataset import Dataset, Variable

__all__ = ["cross_of", "declared_cells", "present_places"]


def cross_of(names: Iterable[str], dataset: Dataset) -> tuple[str, ...]:
    """The variables of a cross in one order: each hierarchy and each number once, at the finest level named.

    What an analyst made of declared variables is judged as these. A recode whose cutpoints cut across those of another recode of
    its number brings that one along, since questions by the other leave slivers of its bins.
    """
    named = {source for name in names for source in dataset.sources(name)}
    named |= {sibling.name for name in named for sibling in _across(dataset.variables[name], dataset)}
    return tuple(
        sorted(name for name in named if not any(_coarser(name, than=other, dataset=dataset) for other in named))
    )


def declared_cells(cross: Sequence[str], dataset: Dataset) -> int:
    """The cells of a cross by its declared codes, those of missing values aside: of a number the bins of all cutpoints."""
    variables = [dataset.variables[name] for name in cross]
    cuts: dict[str, set[float]] = {}
    for variable in variables:
        if variable.binned:
            cuts.setdefault(variable.column, set()).update(variable.cutpoints)
    classes = [len(present_places(variable)) for variable in variables if not variable.binned]
    return max(1, prod(classes) * prod(len(points) + 1 for points in cuts.values()))


def present_places(variable: Variable) -> tuple[int, ...]:
    """The places of the codes that do not stand for a missing value."""
    return tuple(place for place, code in enumerate(variable.codes or ()) if not code.missing)


def _across(variable: Variable, dataset: Dataset) -> Iterator[Variable]:
    """The recodes of the same number whose cutpoints neither contain nor are contained in its own."""
    own = set(variable.cutpoints)
    for other in dataset.levels(variable.name) if variable.binned else ():
        theirs = set(other.cutpoints)
        if not (own <= theirs or theirs <= own):
            yield other


def _coarser(name: str, *, than: str, dataset: Dataset) -> bool:
    """Whether a variable follows from another: a coarser level of it, or a recode with fewer cutpoints."""
    one, other = dataset.variables[name], dataset.variables[than]
    if name == than:
        return False
    if one.binned and other.binned and one.column == other.column:
        fewer, more = set(one.cutpoints), set(other.cutpoints)
        return fewer < more or (fewer == more and than < name)
    return name in [level.name for level in dataset.chain(than)]
