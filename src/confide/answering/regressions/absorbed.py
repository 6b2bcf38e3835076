"""What becomes of classes without a coefficient of their own: the reference, what stands with the most common class, and what is
left out.

A class of enough units, nearly all of whom have the same outcome, has no odds. With the most common class it would move the odds of
that: children, those of adults to be employed. So the question is answered without such classes, if both may be asked: that
nearly all have one outcome is told only where a table would tell it.
"""

from confide.answering.analysis import Admitted, Near
from confide.answering.nearby import without_classes
from confide.answering.regressions.classes import Classes
from confide.answering.regressions.compile import Levels
from confide.model.request import RegressionRequest

__all__ = ["absorbed", "left_out"]


def left_out(classes: Classes, question: Admitted[RegressionRequest]) -> Near[RegressionRequest] | None:
    """The question without the classes of a predictor in which nearly all units have one outcome; of several that of most units.

    Decided on protected counts; None if there are no such classes, or hardly any others.
    """
    request, variables = question.request, question.dataset.variables
    for name in sorted(classes.one_sided, key=lambda name: -classes.units(name, classes.one_sided[name])):
        variable, places = variables[name], classes.one_sided[name]
        kept = len(variable.codes or ()) - len(places)
        near = without_classes(request, variable, places) if places and kept > 1 and variable.universe else None
        if near is not None:
            gone = ", ".join(_codes(name, places, question))
            words = f"Records of {name} {gone} are left out: nearly all of their units have the same outcome, so there are no odds."
            return Near(words, near)
    return None


def absorbed(classes: Classes, question: Admitted[RegressionRequest]) -> tuple[str, ...]:
    """Which class of each predictor is the reference, which have too few units for a coefficient, and which hardly an outcome."""
    told = [words for one in classes.levels.values() for words in _said(one, question)]
    return (*told, *(words for one in classes.levels.values() for words in _beware(one, classes, question)))


def _beware(one: Levels, classes: Classes, question: Admitted[RegressionRequest]) -> list[str]:
    """A warning of large classes that have no odds of their own, and could not be left out."""
    places = classes.without_odds.get(one.variable, ())
    if not places:
        return []
    gone, [home] = _codes(one.variable, places, question), _codes(one.variable, (one.reference,), question)
    have, they = ("has", "It stands") if len(gone) == 1 else ("have", "They stand")
    alike = set(places) <= set(classes.one_sided[one.variable])
    end = "The model without may not be asked." if alike else "To leave out, name the other classes in 'where'."
    return [
        f"Beware: of {one.variable}, {', '.join(gone)} {have} hardly any unit of one outcome, and so no odds. {they} "
        f"with {home} and move what is told of it. {end}"
    ]


def _codes(name: str, places: tuple[int, ...], question: Admitted[RegressionRequest]) -> list[str]:
    codes = question.dataset.variables[name].codes
    assert codes is not None
    return [codes.names[place] for place in places]


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
