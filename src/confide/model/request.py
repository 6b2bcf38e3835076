"""What an analyst asks for."""

from dataclasses import dataclass
from enum import StrEnum

from confide.errors import Mistake
from confide.model.formula import Formula
from confide.model.universe import EVERYONE, Universe

__all__ = ["Correlation", "Family", "Measure", "Regression", "Request", "Table"]


class Measure(StrEnum):
    """What a cell holds. Totals, means and weighted counts use the data set's weight, if it declares one."""

    COUNT = "count"
    WEIGHTED_COUNT = "weighted_count"
    TOTAL = "total"
    MEAN = "mean"

    @property
    def of_variable(self) -> bool:
        return self in (Measure.TOTAL, Measure.MEAN)


@dataclass(frozen=True)
class Table:
    """A table of measures by rows and columns over a universe."""

    dataset: str
    rows: tuple[str, ...]
    columns: tuple[str, ...] = ()
    where: Universe = EVERYONE
    measure: tuple[Measure, ...] = (Measure.COUNT,)
    of: str | None = None

    def __post_init__(self) -> None:
        if not self.by:
            raise Mistake("A table needs at least one variable in its rows or columns.")
        for name in self.by:
            if self.by.count(name) > 1:
                raise Mistake(f"{name!r} stands twice in the table. Name each variable once.")
        if not self.measure or len(set(self.measure)) < len(self.measure):
            raise Mistake("Name each measure once.", suggestions=["Measures: count, weighted_count, total, mean."])
        needs = [m for m in self.measure if m.of_variable]
        if needs and self.of is None:
            raise Mistake(f"A {needs[0]} needs a variable.", suggestions=["Name it with 'of', as in of='income'."])
        if self.of is not None and not needs:
            raise Mistake("'of' goes with the measures total and mean only. Leave it out, or ask for one of them.")

    @property
    def by(self) -> tuple[str, ...]:
        return self.rows + self.columns


class Family(StrEnum):
    """What kind of response a model has: a number, yes or no, or a count."""

    GAUSSIAN = "gaussian"
    BINOMIAL = "binomial"
    POISSON = "poisson"


@dataclass(frozen=True)
class Regression:
    """A model of a response over a universe."""

    dataset: str
    formula: Formula
    where: Universe = EVERYONE
    family: Family = Family.GAUSSIAN


@dataclass(frozen=True)
class Correlation:
    """Correlations of variables over a universe; a categorical variable enters by its classes."""

    dataset: str
    variables: tuple[str, ...]
    where: Universe = EVERYONE

    def __post_init__(self) -> None:
        if len(set(self.variables)) < max(2, len(self.variables)):
            raise Mistake("A correlation needs two or more variables, each named once.")


Request = Table | Regression | Correlation
