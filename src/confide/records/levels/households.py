"""What people give away of their household: who is exposed because the household is, and what all of one have in common."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Floats, Ints
from confide.engines import CLUSTER, Coded, StoreFacts
from confide.engines.squares import square_shifts
from confide.model.catalog.dataset import Dataset, Taking, Variable
from confide.model.formula import Transform
from confide.model.policy import Policy
from confide.records.exposure import Exposed, Exposure, KeyCross, find_exposed
from confide.site.coding.columns import contributions, data_mark, narrow
from confide.site.coding.encode import catalog_mark
from confide.site.coding.homes import Households, shared_variables

__all__ = ["by_household", "exposed_with_households", "household_records", "of_people", "settled"]


def of_people(dataset: Dataset) -> Dataset:
    """The data set without what follows from the people of a household, but for how many they are: that is looked at with all
    other keys, and nobody exchanges it, for as many people would have to move."""
    if dataset.above is None:
        return dataset

    def stays(variable: Variable) -> bool:
        taken = dataset.taken(variable.name)
        return taken is None or taken.how is Taking.SIZE

    return replace(dataset, variables={v.name: v for v in dataset.variables.values() if stays(v)})


def by_household(coded: Coded, dataset: Dataset) -> Coded:
    """The records of people with their households as units: several of one household are no more than one."""
    if dataset.above is None or coded.homes is None:
        return coded
    place = coded.records.column_names.index("unit")
    records = coded.records.set_column(place, "unit", coded.homes["household"])
    several = len(np.unique(coded.homes["household"].to_numpy())) < records.num_rows
    return replace(coded, records=records, facts=replace(coded.facts, several=several))


def exposed_with_households(
    exposure: Exposure, coded: Coded, households: Coded, dataset: Dataset, policy: Policy
) -> Exposure:
    """What the keys of people expose, and those of their households: of a household that is exposed its head is, by the same
    keys, and everybody's numbers are; what all have in common is exposed for all where it is for one."""
    assert dataset.above is not None
    homes, found = Households.among(coded), find_exposed(households, dataset.above, policy)
    heads = [
        Exposed(cross, homes.head[one.rows]) for one in found.found for cross in _of_head(one.cross, exposure, dataset)
    ]
    shared = {v.name for v in shared_variables(dataset)}
    numbers = {}
    for name, alone in exposure.numbers.items():
        alone = alone | found.single[homes.of]
        numbers[name] = (homes.sums(alone) > 0)[homes.of] if name in shared else alone
    return replace(exposure, found=(*exposure.found, *heads), numbers=numbers)


def _of_head(cross: KeyCross, exposure: Exposure, dataset: Dataset) -> Iterator[KeyCross]:
    """The same cross by the keys of the head; nothing where none of these could be exchanged for it."""
    named = {name: (t, level) for t, trait in enumerate(exposure.traits) for level, name in enumerate(trait.levels)}
    taken = {name: dataset.taken(name) for name in cross.names}
    sources = [t.source if t is not None and t.how is Taking.HEAD else name for name, t in taken.items()]
    known = {named[name][0]: named[name][1] for name in sources if name in named}
    names = tuple(exposure.traits[t].levels[level] for t, level in known.items())
    if any(dataset.taken(name) is None for name in names):
        yield KeyCross(tuple(known), tuple(known.values()), names, cross.cells)


def settled(values: Floats, variable: Variable, homes: Households) -> Floats:
    """Numbers that a household has in common, as the mean of what its people have after noise was added."""
    mean = homes.sums(values) / homes.sums(np.ones(len(values)))
    return np.asarray(np.clip(np.round(mean, variable.decimals), variable.minimum, variable.maximum))[homes.of]


def household_records(people: Coded, dataset: Dataset) -> Coded:
    """A record for each household: what its people have in common, and what is taken of them.

    Its key is that of the records of its people together, so that they draw the same noise whoever is counted.
    """
    level, homes = dataset.above, Households.among(people)
    assert level is not None and people.homes is not None
    weight = np.asarray(people.homes["weight"].to_numpy())[homes.head] if level.weight is not None else None
    made = _Columns(people, homes, weight, level.weight_decimals if weight is not None else 0)
    for place, variable in enumerate(v for v in level.variables.values() if v.classifies or v.measurable):
        made.add(variable, place)
    if "sampled" in people.homes.column_names:
        made.add_sampled(people.homes["sampled"])
    keys = _together(np.asarray(people.records["key"].to_numpy()), homes)
    records = pa.table({"unit": homes.keys, "key": keys, **made.columns})
    facts = StoreFacts(
        dataset=level.name,
        catalog=catalog_mark(level),
        data=data_mark(records),
        keys=people.facts.keys,
        several=False,
        weighted=weight is not None,
        weight_decimals=made.weight_decimals,
        classes=made.classes,
        numbers=made.numbers,
        decimals=made.decimals,
        values=made.values,
        value_decimals=made.value_decimals,
        forms=made.forms,
        shifts=square_shifts(records, made.numbers),
        noise={label: spread for label, spread in people.facts.noise.items() if label in made.labels},
        sampling=people.facts.households_sampling,
    )
    return Coded(facts, records, cohort=_cohorts(people, homes))


def _cohorts(people: Coded, homes: Households) -> pa.Array | None:
    """The update with which the first of each household came, numbered without gaps."""
    if people.cohort is None:
        return None
    first = np.full(len(homes.keys), np.iinfo(np.int32).max, np.int32)
    np.minimum.at(first, homes.of, people.cohort.to_numpy())
    found, cohort = np.unique(first, return_inverse=True)
    return pa.array(cohort.ravel().astype(np.int32)) if len(found) > 1 else None


def _together(keys: NDArray[np.int32], homes: Households) -> NDArray[np.int32]:
    """The keys of the people of each household in one, as those of the records of a cell are."""
    found = np.zeros(len(homes.keys), np.int32)
    np.bitwise_xor.at(found, homes.of, keys)
    return found


class _Columns:
    """The columns of the records of households, and what a store says of them."""

    def __init__(self, people: Coded, homes: Households, weight: Ints | None, weight_decimals: int) -> None:
        self._people, self._homes, self._weight, self.weight_decimals = people, homes, weight, weight_decimals
        self.columns = {} if weight is None else {"weight": pa.array(weight)}
        self.classes, self.numbers, self.values, self.forms = (dict[str, str]() for _ in range(4))
        self.decimals, self.value_decimals = dict[str, int](), dict[str, int]()
        self.labels = set[str]()

    def add(self, variable: Variable, place: int) -> None:
        """The columns of a variable, as the head of each household has it."""
        name = variable.name
        if variable.classifies:
            self.classes[name] = f"c{place}"
            self.columns[f"c{place}"] = pa.array(self._people.classes(name)[self._homes.head])
        if variable.measurable:
            self._add_number(variable, place)
            for number, transform in enumerate(transform for transform in Transform if transform):
                self._add_form(f"{transform}({name})", f"n{place}t{number}")

    def add_sampled(self, places: pa.ChunkedArray) -> None:
        """The column of sampling units, which all of a household have in common."""
        self.classes[CLUSTER] = "sampled"
        self.columns["sampled"] = places.take(pa.array(self._homes.head))

    def _add_number(self, variable: Variable, place: int) -> None:
        name, amounts = variable.name, self._people.numbers(variable.name)[self._homes.head]
        column, scale = contributions(amounts, variable.decimals, self._weight, self.weight_decimals)
        self.columns[f"n{place}"], self.decimals[name], self.value_decimals[name] = column, scale, scale
        self.numbers[name] = self.values[name] = f"n{place}"
        self.labels.add(name)
        if self._weight is not None:
            plain, self.value_decimals[name] = contributions(amounts, variable.decimals, None, 0)
            self.values[name], self.columns[f"x{place}"] = f"x{place}", narrow(plain)

    def _add_form(self, label: str, column: str) -> None:
        facts = self._people.facts
        self.labels.add(label)
        if label in facts.forms:
            stored = self._people.records[facts.forms[label]].combine_chunks()
            self.forms[label], self.value_decimals[label] = column, facts.value_decimals[label]
            self.columns[column] = stored.take(pa.array(self._homes.head))
