"""Where a number may be cut by an analyst: at declared cutpoints, and those of one recode at a time."""

from collections.abc import Collection, Sequence
from decimal import Decimal

from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.definition.definition import AgainstCutpoint

__all__ = ["bins_of", "must_be_cutpoints"]


def must_be_cutpoints(statement: AgainstCutpoint, dataset: Dataset) -> float:
    """The cutpoint that a comparison comes to; a Mistake that offers the nearest if it is not declared."""
    variable = dataset.variable(statement.variable)
    if not variable.numeric:
        raise Mistake(
            f"{variable.name!r} is no number, so it is not below or above anything.",
            suggestions=[f"Write {variable.name} in (codes)."],
        )
    # x > 17 is x >= 18 where numbers are whole: what is declared are the least numbers of bins.
    step = Decimal(1).scaleb(-variable.decimals) if statement.mark in (">", "<=") else Decimal(0)
    wanted = float(statement.number + step)
    known = sorted({cut for form in _forms(variable, dataset) for cut in form.cutpoints})
    if not known:
        raise Mistake(
            f"{variable.name!r} has no declared cutpoints.", suggestions=["Ask the custodian to declare cutpoints."]
        )
    if wanted not in known:
        near = sorted(sorted(known, key=lambda cut: abs(cut - wanted))[:2])
        offered = " or ".join(f"{variable.name} >= {_plain(cut)}" for cut in near)
        raise Mistake(
            f"{_plain(wanted)} is no declared cutpoint of {variable.name!r}.", suggestions=[f"Take {offered}."]
        )
    return wanted


def bins_of(variable: Variable, cutpoints: Sequence[float], listed: Collection[str], dataset: Dataset) -> str:
    """The recode of a number that has all these cutpoints, and is the one whose codes are `listed`; the coarsest of several."""
    forms = [form for form in _forms(variable, dataset) if set(cutpoints) <= set(form.cutpoints)]
    fitting = [form for form in forms if not listed or {form.name} == set(listed)]
    if not fitting:
        recodes = "; ".join(
            f"{form.name}: {', '.join(map(_plain, form.cutpoints))}" for form in _forms(variable, dataset)
        )
        raise Mistake(
            f"No one recode of {variable.column!r} has all cutpoints and codes that the definition names.",
            suggestions=[f"Use those of one: {recodes}."],
        )
    return min(fitting, key=lambda form: (len(form.cutpoints), form.name)).name


def _forms(variable: Variable, dataset: Dataset) -> list[Variable]:
    """The number as it is cut by declared cutpoints."""
    return [v for v in dataset.variables.values() if v.binned and v.classifies and v.column == variable.column]


def _plain(number: float) -> str:
    return f"{number:g}" if abs(number) < 1e6 else f"{number:.10g}"
