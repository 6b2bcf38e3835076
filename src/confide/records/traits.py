"""What a unit can exchange: a key at all its levels and in all its recodes, with the numbers made of the same column.

A key that follows from another, as a size class does from the number of employees, is a level of it: exchanged by itself it
would make records that cannot be.
"""

from dataclasses import dataclass

import numpy as np

from confide.engines import Coded
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.records.sums import sole_classes

__all__ = ["Trait", "class_number", "key_traits", "matching_variables"]


@dataclass(frozen=True)
class Trait:
    """`levels` are class variables, the coarsest first; `numbers` go with them."""

    levels: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.levels[-1]


SEEN = 20
"""One key follows from another only if its classes have so many records on average: of a few, any seems to."""


def class_number(variable: Variable) -> int:
    """How many classes a variable has, codes that mean missing aside."""
    return sum(not code.missing for code in variable.codes or ())


def key_traits(dataset: Dataset, coded: Coded) -> tuple[Trait, ...]:
    """Everything declared a key, that with most classes first."""
    found = {}
    for variable in dataset.variables.values():
        if variable.classifies and variable.role is Role.KEY:
            trait = _trait(variable, dataset)
            found[trait.name] = trait

    def classes(name: str) -> int:
        return class_number(dataset.variables[name])

    def follows(coarse: str, fine: str) -> bool:
        alone = dataset.taken(coarse) or dataset.taken(fine)  # how many live together is no level of anything
        return not alone and _follows(coded, coarse, fine)

    joined: list[Trait] = []
    for trait in sorted(found.values(), key=lambda t: -classes(t.name)):
        place = next((i for i, finer in enumerate(joined) if follows(trait.name, finer.name)), None)
        if place is None:
            joined.append(trait)
        else:
            finer = joined[place]
            levels = sorted((*trait.levels, *finer.levels[:-1]), key=classes)
            joined[place] = Trait((*levels, finer.name), finer.numbers + trait.numbers)
    return tuple(joined)


def _follows(coded: Coded, coarse: str, fine: str) -> bool:
    """Whether every class of one has but one class of the other, and not by chance."""
    first = coded.classes(fine)
    found = sole_classes(first, coded.classes(coarse), int(first.max(initial=0)) + 1)
    there = found[found >= 0]
    return len(first) >= SEEN * len(there) and len(np.unique(there)) > 1


def matching_variables(trait: Trait, dataset: Dataset) -> list[str]:
    """What a partner should have in common: every other key, and what is neither key nor confidential, at its coarsest."""
    found = []
    for variable in dataset.variables.values():
        if variable.classifies and variable.role in (Role.KEY, Role.OTHER) and variable.name not in trait.levels:
            found.append(dataset.levels(variable.name)[0].name)
    return list(dict.fromkeys(found))


def _trait(variable: Variable, dataset: Dataset) -> Trait:
    levels = tuple(v.name for v in dataset.levels(variable.name))
    column = variable.column
    numbers = tuple(v.name for v in dataset.variables.values() if v.measurable and v.column == column)
    return Trait(levels, numbers if variable.numeric else ())
