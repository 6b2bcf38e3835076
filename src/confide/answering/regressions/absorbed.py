"""What is said of classes without a coefficient of their own: the reference, and what stands with the most common class."""

from confide.answering.analysis import Admitted
from confide.answering.regressions.classes import Classes
from confide.answering.regressions.compile import Levels
from confide.model.request import RegressionRequest

__all__ = ["absorbed"]


def absorbed(classes: Classes, question: Admitted[RegressionRequest]) -> tuple[str, ...]:
    """Which class of each predictor is the reference, which have too few units for a coefficient, and which hardly an outcome."""
    told = [words for one in classes.levels.values() for words in _said(one, question)]
    return (*told, *(words for one in classes.levels.values() for words in _one_sided(one, classes, question)))


def _one_sided(one: Levels, classes: Classes, question: Admitted[RegressionRequest]) -> list[str]:
    """A warning of classes in which hardly anybody has one of the outcomes, and how to leave them out."""
    codes = question.dataset.variables[one.variable].codes
    places = classes.one_sided.get(one.variable, ())
    if codes is None or not places:
        return []
    gone, home = [codes.names[place] for place in places], codes.names[one.reference]
    have = "has" if len(gone) == 1 else "have"
    return [
        f"Beware: of {one.variable}, {', '.join(gone)} {have} hardly any unit of one outcome, and so no odds of their own. They stand "
        f"with {home} and move what is told of it: to leave them out, name the other classes in 'where'."
    ]


def _said(one: Levels, question: Admitted[RegressionRequest]) -> list[str]:
    variable = question.dataset.variables[one.variable]
    codes = variable.codes
    assert codes is not None
    home = codes.names[one.reference]
    others = [codes.names[p] for p in range(len(codes)) if p != one.reference and p not in one.kept]
    asked = question.request.formula.references.get(one.variable)
    if asked is not None and variable.place(asked) in one.kept:
        beside = f"Of {one.variable}, {', '.join(others)} have too few units and stand with {home}."
        return [f"The reference of {one.variable} is {asked}.", *([beside] if others else [])]
    beside = f", and with it {', '.join(others)}" if others else ""
    said = [f"The reference of {one.variable} is {home}{beside}."]
    if asked not in (None, home):
        said.append(f"{asked} of {one.variable} has too few units to be the reference.")
    return said
