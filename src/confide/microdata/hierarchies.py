"""Hierarchies of categories, as methods use them: every category of the finest level with those it belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from confide.arrays import Ints
from confide.errors import Mistake, nearest
from confide.microdata.records import Categories
from confide.model.catalog.hrc import read_hrc

__all__ = ["Hierarchy"]


@dataclass(frozen=True)
class Hierarchy:
    """The categories of a column in the order of its hierarchy; `above[l][c]` is the one that c belongs to on level l.

    Levels are counted from the top; the last are the categories themselves.
    """

    column: str
    above: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, column: str, text: str) -> "Hierarchy":
        """The hierarchy that a text in the τ-ARGUS format describes.

        >>> Hierarchy.read("trade", "A\\n@A1\\n@A2\\nB\\n").above
        (('A', 'A', 'B'), ('A1', 'A2', 'B'))
        """
        levels = read_hrc(text)
        above = [tuple(levels[-1])]
        for level in reversed(levels[1:]):
            above.insert(0, tuple(str(level[code]) for code in above[0]))
        return cls(column, tuple(above))

    @property
    def codes(self) -> tuple[str, ...]:
        return self.above[-1]

    def places(self, categories: Categories) -> Ints:
        """Where each category that occurs stands in the hierarchy; one that does not is a Mistake."""
        known = {code: place for place, code in enumerate(self.codes)}
        labels = texts(categories.labels)
        unseen = [label for label in labels if label not in known]
        if unseen:
            more = f" and {len(unseen) - 1} more" if len(unseen) > 1 else ""
            raise Mistake(
                f"{unseen[0]!r}{more} of column {self.column!r} is not on the finest level of its hierarchy.",
                suggestions=nearest(unseen[0], known),
            )
        return np.array([known[label] for label in labels], np.int64)

    def numbered(self, level: int) -> Ints:
        """The categories' ancestors on a level as numbers, from left to right."""
        number: dict[str, int] = {}
        return np.array([number.setdefault(code, len(number)) for code in self.above[level]], np.int64)


def texts(labels: pa.Array) -> Sequence[str]:
    """Labels as they would be written in a file: codes are often numbers."""
    return [str(label) for label in labels.to_pylist()]
