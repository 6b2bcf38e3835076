"""A model while one builds it: what is explained, by what, over whom; as fields of a form and as an address.

In the address a whole model is a `formula` and a `family`, as in a question; before that `response` is a family with a factor,
as in `gaussian log(income)`, and `term` repeats. In the form `predictor` is a factor to be added, `tick` marks those that shall
interact, `relevel` names the class that those of a variable are compared with, `class` a class of a response of several, and
`do` is the button that was pressed.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from confide.errors import Mistake, Reason
from confide.model.admission.regression import admit_factor, admit_regression, admit_response, check_regression
from confide.model.admission.table import check_variables
from confide.model.catalog.dataset import Dataset
from confide.model.choices import CoefficientErrors, Extra
from confide.model.formula import Factor, Formula, Term, read_class, read_term, write_formula, write_term
from confide.model.policy import Policy
from confide.model.request import Family, RegressionRequest
from confide.model.universe import EVERYONE, Universe
from confide.spelling.json import make_request
from confide.web.pages.analyst.universe import Query, UniverseDraft, naming
from confide.web.pages.context import Error

__all__ = ["ModelDraft"]

_NOTHING = Factor("")


@dataclass(frozen=True)
class ModelDraft:
    """A model being made. Interactions always have their parts in it, and leave with them."""

    dataset: Dataset
    who: UniverseDraft
    family: Family = Family.GAUSSIAN
    response: Factor | None = None
    terms: tuple[Term, ...] = ()
    also: tuple[Extra, ...] = ()
    """What is to be told beside the coefficients."""
    against: str = ""
    """The smaller model to compare with, as it was typed."""
    event: str = ""
    """What ends a duration, as it was typed."""
    by_design: bool = False
    """Whether standard errors are by the design of the sample."""
    typed: str = ""
    """A formula as it was typed, if it cannot be used."""
    errors: tuple[Error, ...] = ()

    @classmethod
    def read(cls, query: Query, dataset: Dataset) -> "ModelDraft":
        """The model that an address or a form describes; what cannot be read is an error, and nothing else is lost."""
        draft = cls(dataset, UniverseDraft.read(query, dataset), event=_first(query, "event").strip())
        draft = draft.explaining(_first(query, "response"))
        draft = draft.with_terms([text for key, text in query if key in ("term", "predictor") and text])
        draft = draft.compared([text for key, text in query if key == "relevel"])
        formula = _first(query, "formula")
        draft = draft.retyped(formula, _first(query, "family") or "gaussian") if formula.strip() else draft
        named = [name for key, text in query if key == "also" for name in text.split(",")]
        also, against = tuple(extra for extra in Extra if extra in named), _first(query, "against").strip()
        by_design = _first(query, "errors").strip() == CoefficientErrors.DESIGN
        return replace(draft, also=also, against=against, by_design=by_design)

    def write(self) -> list[tuple[str, str]]:
        """The parameters of the address; of a whole model those of the question."""
        if self.formula is None:
            return self.fields()
        family = [] if self.family is Family.GAUSSIAN else [("family", str(self.family))]
        return [("formula", write_formula(self.formula)), *family, *self._more(), *self.who.write()]

    def _more(self) -> list[tuple[str, str]]:
        also = [("also", ",".join(self.also))] if self.also else []
        also += [("event", self.event)] if self.family is Family.SURVIVAL and self.event else []
        also += [("against", self.against)] if self.against else []
        return [*also, *([("errors", str(CoefficientErrors.DESIGN))] if self.by_design else [])]

    def fields(self) -> list[tuple[str, str]]:
        """The same in parts, complete or not, as the form holds them."""
        response = [("response", self.chosen)] if self.response else []
        terms = [("term", write_term(term)) for term in self.terms]
        return [*response, *terms, *self._more(), *self.who.write()]

    def press(self, button: str, ticked: Sequence[str]) -> tuple["ModelDraft", str]:
        """What a button of the form does, and the part of the page that it belongs to."""
        action, _, text = button.partition(".")
        if action in ("with", "without"):
            return self.with_terms([text]) if action == "with" else self._without(text), "predictors"
        if action == "cross":
            return self._crossed(ticked), "interaction"
        if action == "classes":
            return self._among(ticked), "response"
        who, part = self.who.press(button)
        return replace(self, who=who), button if button in ("response", "formula") else part

    @property
    def formula(self) -> Formula | None:
        """The model, as soon as it has a response and a predictor."""
        return Formula(self.response, self.terms) if self.response and self.terms else None

    @property
    def chosen(self) -> str:
        """The response as the form names it."""
        return f"{self.family} {write_term((self.response,))}" if self.response else ""

    def reasons(self, policy: Policy) -> list[Reason]:
        """Why the policy would refuse the model whatever the data are."""
        return self._reasons(naming(self.who.names(self.dataset), self.dataset), policy)

    def allows(self, where: Universe, policy: Policy) -> bool:
        """Whether the universe may be that one, whatever the data are."""
        return set(self._reasons(where, policy)) <= set(self.reasons(policy))

    def _reasons(self, where: Universe, policy: Policy) -> list[Reason]:
        if self.formula is None:
            return check_variables((), where, self.dataset, policy)
        return check_regression(self._question(self.formula, where), self.dataset, policy)

    def _question(self, formula: Formula, where: Universe) -> RegressionRequest:
        """The model as far as it is known: of durations without an event, what they have in common with ordered classes."""
        event = None
        if self.family is Family.SURVIVAL:
            with suppress(Mistake):
                event = read_class(self.event)
        unended = self.family is Family.SURVIVAL and event is None
        family = Family.ORDERED if unended else self.family
        return RegressionRequest(self.dataset.name, formula, where, family, event=event)

    def wider(self, factor: Factor) -> "ModelDraft":
        """The same with a predictor more; with an error if that cannot be."""
        return self._having((*self.terms, (factor,)))

    def wrong(self, place: str, message: object) -> "ModelDraft":
        """The same with an error at a field."""
        return replace(self, errors=(*self.errors, Error(place, str(message))))

    def finished(self) -> "ModelDraft":
        """The same with errors for all that is missing before it can be asked."""
        draft = self
        if self.response is None and not self.errors:
            draft = draft.wrong("response", "Choose what the model shall explain.")
        if self.family is Family.SURVIVAL and not self.event and not draft.errors:
            draft = draft.wrong("event", "Say what ends a duration, as in status=ended.")
        if not self.terms and not draft.errors:
            draft = draft.wrong("predictor", "Add at least one predictor.")
        draft = replace(draft, errors=(*draft.errors, *self.who.errors(self.dataset)))
        return draft if draft.errors else draft.asked()

    def asked(self) -> "ModelDraft":
        """The same, with an error at what cannot be told of the model beside its coefficients."""
        if self.formula is None:
            return self
        given: dict[str, Any] = {"formula": write_formula(self.formula), "family": str(self.family)}
        given |= {"also": tuple(map(str, self.also))} if self.also else {}
        given |= {"against": self.against} if self.against else {}
        given |= {"event": self.event} if self.family is Family.SURVIVAL else {}
        given |= {"errors": str(CoefficientErrors.DESIGN)} if self.by_design else {}
        try:
            asked = make_request(RegressionRequest, self.dataset.name, where=EVERYONE, given=given)
            admit_regression(asked, self.dataset)
        except Mistake as mistake:
            fields = {"against": self.against, "also": self.also, "errors": self.by_design}
            return self.wrong(next((name for name, given in fields.items() if given), "event"), mistake)
        return self

    def explaining(self, text: str) -> "ModelDraft":
        if not text:
            return self
        family, _, factor = text.partition(" ")
        try:
            term = read_term(factor)
            response = admit_response(term[0], Family(family), self.dataset)
        except Mistake as mistake:
            return self.wrong("response", mistake)
        except ValueError:
            return self.wrong("response", f"There is no family {family[:40]!r} of models.")
        return replace(self, family=Family(family), response=response)

    def with_terms(self, texts: Sequence[str]) -> "ModelDraft":
        """Terms more, with their parts. If one of several does not fit, the others are added all the same."""
        try:
            terms = [part for text in texts for part in _parts(read_term(text))]
        except Mistake as mistake:
            tried = self.wrong("predictors", mistake)
        else:
            tried = self._having((*self.terms, *terms))
        if tried.errors == self.errors or len(texts) == 1:
            return tried
        draft = self
        for text in texts:
            draft = draft.with_terms([text])
        return draft

    def _having(self, terms: tuple[Term, ...]) -> "ModelDraft":
        """The same with these terms; with an error instead if they cannot stand in one model."""
        if not terms:
            return replace(self, terms=())
        try:
            formula = Formula(self.response or _NOTHING, terms)
            if self.response:
                admit_regression(self._question(formula, EVERYONE), self.dataset)
            else:
                for factor in {factor for term in terms for factor in term}:
                    admit_factor(factor, self.dataset)
        except Mistake as mistake:
            return self.wrong("predictors", mistake)
        return replace(self, terms=formula.terms)

    def _without(self, text: str) -> "ModelDraft":
        try:
            gone = set(read_term(text))
        except Mistake as mistake:
            return self.wrong("predictors", mistake)
        return replace(self, terms=tuple(term for term in self.terms if not gone <= set(term)))

    def compared(self, texts: Sequence[str]) -> "ModelDraft":
        """The same with classes compared with others: with those named, and by default with the most common one."""
        try:
            chosen = {factor.variable: factor.reference for text in texts for factor in read_term(text)}
        except Mistake as mistake:
            return self.wrong("predictors", mistake)
        terms = tuple(
            tuple(replace(f, reference=chosen.get(f.variable, f.reference)) for f in term) for term in self.terms
        )
        return self if terms == self.terms else self._having(terms)

    def _among(self, codes: Sequence[str]) -> "ModelDraft":
        """The same with a response that is one of these classes of its variable."""
        if self.response is None or not self.response.codes or not codes:
            return self.wrong("response", "Tick at least one class of the response.")
        try:
            response = admit_response(replace(self.response, codes=tuple(codes)), self.family, self.dataset)
        except Mistake as mistake:
            return self.wrong("response", mistake)
        return replace(self, response=response)

    def _crossed(self, texts: Sequence[str]) -> "ModelDraft":
        if len(texts) not in (2, 3):
            return self.wrong("interaction", "Tick two or three predictors that shall interact.")
        tried = self.with_terms([":".join(texts)])
        return replace(tried, errors=tuple(replace(error, field="interaction") for error in tried.errors))

    def retyped(self, text: str, family: str) -> "ModelDraft":
        """The same with the model of a typed formula, completed by the parts of its interactions."""
        try:
            event = {"event": self.event} if self.event and family == Family.SURVIVAL else {}
            given = {"formula": text, "family": family} | event
            asked = make_request(RegressionRequest, self.dataset.name, where=EVERYONE, given=given)
            asked = admit_regression(asked, self.dataset)
            terms = tuple(part for term in asked.formula.terms for part in _parts(term))
            formula = Formula(asked.formula.response, terms)
        except Mistake as mistake:
            chosen = Family(family) if family in set(Family) else self.family
            return replace(self, typed=text, family=chosen).wrong("formula", mistake)
        return replace(self, family=asked.family, response=formula.response, terms=formula.terms)


def _first(query: Query, key: str) -> str:
    return next((value for name, value in query if name == key), "")


def _parts(term: Term) -> list[Term]:
    """The term with all that the hierarchy principle asks for; one with too many factors stays as it is."""
    if len(term) > 3:
        return [term]
    return [part for size in range(1, len(term) + 1) for part in combinations(term, size)]
