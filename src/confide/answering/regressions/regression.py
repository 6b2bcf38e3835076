"""Regressions: which classes enter, what is gathered, how it is judged, what is released. No engine is known here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from confide.answering.cube import gather_cube
from confide.answering.mechanisms.counts import CellKey
from confide.answering.mechanisms.magnitudes import Magnitudes
from confide.answering.regressions.compile import Compiled, Levels, compile_design, levels_of, spread_out
from confide.answering.regressions.fit import Fitted, Unfit, fit, fit_null
from confide.answering.regressions.grids import grids
from confide.answering.regressions.inference import Inference, infer
from confide.answering.regressions.terms import label, saturated
from confide.answering.rules.table import judge_table
from confide.answering.rules.universe import Judge
from confide.answering.universe.census import Group, TallyFunction
from confide.arrays import Bools, Floats, Ints
from confide.errors import Reason
from confide.model.catalog.dataset import Dataset
from confide.model.evidence import Box, Moments, Spread, Step, Tally
from confide.model.model_release import Grid
from confide.model.policy import Policy
from confide.model.request import Regression, Table
from confide.site.draws import Draws, fingerprint

__all__ = ["UNFIT", "Model", "ModelAnswer", "Models"]

LEAST_OUTCOMES = 3
"""Units of either outcome that a class needs, whatever the policy says (Gomatam et al. 2004, sec. 4.1)."""

UNFIT = Reason("models.unfit", "The model cannot be fitted to these data, or would tell too much of single units.")
"""One reason for everything that depends on the data, so that it tells nothing of them."""


@dataclass(frozen=True)
class ModelAnswer:
    """Protected tables, or the reasons not to release them; the model itself stays for diagnostics."""

    grids: dict[str, Grid]
    reasons: list[Reason]
    model: "Model | None" = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """A fitted model that was judged fit to be released: what diagnostics start from."""

    response: str
    question: Step
    fitted: Fitted
    compiled: Compiled
    inference: Inference


@dataclass(frozen=True)
class Models:
    """Fits models for one data set over one universe, less its dropped units."""

    dataset: Dataset
    policy: Policy
    draws: Draws
    tally: TallyFunction
    moments: Callable[[Step], Moments]
    spread: Callable[[Step, Floats], Spread]
    within: tuple[Box, ...]
    without: tuple[int, ...]
    several: bool
    weighted: bool

    def answer(self, request: Regression) -> ModelAnswer:
        """What the policy makes of a model whose shape it allows."""
        levels, reasons = self._levels(request)
        if reasons:
            return ModelAnswer({}, reasons)
        compiled = compile_design(request.formula, self.dataset, levels)
        if len(compiled.design.blocks) < 2:
            return ModelAnswer({}, [Reason("models.classes", "No predictor has two classes with enough units.")])
        question = Step(compiled.design, request.family, self.within, self.without)
        try:
            fitted = fit(self.moments, question)
            spread = self.spread(replace(question, beta=tuple(fitted.beta.tolist())), fitted.inverse)
            # engines want no class without a block, and the intercept has none
            alone = replace(question, design=replace(question.design, classes=()))
            null = fit_null(self.moments, alone) if request.family == "poisson" else None
            scaled, spread, null = _normalised(fitted, spread, null)
            inference = infer(scaled, spread, question, robust=self.weighted or self.several, null=null)
        except Unfit:
            return ModelAnswer({}, [UNFIT])
        units = self.published(fitted.moments)
        reasons = self._judge(compiled, fitted, spread, inference)
        if reasons:
            return ModelAnswer({}, reasons)
        released = grids(inference, labels=compiled.labels, terms=compiled.terms, n=units)
        response = label([request.formula.response]) + (
            f"={request.formula.response.code}" if request.formula.response.code else ""
        )
        return ModelAnswer(released, [], Model(response, question, fitted, compiled, inference), self._absorbed(levels))

    def _absorbed(self, levels: Mapping[str, Levels]) -> tuple[str, ...]:
        """Which class of each predictor is the reference, and which stand with it."""
        said = []
        for one in levels.values():
            codes = self.dataset.variables[one.variable].codes
            assert codes is not None
            others = [codes.names[p] for p in range(len(codes)) if p != one.reference and p not in one.kept]
            beside = f", and with it {', '.join(others)}" if others else ""
            said.append(f"The reference of {one.variable} is {codes.names[one.reference]}{beside}.")
        return tuple(said)

    def counts(self, names: Sequence[str]) -> Ints:
        """The numbers of units by classes of some variables, margins included, as rules see them."""
        sizes = [len(self.dataset.classifier(name).codes or ()) for name in names]
        cube = gather_cube(self.tally, Tally(tuple(names), self.within, self.without), sizes, several=self.several)
        return Judge(self.policy.universe, self.draws).units(cube.group)

    def _levels(self, request: Regression) -> tuple[dict[str, Levels], list[Reason]]:
        """Which classes have dummies; and the reasons why some combination of them may not be asked for."""
        formula, rules = request.formula, self.policy.models
        names = [name for name in formula.variables if not self.dataset.variables[name].measurable]
        if not self._two_outcomes(request):
            return {}, [Reason("models.classes", "Too few units are in the class of the response, or outside it.")]
        levels = {
            name: levels_of(name, self.counts([name])[:-1], least=rules.dummy, varied=self._varied(name, request))
            for name in names
        }
        for term in formula.terms:
            crossed = [factor.variable for factor in term if factor.variable in levels]
            if len(crossed) > 1:
                inner = self.counts(crossed)[tuple(slice(None, -1) for _ in crossed)]
                levels = spread_out(levels, inner, crossed, least=rules.interaction)
                if not all(levels[name].kept for name in crossed):
                    return levels, [
                        Reason("models.interaction", "An interaction has too few units in some of its cells.")
                    ]
        present = [name for name in formula.variables if name not in levels or levels[name].kept]
        return levels, saturated(formula, present, self.dataset) or self._implied(request, names)

    def _two_outcomes(self, request: Regression) -> bool:
        """Whether the class of an indicator, and what is outside it, both have the units of a dummy."""
        response = request.formula.response
        if response.code is None:
            return True
        counts = self.counts([response.variable])
        inside = counts[self.dataset.variables[response.variable].place(response.code)]
        return bool(min(inside, counts[-1] - inside) >= self.policy.models.dummy)

    def _varied(self, name: str, request: Regression) -> Bools | None:
        """For each class, whether both outcomes of an indicator have enough units in it; None for other responses."""
        response = request.formula.response
        if response.code is None:
            return None
        counts = self.counts([name, response.variable])[:-1]
        inside = counts[:, self.dataset.variables[response.variable].place(response.code)]
        varied: Bools = np.minimum(inside, counts[:, -1] - inside) >= max(
            self.policy.models.interaction, LEAST_OUTCOMES
        )
        return varied

    def _implied(self, request: Regression, names: Sequence[str]) -> list[Reason]:
        """A model of classes alone tells the two-way tables of its variables: these must be tables one could ask for."""
        formula, tables = request.formula, self.policy.tables
        response = [formula.response.variable] if formula.response.code is not None else []
        if len(names) < len(formula.variables):
            return []
        for pair in combinations([*names, *response], 2):
            counts = self.counts(pair)
            told = judge_table(Table(request.dataset, tuple(pair)), self.dataset, tables, counts)
            if told:
                return [
                    Reason("models.implied", f"The table of {pair[0]!r} by {pair[1]!r} that it implies is refused.")
                ]
        if not response and any(self._withholds(name, formula.response.variable) for name in names):
            return [Reason("models.implied", "The totals by class that it implies are withheld.")]
        return []

    def _withholds(self, name: str, of: str) -> bool:
        """Whether the totals of a response by the classes of a variable would be withheld, were they asked for."""
        magnitudes = Magnitudes(self.policy.totals)
        sizes = [len(self.dataset.classifier(name).codes or ())]
        question = Tally((name,), self.within, self.without, of=of, weighted=True, top=magnitudes.contributors)
        cube = gather_cube(self.tally, question, sizes, several=self.several)
        units = Judge(self.policy.universe, self.draws).units(cube.group)
        withheld = magnitudes.protect(cube, of, self.draws, units=units, scale=0).withheld
        return bool((withheld & (units >= self.policy.models.dummy)).any())

    def published(self, moments: Moments) -> int:
        """The protected number of units."""
        group = _group(moments)
        publish, _ = self.draws.counts(group.records, group.units, group.key)
        return int(CellKey(self.policy.counts).units(group.units, publish)[0])

    def judged(self, moments: Moments) -> int:
        """The number of units as rules see it."""
        return int(Judge(self.policy.universe, self.draws).units(_group(moments))[0])

    def _judge(self, compiled: Compiled, fitted: Fitted, spread: Spread, inference: Inference) -> list[Reason]:
        """Rules on the fit. Each limit is moved a little by a draw of the model and its records, so none tells a number."""
        rules, moments = self.policy.models, fitted.moments
        if self.judged(moments) < max(rules.units, rules.units_per_column * compiled.design.columns):
            return [Reason("models.units", "There are too few units for a model with so many columns.")]
        leeway = self.leeway("|".join(sorted(compiled.labels)), moments)
        few = spread.leverage * leeway[0] > 1 / rules.leverage_units or spread.influence * leeway[1] > rules.influence
        tight = 1 - inference.r_squared < (1 - rules.r_squared) * leeway[2]
        return [UNFIT] if few or tight or self._too_well(spread, leeway[3]) else []

    def _too_well(self, spread: Spread, leeway: float) -> bool:
        """Whether some class is predicted much better than the rest."""
        for fits in spread.fits:
            squares, weights = fits[:, 0], fits[:, 1]
            occupied = weights > 0
            overall = squares.sum() / max(weights.sum(), 1e-300)
            if (squares[occupied] / weights[occupied] < self.policy.models.class_fit**2 * leeway * overall).any():
                return True
        return False

    def leeway(self, model: str, moments: Moments) -> list[float]:
        """Factors about 1, at most a tenth off, the same for the same records and model."""
        [mark] = fingerprint(*(np.array([n]) for n in (moments.records, moments.units, moments.key)))
        [numbers] = self.draws.secret.digests(f"model {model}", [mark])
        return [float(0.9 + 0.2 * (n / 2.0**64)) for n in numbers]


def _normalised(fitted: Fitted, spread: Spread, null: Fitted | None) -> tuple[Fitted, Spread, Fitted | None]:
    """The same with weights of mean 1, so that sums of squares, sigma and deviances are on the scale of the records."""
    k = fitted.moments.records / fitted.moments.weight
    squares = tuple(fits * k for fits in spread.fits)
    spread = replace(spread, meat=spread.meat * k * k, squares=spread.squares * k, fits=squares)
    return _scaled(fitted, k), spread, None if null is None else _scaled(null, k)


def _scaled(fitted: Fitted, k: float) -> Fitted:
    sums = ("gram", "score", "square", "deviance", "weight", "response", "response_square")
    moments = replace(fitted.moments, **{name: getattr(fitted.moments, name) * k for name in sums})
    return replace(fitted, moments=moments, inverse=fitted.inverse / k)


def _group(moments: Moments) -> Group:
    return Group(*(np.array([n], dtype=np.int64) for n in (moments.records, moments.units, moments.key)))
