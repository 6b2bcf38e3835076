"""Persons living in households: who lives with whom, where, and how old they are."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.demo.codes import Codes, draw, spread

__all__ = ["Members", "members"]

_HEAD, _PARTNER, _ELDER, _CHILD = range(4)
_LEAVE_HOME = 24
_YOUNGEST_PARENT, _OLDEST_PARENT = 17, 42


@dataclass(frozen=True)
class Members:
    """One entry for each person; `house` counts from 0, categories are positions in their code lists."""

    house: Ints
    municipality: Ints
    region: Ints
    age: Ints
    female: Bools
    marital: Ints
    country: Ints
    children: Ints


@dataclass(frozen=True)
class _Homes:
    """One entry for each household."""

    municipality: Ints
    region: Ints
    age: Ints
    partner: Ints
    couple: Bools
    adults: Ints
    children: Ints

    @property
    def youngest_parent(self) -> Ints:
        return np.where(self.couple, np.minimum(self.age, self.partner), self.age)


@dataclass(frozen=True)
class _Seats:
    """One entry for each person: the household, the role in it and the age."""

    house: Ints
    role: Ints
    age: Ints


def members(rng: np.random.Generator, rows: int, codes: Mapping[str, Codes]) -> Members:
    """Give `rows` persons, household after household; the last household may be cut short."""
    # Every household has someone in it, so as many households as rows always suffice.
    homes = _homes(rng, rows, codes)
    seats = _seats(rng, homes, rows)
    offspring = np.bincount(seats.house[seats.role == _CHILD], minlength=rows)
    return Members(
        house=seats.house,
        municipality=homes.municipality[seats.house],
        region=homes.region[seats.house],
        age=seats.age,
        female=_female(rng, homes, seats),
        marital=_marital(rng, homes, seats, codes["marital"]),
        country=_country(rng, homes, seats, codes),
        children=np.where(seats.role <= _PARTNER, offspring[seats.house], 0),
    )


def _homes(rng: np.random.Generator, number: int, codes: Mapping[str, Codes]) -> _Homes:
    municipality, region = _places(rng, number, codes)
    age = 18 + draw(rng, _pyramid(len(codes["region"].names)), region)
    couple = rng.random(number) < np.interp(age, [18, 35, 70, 95], [0.1, 0.7, 0.62, 0.15])
    partner = np.clip(age + np.rint(rng.normal(0, 3.5, number)), 18, 100).astype(np.int64)
    elder = (rng.random(number) < 0.04) & (age >= 30) & (age <= 65)
    homes = _Homes(municipality, region, age, partner, couple, 1 + couple + elder, np.zeros_like(age))
    return _Homes(**{**vars(homes), "children": _offspring(rng, homes)})


def _places(rng: np.random.Generator, number: int, codes: Mapping[str, Codes]) -> tuple[Ints, Ints]:
    shares = spread(np.ones(1), codes["region"], exponent=0.6)
    shares = spread(shares, codes["county"], exponent=0.8)
    shares = spread(shares, codes["municipality"], exponent=1.5)
    municipality = draw(rng, shares[None, :], np.zeros(number, np.int64))
    return municipality, codes["county"].parents[codes["municipality"].parents[municipality]]


def _pyramid(regions: int) -> Floats:
    """Frequencies of the ages 18 to 100 of heads of households: the first region is the youngest."""
    age = np.arange(18, 101)
    alive = np.clip((age - 16) / 10, 0.1, 1) / (1 + np.exp((age - 79) / 5))
    return np.asarray(alive * np.exp(np.linspace(-0.012, 0.008, regions)[:, None] * (age - 50)))


def _offspring(rng: np.random.Generator, homes: _Homes) -> Ints:
    parent = homes.youngest_parent
    mean = 1.8 * np.exp(-(((parent - 39) / 11) ** 2)) * np.where(homes.couple, 1, 0.4)
    mean[parent > _LEAVE_HOME + _OLDEST_PARENT] = 0
    return np.minimum(rng.poisson(mean), 8)


def _seats(rng: np.random.Generator, homes: _Homes, rows: int) -> _Seats:
    """Seat each person in a household: head, partner, elder, then children."""
    size = homes.adults + homes.children
    ends = np.cumsum(size)
    kept = int(np.searchsorted(ends, rows)) + 1
    house = np.repeat(np.arange(len(size[:kept])), size[:kept])[:rows]
    seat = np.arange(rows) - (ends - size)[house]
    second = np.where(homes.couple, _PARTNER, _ELDER)[house]
    role = np.where(seat == 0, _HEAD, np.where(seat == 1, second, _ELDER))
    role = np.where(seat >= homes.adults[house], _CHILD, role)
    return _Seats(house, role, _ages(rng, homes, house, role))


def _ages(rng: np.random.Generator, homes: _Homes, house: Ints, role: Ints) -> Ints:
    chance = rng.random(len(house))
    parent = homes.youngest_parent[house]
    low = np.maximum(parent - _OLDEST_PARENT, 0)
    high = np.minimum(parent - _YOUNGEST_PARENT, _LEAVE_HOME)
    child = low + chance * (high - low + 1)
    elder = np.minimum(homes.age[house] + 20 + chance * 17, 100)
    return np.choose(role, [homes.age[house], homes.partner[house], elder, child]).astype(np.int64)


def _female(rng: np.random.Generator, homes: _Homes, seats: _Seats) -> Bools:
    alone = np.where(homes.children > 0, 0.8, np.where(homes.age > 70, 0.68, 0.48))
    head = rng.random(len(homes.age)) < np.where(homes.couple, 0.4, alone)
    chance = rng.random(len(seats.house))
    first = head[seats.house]
    return np.choose(seats.role, [first, first ^ (chance < 0.98), chance < 0.7, chance < 0.488])


def _marital(rng: np.random.Generator, homes: _Homes, seats: _Seats, codes: Codes) -> Ints:
    """Couples marry together; the others are widowed or divorced the more often the older they are."""
    wed = homes.couple & (rng.random(len(homes.age)) < np.clip((homes.age - 18) / 22, 0.05, 0.86))
    apart = (rng.random(len(seats.age)) < 0.02) & (seats.age >= 20)
    married = (seats.role <= _PARTNER) & (wed[seats.house] | apart)
    widowed = np.clip((seats.age - 45) / 55, 0, 1) ** 1.3
    divorced = (1 - widowed) * np.clip((seats.age - 22) / 40, 0, 0.55)
    chance = rng.random(len(seats.age))
    never = (chance >= widowed + divorced) | (seats.role == _CHILD)
    # The first condition that holds decides.
    cases = {"married": married, "never": never, "widowed": chance < widowed}
    return np.select(list(cases.values()), [codes.at(name) for name in cases], codes.at("divorced"))


def _country(rng: np.random.Generator, homes: _Homes, seats: _Seats, codes: Mapping[str, Codes]) -> Ints:
    """Most of a household shares the head's country of birth, and most children are born here."""
    native = codes["country_of_birth"].at("native")
    tail = (1.0 + np.arange(len(codes["country_of_birth"].names))) ** -1.2
    tail[native] = 0
    table = np.linspace(0.22, 0.09, len(codes["region"].names))[:, None] * tail / tail.sum()
    table[:, native] = 1 - table.sum(axis=1)
    head = draw(rng, table, homes.region)[seats.house]
    own = draw(rng, table, homes.region[seats.house])
    chance = rng.random(len(head))
    shared = np.where((seats.role == _HEAD) | (chance < 0.75), head, own)
    return np.where((seats.role == _CHILD) & (chance < 0.8), native, shared)
