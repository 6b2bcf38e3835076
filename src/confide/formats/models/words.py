"""A model in words: labels instead of names and codes, references named, intervals beside the estimates.

Everything is derived from the release and the public codebook; no number is in here that the release does not determine.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, floor, log10
from typing import Any

from confide.formats.about import shown_value
from confide.model.catalog.dataset import Dataset
from confide.model.formula import Factor, Term, Transform, read_variable
from confide.model.model_release import INTERVAL_ERRORS, Grid, ModelRelease, Value
from confide.model.request import Family, RegressionRequest

__all__ = [
    "COLUMN_WORDS",
    "INTERCEPT",
    "Coefficient",
    "TermGroup",
    "class_words",
    "coefficients",
    "column_words",
    "compared_words",
    "factor_words",
    "grid_name",
    "level_words",
    "p_words",
    "reading",
    "relabelled",
    "split_label",
    "statistics",
    "term_words",
]

INTERCEPT = "(Intercept)"

_TRANSFORMED = {
    Transform.NONE: "{}",
    Transform.LOG: "{} (logarithm)",
    Transform.SQRT: "{} (square root)",
    Transform.SQUARE: "{} (squared)",
}
_STATISTICS = {
    "n": "Units (protected)",
    "r_squared": "R², the share explained",
    "adjusted_r_squared": "R², adjusted",
    "sigma": "Standard deviation of residuals",
    "residual_dof": "Degrees of freedom of residuals",
    "f_statistic": "F statistic",
    "f_p_value": "p-value of F",
    "null_deviance": "Deviance without predictors",
    "residual_deviance": "Deviance of the model",
    "dispersion": "Dispersion",
    INTERVAL_ERRORS: "Standard errors on either side in 95 % intervals",
}
COLUMN_WORDS = {
    "term": "Term",
    "dof": "Degrees of freedom",
    "sum_of_squares": "Sum of squares",
    "mean_square": "Mean square",
    "statistic": "F",
    "p_value": "p-value",
    "wald_chi_square": "Wald χ²",
    "deviance": "Deviance explained",
    "residual_deviance": "Deviance left",
    "residual_squares": "Squares left",
    "model": "Model",
    "columns": "Columns",
    "aic": "AIC",
    "f_statistic": "F",
    "likelihood_ratio": "χ²",
    "effect": "Effect",
    "standard_error": "Standard error",
    "low": "95 % from",
    "high": "to",
    "name": "Statistic",
    "value": "Value",
    "variable": "Variable",
    "response": "Class of the response",
    "threshold": "Between",
    "period": "Period",
    "hazard": "Hazard",
    "estimate": "Log odds",
}


@dataclass(frozen=True)
class Coefficient:
    """One row: the class or classes it is about (empty for a number), the numbers, and the texts to show."""

    words: str
    estimate: float
    error: float
    low: float
    high: float
    ratio: float | None
    shown: tuple[str, ...]
    """Estimate, interval, standard error, ratio if there is one, statistic, p-value."""


@dataclass(frozen=True)
class TermGroup:
    """The rows of one term; `reference` is the class they are compared with.

    `absorbed` are classes with too few units, which stand with the class `home`: the reference, unless another was chosen.
    """

    words: str
    rows: tuple[Coefficient, ...]
    reference: str = ""
    absorbed: tuple[str, ...] = ()
    home: str = ""
    explains: bool = True
    """Whether it is more than an intercept."""
    heading: str = ""
    """Of a response of several classes, which of them it is about."""

    @property
    def title(self) -> str:
        return f"{self.heading} – {self.words}" if self.heading else self.words


def factor_words(factor: Factor, dataset: Dataset) -> str:
    """Give a factor in words: `Income (logarithm)`, `Activity: employed`."""
    variable = dataset.variables[factor.variable]
    words = _TRANSFORMED[factor.transform].format(variable.label)
    if not factor.codes:
        return words
    order = sorted(factor.codes, key=lambda code: variable.place(code) if code in (variable.codes or ()) else -1)
    return f"{words}: {' or '.join(_label(dataset, factor.variable, code) for code in order)}"


def term_words(term: Term, dataset: Dataset) -> str:
    """Give a term in words: `Age × Sex`."""
    return " × ".join(factor_words(factor, dataset) for factor in term)


def coefficients(release: ModelRelease[RegressionRequest], dataset: Dataset) -> tuple[TermGroup, ...]:
    """Give the coefficients of a regression by term, the intercept first."""
    grid = release.grids["coefficients"]
    if grid.columns[0] != "response":
        return tuple(_groups(release, dataset, list(grid.rows)))
    found: list[TermGroup] = []
    for level in dict.fromkeys(str(row[0]) for row in grid.rows):
        heading = compared_words(release, dataset, level)
        own = _groups(release, dataset, [row[1:] for row in grid.rows if row[0] == level])
        found += [replace(group, heading=heading) for group in own]
    return tuple(found)


def _groups(
    release: ModelRelease[RegressionRequest], dataset: Dataset, rows: list[tuple[Value, ...]]
) -> Iterator[TermGroup]:
    """Coefficients by term, the intercept first where there is one."""
    request = release.request
    ratio, width = request.family is not Family.GAUSSIAN, release.interval_errors
    if intercepts := tuple(_coefficient("", row, width, ratio=False) for row in rows if row[0] == INTERCEPT):
        told = (
            tuple(_with_level(row, _LEVELS[request.family]) for row in intercepts)
            if request.family in _LEVELS
            else intercepts
        )
        yield TermGroup("Intercept", told, explains=False)
    for term in request.formula.terms:
        own = [(words, row) for row in rows if (words := _classes(str(row[0]), term, dataset)) is not None]
        if own:
            made = tuple(_coefficient(words, row, width, ratio=ratio) for words, row in own)
            yield TermGroup(term_words(term, dataset), made, *_reference(release, term, dataset))


def compared_words(release: ModelRelease[RegressionRequest], dataset: Dataset, level: str) -> str:
    """Give a class of a response of several with the one that it is compared with: `Retired against Employed`."""
    name = release.request.formula.response.variable
    start = f"The classes of {name} are compared with "
    base = next((note[len(start) : -1] for note in release.notes if note.startswith(start)), "")
    against = f" against {_label(dataset, name, base)}" if base else ""
    return f"{_label(dataset, name, level)}{against}"


def level_words(request: RegressionRequest, dataset: Dataset) -> dict[str, str]:
    """Give the words for thresholds between classes of the response, and for its classes."""
    codes = list(dataset.variables[request.formula.response.variable].codes or ()) if request.family.several else []
    between = {f"{a.code} | {b.code}": f"{a.label} | {b.label}" for a, b in combinations(codes, 2)}
    return between | {code.code: code.label for code in codes}


def relabelled(
    grid: Grid, dataset: Dataset, terms: Sequence[Term], names: Mapping[str, str] | None = None
) -> Iterator[tuple[Value, ...]]:
    """Give the rows of a grid with the names of classes and terms in words: of an analysis of variance, effects, correlations."""
    known = {grid_name(term): term_words(term, dataset) for term in terms} | dict(names or {})
    named = 1 + (grid.columns[0] == "response")
    for row in grid.rows:
        yield (*(known.get(str(one)) or class_words(str(one), dataset) for one in row[:named]), *row[named:])


def split_label(label: str, dataset: Dataset) -> tuple[str, str | None]:
    """Give the variable of a label such as `age` or `sex=F`, and its class if it names one."""
    if label in dataset.variables:
        return label, None
    for name, variable in dataset.variables.items():
        if label.startswith(f"{name}=") and label[len(name) + 1 :] in (variable.codes or ()):
            return name, label[len(name) + 1 :]
    return label, None


def class_words(label: str, dataset: Dataset, *, first: str = "variable") -> str:
    """Give a label such as `age`, `log(age)` or `sex=F` in words, the variable or the class first; others as they are."""
    name, code = split_label(label, dataset)
    factor = Factor(name) if name in dataset.variables else read_variable(name)
    words = factor_words(factor, dataset) if factor.variable in dataset.variables else name
    if code is None:
        return words
    own = _label(dataset, name, code)
    return f"{own} – {words}" if first == "class" else f"{words}: {own}"


def column_words(column: str) -> str:
    """Give the heading of a column."""
    return COLUMN_WORDS.get(column, column)


def statistics(release: ModelRelease[Any]) -> Iterator[tuple[str, str]]:
    """Give how well a regression fits, in words."""
    for name, value in release.grids["statistics"].rows:
        yield _STATISTICS.get(str(name), str(name)), p_words(value) if name == "f_p_value" else shown_value(value)


_LEVELS = {Family.BINOMIAL: "odds", Family.MULTINOMIAL: "odds", Family.POISSON: "rate"}
"""What the exponential of an intercept is."""

_SCALES = {
    Family.GAUSSIAN: "An estimate is how much the response differs.",
    Family.BINOMIAL: "An estimate is a difference of log odds; its odds ratio is by how much the odds are multiplied: 1 is no "
    "difference, 2 is twice the odds. Beside the intercept stand the odds themselves, of the references and where numbers are 0.",
    Family.POISSON: "An estimate is a difference of the logarithm of the rate; its rate ratio is by how much the rate is "
    "multiplied: 1 is no difference. Beside the intercept stands the rate itself, of the references and where numbers are 0.",
    Family.MULTINOMIAL: "An estimate is a difference of the log odds of a class of the response against the class that it is "
    "compared with; its odds ratio is by how much these odds are multiplied: 1 is no difference, 2 is twice the odds. Beside an "
    "intercept stand the odds themselves, of the references and where numbers are 0.",
    Family.ORDERED: "An estimate is a difference of the log odds of being in a higher class of the response, the same at every "
    "threshold between two classes; its odds ratio is by how much these odds are multiplied: above 1 is towards higher "
    "classes, 1 is no difference. A threshold is the log odds of being in a class or one before it, where all predictors are "
    "at 0 or their references.",
    Family.SURVIVAL: "An estimate is a difference of the log odds that it happens in a period to those it had not happened to "
    "before, the same in every period; its odds ratio is by how much these odds are multiplied: above 1 is sooner, 1 is no "
    "difference. A hazard is the share it happens to in a period, where all predictors are at 0 or their references.",
}


def reading(release: ModelRelease[RegressionRequest], groups: Sequence[TermGroup], dataset: Dataset) -> Iterator[str]:
    """Give the words that a reader of the coefficients needs: scale, references, absorbed classes, marks."""
    few = ", or too few of one outcome," if release.request.family is Family.BINOMIAL else ""
    yield f"{_SCALES[release.request.family]} A number is told for each unit more of it, a class beside its reference."
    yield from (note for note in release.notes if note.startswith(("Records of ", "Beware: ")))
    for group in {group.words: group for group in groups}.values():
        if group.reference:
            yield (
                f"{group.words}: every class is compared with {group.reference}, the reference, which has no row of its own."
            )
        if group.absorbed:
            has, stand = ("has", "stands") if len(group.absorbed) == 1 else ("have", "stand")
            yield (
                f"{group.words}: {', '.join(group.absorbed)} {has} too few units{few} "
                f"for a row and {stand} with {group.home}, the most common class."
            )
    yield (
        "An interval holds the true value in 95 of 100 samples. A p-value says how often chance alone would give so large a "
        "difference; smaller ones than 0.0001 are given as ≤ 0.0001. [z] stands where a number does not apply."
    )


def p_words(value: Value) -> str:
    """Give a p-value; those at the bound are said to be at most that."""
    return "≤ 0.0001" if value == 1e-4 else shown_value(value)


def _coefficient(words: str, row: tuple[Value, ...], width: float, *, ratio: bool) -> Coefficient:
    estimate, error, statistic, p = (float(value or 0.0) for value in row[1:])
    places = max(0, 1 - floor(log10(error) + 1e-12)) if error > 0 else 0
    low, high = estimate - width * error, estimate + width * error
    times = exp(estimate) if ratio and abs(estimate) < 50 else None
    shown = [_fixed(estimate, places), f"{_fixed(low, places)} to {_fixed(high, places)}", _fixed(error, places)]
    shown += [] if times is None else [f"{times:.3g} ({_power(low)} to {_power(high)})"]
    return Coefficient(
        words,
        estimate,
        error,
        low,
        high,
        times,
        (*shown, shown_value(statistic).replace("-", "−", 1), p_words(row[4] and p)),
    )


def _with_level(row: Coefficient, level: str) -> Coefficient:
    """The intercept with the odds or the rate themselves in place of a ratio: it is compared with nothing."""
    shown = f"{level} {_power(row.estimate)} ({_power(row.low)} to {_power(row.high)})"
    return replace(row, shown=(*row.shown[:3], shown, *row.shown[3:]))


def _power(value: float) -> str:
    """The exponential of the end of an interval, as a text."""
    return f"{exp(value):.3g}" if abs(value) < 700 else "0" if value < 0 else "∞"


def _fixed(value: float, places: int) -> str:
    return f"{value:z,.{places}f}".replace("-", "−")


def grid_name(term: Term) -> str:
    """Give the name of a term in the tables of a release."""
    return ":".join(f"{f.transform}({f.variable})" if f.transform else f.variable for f in term)


def _classes(label: str, term: Term, dataset: Dataset) -> str | None:
    """The classes that the label of a coefficient of this term names, in words; None if it is of another term.

    Labels join numbers, then `variable=code` of each categorical variable, by colons; codes may hold any of these characters.
    """
    numbers = tuple(factor for factor in term if dataset.variables[factor.variable].measurable)
    names = [factor.variable for factor in term if factor not in numbers]
    parts = [re.escape(grid_name(numbers))] if numbers else []
    found = re.fullmatch(":".join([*parts, *(re.escape(name) + "=(.+)" for name in names)]), label, re.DOTALL)
    if found is None:
        return None
    pairs = list(zip(names, found.groups(), strict=True))
    known = all(code in (dataset.variables[name].codes or ()) for name, code in pairs)
    return " × ".join(_label(dataset, name, code) for name, code in pairs) if known else None


def _reference(release: ModelRelease[Any], term: Term, dataset: Dataset) -> tuple[str, tuple[str, ...], str]:
    """The class that a single categorical variable is compared with, those absorbed, and where these stand."""
    name = term[0].variable
    codes = dataset.variables[name].codes
    if len(term) > 1 or codes is None or dataset.variables[name].measurable:
        return "", (), ""
    grid = release.grids["coefficients"]
    own = {str(row[grid.columns.index("term")]) for row in grid.rows}
    without = [code for code in codes if f"{name}={code.code}" not in own]
    starts = {
        f"The reference of {name} is {code.code}{end}": code for code in without for end in (".", ", and with it ")
    }
    said = [code for start, code in starts.items() if any(note.startswith(start) for note in release.notes)]
    notes = [note for note in release.notes if note.startswith(f"Of {name}, ")]
    elsewhere = [code for code in codes if any(note.endswith(f" stand with {code.code}.") for note in notes)]
    reference = said[0].label if said else ""
    home = elsewhere[0].label if elsewhere else reference
    return reference, tuple(code.label for code in without if code not in said), home


def _label(dataset: Dataset, name: str, code: str) -> str:
    variable = dataset.variables[name]
    return variable.codes.codes[variable.place(code)].label if variable.codes and code in variable.codes else code
