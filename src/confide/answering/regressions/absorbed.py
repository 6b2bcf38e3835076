"""What is said of classes without a coefficient of their own: the reference, and what stands with the most common class."""

from collections.abc import Mapping

from confide.answering.analysis import Admitted
from confide.answering.regressions.compile import Levels
from confide.model.request import RegressionRequest

__all__ = ["absorbed"]


def absorbed(levels: Mapping[str, Levels], question: Admitted[RegressionRequest]) -> tuple[str, ...]:
    """Which class of each predictor is the reference, and which have too few units for a coefficient."""
    return tuple(words for one in levels.values() for words in _said(one, question))


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
