"""What the public codebook offers to an honest analyst: hierarchies, numbers, responses, and what goes together."""

from dataclasses import dataclass
from functools import cached_property

from confide.attacks.choosing import size
from confide.model.catalog.dataset import Dataset, Role, Variable

__all__ = ["Marks", "Menu", "incomplete", "is_amount", "usable_codes"]

Marks = frozenset[tuple[str, str]]

COUNTED = 20
"""A number from 0 to no more than this is a count of something: the response of a Poisson model."""


FEW_CLASSES = 10
"""More classes than this nobody explains at once."""


@dataclass(frozen=True)
class Menu:
    """The variables of a data set by what can be asked of them."""

    book: Dataset

    @cached_property
    def hierarchies(self) -> list[tuple[Variable, ...]]:
        """Variables with classes, each at all its levels, coarsest first."""
        found = {self.root(v): self.book.levels(v.name) for v in self._shown if v.classifies and size(v) > 1}
        return [tuple(level for level in levels if size(level) > 1) for levels in found.values()]

    @cached_property
    def numbers(self) -> list[Variable]:
        return [v for v in self._shown if v.measurable]

    @cached_property
    def fields(self) -> set[str]:
        """What can be related: hierarchies and numbers, one of which may be both."""
        return {self.root(v) for v in self.numbers + [levels[0] for levels in self.hierarchies]}

    @cached_property
    def responses(self) -> dict[str, list[Variable]]:
        """Responses of models by the family that they suit, which no key is; families without one are left out."""
        found = {
            "gaussian": [v for v in self.numbers if not _counted(v)],
            "binomial": [levels[0] for levels in self.hierarchies if not levels[0].numeric],
            "poisson": [v for v in self.numbers if _counted(v)],
        }
        suited = {family: [v for v in some if v.role is not Role.KEY] for family, some in found.items()}
        return {family: some for family, some in suited.items() if some}

    @cached_property
    def kinds(self) -> set[str]:
        """The kinds of questions that are possible."""
        found = {"counts"} if self.hierarchies else set()
        found |= {"totals", "means"} if self.hierarchies and self.numbers else set()
        found |= {"models"} if self.responses and len(self.fields) > 1 else set()
        return found | ({"correlations"} if len(self.fields) > 1 else set())

    @cached_property
    def statistics(self) -> set[str]:
        """What else is possible, beside the kinds."""
        found = {"percentages", "index numbers"} if self.hierarchies else set()
        found |= {"ratios"} if self.hierarchies and len({self.root(v) for v in self.numbers}) > 1 else set()
        found |= {"models of classes"} if any(self.classed.values()) and len(self.fields) > 2 else set()
        if self.book.sampling is not None:
            found |= {"standard errors"} if self.hierarchies else set()
            found |= {"models by design"} if "models" in self.kinds else set()
        return found

    @cached_property
    def classed(self) -> dict[str, list[Variable]]:
        """Responses of models of several classes by family, which no key is: classes of numbers have an order, and of those with an
        end, such as hours or months, durations are made where a yes or no may end them."""
        free = [levels[0] for levels in self.hierarchies if levels[0].role is not Role.KEY]
        ordered = [v for v in free if v.binned and size(v) > 2]
        ended = [v for v in ordered if v.maximum is not None and v.minimum is not None]
        plain = [v for v in free if not v.binned and 2 < size(v) <= FEW_CLASSES]
        return {"multinomial": plain, "ordered": ordered or plain, "survival": ended if self.events else []}

    @cached_property
    def events(self) -> list[Variable]:
        """What may end a duration: a yes or no, which is no key."""
        free = (levels[0] for levels in self.hierarchies if levels[0].role is not Role.KEY)
        return [v for v in free if size(v) == 2]

    def levels(self, variable: Variable) -> tuple[Variable, ...]:
        """The levels of detail at which a variable has classes, coarsest first; none if it has no classes."""
        root = self.root(variable)
        return next((levels for levels in self.hierarchies if self.root(levels[0]) == root), ())

    def root(self, variable: Variable) -> str:
        """What names a variable together with its other levels of detail."""
        return variable.column if variable.numeric else self.book.root(variable.name)

    def marks(self, variable: Variable) -> Marks:
        """What no other variable of the same question may have."""
        marks = {("field", self.root(variable))}
        if variable.group:
            marks.add(("group", variable.group))
        if variable.role is Role.CONFIDENTIAL and variable.subject:
            marks.add(("subject", variable.subject))
        return frozenset(marks)

    @cached_property
    def _shown(self) -> list[Variable]:
        return [v for v in self.book.variables.values() if v.role is not Role.IDENTIFIER]


def usable_codes(variable: Variable) -> tuple[str, ...]:
    """The classes that somebody would ask about."""
    return tuple(code.code for code in variable.codes or () if not code.missing)


def incomplete(variable: Variable) -> bool:
    """Whether the codebook says that values may be missing."""
    return any(code.missing for code in variable.codes or ())


def is_amount(variable: Variable) -> bool:
    """Whether a number is an amount, of money or people, which analysts take the logarithm of: it has no upper end."""
    return not variable.signed and variable.maximum is None


def _counted(variable: Variable) -> bool:
    return variable.minimum == 0 and variable.maximum is not None and variable.maximum <= COUNTED
