"""What a unit can exchange: a key at all its levels and in all its recodes, with the numbers made of the same column."""

from dataclasses import dataclass

from confide.model.catalog.dataset import Dataset, Role, Variable

__all__ = ["Trait", "class_number", "key_traits", "matching_variables"]


@dataclass(frozen=True)
class Trait:
    """`levels` are class variables, the coarsest first; `numbers` go with them."""

    levels: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.levels[-1]


def class_number(variable: Variable) -> int:
    """How many classes a variable has, codes that mean missing aside."""
    return sum(not code.missing for code in variable.codes or ())


def key_traits(dataset: Dataset) -> tuple[Trait, ...]:
    """Everything declared a key, that with most classes first."""
    found = {}
    for variable in dataset.variables.values():
        if variable.classifies and variable.role is Role.KEY:
            trait = _trait(variable, dataset)
            found[trait.name] = trait
    return tuple(sorted(found.values(), key=lambda t: -class_number(dataset.variables[t.name])))


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
