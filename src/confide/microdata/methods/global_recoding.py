"""Global recoding: categories are combined and numbers cut into classes, for the whole file alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from confide.errors import Mistake, nearest
from confide.microdata.hierarchies import parsed, placed, texts
from confide.microdata.method import Method
from confide.microdata.records import Masked, Records, kind_of
from confide.model.catalog.bins import span
from confide.model.parameter import parameter

__all__ = ["GlobalRecoding"]


@dataclass(frozen=True)
class GlobalRecoding(Method):
    """Global recoding (Domingo-Ferrer 2007): coarser categories, so that more records share each.

    Promise: every value is replaced by the class it belongs to, in the whole file alike, and no finer value is left.
    Columns of `cutpoints` are cut into classes, in order: below the first, between, from the last. Those of `hierarchies`
    climb `up` levels. Those of `codes` get new codes; codes that are not named stay. Missing values stay missing.

    >>> import pyarrow as pa
    >>> frame = pa.table({"age": [17, 39, 40], "marital": ["widowed", "divorced", "single"]})
    >>> one = dict.fromkeys(["widowed", "divorced"], "widowed or divorced")
    >>> recoding = GlobalRecoding(cutpoints={"age": [18, 40]}, codes={"marital": one})
    >>> released = recoding.protect(frame, columns=["age", "marital"]).frame
    >>> released["age"].to_pylist(), released["marital"].to_pylist()
    (['<18', '18-39', '40+'], ['widowed or divorced', 'widowed or divorced', 'single'])
    """

    best_attack: ClassVar = "own-list"
    takes: ClassVar = frozenset({"numbers", "categories"})
    keeps: ClassVar = frozenset({"rows", "missing"})

    cutpoints: Mapping[str, tuple[float, ...]] = parameter({}, "Where classes of numbers begin, by column.")
    hierarchies: Mapping[str, str] = parameter({}, "Hierarchies in the τ-ARGUS format, by column.")
    up: int = parameter(1, "How many levels of a hierarchy to climb.", low=1)
    codes: Mapping[str, Mapping[str, str]] = parameter({}, "New codes for old ones, by column.")

    def _check(self) -> None:
        for name, cuts in self.cutpoints.items():
            if not cuts or any(b <= a for a, b in pairwise(cuts)):
                raise Mistake(f"GlobalRecoding: cutpoints of {name!r} must be one or more, and increase.")

    def _mask(self, records: Records) -> Masked:
        named = [*self.cutpoints, *self.hierarchies, *self.codes]
        for name in named:
            if name not in records.columns:
                hint = nearest(name, records.columns)
                raise Mistake(f"GlobalRecoding: {name!r} is not among the columns to mask.", suggestions=hint)
        for name in records.columns:
            if named.count(name) != 1:
                raise Mistake(f"GlobalRecoding: say once, by cutpoints, hierarchies or codes, how to recode {name!r}.")
        return Masked({name: self._recoded(name, records) for name in records.columns})

    def _recoded(self, name: str, records: Records) -> pa.Array:
        if name in self.cutpoints:
            return self._cut(name, records)
        if name in self.codes:
            return _renamed(records.array(name), self.codes[name])
        hierarchy = parsed(self.hierarchies[name])
        if self.up >= len(hierarchy.levels):
            most = len(hierarchy.levels) - 1
            raise Mistake(f"GlobalRecoding: up is {self.up}, and above the categories of {name!r} are {most} levels.")
        placed(records.categories(name), hierarchy, column=name)
        above = [hierarchy.codes[place] for place in hierarchy.levels[-1 - self.up]]
        return _renamed(records.array(name), dict(zip(hierarchy.finest, above, strict=True)))

    def _cut(self, name: str, records: Records) -> pa.Array:
        cuts, kind = self.cutpoints[name], records.array(name).type
        if kind_of(name, kind) != "numbers" or pt.is_temporal(kind):
            raise Mistake(f"Column {name!r} holds {kind}, and cutpoints are for numbers.")
        if pt.is_integer(kind) and any(cut % 1 for cut in cuts):
            raise Mistake(f"Column {name!r} holds whole numbers, so its cutpoints must be whole too.")
        values = records.numbers([name])[:, 0]
        edges = [None, *(Decimal(f"{cut:g}" if cut % 1 else int(cut)) for cut in cuts), None]
        labels = [span(low, high, decimals=0 if pt.is_integer(kind) else 3) for low, high in pairwise(edges)]
        places = pa.array(np.searchsorted(cuts, values, side="right").astype(np.int32), mask=np.isnan(values))
        return pa.DictionaryArray.from_arrays(places, pa.array(labels), ordered=True)


def _renamed(column: pa.Array, new: Mapping[str, str]) -> pa.Array:
    """The column with new labels; one that declares its categories, and their order, still does."""
    coded = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    labels = [new.get(label, label) for label in texts(coded.dictionary)]
    places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    moved = np.array([places[label] for label in labels], np.int32)
    indices = pa.array(moved).take(coded.indices)
    renamed = pa.DictionaryArray.from_arrays(indices, pa.array(list(places), pa.string()), ordered=coded.type.ordered)
    return renamed if isinstance(column, pa.DictionaryArray) else renamed.dictionary_decode()
