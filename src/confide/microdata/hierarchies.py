"""Hierarchies of categories, as methods use them: every category that occurs with those it belongs to."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from confide.arrays import Ints
from confide.data.hierarchy import Hierarchy
from confide.errors import Mistake, nearest
from confide.microdata.records import Categories

__all__ = ["parsed", "placed", "texts"]


def parsed(text: str) -> Hierarchy:
    """The hierarchy that a text in the τ-ARGUS format describes, without a name for its total: that may be a category."""
    return Hierarchy.parse(text, total="")


def placed(categories: Categories, hierarchy: Hierarchy, *, column: str) -> Ints:
    """Where each category that occurs stands among the finest codes; one that does not is a Mistake."""
    known = {code: place for place, code in enumerate(hierarchy.finest)}
    labels = texts(categories.labels)
    unseen = [label for label in labels if label not in known]
    if unseen:
        more = f" and {len(unseen) - 1} more" if len(unseen) > 1 else ""
        raise Mistake(
            f"{unseen[0]!r}{more} of column {column!r} is not on the finest level of its hierarchy.",
            suggestions=nearest(unseen[0], known),
        )
    return np.array([known[label] for label in labels], np.int64)


def texts(labels: pa.Array) -> Sequence[str]:
    """Labels as they would be written in a file: codes are often numbers."""
    return [str(label) for label in labels.to_pylist()]
