"""Which variables an intruder would use, judged by the public codebook alone."""

from confide.arrays import Bools
from confide.attacks.claims import NotApplicable
from confide.model.catalog.dataset import Dataset, Role, Variable

__all__ = ["class_secret", "codes", "confidential", "keys", "named", "number_secret", "size"]


def size(variable: Variable) -> int:
    """How many classes it has, missing ones aside."""
    return sum(not code.missing for code in variable.codes or ())


def codes(book: Dataset, name: str) -> tuple[str, ...]:
    """All codes of a variable in declared order: a place in it is what `Known` holds."""
    found = book.variable(name).codes
    return found.names if found else ()


def named(book: Dataset, name: str, chosen: Bools) -> list[str]:
    """The codes of a variable whose places are chosen."""
    return [code for code, there in zip(codes(book, name), chosen, strict=True) if there]


def keys(book: Dataset) -> list[Variable]:
    """The key variables that may define a universe, at the finest level of each, those with most classes first."""
    found: dict[str, Variable] = {}
    for variable in book.variables.values():
        if variable.role is Role.KEY and variable.classifies and variable.universe:
            finest = book.levels(variable.name)[-1]
            if finest.universe:
                found[finest.name] = finest
    return sorted(found.values(), key=lambda v: (-size(v), v.name))


def confidential(book: Dataset) -> list[Variable]:
    """The confidential variables; those that nobody declared so, if none is."""
    shown = [v for v in book.variables.values() if v.role is not Role.IDENTIFIER]
    return [v for v in shown if v.role is Role.CONFIDENTIAL] or [v for v in shown if v.role is Role.OTHER]


def class_secret(book: Dataset, name: str = "") -> str:
    """A confidential variable with classes that may stand in a universe."""
    if name:
        return book.classifier(name).name
    for variable in confidential(book):
        if variable.classifies and variable.universe and size(variable) > 1:
            return variable.name
    raise NotApplicable("No confidential variable has classes.")


def number_secret(book: Dataset, name: str = "") -> str:
    """A confidential number."""
    if name and book.variable(name).measurable:
        return name
    for variable in confidential(book):
        if variable.measurable:
            return variable.name
    raise NotApplicable("No confidential variable is a number.")
