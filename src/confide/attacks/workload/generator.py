"""Honest questions from the public codebook: what people ask who want to know about groups and not about persons.

An honest analyst never combines two levels of one hierarchy, nor two variables of one declared group, nor in a table or a
model two confidential variables of one subject: wages are a part of income. Correlations are there to compare these.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from confide.attacks.workload.menu import Marks, Menu, incomplete, is_amount, usable_codes
from confide.attacks.workload.proportions import PROPORTIONS, STATISTICS, Proportions
from confide.errors import Mistake
from confide.model.admission.derived import with_definitions
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.choices import CoefficientErrors, CorrelationMethod, ErrorMeasure, Share
from confide.model.definition.definition import LONGEST_LABEL, Definition, InCodes, OwnClass
from confide.model.formula import Factor, Formula, Term, Transform
from confide.model.request import CorrelationRequest, Family, Measure, RegressionRequest, Request, TableRequest
from confide.model.universe import EVERYONE, Piece, Universe

__all__ = ["Drawn", "Generator", "Sizes", "kind_of"]

T = TypeVar("T")

TRIES = 40
"""So often conditions are drawn before one fewer is tried, and a question before one that makes no sense is asked."""


MANY_CODES = 5
"""A variable with so many classes is grouped at times."""


class Sizes(Protocol):
    """What an analyst knows of the data beside the codebook."""

    def share(self, where: Universe) -> float:
        """The share of all units that a universe of one piece holds."""

    def objection(self, request: Request[Any], proportions: Proportions) -> str:
        """Why somebody who knows the field would not ask this, in a word; nothing if they would."""


def kind_of(request: Request[Any]) -> str:
    """Which of the kinds of questions a request is."""
    if isinstance(request, RegressionRequest) and (request.by_design or request.family.several):
        return "models by design" if request.by_design else "models of classes"
    if not isinstance(request, TableRequest):
        return {"regression": "models", "correlation": "correlations"}.get(request.ask, request.ask)
    told = {"standard errors": request.error, "index numbers": request.index, "percentages": request.percent}
    if statistic := next((kind for kind, asked in told.items() if asked), "ratios" if request.over else ""):
        return statistic
    if request.of is None:
        return "counts"
    if request.quantiles:
        return "medians"
    return "totals" if Measure.TOTAL in request.measure else "means"


@dataclass(frozen=True, kw_only=True)
class Generator:
    """Honest questions about any described data set; the same for the same seed, codebook and sizes of universes.

    So many `statistics` are asked for beside them, in questions of their own: those before stay as they are.
    """

    questions: int = 300
    statistics: int = 0
    seed: int = 1
    proportions: Proportions = PROPORTIONS

    def draw(self, book: Dataset, sizes: Sizes) -> "Drawn":
        """The questions. Each has its own seed: the first 60 are the same, however many follow."""
        menu = Menu(book)
        if not menu.kinds:
            raise Mistake(
                f"Nothing can be asked of {book.name!r}: it has no variable with classes, and not two numbers.",
                suggestions=["Declare codes or cutpoints in dataset.toml."],
            )
        seeds = ([self.seed, number] for number in range(self.questions))
        aside: Counter[str] = Counter()
        drawings = [_Drawing(menu, sizes, self.proportions, np.random.default_rng(seed), aside) for seed in seeds]
        more = ([self.seed, number, 1] for number in range(self.statistics if menu.statistics else 0))
        others = [_Drawing(menu, sizes, self.proportions, np.random.default_rng(seed), aside) for seed in more]
        requests = (*(one.request() for one in drawings), *(one.statistic() for one in others))
        return Drawn(requests, dict(aside))


@dataclass(frozen=True)
class Drawn:
    """Questions that were drawn, and how many drafts were set aside, by the objection to them."""

    requests: tuple[Request[Any], ...]
    aside: Mapping[str, int]


@dataclass(frozen=True)
class _Drawing:
    """One question being made up."""

    menu: Menu
    sizes: Sizes
    proportions: Proportions
    rng: np.random.Generator
    aside: Counter[str]

    def request(self) -> Request[Any]:
        """A question of a kind that is drawn first, to which nobody objects; the last draft if there is none."""
        make = {
            "counts": self._counts,
            "totals": lambda: self._amounts(Measure.TOTAL),
            "means": lambda: self._amounts(Measure.MEAN),
            "models": self._model,
            "correlations": self._correlation,
        }[self._draw({kind: self.proportions.kind[kind] for kind in self.proportions.kind if kind in self.menu.kinds})]
        return self._ranked(self._grouped(self._middle(self._sensible(make))))

    def statistic(self) -> Request[Any]:
        """A question for something else than the usual kinds, to which nobody objects."""
        shares = {kind: self.proportions.statistic[kind.replace(" ", "_")] for kind in STATISTICS}
        make = {
            "percentages": self._percentages,
            "ratios": self._ratio,
            "index numbers": self._index,
            "standard errors": self._errors,
            "models of classes": self._of_classes,
            "models by design": self._by_design,
        }[self._draw({kind: share for kind, share in shares.items() if kind in self.menu.statistics})]
        return self._sensible(make)

    def _sensible(self, make: Callable[[], Request[Any]]) -> Request[Any]:
        draft = make()
        for _ in range(TRIES):
            objection = self.sizes.objection(draft, self.proportions)
            if not objection:
                break
            self.aside[objection] += 1
            draft = make()
        return draft

    def _percentages(self) -> Request[Any]:
        table = self._counts()
        assert isinstance(table, TableRequest)
        of = Share(self._draw(self.proportions.share)) if table.columns else Share.TOTAL
        return replace(table, percent=of)

    def _ratio(self) -> Request[Any]:
        """Two totals, of which the second goes into the other: of one subject, if there are such."""
        of = self._measured(self.menu.numbers)
        others = [v for v in self.menu.numbers if self.menu.root(v) != self.menu.root(of)]
        over = self._measured([v for v in others if v.subject == of.subject] or others)
        table = self._table(self.menu.marks(of) | self.menu.marks(over), Measure.MEAN, of.name)
        return replace(table, measure=(Measure.RATIO,), over=over.name)

    def _index(self) -> Request[Any]:
        """A class of the first variable as 100."""
        table = self._numbered(self.proportions.indexed)
        variable = with_definitions(self.menu.book, table.define).variable(table.rows[0])
        return replace(table, index=f"{variable.name}={usable_codes(variable)[0]}")

    def _errors(self) -> Request[Any]:
        """Errors; of a weighted sample those of weighted counts, as counts only tell how many were asked."""
        table = self._numbered(self.proportions.erring)
        weighted = self.menu.book.weight is not None and table.measure == (Measure.COUNT,)
        measure = (Measure.WEIGHTED_COUNT,) if weighted else table.measure
        return replace(table, measure=measure, error=(ErrorMeasure.SE,))

    def _numbered(self, shares: Mapping[str, float]) -> TableRequest:
        """A table of counts, or of a measure of a number where there is one that suits."""
        measure = Measure(self._draw(shares)) if self.menu.numbers else Measure.COUNT
        if not measure.of_variable:
            return self._table(frozenset(), measure, None)
        of = self._measured(self.menu.numbers)
        table = self._table(self.menu.marks(of), measure, of.name)
        cut = of.classifies and of.name not in (*table.by, *table.where.variables)
        return table if cut or not measure.quantile else replace(table, measure=(Measure.MEAN,))

    def _of_classes(self) -> Request[Any]:
        some = {f: v for f, v in self.menu.classed.items() if v}
        family = Family(self._draw({family: self.proportions.classes[family] for family in some}))
        chosen = self._measured(some[family.value])
        event = self._measured(self.menu.events) if family is Family.SURVIVAL else None
        terms, taken = self._terms(self.menu.marks(chosen) | (self.menu.marks(event) if event else frozenset()))
        if not terms:
            return self._counts()
        ends = Factor(event.name, codes=usable_codes(event)[:1]) if event else None
        formula = Formula(Factor(chosen.name), tuple(terms))
        return RegressionRequest(self.menu.book.name, formula, self._universe(taken), family, event=ends)

    def _by_design(self) -> Request[Any]:
        several = any(self.menu.classed.values()) and self._draw(self.proportions.designed) == "of_classes"
        model = self._of_classes() if several else self._model()
        return replace(model, errors=CoefficientErrors.DESIGN) if isinstance(model, RegressionRequest) else model

    def _middle(self, draft: Request[Any]) -> Request[Any]:
        """Some means as medians. Drawn last, so that all else of a question is what it would be without."""
        if not isinstance(draft, TableRequest) or draft.measure != (Measure.MEAN,):
            return draft
        of = self.menu.book.variable(draft.of or "")
        if not of.classifies or of.name in (*draft.by, *draft.where.variables):
            return draft
        return replace(draft, measure=(Measure(self._draw(self.proportions.middle)),))

    def _grouped(self, draft: Request[Any]) -> Request[Any]:
        """Some tables by two or three groups of the asker's own instead of the classes of a variable; drawn last, too."""
        if not isinstance(draft, TableRequest) or self._draw(self.proportions.own) != "grouped":
            return draft
        book = self.menu.book
        wide = [v for v in map(book.variable, draft.by) if len(usable_codes(v)) >= MANY_CODES and not v.binned]
        name = next(name for name in ("own", "own_", "own__") if name not in book.variables)
        if not wide:
            return draft
        definition = self._groups(name, wide[0])
        rows, columns = (tuple(name if n == wide[0].name else n for n in side) for side in (draft.rows, draft.columns))
        return replace(draft, rows=rows, columns=columns, define=(definition,))

    def _ranked(self, draft: Request[Any]) -> Request[Any]:
        """Some correlations of ranks, where all numbers have cutpoints; drawn last, too."""
        if not isinstance(draft, CorrelationRequest) or any(self._cut(name, draft) is None for name in draft.names):
            return draft
        return replace(draft, method=CorrelationMethod(self._draw(self.proportions.method)))

    def _cut(self, name: str, draft: CorrelationRequest) -> Variable | None:
        """A variable by its classes, if the universe is not by other cuts of it."""
        book = self.menu.book
        found = book.bins(name) or (book.variable(name) if book.variable(name).classifies else None)
        taken = {self.menu.root(book.variable(other)) for other in draft.where.variables}
        return None if found is None or self.menu.root(found) in taken else found

    def _groups(self, name: str, variable: Variable) -> Definition:
        """Two groups of classes, each of which somebody takes for alike, and all the others."""
        codes = [usable_codes(variable)[i] for i in self.rng.permutation(len(usable_codes(variable)))]
        size = len(codes) // 3
        groups = [("first", codes[:size]), ("second", codes[size : 2 * size])]
        classes = [OwnClass(code, code, InCodes(variable.name, tuple(some))) for code, some in groups]
        return Definition(
            name, f"{variable.label}, grouped"[:LONGEST_LABEL], (*classes, OwnClass("rest", "rest", None))
        )

    def _counts(self) -> Request[Any]:
        weighted = self.menu.book.weight and self._draw(self.proportions.weighted) == "weighted"
        return self._table(frozenset(), Measure.WEIGHTED_COUNT if weighted else Measure.COUNT, None)

    def _amounts(self, measure: Measure) -> Request[Any]:
        of = self._measured(self.menu.numbers)
        return self._table(self.menu.marks(of), measure, of.name)

    def _table(self, taken: Marks, measure: Measure, of: str | None) -> TableRequest:
        by: list[str] = []
        coarse = False
        for _ in range(self._draw(self.proportions.by)):
            variable = self._classes(taken, coarse=coarse)
            if variable is None:
                break
            coarse = coarse or variable is not self.menu.levels(variable)[0]
            by.append(variable.name)
            taken |= self.menu.marks(variable)
        if not by:  # nothing else has classes, so the mean of a number by its own bins
            by = [self.menu.hierarchies[0][0].name]
        side = max(1, len(by) - 1)
        where = self._universe(taken)
        return TableRequest(self.menu.book.name, tuple(by[:side]), tuple(by[side:]), where, (measure,), of)

    def _model(self) -> Request[Any]:
        family = self._draw({family: self.proportions.family[family] for family in self.menu.responses})
        chosen = self._measured(self.menu.responses[family])
        response = self._response(chosen, family)
        if response is None:  # no class of it is common enough, so that somebody would count instead
            return self._counts()
        terms, taken = self._terms(self.menu.marks(chosen))
        if not terms:
            return self._correlation()
        formula = Formula(response, tuple(terms))
        return RegressionRequest(self.menu.book.name, formula, self._universe(taken), Family(family))

    def _terms(self, taken: Marks) -> tuple[list[Term], Marks]:
        terms: list[Term] = []
        firsts: list[Term] = []
        for _ in range(self._draw(self.proportions.predictors)):
            variable = self._any(taken, self.proportions.predictor)
            if variable is None:
                break
            taken |= self.menu.marks(variable)
            some = self._predictor(variable)
            firsts.append(some[0])
            terms += some
        if len(firsts) > 1 and self._draw(self.proportions.interaction) == "interaction":
            terms.append((*firsts[0], *firsts[1]))
        return terms, taken

    def _response(self, chosen: Variable, family: str) -> Factor | None:
        if family == "binomial":
            code = self._event(chosen)
            return Factor(chosen.name, codes=(code,)) if code else None
        log = family == "gaussian" and is_amount(chosen) and self._draw(self.proportions.response) == "log"
        return Factor(chosen.name, Transform.LOG if log else Transform.NONE)

    def _event(self, variable: Variable) -> str | None:
        """A class that is neither rare nor nearly everybody."""
        least = self.proportions.event
        shares = {c: self.sizes.share(Universe((Piece.of({variable.name: [c]}),))) for c in usable_codes(variable)}
        common = [code for code, share in shares.items() if least <= share <= 1 - least]
        return common[self.rng.integers(len(common))] if common else None

    def _predictor(self, variable: Variable) -> list[Term]:
        if not variable.measurable:
            return [(Factor(variable.name),)]
        if is_amount(variable):
            log = self._draw(self.proportions.amount) == "log"
            return [(Factor(variable.name, Transform.LOG if log else Transform.NONE),)]
        classes = [level for level in self.menu.levels(variable) if level.of]
        how = self._draw(self.proportions.number)
        if how == "classes" and classes:
            return [(Factor(classes[0].name),)]
        square: list[Term] = [(Factor(variable.name, Transform.SQUARE),)] if how == "square" else []
        return [(Factor(variable.name),), *square]

    def _correlation(self) -> Request[Any]:
        names: list[str] = []
        taken: Marks = frozenset()
        for _ in range(self._draw(self.proportions.correlated)):
            variable = self._any(taken, self.proportions.entering)
            if variable is None:
                break
            names.append(variable.name)
            taken |= {mark for mark in self.menu.marks(variable) if mark[0] != "subject"}
        return CorrelationRequest(self.menu.book.name, tuple(names), self._universe(taken))

    def _universe(self, taken: Marks) -> Universe:
        for wanted in range(self._draw(self.proportions.conditions), 0, -1):
            for _ in range(TRIES):
                conditions = self._conditions(taken, wanted)
                if len(conditions) < wanted:
                    break
                where = Universe((Piece.of(conditions),))
                if self.sizes.share(where) >= self.proportions.least:
                    return where
        return EVERYONE

    def _conditions(self, taken: Marks, wanted: int) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for _ in range(wanted):
            variable = self._classes(taken, universe=True)
            if variable is None:
                break
            found[variable.name] = self._some_codes(variable)
            taken |= self.menu.marks(variable)
        return found

    def _some_codes(self, variable: Variable) -> tuple[str, ...]:
        """A few classes, not all of them; of a number, neighbours."""
        codes = usable_codes(variable)
        number = min(self._draw(self.proportions.codes), len(codes) - 1)
        if variable.binned:
            first = self.rng.integers(len(codes) - number + 1)
            return codes[first : first + number]
        return tuple(codes[i] for i in sorted(self.rng.choice(len(codes), number, replace=False)))

    def _classes(self, taken: Marks, *, universe: bool = False, coarse: bool = False) -> Variable | None:
        """A variable with classes that goes with those taken, mostly at its coarsest level."""
        allowed = [
            kept
            for levels in self.menu.hierarchies
            if (kept := tuple(v for v in levels if (v.universe or not universe) and self._free(v, taken)))
        ]
        if not allowed:
            return None
        levels = allowed[self._draw({i: self.proportions.role(some[0].role) for i, some in enumerate(allowed)})]
        shares = list(self.proportions.level.values())
        weights = {place: shares[min(place, len(shares) - 1)] for place in range(1 if coarse else len(levels))}
        return levels[self._draw(weights)]

    def _any(self, taken: Marks, shares: Mapping[str, float]) -> Variable | None:
        """A number or a variable with classes, in these shares, that goes with those taken."""
        free = [v for v in self.menu.numbers if self._free(v, taken)]
        found = None if free and self._draw(shares) == "number" else self._classes(taken)
        return found or self._number(free)

    def _number(self, free: Sequence[Variable]) -> Variable | None:
        shares = self.proportions
        weights = {i: shares.role(v.role) * (shares.incomplete if incomplete(v) else 1) for i, v in enumerate(free)}
        return free[self._draw(weights)] if free else None

    def _measured(self, some: Sequence[Variable]) -> Variable:
        return some[self._draw({i: self.proportions.role(v.role, measured=True) for i, v in enumerate(some)})]

    def _free(self, variable: Variable, taken: Marks) -> bool:
        return taken.isdisjoint(self.menu.marks(variable))

    def _draw(self, shares: Mapping[T, float]) -> T:
        weights = np.array(list(shares.values()), np.float64)
        return list(shares)[self.rng.choice(len(weights), p=weights / weights.sum())]
