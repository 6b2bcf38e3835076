"""What an honest analyst asks, in proportions. All of it is declared here, and shown in the documents."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from confide.model.catalog.dataset import Role

__all__ = ["KINDS", "PROPORTIONS", "STATISTICS", "Proportions"]

STATISTICS = ("percentages", "ratios", "index numbers", "standard errors", "models of classes", "models by design")
"""What is asked for beside the usual kinds, in questions of their own."""

KINDS = ("counts", "totals", "means", "medians", "models", "correlations", *STATISTICS)
"""The kinds of questions, in the order in which they are reported."""


def _shares(help: str, **shares: float) -> Any:
    named = {int(name[1:]) if name[0] == "_" else name: share for name, share in shares.items()}
    return field(default_factory=lambda: MappingProxyType(named), metadata={"help": help})


@dataclass(frozen=True, kw_only=True)
class Proportions:
    """How often honest questions have which shape. What a data set does not allow is left out, the rest in proportion."""

    kind: Mapping[str, float] = _shares(
        "What is asked for", counts=0.35, totals=0.1, means=0.2, models=0.25, correlations=0.1
    )
    statistic: Mapping[str, float] = _shares(
        "What is asked for beside it, in a fifth as many questions; errors and models by the design where this is declared",
        percentages=0.4,
        ratios=0.1,
        index_numbers=0.1,
        standard_errors=0.2,
        models_of_classes=0.1,
        models_by_design=0.1,
    )
    share: Mapping[str, float] = _shares("Percentages of a table with rows and columns", row=0.6, column=0.2, total=0.2)
    indexed: Mapping[str, float] = _shares("Index numbers, where there are numbers", count=0.3, total=0.4, mean=0.3)
    erring: Mapping[str, float] = _shares(
        "What standard errors are of, where there are numbers; quantiles of those with cutpoints",
        count=0.4,
        mean=0.3,
        total=0.1,
        median=0.1,
        sd=0.1,
    )
    classes: Mapping[str, float] = _shares(
        "Family of a model of several classes; durations where a number with an end and a yes or no are there",
        multinomial=0.45,
        ordered=0.45,
        survival=0.1,
    )
    designed: Mapping[str, float] = _shares(
        "Models by the design, where models of classes can be asked for", usual=0.7, of_classes=0.3
    )
    weighted: Mapping[str, float] = _shares("Counts, where the data have a weight", plain=0.8, weighted=0.2)
    middle: Mapping[str, float] = _shares("A mean, of a number with cutpoints", mean=0.75, sd=0.05, median=0.2)
    own: Mapping[str, float] = _shares(
        "Classes of a table, where a variable has five or more", declared=0.9, grouped=0.1
    )
    by: Mapping[int, float] = _shares("Variables of a table", _1=0.3, _2=0.5, _3=0.2)
    level: Mapping[str, float] = _shares(
        "Level of a hierarchy; one finer than the coarsest at most in a table", coarsest=0.75, next=0.2, finer=0.05
    )
    conditions: Mapping[int, float] = _shares("Conditions of the universe", _0=0.4, _1=0.3, _2=0.2, _3=0.1)
    codes: Mapping[int, float] = _shares(
        "Classes named in a condition; of a number, neighbours", _1=0.5, _2=0.3, _3=0.2
    )
    classed: Mapping[str, float] = _shares(
        "Role of a variable of a table or universe, to each other", key=1, other=1, confidential=0.3
    )
    measured: Mapping[str, float] = _shares(
        "Role of a number that is totalled, to each other; the response of a model is no key",
        key=0.1,
        other=0.5,
        confidential=1,
    )
    family: Mapping[str, float] = _shares("Family of a model", gaussian=0.65, binomial=0.25, poisson=0.1)
    response: Mapping[str, float] = _shares("An amount as the response of a gaussian model", plain=0.4, log=0.6)
    predictors: Mapping[int, float] = _shares(
        "Predictors of a model", _3=0.25, _4=0.25, _5=0.2, _6=0.15, _7=0.1, _8=0.05
    )
    predictor: Mapping[str, float] = _shares("A predictor", number=0.5, classes=0.5)
    amount: Mapping[str, float] = _shares(
        "An amount (never negative, no declared maximum) as a predictor", number=0.4, log=0.6
    )
    number: Mapping[str, float] = _shares("Another number as a predictor", number=0.6, square=0.15, classes=0.25)
    interaction: Mapping[str, float] = _shares(
        "Interaction of the first two predictors", without=0.85, interaction=0.15
    )
    correlated: Mapping[int, float] = _shares("Variables of a correlation", _2=0.4, _3=0.3, _4=0.2, _5=0.1)
    entering: Mapping[str, float] = _shares("A variable of a correlation", number=0.8, classes=0.2)
    method: Mapping[str, float] = _shares(
        "A correlation, where all numbers have cutpoints", pearson=0.85, spearman=0.15
    )
    incomplete: float = 0.25
    """A number with missing values is chosen so much less readily for a model or a correlation than one without."""
    least: float = 0.01
    """A universe holds at least this share of the units."""
    event: float = 0.05
    """The class that is the response of a binomial model holds at least this share of the units, and leaves as much."""

    def described(self) -> Iterator[tuple[str, str]]:
        """Every proportion in words: what it is of, and how often each choice is taken."""
        for declared in fields(self):
            if "help" in declared.metadata:
                shares: Mapping[Any, float] = getattr(self, declared.name)
                whole = sum(shares.values())
                words = [f"{choice} {100 * share / whole:.0f} %" for choice, share in shares.items()]
                yield declared.metadata["help"], ", ".join(words)
        yield "Readiness to relate a number with missing values, against one without", f"{100 * self.incomplete:g} %"
        yield "Least share of all units in a universe", f"{100 * self.least:g} %"
        yield "Least share of all units in, and outside, the response of a binomial model", f"{100 * self.event:g} %"

    def role(self, role: Role, *, measured: bool = False) -> float:
        """How readily a variable of this role is chosen."""
        return (self.measured if measured else self.classed).get(role.value, 0.0)


PROPORTIONS = Proportions()
