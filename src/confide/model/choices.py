"""What may be chosen in a question: measures, families of models, what percentages are of, confidence of intervals."""

from enum import StrEnum

from confide.errors import Mistake, nearest

__all__ = [
    "LEVELS",
    "CoefficientErrors",
    "CorrelationMethod",
    "ErrorMeasure",
    "Extra",
    "Family",
    "Measure",
    "Share",
    "read_coefficient_errors",
    "read_errors",
    "read_extras",
    "read_family",
    "read_index",
    "read_level",
    "read_measures",
    "read_method",
    "read_share",
]


class Measure(StrEnum):
    """What a cell holds. All but counts use the data set's weight, if it declares one; p10 is what a tenth lies below, sd the standard
    deviation, ratio that of two totals."""

    COUNT = "count"
    WEIGHTED_COUNT = "weighted_count"
    TOTAL = "total"
    MEAN = "mean"
    SD = "sd"
    RATIO = "ratio"
    P10 = "p10"
    P25 = "p25"
    MEDIAN = "median"
    P75 = "p75"
    P90 = "p90"

    @property
    def of_variable(self) -> bool:
        """Whether it is of a number."""
        return self not in (Measure.COUNT, Measure.WEIGHTED_COUNT)

    @property
    def quantile(self) -> float | None:
        """What share of all lies below it, if it is a quantile."""
        return {"p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9}.get(self.value)

    @property
    def adds(self) -> bool:
        """Whether it is a sum, of which parts are shares."""
        return self in (Measure.COUNT, Measure.WEIGHTED_COUNT, Measure.TOTAL)


class ErrorMeasure(StrEnum):
    """What is told of the error of a number: the standard error, its ratio to the number, and whether to rely on it."""

    SE = "se"
    CV = "cv"
    RELIABILITY = "reliability"


LEVELS = ("90", "95", "99")
"""The confidence that an interval may have, in percent."""


class Share(StrEnum):
    """What 100 percent is."""

    ROW = "row"
    COLUMN = "column"
    TOTAL = "total"


class Family(StrEnum):
    """What kind of response a model has: a number, yes or no, a count, one of several classes, one of several in their order, or
    how many periods passed until something happened."""

    GAUSSIAN = "gaussian"
    BINOMIAL = "binomial"
    POISSON = "poisson"
    MULTINOMIAL = "multinomial"
    ORDERED = "ordered"
    SURVIVAL = "survival"

    @property
    def several(self) -> bool:
        """Whether a record has several linear predictors: of classes, of thresholds between them, of periods."""
        return self in (Family.MULTINOMIAL, Family.ORDERED, Family.SURVIVAL)


class Extra(StrEnum):
    """What a model may tell beside its coefficients."""

    COVARIANCE = "covariance"
    DEVIANCE = "deviance"
    EFFECTS = "effects"


class CoefficientErrors(StrEnum):
    """What the standard errors of coefficients come from: the model (the records, where these have weights or a unit has several),
    or the design by which the sample was drawn."""

    MODEL = "model"
    DESIGN = "design"


class CorrelationMethod(StrEnum):
    """What is correlated: the numbers themselves, or their ranks (Spearman)."""

    PEARSON = "pearson"
    SPEARMAN = "spearman"


def read_extras(given: tuple[str, ...]) -> tuple[Extra, ...]:
    """What is to be told beside the coefficients, each once, in one order."""
    found = {Extra(_among(name, Extra, "addition to a model", "Additions")) for name in given}
    return tuple(extra for extra in Extra if extra in found)


def read_coefficient_errors(given: str) -> CoefficientErrors:
    """What standard errors of coefficients are to come from."""
    return CoefficientErrors(_among(given, CoefficientErrors, "errors of coefficients", "Errors"))


def read_measures(given: tuple[str, ...]) -> tuple[Measure, ...]:
    """The measures of these names."""
    return tuple(Measure(_among(name, Measure, "measure", "Measures")) for name in given)


def read_errors(given: tuple[str, ...]) -> tuple[ErrorMeasure, ...]:
    """The measures of error of these names."""
    return tuple(ErrorMeasure(_among(name, ErrorMeasure, "error", "Errors")) for name in given)


def read_family(given: str) -> Family:
    """The family of that name."""
    return Family(_among(given, Family, "family", "Families"))


def read_index(given: str) -> str:
    """The class that is 100, as variable=code."""
    variable, equals, code = given.partition("=")
    if not (variable and equals and code):
        raise Mistake(f"There is no index {given[:60]!r}.", suggestions=["Name a class, as in index='year=2020'."])
    return given


def read_level(given: str) -> str:
    """The confidence of an interval, if it may have it."""
    if given not in LEVELS:
        raise Mistake(f"There is no interval {given[:60]!r}.", suggestions=[f"Intervals: {', '.join(LEVELS)}."])
    return given


def read_method(given: str) -> CorrelationMethod:
    """The method of correlation of that name."""
    return CorrelationMethod(_among(given, CorrelationMethod, "method of correlation", "Methods"))


def read_share(given: str) -> Share:
    """What percentages are to be of."""
    return Share(_among(given, Share, "percentage of", "Percentages are of"))


def _among(name: str, choices: type[StrEnum], one: str, several: str) -> str:
    known = [str(choice) for choice in choices]
    if name not in known:
        hint = nearest(name, known) or [f"{several}: {', '.join(known)}."]
        raise Mistake(f"There is no {one} {name[:60]!r}.", suggestions=hint)
    return name
