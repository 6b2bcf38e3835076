"""Microaggregation: values are replaced by averages over groups of at least k records that are alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake, nearest
from confide.microdata.method import Method
from confide.microdata.records import Masked, Records
from confide.microdata.search.attributes import Attribute, NumberAttribute, RecordGroups, attribute
from confide.microdata.search.dominance import undominated
from confide.microdata.search.grouping import Partition, group
from confide.microdata.search.partition import Progress, mdav, optimal, v_mdav
from confide.microdata.search.spanning_tree import spanning_tree
from confide.model.parameter import parameter

__all__ = ["Microaggregation"]


@dataclass(frozen=True)
class Microaggregation(Method):
    """Microaggregation (Domingo-Ferrer and Mateo-Sanz 2002): values are replaced by the average of k or more like them.

    Promise: within a group of columns, every combination of released values stands for at least k records (households,
    with `household`); each is an average over at least k. Numbers become means, weighted if there are weights, so that
    totals stay, but for rounding where the column holds whole numbers; ordered categories become medians, other
    categories the one nearest to the group, which without a hierarchy is the commonest. The report's `loss` is
    SSE / SST, of standardised columns. With `dominance` no record has more than that share of the total of a number in its
    group, so that nobody's value can be told from the average: groups in which one has are joined with the nearest.

    Missing values stay missing. Records that miss the same columns are grouped among themselves; too few of them for
    a group take the averages of the nearest group that has all their columns.

    References: Domingo-Ferrer (2007), algorithm MDAV; Solanas and Martínez-Ballesté (2006), V-MDAV; Laszlo and
    Mukherjee (2005), spanning tree; Hansen and Mukherjee (2003), one number; Torra (2004), Domingo-Ferrer and Torra
    (2005), categories.

    >>> import pyarrow as pa
    >>> frame = pa.table({"income": [10.0, 11.0, 12.0, 50.0, 52.0, 57.0]})
    >>> released = Microaggregation(k=3).protect(frame, columns="income")
    >>> released.frame["income"].to_pylist()
    [11.0, 11.0, 11.0, 53.0, 53.0, 53.0]
    >>> released
    Released(6 records; groups 2; loss 0.0104712)
    """

    best_attack: ClassVar = "group-windows"
    takes: ClassVar = frozenset({"numbers", "categories"})
    weighs: ClassVar = True
    mixes: ClassVar = True

    k: int = parameter(3, "Least records in a group.", low=2)
    algorithm: str = parameter(
        "mdav",
        "mdav: groups of k. v-mdav, spanning-tree: of k to 2k-1, as the records lie. optimal: each number by itself, with the "
        "least loss.",
        among=("mdav", "v-mdav", "spanning-tree", "optimal"),
    )
    gamma: float = parameter(
        0.2, "v-mdav: how readily groups grow; about 0.2 for scattered records, 1.1 for clusters.", low=0
    )
    groups: tuple[tuple[str, ...], ...] = parameter((), "Which columns are averaged together; all, if none are named.")
    hierarchies: Mapping[str, str] = parameter({}, "Hierarchies of categories in the τ-ARGUS format, by column.")
    dominance: float | None = parameter(
        None, "Most that one record may have of a group's total of a number, as a share.", above=0, below=1
    )

    def _check(self) -> None:
        if self.groups and self.algorithm == "optimal":
            raise Mistake("Microaggregation: groups do not go with 'optimal', which takes each column by itself.")
        named = [name for group in self.groups for name in group]
        if len(set(named)) < len(named) or () in self.groups:
            raise Mistake("Microaggregation: groups must each name a column or more, and no column twice.")

    def _mask(self, records: Records) -> Masked:
        columns: dict[str, Any] = {}
        sums: dict[str, Mapping[str, float]] = {}
        together, formed = self._together(records.columns), 0
        for number, names in enumerate(together):
            attributes = [attribute(records, name, self.hierarchies.get(name)) for name in names]
            groups = self._groups(records, attributes, _share(records.progress, number, len(together)))
            formed += groups.count
            for one in attributes:
                columns[one.name] = one.averaged(groups, records.weights)
                if isinstance(one, NumberAttribute):
                    sums[one.name] = _sums(one.values, columns[one.name])
        return Masked(columns, {"groups": formed, "loss": _loss(sums), "columns": sums})

    def _combined(self, reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        sums = {
            name: _joined([one["columns"][name] for one in reports]) for name in (reports or [{}])[0].get("columns", ())
        }
        return {"groups": sum(one["groups"] for one in reports), "loss": _loss(sums), "columns": sums}

    def _together(self, columns: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """Which columns are averaged together."""
        if self.algorithm == "optimal":
            return tuple((name,) for name in columns)
        named = [name for group in self.groups for name in group]
        for name in (*named, *self.hierarchies):
            if name not in columns:
                raise Mistake(
                    f"Microaggregation: {name!r} is not among the columns to mask.", suggestions=nearest(name, columns)
                )
        if named and set(named) != set(columns):
            left = next(name for name in columns if name not in named)
            raise Mistake(f"Microaggregation: groups leave out column {left!r}.", suggestions=["Name it in a group."])
        return self.groups or (columns,)

    def _groups(self, records: Records, attributes: Sequence[Attribute], progress: Progress) -> RecordGroups:
        cut = self._partition(attributes)
        groups = group(attributes, cut, k=self.k, where=records.where, progress=progress)
        if self.dominance is None:
            return groups
        return undominated(attributes, groups, most=self.dominance, weights=records.weights, where=records.where)

    def _partition(self, attributes: Sequence[Attribute]) -> Partition:
        if self.algorithm == "mdav":
            return lambda space, progress: mdav(space, k=self.k, progress=progress)
        if self.algorithm == "v-mdav":
            return lambda space, progress: v_mdav(space, k=self.k, gamma=self.gamma, progress=progress)
        if self.algorithm == "spanning-tree":
            return lambda space, progress: spanning_tree(space, k=self.k, progress=progress)
        if not isinstance(attributes[0], NumberAttribute):
            raise Mistake(
                f"Microaggregation: 'optimal' is for numbers, and column {attributes[0].name!r} holds categories."
            )
        return lambda space, progress: optimal(space.points[:, 0], k=self.k)


def _share(progress: Progress, number: int, of: int) -> Progress:
    return lambda share: progress((number + share) / of)


def _sums(before: Floats, after: Floats) -> dict[str, float]:
    """Of the known values of a column: how many, their mean, and the squares about their group's and their own mean."""
    there = ~np.isnan(before)
    mean = float(before[there].mean()) if there.any() else 0.0
    sse, sst = (float(np.sum((before[there] - other) ** 2)) for other in (after[there], mean))
    return {"records": int(there.sum()), "mean": mean, "sse": sse, "sst": sst}


def _joined(strata: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The sums of a whole column; squares between strata belong to its SST."""
    size, sse = sum(one["records"] for one in strata), sum(one["sse"] for one in strata)
    mean = sum(one["records"] * one["mean"] for one in strata) / max(size, 1)
    sst = sum(one["sst"] + one["records"] * (one["mean"] - mean) ** 2 for one in strata)
    return {"records": size, "mean": mean, "sse": sse, "sst": sst}


def _loss(sums: Mapping[str, Mapping[str, float]]) -> float:
    """SSE / SST of standardised columns, which is the mean of the columns' own; a constant column loses nothing."""
    return sum(one["sse"] / one["sst"] for one in sums.values() if one["sst"] > 0) / max(len(sums), 1)
