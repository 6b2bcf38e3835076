"""What an analyst asks for. A kind of question is a frozen dataclass under `Request`, whose fields say how they are spelled.

A new kind is a class here, or anywhere else, and an analysis in `confide.answering`: JSON, addresses, Python, R, curl and
command-line words follow from its fields.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset
from confide.model.choices import (
    CoefficientErrors,
    CorrelationMethod,
    ErrorMeasure,
    Extra,
    Family,
    Measure,
    Share,
    read_coefficient_errors,
    read_errors,
    read_extras,
    read_family,
    read_index,
    read_level,
    read_measures,
    read_method,
    read_share,
)
from confide.model.definition.definition import Definition
from confide.model.definition.text import read_definitions, write_definitions
from confide.model.formula import (
    Factor,
    Formula,
    read_class,
    read_formula,
    read_variable,
    write_formula,
    write_term,
    write_variable,
)
from confide.model.universe import EVERYONE, Universe

if TYPE_CHECKING:  # named in base classes, which ruff does not read
    from confide.model.model_release import ModelRelease  # noqa: F401
    from confide.model.release import Release  # noqa: F401

__all__ = [
    "CorrelationRequest",
    "ErrorMeasure",
    "Family",
    "Measure",
    "RegressionRequest",
    "Request",
    "Share",
    "Spelled",
    "TableRequest",
    "definitions",
    "kinds",
    "names",
    "spelled_fields",
    "text",
]

R_co = TypeVar("R_co", covariant=True)


class Request(Generic[R_co]):
    """A question about a data set, over a universe; `R_co` is what its answer is."""

    ask: ClassVar[str]
    """What this kind of question is called, in every spelling."""

    summary: ClassVar[str]
    """What is answered, in a few words."""

    diagnosable: ClassVar[bool] = False
    """Whether the answer may have diagnostics: plots to judge it by."""

    dataset: str
    where: Universe
    define: tuple[Definition, ...] = ()
    """Variables of the asker's own, made of declared ones."""

    @property
    def by(self) -> tuple[str, ...]:
        """The variables whose classes are the rows of the answer as CSV; none where it has several tables."""
        return ()

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that are brought together, those of the universe aside."""
        return self.by

    @property
    def related(self) -> tuple[str, ...]:
        """The same with the numbers that are summed."""
        return self.names

    @property
    def title(self) -> str:
        """What is asked for, by names."""
        raise NotImplementedError

    def words(self, dataset: Dataset) -> str:
        """What is asked for, by labels."""
        return self.title


def kinds() -> dict[str, type[Request[Any]]]:
    """Every kind of question that there is, by what it is called."""
    return {kind.ask: kind for kind in Request.__subclasses__()}


@dataclass(frozen=True)
class Spelled:
    """How a field is spelled: as one text or as several names, with one line of help.

    `bare` stands without its name on the command line and in Python; what `repeats` is several texts, each with the name of its
    own. What is of `digits` may be a whole number in Python and JSON. A `view` says how the answer is shown, and is no part of the
    question. What is `optional` or `repeats` stands in JSON only where it is asked for, so that receipts of questions without it
    stay as they were before there was such a field. `read` makes the value of a text, or of a tuple of names, and raises a
    Mistake; `write` gives them back.
    """

    help: str
    many: bool = False
    bare: bool = False
    view: bool = False
    optional: bool = False
    repeats: bool = False
    digits: bool = False
    read: Callable[[Any], Any] = lambda given: given
    write: Callable[[Any], Any] = lambda value: value


def names(help: str, *, default: Any = (), **more: Any) -> Any:
    """A field of several names."""
    return field(default=default, metadata={"spelled": Spelled(help, many=True, **more)})


def text(help: str, *, default: Any = MISSING, **more: Any) -> Any:
    """A field of one text."""
    return field(default=default, metadata={"spelled": Spelled(help, **more)})


def definitions() -> Any:
    """The field of variables of the asker's own."""
    return names(
        "A variable of your own, as in 'adult = age >= 20'; repeat for more.",
        repeats=True,
        read=read_definitions,
        write=write_definitions,
    )


def spelled_fields(kind: type[Request[Any]]) -> dict[str, tuple[Spelled, Any]]:
    """The fields of a kind in their order, each with its default; the universe, which all have, is not among them."""
    found = fields(kind)  # type: ignore[arg-type]  # every kind is a dataclass
    return {f.name: (f.metadata["spelled"], f.default) for f in found if "spelled" in f.metadata}


@dataclass(frozen=True)
class TableRequest(Request["Release"]):
    """A table of measures by rows and columns over a universe."""

    ask: ClassVar = "table"
    summary: ClassVar = "A protected table"

    dataset: str
    rows: tuple[str, ...] = names("Variables down the side; repeat, or put commas.")
    columns: tuple[str, ...] = names("Variables across the top; repeat, or put commas.")
    where: Universe = EVERYONE
    measure: tuple[Measure, ...] = names(
        "count, weighted_count, total, mean, sd, ratio, median, p10, p25, p75, p90; repeat, or put commas.",
        default=(Measure.COUNT,),
        read=read_measures,
        write=lambda measures: tuple(map(str, measures)),
    )
    of: str | None = text("The numeric variable of a total, mean, ratio, standard deviation or quantile.", default=None)
    percent: Share | None = text(
        "row, column or total: counts and totals as percentages of it.",
        default=None,
        view=True,
        read=read_share,
        write=str,
    )
    interval: str | None = text(
        "90, 95 or 99: with percentages of counts, or with errors, the ends of confidence intervals.",
        default=None,
        view=True,
        digits=True,
        read=read_level,
    )
    error: tuple[ErrorMeasure, ...] = names(
        "se, cv, reliability: the standard error of each number by the design of the sample, and what follows from it.",
        optional=True,
        read=read_errors,
        write=lambda errors: tuple(map(str, errors)),
    )

    over: str | None = text(
        "The numeric variable that the total of a ratio is divided by.", default=None, optional=True
    )
    index: str | None = text(
        "A class as 100, as in year=2020: every number as a percentage of that class's.",
        default=None,
        view=True,
        read=read_index,
    )
    define: tuple[Definition, ...] = definitions()

    def __post_init__(self) -> None:
        if not self.by:
            raise Mistake("A table needs at least one variable in its rows or columns.")
        for name in self.by:
            if self.by.count(name) > 1:
                raise Mistake(f"{name!r} stands twice in the table. Name each variable once.")
        if not self.measure or len(set(self.measure)) < len(self.measure):
            raise Mistake("Name each measure once.", suggestions=[f"Measures: {', '.join(Measure)}."])
        needs = [m for m in self.measure if m.of_variable]
        if needs and self.of is None:
            raise Mistake(f"A {needs[0]} needs a variable.", suggestions=["Name it with 'of', as in of='income'."])
        if self.of is not None and not needs:
            raise Mistake(
                "'of' goes with a measure of a number, as a total, a mean or a quantile. Leave it out, or ask for one."
            )
        if (self.over is not None) != (Measure.RATIO in self.measure):
            raise Mistake(
                "A ratio is of one number over another: name measure='ratio', 'of' and 'over', or none of them."
            )
        if self.over is not None and self.over == self.of:
            raise Mistake(f"The ratio of {self.of!r} to itself is 1. Name another number with 'over'.")
        self._check_index()
        if self.percent is not None and self.percent not in self.shares:
            raise Mistake(_no_share(self))
        if len(set(self.error)) < len(self.error):
            raise Mistake("Name each error once.", suggestions=[f"Errors: {', '.join(ErrorMeasure)}."])
        shared = self.percent is not None and Measure.COUNT in self.measure
        if self.interval is not None and not shared and not self.error:
            raise Mistake(
                "An interval goes with percentages of counts, or with standard errors: add percent='total' or error='se', "
                "or leave 'interval' out."
            )

    def _check_index(self) -> None:
        """A class that is 100 is one of the table's, and percentages and errors have no index."""
        if self.index is None:
            return
        if self.percent is not None or self.error or self.interval is not None:
            raise Mistake("An index does not go with percentages, intervals or errors. Leave 'index' out, or these.")
        if self.index_class[0] not in self.by:
            raise Mistake(
                f"{self.index_class[0][:60]!r} is not in the table, so that none of its classes can be 100.",
                suggestions=[f"Variables: {', '.join(self.by)}."],
            )

    @property
    def index_class(self) -> tuple[str, str]:
        """The variable and the code of the class that is 100."""
        variable, _, code = (self.index or "").partition("=")
        return variable, code

    @property
    def numbers(self) -> "TableRequest":
        """The question itself, without what only says how its answer is shown: of errors, what percentages they are of too."""
        if self.error:
            return replace(self, interval=None, index=None, error=(ErrorMeasure.SE,))
        return replace(self, percent=None, interval=None, index=None)

    @property
    def quantiles(self) -> tuple[Measure, ...]:
        """The medians and other quantiles that are asked for."""
        return tuple(measure for measure in self.measure if measure.quantile)

    @property
    def shares(self) -> tuple[Share, ...]:
        """What percentages of this table can be of: rows and columns only where there are both, and no mean has any."""
        if not any(measure.adds for measure in self.measure):
            return ()
        return tuple(Share) if self.rows and self.columns else (Share.TOTAL,)

    @property
    def by(self) -> tuple[str, ...]:
        return self.rows + self.columns

    @property
    def related(self) -> tuple[str, ...]:
        return (*self.by, *(name for name in (self.of, self.over) if name))

    @property
    def title(self) -> str:
        return " by ".join(" and ".join(side) for side in (self.rows, self.columns) if side)

    def words(self, dataset: Dataset) -> str:
        sides = [[dataset.variables[name].label for name in side] for side in (self.rows, self.columns) if side]
        return " by ".join(" and ".join(side) for side in sides)


def _no_share(request: TableRequest) -> str:
    if not request.shares:
        return "Percentages are of counts and totals. Ask for one of these measures, or leave 'percent' out."
    return (
        f"A table without rows or without columns has no percentages of a {request.percent}. Ask for percent='total'."
    )


@dataclass(frozen=True)
class RegressionRequest(Request["ModelRelease[RegressionRequest]"]):
    """A model of a response over a universe."""

    ask: ClassVar = "regression"
    summary: ClassVar = "A protected regression"
    diagnosable: ClassVar = True

    dataset: str
    formula: Formula = text(
        "The model: log(income) ~ age + age^2 + sex + age:sex.", bare=True, read=read_formula, write=write_formula
    )
    where: Universe = EVERYONE
    family: Family = text(
        "gaussian, binomial, poisson, multinomial, ordered or survival.",
        default=Family.GAUSSIAN,
        read=read_family,
        write=str,
    )
    also: tuple[Extra, ...] = names(
        "covariance, deviance (tests term by term), effects (average marginal ones); repeat, or put commas.",
        optional=True,
        read=read_extras,
        write=lambda extras: tuple(map(str, extras)),
    )
    against: Formula | None = text(
        "A smaller model of the same response to compare with: log(income) ~ age.",
        default=None,
        optional=True,
        read=read_formula,
        write=write_formula,
    )
    event: Factor | None = text(
        "Of family=survival, what a period ends with, as in status=ended; others are seen no longer.",
        default=None,
        optional=True,
        read=read_class,
        write=lambda factor: write_term((factor,)),
    )
    errors: CoefficientErrors = text(
        "What standard errors come from: model, or design, by which the sample was drawn (strata, PSUs).",
        default=CoefficientErrors.MODEL,
        optional=True,
        read=read_coefficient_errors,
        write=str,
    )
    define: tuple[Definition, ...] = definitions()

    def __post_init__(self) -> None:
        if (self.family is Family.SURVIVAL) != (self.event is not None):
            raise Mistake(
                "A model of durations has family='survival' and an 'event' that ends them, as in event='status=ended'.",
                suggestions=["Name both, or none of them."],
            )
        if self.formula.response.reference is not None and self.family is not Family.MULTINOMIAL:
            raise Mistake("A reference goes with a predictor; with the response only in family='multinomial'.")
        if self.by_design and (Extra.DEVIANCE in self.also or self.against is not None):
            raise Mistake(
                "Likelihood ratios take every unit as drawn by itself: leave 'deviance' and 'against' out of errors='design'.",
                suggestions=["Wald's tests of each term follow from the design."],
            )
        if self.family is Family.GAUSSIAN and Extra.DEVIANCE in self.also:
            raise Mistake(
                "The tests of terms of a gaussian model are in its analysis of variance: leave 'deviance' out."
            )
        if self.family in (Family.GAUSSIAN, Family.POISSON) and Extra.EFFECTS in self.also:
            raise Mistake(
                "Average marginal effects are those on shares of classes, of family='binomial', 'multinomial', 'ordered' and "
                "'survival': leave 'effects' out."
            )
        if self.family.several and Extra.COVARIANCE in self.also:
            raise Mistake(f"A model with family='{self.family}' tells no covariance: leave 'covariance' out.")
        if Extra.COVARIANCE in self.also and self.formula.references:
            raise Mistake(
                "A covariance is told for the most common classes as references: leave relevel(...) out of it."
            )

    @property
    def by_design(self) -> bool:
        """Whether its standard errors are by the design of the sample."""
        return self.errors is CoefficientErrors.DESIGN

    @property
    def predictors(self) -> tuple[str, ...]:
        return self.formula.variables

    @property
    def names(self) -> tuple[str, ...]:
        return (self.formula.response.variable, *([self.event.variable] if self.event else []), *self.predictors)

    @property
    def outcome(self) -> tuple[str, ...]:
        """The class variables that are explained; none where it is a number."""
        response = self.formula.response
        classes = response.codes or self.family.several
        return (*([response.variable] if classes else []), *([self.event.variable] if self.event else []))

    def classes(self, dataset: Dataset) -> tuple[str, ...]:
        """The variables that enter by their classes, the response too if it is one."""
        return tuple(name for name in self.names if not dataset.variables[name].measurable)

    @property
    def title(self) -> str:
        event = f", event {write_term((self.event,))}" if self.event else ""
        return f"Model: {write_formula(self.formula)} ({self.family}{event})"

    def words(self, dataset: Dataset) -> str:
        return write_formula(self.formula)


@dataclass(frozen=True)
class CorrelationRequest(Request["ModelRelease[CorrelationRequest]"]):
    """Correlations of variables over a universe; a categorical variable enters by its classes, a number may be transformed."""

    ask: ClassVar = "correlation"
    summary: ClassVar = "Protected correlations"

    dataset: str
    variables: tuple[str, ...] = names(
        "Two variables or more, as age or log(income); repeat, or put commas.", bare=True
    )
    where: Universe = EVERYONE
    method: CorrelationMethod = text(
        "pearson, or spearman: of the ranks, by the declared classes of numbers and the order of codes.",
        default=CorrelationMethod.PEARSON,
        optional=True,
        read=read_method,
        write=str,
    )
    define: tuple[Definition, ...] = definitions()

    def __post_init__(self) -> None:
        factors = self.factors
        if len({factor.variable for factor in factors}) < max(2, len(factors)):
            raise Mistake("A correlation needs two or more variables, each named once.")
        object.__setattr__(self, "variables", tuple(map(write_variable, factors)))

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The variables with their transformations."""
        return tuple(map(read_variable, self.variables))

    @property
    def ranked(self) -> bool:
        """Whether ranks are correlated."""
        return self.method is CorrelationMethod.SPEARMAN

    def classes(self, dataset: Dataset) -> tuple[str, ...]:
        """The variables that enter by their classes; of ranks all do, a number by its bins."""
        if self.ranked:
            return tuple((dataset.bins(name) or dataset.variables[name]).name for name in self.names)
        return tuple(name for name in self.names if not dataset.variables[name].measurable)

    @property
    def predictors(self) -> tuple[str, ...]:
        """Each is related to all the others."""
        return self.names

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(factor.variable for factor in self.factors)

    @property
    def title(self) -> str:
        return f"{self._kind} of {', '.join(self.variables)}"

    @property
    def _kind(self) -> str:
        return "Rank correlations" if self.ranked else "Correlations"

    def words(self, dataset: Dataset) -> str:
        labels = [(factor.transform, dataset.variables[factor.variable].label) for factor in self.factors]
        return f"{self._kind} of " + ", ".join(f"{how}({label})" if how else label for how, label in labels)
