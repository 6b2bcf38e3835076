"""Who looks for a partner among whom, from the closest match to none: groups of entities on a circle.

Entities are taken in the order of their places on the circle from the start: groups are then made, and walked round, from one end of
memory to the other. In the order of the file every look would be somewhere else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints, Narrow
from confide.data.ordering import ascending
from confide.data.scratch import Scratch
from confide.engines import ALL, Coded
from confide.records.cells import parts_of
from confide.records.exchanges.entities import Entities
from confide.records.exchanges.pairing import FURTHEST, find_partners, joined
from confide.records.lots import lots
from confide.records.traits import Trait
from confide.site.secret import Secret

__all__ = ["Circle"]

ZONES = 4
"""Of a key that is a number, as age is, a partner is sought first in one of so many parts of its range: a shop that had the workers
of a steelworks would by itself change a slope by more than a standard error."""

N = TypeVar("N", bound=NDArray[Any])

_Rung = tuple[Callable[[], Bools], Callable[[], Narrow]]


@dataclass(frozen=True, eq=False)
class Circle:
    """The entities that may exchange a trait. Partners are alike in the variables `alike`; one of those `loose` may be left out.
    Those `bound`, the first of them, are left out only where an exposed unit would find nobody else."""

    coded: Coded
    trait: Trait
    entity: Entities
    alike: list[str]
    bound: list[str]
    loose: list[str]
    secret: Secret
    scratch: Scratch

    def partners(self, seeking: Bools, must: Bools, coarsest: Narrow, *, least: int) -> Narrow:
        """The partner of each entity, -1 for none; groups of fewer than `least` have none for anybody."""
        order, spot = self._order, self._lots("spot")
        found = self._found(seeking[order], must[order], coarsest[order], spot, least)
        partner = np.full(len(order), -1, np.int32)
        paired = np.flatnonzero(found >= 0)
        partner[order[paired]] = order[found[paired]]
        return partner

    def _found(self, seeking: Bools, must: Bools, coarsest: Narrow, spot: Floats, least: int) -> Narrow:
        """The same of entities, and by numbers of these, in the order of the circle."""
        number, aim = len(spot), self._lots("aim")
        values = self.scratch.zeros((number, len(self.trait.levels)), np.uint16)
        for level, name in enumerate(self.trait.levels):
            values[:, level] = self._own(name)
        partner = np.full(number, -1, np.int32)
        rungs = list(self._rungs(values, must, coarsest))
        for rung, (may, group) in enumerate(rungs, 1):
            left = seeking & (partner < 0) & may()
            if left.any():
                far = number if rung == len(rungs) else FURTHEST  # nobody who is exposed stays as they are
                find_partners(partner, group(), values, coarsest, left, spot, aim, least=least, furthest=far)
        return partner

    @cached_property
    def _order(self) -> Narrow:
        """The number of each entity, in the order of the circle."""
        spots = self._lots("spot", self.entity.keys)
        # floats above 0 are in the order of their bits
        return self._aside(ascending(spots.view(np.uint64)))

    @cached_property
    def _keys(self) -> Ints:
        """The key of each."""
        return self._aside(self.entity.keys[self._order])

    def _lots(self, purpose: str, keys: Ints | None = None) -> Floats:
        """A number from 0 to 1 for each of some keys, or of those in the order of the circle."""
        keys = self._keys if keys is None else keys
        found = self.scratch.zeros(len(keys), np.float64)
        for part in parts_of(len(keys)):
            found[part] = lots(keys[part], self.secret, f"{purpose} {self.trait.name}")
        return found

    @cached_property
    def _first(self) -> Narrow:
        """One record of each."""
        return self._aside(self.entity.first[self._order]) if self.entity.whole else self._order

    def _aside(self, numbers: N) -> N:
        aside: N = self.scratch.keep(pa.array(numbers)).to_numpy()
        return aside

    def _own(self, name: str) -> Narrow:
        """The class of each: looked up once, for most groups are made by the same few variables."""
        if name not in self._classes:
            self._classes[name] = self._aside(self.coded.classes(name)[self._first])
        return self._classes[name]

    @cached_property
    def _classes(self) -> dict[str, Narrow]:
        return {}

    def _rungs(self, values: Narrow, must: Bools, coarsest: Narrow) -> Iterator[_Rung]:
        """Who may look for a partner in which groups, one after the other; groups are made when somebody looks."""
        ladder = range(len(self.alike) + 2)
        firm = ladder[: len(self.alike) - len(self.bound) + 1] if self.bound else ladder
        # Whoever is to differ at a fine level stays in the class above it; only the exposed leave it, or the cohort, where they must.
        for at in range(1, values.shape[1]):
            for step in firm if self.entity.cohort is None else firm[: len(self.alike) + 1]:
                yield partial(np.equal, coarsest, at), partial(self._group, step, values[:, at - 1])

        # The others exchange with the closest only: a worker without an industry would be nobody that there is.
        def others() -> Bools:
            return np.asarray(~must & (coarsest == 0))

        for zone in range(2 if self.trait.numbers else 0):
            yield others, partial(self._mixed, zone)
        yield others, self._mixed
        for step in firm[: len(self.alike)]:
            for zone in range(2 if self.trait.numbers else 0):
                yield lambda: must, partial(self._near_group, step, zone)
        for step in ladder:
            yield lambda: must, partial(self._group, step)
        if self.entity.cohort is not None:
            yield lambda: must, lambda: np.zeros(len(must), np.int8)

    def _zones(self, zone: int) -> Narrow:
        """Zones of classes that follow each other, of a trait that is a number, and zones between these."""
        rank = self._ranks
        width = max(2, len(rank) // ZONES)
        return ((rank + zone * (width // 2)) // width).astype(np.uint16)[self._own(self.trait.levels[0])]

    @cached_property
    def _ranks(self) -> Narrow:
        """The rank of each class of a trait that is a number, by its mean."""
        rows = self.entity.first if self.entity.whole else ALL
        places = self.coded.classes(self.trait.levels[0])[rows]
        number = np.nan_to_num(self.coded.numbers(self.trait.numbers[0], rows))
        means = np.bincount(places, number) / np.maximum(np.bincount(places), 1)
        return np.argsort(np.argsort(means, kind="stable"), kind="stable")

    def _mixed(self, zone: int | None = None) -> Narrow:
        """Groups of units alike in what goes with the trait most closely but for one variable, drawn for each: were partners
        alike in all, no table by the trait and these would ever change."""
        left_out = self._left_out
        group = joined(self._together, left_out)
        for name in self.alike:
            number = self.loose.index(name) if name in self.loose else -1
            group = joined(group, np.where(left_out == number, np.uint16(0), self._own(name)))
        return group if zone is None else joined(group, self._zones(zone))

    @cached_property
    def _left_out(self) -> Narrow:
        """The number of the variable that is left out for each."""
        found = np.empty(len(self._order), np.int8)
        for part in parts_of(len(found)):
            lot = lots(self._keys[part], self.secret, f"left out {self.trait.name}")
            found[part] = lot * max(len(self.loose), 1)
        return found

    def _group(self, step: int, column: Narrow | None = None) -> Narrow:
        """Groups of units alike by fewer variables with each step, and by nothing at last: those that go with the trait most
        closely stay longest. They are parted by a column too, if there is one. Where there are cohorts, what is left at last is the
        kind, over all of them."""
        group = self._together
        if step > len(self.alike):
            group = np.zeros(len(group), np.int8) if self.entity.cohort is None else self._kind
        for name in self.alike[: max(len(self.alike) - step, 0)]:
            group = joined(group, self._own(name))
        return group if column is None else joined(group, column)

    @cached_property
    def _kind(self) -> Narrow:
        return self.entity.kind[self._order]

    @cached_property
    def _together(self) -> Narrow:
        """Groups of entities of one kind that came together."""
        cohort = self.entity.cohort
        return self._kind if cohort is None else joined(self._kind, cohort[self._order])

    def _near_group(self, step: int, zone: int) -> Narrow:
        return self._group(step, self._zones(zone))
