"""What the builder of a model offers: only what public metadata and the policy allow, whatever the data are."""

from collections.abc import Iterator
from dataclasses import dataclass

from confide.errors import Mistake, Reason
from confide.formats.models.words import factor_words, term_words
from confide.model.admission.regression import admit_factor, admit_response
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.model.choices import Extra
from confide.model.formula import Factor, Transform, write_term
from confide.model.policy import Policy
from confide.model.request import Family
from confide.web.pages.analyst.levels import by_subject, options
from confide.web.pages.analyst.regression.draft import ModelDraft

__all__ = [
    "EXTRAS",
    "FAMILIES",
    "OfferedPredictors",
    "TermView",
    "predictors",
    "response_classes",
    "responses",
    "show_terms",
]

MOST_CLASSES = 30
"""Of a variable with more classes, none is listed as a response; it can be typed."""

FAMILIES = {
    Family.GAUSSIAN: "A number, by least squares",
    Family.BINOMIAL: "Yes or no, by logistic regression",
    Family.POISSON: "A count, by Poisson regression",
    Family.MULTINOMIAL: "One of several classes, by multinomial logit",
    Family.ORDERED: "Classes in their order, by proportional odds",
    Family.SURVIVAL: "Periods until an event, by discrete-time survival",
}

EXTRAS = {
    Extra.COVARIANCE: "The covariance of the coefficients",
    Extra.DEVIANCE: "Likelihood-ratio tests term by term (not of a number by least squares)",
    Extra.EFFECTS: "Average marginal effects (on shares of classes)",
}

Options = list[tuple[str, str, bool]]
"""What is chosen, in which words, and whether it is."""


def responses(draft: ModelDraft) -> list[tuple[str, Options]]:
    """What may be explained, under the families of models that can."""
    offered = {family: list(_responses(draft, family)) for family in FAMILIES}
    if draft.response is not None and not any(chosen for group in offered.values() for _, _, chosen in group):
        offered[draft.family].append((draft.chosen, factor_words(draft.response, draft.dataset), True))
    return [(FAMILIES[family], group) for family, group in offered.items() if group]


def response_classes(draft: ModelDraft) -> Options:
    """The classes of a response that is one or several of them; none to choose where there are two or very many."""
    if draft.response is None or not draft.response.codes:
        return []
    codes = draft.dataset.variables[draft.response.variable].codes or ()
    if not 2 < len(codes) <= MOST_CLASSES:
        return []
    return [(code.code, code.label, code.code in draft.response.codes) for code in codes]


def _responses(draft: ModelDraft, family: Family) -> Iterator[tuple[str, str, bool]]:
    for variable in draft.dataset.variables.values():
        for factor in _forms(variable, family):
            try:
                admit_response(factor, family, draft.dataset)
            except Mistake:
                continue
            chosen = (family, factor) == (draft.family, draft.response)
            yield f"{family} {write_term((factor,))}", factor_words(factor, draft.dataset), chosen


def _forms(variable: Variable, family: Family) -> list[Factor]:
    """The forms in which a variable could be a response."""
    if family is Family.BINOMIAL:
        few = variable.classifies and not variable.measurable and len(variable.codes or ()) <= MOST_CLASSES
        return [Factor(variable.name, codes=(code.code,)) for code in variable.codes or ()] if few else []
    if family.several:
        few = variable.classifies and len(variable.codes or ()) <= MOST_CLASSES
        return [Factor(variable.name)] if few else []
    if not variable.measurable or (family is Family.POISSON and variable.decimals):
        return []
    forms = Transform if family is Family.GAUSSIAN else (Transform.NONE,)
    return [Factor(variable.name, form) for form in forms]


@dataclass(frozen=True)
class OfferedPredictors:
    """The predictors that may be added, under the headings of the codebook; and why the others may not."""

    offered: list[tuple[str, Options]]
    others: list[tuple[str, str]]


def predictors(draft: ModelDraft, policy: Policy) -> OfferedPredictors:
    """What may still be added to a model."""
    before = draft.reasons(policy)
    fitting, others = [], []
    for variable in draft.dataset.variables.values():
        if variable.role is Role.IDENTIFIER or not (variable.measurable or variable.classifies):
            continue
        why = _hindrance(draft, variable, policy, before)
        if why:
            others.append((variable.label, why))
        else:
            fitting.append(variable)
    groups = [(s, [o for v in group for o in _predictor(draft, v)]) for s, group in by_subject(fitting)]
    return OfferedPredictors([(subject, group) for subject, group in groups if group], others)


def _hindrance(draft: ModelDraft, variable: Variable, policy: Policy, before: list[Reason]) -> str:
    """Why a variable may not be added, in a sentence; nothing if it may, or is there already."""
    if any(factor.variable == variable.name for term in draft.terms for factor in term):
        return ""
    wider = draft.wider(Factor(variable.name))
    told = [error.message for error in wider.errors[len(draft.errors) :]]
    return next(iter([*told, *(reason for reason in wider.reasons(policy) if reason not in before)]), "")


def _predictor(draft: ModelDraft, variable: Variable) -> Iterator[tuple[str, str, bool]]:
    for form in Transform:
        factor = Factor(variable.name, form)
        there = [(f.variable, f.transform) for term in draft.terms if len(term) == 1 for f in term]
        if (variable.name, form) not in there and _possible(factor, draft.dataset):
            words = factor_words(factor, draft.dataset)
            if not variable.measurable:
                [(_, words, _)] = options(draft.dataset, [variable])
            yield write_term((factor,)), words, False


def _possible(factor: Factor, dataset: Dataset) -> bool:
    try:
        admit_factor(factor, dataset)
    except Mistake:
        return False
    return True


@dataclass(frozen=True)
class TermView:
    """A term as the form shows it; `forms` are transformations of its number that may be added.

    `references` are the classes that the others can be compared with, the most common one first.
    """

    text: str
    words: str
    main: bool
    kind: str
    forms: list[tuple[str, str]]
    references: Options


_ADDED = {Transform.LOG: "Add its logarithm", Transform.SQRT: "Add its square root", Transform.SQUARE: "Add its square"}


def show_terms(draft: ModelDraft) -> list[TermView]:
    """The terms of a model, main effects first."""
    shown = []
    for term in draft.terms:
        variable = draft.dataset.variables[term[0].variable]
        number = len(term) == 1 and variable.measurable
        plain = number and term[0].transform is Transform.NONE
        forms = [Factor(variable.name, form) for form in _ADDED] if plain else []
        free = [f for f in forms if (f,) not in draft.terms and _possible(f, draft.dataset)]
        added = [(write_term((f,)), _ADDED[f.transform]) for f in free]
        kind = "interaction" if len(term) > 1 else "number" if number else f"{len(variable.codes or ())} classes"
        compared = [] if len(term) > 1 or number else list(_references(term[0], variable))
        words = term_words(term, draft.dataset)
        shown.append(TermView(write_term(term), words, len(term) == 1, kind, added, compared))
    return shown


def _references(factor: Factor, variable: Variable) -> Iterator[tuple[str, str, bool]]:
    yield write_term((Factor(variable.name),)), "the most common class", factor.reference is None
    codes = list(variable.codes or ())
    for code in codes if len(codes) <= MOST_CLASSES else [c for c in codes if c.code == factor.reference]:
        other = Factor(variable.name, reference=code.code)
        yield write_term((other,)), code.label, factor == other
