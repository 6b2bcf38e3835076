"""A model in terms of stored columns: what an engine needs to know, and no more.

The columns of the design matrix stand in blocks, one for each term. In any record at most one column of a block is not
zero: the one at the mixed-radix level of the block's classes, with the product of the block's numbers as its value.
"""

from dataclasses import dataclass

from confide.model.formula import Transform

__all__ = ["Block", "Category", "Design", "Duration", "Indicator", "Number", "Response"]


@dataclass(frozen=True)
class Number:
    """A numeric variable as it enters: (transform(value) - shift) / scale. Missing values leave the record out."""

    variable: str
    transform: Transform = Transform.NONE
    shift: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True)
class Indicator:
    """1 where the categorical variable has one of these places, else 0."""

    variable: str
    places: tuple[int, ...]


@dataclass(frozen=True)
class Category:
    """Which class of a categorical variable: for each place its level (0, 1, ...), or -1 where the record is left out."""

    variable: str
    levels: tuple[int, ...]

    @property
    def outcomes(self) -> int:
        """How many different responses there are."""
        return max(self.levels) + 1

    @property
    def predictors(self) -> int:
        """How many linear predictors a record has."""
        return self.outcomes - 1


@dataclass(frozen=True)
class Duration:
    """In which period (a level, as of a `Category`) something happened, or was last seen not to have.

    It happened where the variable `event` has one of the `places`. The response is twice the level, and one more if it did.
    """

    variable: str
    levels: tuple[int, ...]
    event: str
    places: tuple[int, ...]

    @property
    def outcomes(self) -> int:
        return 2 * self.predictors

    @property
    def predictors(self) -> int:
        return max(self.levels) + 1


Response = Number | Indicator | Category | Duration


@dataclass(frozen=True)
class Block:
    """The columns of one term.

    `numbers` are indices into the design's numbers; `classes` are pairs of an index into the design's classes and, for each
    place of that variable, its level (0, 1, ...) or -1 where it belongs to the reference. With m levels of the second of
    two classes the column is offset + level1 * m + level2. The intercept is the block with neither.
    """

    numbers: tuple[int, ...]
    classes: tuple[tuple[int, tuple[int, ...]], ...]
    offset: int
    width: int

    @property
    def alone(self) -> bool:
        """Whether its columns are the dummies of one class variable."""
        return len(self.classes) == 1 and not self.numbers


@dataclass(frozen=True)
class Design:
    """The response and the blocks; the first block is the intercept."""

    response: Response
    numbers: tuple[Number, ...]
    classes: tuple[str, ...]
    blocks: tuple[Block, ...]

    @property
    def columns(self) -> int:
        return self.blocks[-1].offset + self.blocks[-1].width

    @property
    def predictors(self) -> int:
        """How many linear predictors a record has."""
        return self.response.predictors if isinstance(self.response, Category | Duration) else 1
