"""Local suppression: single values are blanked, so that records with rare keys are no longer rare."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from confide.arrays import Floats, Ints
from confide.errors import Fault, Mistake, nearest
from confide.microdata.method import Method
from confide.microdata.records import Masked, Records
from confide.microdata.search.blanking import classes_of_k, fitting_k
from confide.microdata.search.classes import fitting, patterns, sizes
from confide.model.parameter import parameter

__all__ = ["LocalSuppression"]


@dataclass(frozen=True)
class LocalSuppression(Method):
    """Local suppression (Samarati and Sweeney 1998): few values of keys are blanked, so that k or more records share them.

    Promise: with blank="category" every record shares all its keys, blanks too, with k or more, itself among them. With
    blank="anything" what each record still shows fits k or more records of the file as it was given; then a blank fits
    any value, which is weaker. With `combs` that holds for every set of so many keys, instead of all keys together. It is
    verified on the result. Other values do not change. Missing values stay missing, and are blanks from the start.
    Reference: Domingo-Ferrer (2007).

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("ffffm"), "town": ["A", "A", "B", "B", "A"]})
    >>> released = LocalSuppression(k=2).protect(people, columns=["sex", "town"])
    >>> released.frame["sex"].to_pylist(), released.report["suppressed"]
    ([None, None, 'f', 'f', None], 3)
    """

    best_attack: ClassVar = "own-list"
    takes: ClassVar = frozenset({"numbers", "categories"})
    keeps: ClassVar = frozenset({"rows", "types"})

    k: int = parameter(3, "Least records that share their keys.", low=2)
    blank: str = parameter(
        "category",
        "category: a blank is a value of its own. anything: it fits any value.",
        among=("category", "anything"),
    )
    importance: Mapping[str, float] = parameter({}, "What blanking a value costs, by column; others cost 1.")
    combs: int | None = parameter(None, "Every set of so many keys is k-anonymous, instead of all together.", low=1)

    def _check(self) -> None:
        for name, cost in self.importance.items():
            if cost <= 0:
                raise Mistake(f"LocalSuppression: importance of {name!r} must be more than 0, not {cost!r}.")

    def _mask(self, records: Records) -> Masked:
        prices, together = self._prices(records.columns), self._together(len(records.columns))
        if len(records) < self.k:
            raise Mistake(
                f"LocalSuppression: k is {self.k}, and there are {len(records)} records{records.where}.",
                suggestions=["Take a smaller k, or fewer strata."],
            )
        coded = [records.categories(name) for name in records.columns]
        before = np.column_stack([column.codes for column in coded])
        search = classes_of_k if self.blank == "category" else fitting_k
        after = search(before, self.k, prices, together)
        self._verified(after, together)
        new = {name: coded[j].column(after[:, j]) for j, name in enumerate(records.columns)}
        return Masked(new, self._report(records.columns, before, after, together))

    def _prices(self, columns: Sequence[str]) -> Floats:
        for name in self.importance:
            if name not in columns:
                raise Mistake(
                    f"LocalSuppression: importance of {name!r}, which is not among the columns to mask.",
                    suggestions=nearest(name, columns),
                )
        return np.array([self.importance.get(name, 1.0) for name in columns])

    def _together(self, keys: int) -> list[tuple[int, ...]]:
        """The sets of keys that must be k-anonymous; their subsets then are too."""
        if self.combs is not None and self.combs > keys:
            raise Mistake(f"LocalSuppression: combs is {self.combs}, and there are {keys} keys.")
        return list(combinations(range(keys), self.combs or keys))

    def _verified(self, after: Ints, together: Sequence[tuple[int, ...]]) -> None:
        for keys in together:
            shown, count, _ = patterns(after[:, keys])
            shared = count if self.blank == "category" else fitting(shown, shown, count)
            if shared.min() < self.k:
                raise Fault("Local suppression did not reach k.")

    def _report(
        self, columns: Sequence[str], before: Ints, after: Ints, together: Sequence[tuple[int, ...]]
    ) -> dict[str, Any]:
        below = np.any([sizes(after[:, keys]) < self.k for keys in together], axis=0)
        new = (before >= 0) & (after < 0)
        return {
            "suppressed": int(new.sum()),
            "records": int(new.any(axis=1).sum()),
            "below": int(below.sum()),
            "columns": {name: int(new[:, j].sum()) for j, name in enumerate(columns)},
        }

    def _combined(self, reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        added: Counter[str] = sum((Counter(report["columns"]) for report in reports), Counter())
        named = reports[0]["columns"] if reports else {}
        return {**super()._combined(reports), "columns": {name: added[name] for name in named}}
