"""Models: what each factor of a formula is in the words of a catalog, and which formulas a policy allows whatever the data are."""

from collections.abc import Sequence
from dataclasses import replace

from confide.errors import Mistake, Reason, nearest
from confide.model.admission.related import check_predictors, check_related
from confide.model.admission.universe import admit_universe, check_universe
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.model.formula import Factor, Formula, Transform, write_term
from confide.model.policy import Policy
from confide.model.request import Family, RegressionRequest

__all__ = [
    "admit_factor",
    "admit_regression",
    "admit_response",
    "check_hierarchy",
    "check_regression",
    "label",
    "saturated",
]


def admit_regression(request: RegressionRequest, dataset: Dataset) -> RegressionRequest:
    """The request with its response named by variable; a Mistake where a name, transformation or family does not fit."""
    admit_universe(request.where, dataset)
    if request.by_design and dataset.sampling is None:
        raise Mistake(
            f"How the units of {dataset.name!r} were drawn is not declared, so that no error by the design can be known.",
            suggestions=["Leave errors='design' out.", "The custodian may add [sampling]."],
        )
    formula = replace(request.formula, response=admit_response(request.formula.response, request.family, dataset))
    explained = [formula.response.variable]
    if request.event is not None:
        _admit_event(request.event, formula.response.variable, dataset)
        explained.append(request.event.variable)
    for term in formula.terms:
        for factor in term:
            admit_factor(factor, dataset)
            for name in explained:
                if dataset.columns(factor.variable) & dataset.columns(name):
                    raise Mistake(f"{factor.variable!r} is made of the response {name!r}.")
        names = [factor.variable for factor in term]
        if len(set(names)) < len(names):
            raise Mistake(f"{names[0]!r} cannot interact with itself.")
    return replace(request, formula=formula, against=_smaller(request, formula, dataset))


def _smaller(request: RegressionRequest, formula: Formula, dataset: Dataset) -> Formula | None:
    """The model to compare with, its terms in the order of the whole; a Mistake unless they are some of its terms."""
    against = request.against
    if against is None:
        return None
    terms = Formula(formula.response, (*against.terms, *formula.terms)).terms
    if _response_alone(against.response, request.family, dataset) != replace(formula.response, reference=None):
        raise Mistake("The model to compare with explains something else: give it the same response.")
    if set(terms) != set(formula.terms) or len(against.terms) >= len(formula.terms):
        raise Mistake(
            "The model to compare with must have some of the terms of the model, and no other.",
            suggestions=["Leave terms out of the formula to get it."],
        )
    named = {tuple((f.variable, f.transform) for f in term) for term in against.terms}
    kept = [term for term in formula.terms if tuple((f.variable, f.transform) for f in term) in named]
    return replace(formula, terms=tuple(kept))


def _response_alone(factor: Factor, family: Family, dataset: Dataset) -> Factor:
    """The response, whatever its classes are compared with."""
    return replace(factor, reference=None) if family.several else _response(factor, dataset)


def admit_response(factor: Factor, family: Family, dataset: Dataset) -> Factor:
    """The response named by variable; a Mistake if no model of this family may explain it."""
    if family.several:
        return _several(factor, family, dataset)
    response = _response(factor, dataset)
    _admit_family(response, family, dataset)
    return response


def _several(factor: Factor, family: Family, dataset: Dataset) -> Factor:
    """A response that is one of several classes; their order is that of the code list."""
    variable = dataset.variable(factor.variable)
    if factor.codes:
        raise Mistake(
            f"family='{family}' explains all classes of {variable.name!r}: name the variable alone.",
            suggestions=["Use family='binomial' for one class or some."],
        )
    if factor.transform:
        raise Mistake(f"family='{family}' explains the classes of {variable.name!r}: leave '{factor.transform}' out.")
    dataset.classifier(variable.name)
    _admit_explained(variable, dataset)
    least = 2 if family is Family.SURVIVAL else 3
    if len([code for code in variable.codes or () if not code.missing]) < least:
        other = ["Use family='binomial' for a yes or no."] if family is not Family.SURVIVAL else []
        raise Mistake(
            f"family='{family}' needs {least} classes or more, and {variable.name!r} has fewer.", suggestions=other
        )
    if factor.reference is not None:
        _admit_code(factor.reference, variable)
    return factor


def _admit_event(event: Factor, duration: str, dataset: Dataset) -> None:
    """A Mistake if these classes cannot end a duration."""
    variable = dataset.variable(event.variable)
    _admit_explained(variable, dataset)
    for code in event.codes:
        _admit_code(code, variable)
    if len(event.codes) == len([code for code in variable.codes or () if not code.missing]):
        raise Mistake(f"Every class of {variable.name!r} is the event: leave one out.")
    if dataset.columns(event.variable) & dataset.columns(duration):
        raise Mistake(f"The event {event.variable!r} is made of the duration {duration!r}.")


def _admit_explained(variable: Variable, dataset: Dataset) -> None:
    if len(dataset.sources(variable.name)) > 1:
        raise Mistake(f"{variable.name!r} is made of several variables, and cannot be the response of a model.")
    if variable.role is Role.KEY:
        raise Mistake(f"{variable.name!r} is a key, and keys cannot be the response of a model.")


def _admit_family(response: Factor, family: Family, dataset: Dataset) -> None:
    if family is Family.BINOMIAL and not response.codes:
        raise Mistake(
            f"A binomial model needs a yes or no, and {response.variable!r} is neither.",
            suggestions=[
                "Write the class as variable=code, as in employment=employed, or several as variable in (code, code)."
            ],
        )
    if family is not Family.BINOMIAL and response.codes:
        raise Mistake("The indicator of a class is modelled with family='binomial'.")
    if family is Family.POISSON and (dataset.variables[response.variable].signed or response.transform):
        raise Mistake(f"A poisson model needs counts, and {response.variable!r} may be negative or is transformed.")


def _response(factor: Factor, dataset: Dataset) -> Factor:
    """The response; the code of exactly one categorical variable stands for the indicator of that class."""
    if factor.variable not in dataset.variables and not factor.codes and not factor.transform:
        homes = [v.name for v in dataset.variables.values() if v.classifies and factor.variable in (v.codes or ())]
        if len(homes) == 1:
            factor = Factor(homes[0], codes=(factor.variable,))
    variable = dataset.variable(factor.variable)
    _admit_explained(variable, dataset)
    if factor.codes:
        for code in factor.codes:
            _admit_code(code, variable)
        if len(factor.codes) == len(variable.codes or ()):
            raise Mistake(f"Every class of {variable.name!r} is in the response: leave one out.")
        return factor
    if not variable.measurable:
        raise Mistake(
            f"{variable.name!r} is not numeric.",
            suggestions=[_of_classes(variable)],
        )
    _admit_transform(factor, variable)
    return factor


def _of_classes(variable: Variable) -> str:
    """What to model of a variable that has classes: one of them, or all if there are three or more."""
    codes = [code.code for code in variable.codes or () if not code.missing]
    one = write_term((Factor(variable.name, codes=tuple(codes[:1] or ["code"])),))
    several = ", or all classes with family='multinomial'" if len(codes) > 2 else ""
    return f"Model a class with family='binomial': {one}{several}."


def admit_factor(factor: Factor, dataset: Dataset) -> None:
    """A Mistake if the factor may not stand among the predictors of any model."""
    variable = dataset.variable(factor.variable)
    if factor.transform and not variable.measurable:
        raise Mistake(f"Only numeric variables can be transformed, and {variable.name!r} is not one.")
    if not variable.measurable and not variable.classifies:
        raise Mistake(f"{variable.name!r} cannot stand in a model.")
    if factor.reference is not None:
        if variable.measurable:
            raise Mistake(f"{variable.name!r} is a number, and numbers have no reference.")
        _admit_code(factor.reference, variable)
    _admit_transform(factor, variable)


def _admit_code(code: str, variable: Variable) -> None:
    if variable.codes is None or code not in variable.codes:
        known = nearest(code, [one.code for one in variable.codes or ()])
        raise Mistake(f"{variable.name!r} has no code {code[:60]!r}.", suggestions=known)


def _admit_transform(factor: Factor, variable: Variable) -> None:
    """Logarithms and roots need a declared domain: which values are left out must not depend on the data alone."""
    if factor.transform in (Transform.LOG, Transform.SQRT) and variable.signed:
        raise Mistake(f"{variable.name!r} may be negative by its declaration, so it has no {factor.transform}.")


def check_regression(request: RegressionRequest, dataset: Dataset, policy: Policy) -> list[Reason]:
    """The reasons to refuse a model whatever the data are (Lucero et al. 2011, sec. 3.2; Gomatam et al. 2004, sec. 5)."""
    formula = request.formula
    return [
        *check_universe(request.where, policy),
        *check_predictors(formula.variables, policy),
        *check_hierarchy(formula),
        *(() if policy.tables.cross else saturated(formula, formula.variables, dataset)),
        *check_related(request.names, request.where, dataset, policy),
    ]


def check_hierarchy(formula: Formula) -> list[Reason]:
    lacking = _lacking(formula)
    words = f"An interaction needs its parts in the model too: {lacking}."
    return [Reason("models.hierarchy", words)] if lacking else []


def _lacking(formula: Formula) -> str:
    terms = set(formula.terms)
    for term in formula.terms:
        for factor in term if len(term) > 1 else ():
            part = tuple(f for f in term if f != factor)
            if part not in terms or (factor,) not in terms:
                return ":".join(label([f]) for f in term)
    return ""


def saturated(formula: Formula, names: Sequence[str], dataset: Dataset) -> list[Reason]:
    """The reason to refuse if of the predictors these have columns, and all of the classes among them interact.

    Numbers beside them change nothing: their means by class come from other models, and then the means of the cells do too.
    """
    classes = {name for name in names if not dataset.variables[name].measurable}
    if len(classes) > 1 and any(classes <= {factor.variable for factor in term} for term in formula.terms):
        return [Reason("models.saturated", "All classes of the model interact: its class part is a table.")]
    return []


def label(term: Sequence[Factor]) -> str:
    """A term as a person reads it."""
    return ":".join(f"{f.transform}({f.variable})" if f.transform else f.variable for f in term)
