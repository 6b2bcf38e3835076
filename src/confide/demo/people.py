"""Census-like persons in households, with incomes."""

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.demo.codes import Catalog, Codes, blocks, hundredths, read
from confide.demo.households import Members, members
from confide.demo.work import Employment, work

__all__ = ["people"]

# What people without work live on: the log of a typical yearly amount, and the share who get it.
_SUPPORT = {"retired": (9.7, 0.99), "unemployed": (9.3, 0.8), "student": (8.6, 0.5), "inactive": (8.9, 0.45)}
_BRACKETS = ((8_000, 0.2), (30_000, 0.15), (70_000, 0.12))


def people(rows: int, *, seed: int = 1) -> pa.Table:
    """Make invented persons in households: `rows` of them, the same for the same seed.

    Promise: no real person is described; every code is declared in `people.toml`; a household lives in one
    municipality; taxes are never more than income; hours are missing exactly when someone is not employed.

    >>> people(3).num_rows
    3
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    catalog = read("people")
    tables, persons, houses = [], 0, 0
    for size in blocks(rows):
        living = members(rng, size, catalog.codes)
        tables.append(_block(rng, living, catalog, before=(persons, houses)))
        persons, houses = persons + size, houses + int(living.house.max(initial=-1)) + 1
    return pa.concat_tables(tables)


def _block(rng: np.random.Generator, living: Members, catalog: Catalog, *, before: tuple[int, int]) -> pa.Table:
    """Make the table of some persons; `before` says how many persons and households came before them."""
    working = work(rng, living, catalog.codes)
    wages = _wages(rng, living, working)
    income = _income(rng, wages, working.employment, catalog.codes["employment"])
    numbers = {
        "person_id": pa.array(before[0] + 1 + np.arange(len(living.age))),
        "household_id": pa.array(before[1] + 1 + living.house),
        "age": pa.array(living.age.astype(np.int16)),
        "children": pa.array(living.children.astype(np.int16)),
        "hours": pa.array(working.hours.astype(np.int16), mask=~working.employed),
        "income": pa.array(income.astype(np.int32)),
        "wages": pa.array(wages.astype(np.int32)),
        "taxes": pa.array(_taxes(rng, income).astype(np.int32)),
        "weight": hundredths(_weight(rng, living.region, catalog.codes["region"])),
    }
    return catalog.table(numbers, _positions(living, working, catalog.codes["sex"]))


def _positions(living: Members, working: Employment, sex: Codes) -> dict[str, Ints]:
    return {
        "municipality": living.municipality,
        "sex": np.where(living.female, sex.at("female"), sex.at("male")),
        "marital": living.marital,
        "country_of_birth": living.country,
        "education": working.education,
        "employment": working.employment,
        "occupation": working.occupation,
        "industry": working.industry,
    }


def _wages(rng: np.random.Generator, living: Members, working: Employment) -> Floats:
    """Yearly wages: the logarithm is a sum of effects; three in a hundred have a Pareto tail on top."""
    career = np.interp(living.age, [15, 25, 45, 60, 75], [-0.5, -0.1, 0.25, 0.22, 0])
    place = 0.1 - 0.045 * living.region
    rank = 0.3 - 0.07 * working.major
    luck = 0.33 * rng.standard_normal(len(career))
    star = np.where(rng.random(len(career)) < 0.03, 0.45 * rng.standard_exponential(len(career)), 0)
    log = 9.9 + 0.1 * working.level + career + place + rank - 0.1 * living.female + luck + star
    return np.where(working.employed, np.ceil(np.exp(log) * working.hours / 37), 0)


def _income(rng: np.random.Generator, wages: Floats, employment: Ints, codes: Codes) -> Floats:
    """Wages, support and capital income, less the losses of a few: nobody's income is below zero."""
    typical, share = np.array([_SUPPORT.get(name, (0, 0)) for name in codes.names]).T
    size = len(wages)
    support = np.exp(typical[employment] + 0.35 * rng.standard_normal(size))
    support[rng.random(size) >= share[employment]] = 0
    capital = np.exp(5.5 + 2.1 * rng.standard_normal(size))
    capital[(rng.random(size) >= 0.22) | (employment == codes.at("child"))] = 0
    loss = np.where(rng.random(size) < 0.008, 0.5 * wages * rng.random(size), 0)
    return np.asarray(np.floor(np.maximum(wages + support + capital - loss, 0)))


def _taxes(rng: np.random.Generator, income: Floats) -> Floats:
    due = sum((rate * np.maximum(income - floor, 0) for floor, rate in _BRACKETS), np.zeros(len(income)))
    return np.floor(np.clip(due * (1 + 0.12 * rng.standard_normal(len(income))), 0, income))


def _weight(rng: np.random.Generator, region: Ints, codes: Codes) -> Ints:
    """Sampling weights around 20 in hundredths: the first region is sampled most thinly."""
    level = np.linspace(2600, 1400, len(codes.names))[region]
    return np.rint(level * np.exp(0.1 * rng.standard_normal(len(region)))).astype(np.int64)
