"""Establishments of holdings, with a few giants."""

import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.demo.codes import Catalog, Codes, blocks, draw, hundredths, read, spread

__all__ = ["firms"]

# One row for each size class, one digit for each legal form: how common.
_LEGAL = ("915011", "317111", "108111", "008212", "006313", "003514")
# The largest sampling weight of each size class.
_WEIGHTS = np.array([12, 7, 4, 2, 1, 1])
# Sections that differ from the others in size, and in the share that exports.
_LARGER = {"C": 0.7, "D": 0.5, "Q": 0.3, "K": 0.2, "S": -0.4, "A": -0.5}
_EXPORTING = {"C": 0.4, "J": 0.2, "G": 0.15, "A": 0.12, "H": 0.12, "M": 0.1}


def firms(rows: int, *, seed: int = 1) -> pa.Table:
    """Make invented establishments, a few of which hold much of the total: `rows` of them, the same for the same seed.

    Promise: no real firm is described; every code is declared in `firms.toml`; the largest 1 % of a large table
    holds about a third of its turnover; a large establishment has weight 1.

    >>> firms(3).num_rows
    3
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    catalog = read("firms")
    tables, done, holdings = [], 0, 0
    for size in blocks(rows):
        holding = _holdings(rng, size)
        tables.append(_block(rng, holding, catalog, before=(done, holdings)))
        done, holdings = done + size, holdings + int(holding.max(initial=-1)) + 1
    return pa.concat_tables(tables)


def _holdings(rng: np.random.Generator, rows: int) -> Ints:
    """Give each establishment its holding: most own one, some a few, a few own dozens."""
    several = 1 + (1 - 0.99 * rng.random(rows)) ** (-1 / 1.1)
    owned = np.where(rng.random(rows) < 0.07, several.astype(np.int64), 1)
    # Each holding owns something, so the first `rows` establishments need no more than `rows` holdings.
    return np.repeat(np.arange(rows), owned)[:rows]


def _block(rng: np.random.Generator, holding: Ints, catalog: Catalog, *, before: tuple[int, int]) -> pa.Table:
    """Make the table of some establishments; `before` says how many establishments and holdings came before them."""
    codes = catalog.codes
    industry = _industry(rng, holding, codes)
    section = codes["industry_division"].parents[codes["industry"].parents[industry]]
    employees = _employees(rng, holding, _by_section(_LARGER, codes)[section])
    size_class = _size_class(employees, codes["size_class"])
    turnover = np.ceil(employees * np.exp(3.9 + 1.35 * rng.standard_normal(len(holding))))
    numbers = {
        "establishment_id": pa.array(before[0] + 1 + np.arange(len(holding))),
        "holding_id": pa.array(before[1] + 1 + holding),
        "employees": pa.array(employees.astype(np.int32)),
        "turnover": pa.array(turnover.astype(np.int64)),
        "investment": pa.array(_investment(rng, employees, turnover)),
        "exports": pa.array(_exports(rng, turnover, _by_section(_EXPORTING, codes)[section])),
        "weight": hundredths(_weight(size_class, section, len(codes["industry_section"].names))),
    }
    positions = {
        "county": draw(rng, _places(codes), np.zeros_like(holding)),
        "industry": industry,
        "legal_form": draw(rng, np.array([[*row] for row in _LEGAL]).astype(np.float64) ** 1.5, size_class),
        "size_class": size_class,
    }
    return catalog.table(numbers, positions)


def _places(codes: Mapping[str, Codes]) -> Floats:
    shares = spread(np.ones(1), codes["region"], exponent=0.7)
    return spread(shares, codes["county"], exponent=1)[None, :]


def _by_section(effects: Mapping[str, float], codes: Mapping[str, Codes]) -> Floats:
    return np.array([effects.get(name, 0.0) for name in codes["industry_section"].names])


def _industry(rng: np.random.Generator, holding: Ints, codes: Mapping[str, Codes]) -> Ints:
    """Three in four establishments of a holding share its industry."""
    shares = spread(np.ones(1), codes["industry_section"], exponent=0.7)
    shares = spread(shares, codes["industry_division"], exponent=0.8)
    table = spread(shares, codes["industry"], exponent=1)[None, :]
    main = draw(rng, table, np.zeros_like(holding))[holding]
    return np.where(rng.random(len(holding)) < 0.75, main, draw(rng, table, np.zeros_like(holding)))


def _employees(rng: np.random.Generator, holding: Ints, larger: Floats) -> Ints:
    """Employees by a log-normal law; establishments of a large holding are larger."""
    owned = np.bincount(holding)[holding]
    shared = rng.standard_normal(len(holding))[holding]
    log = 0.9 + 0.35 * np.log(owned) + larger + 0.7 * shared + 1.05 * rng.standard_normal(len(holding))
    return np.maximum(np.rint(np.exp(log)), 1).astype(np.int64)


def _size_class(employees: Ints, codes: Codes) -> Ints:
    """Find the class whose code begins with the largest number not above the employees."""
    lowest = [int(number) for name in codes.names for number in re.findall(r"^\d+", name)]
    return np.searchsorted(lowest, employees, "right") - 1


def _investment(rng: np.random.Generator, employees: Ints, turnover: Floats) -> Ints:
    some = rng.random(len(turnover)) < np.minimum(0.35 + 0.12 * np.log(employees), 0.97)
    return np.where(some, turnover * np.exp(-3.3 + 1.1 * rng.standard_normal(len(turnover))), 0).astype(np.int64)


def _exports(rng: np.random.Generator, turnover: Floats, exporting: Floats) -> Ints:
    """Exports are part of turnover; the larger the establishment, the more often it exports."""
    some = rng.random(len(turnover)) < (exporting + 0.02) * (0.4 + 0.1 * np.log(turnover))
    return np.where(some, turnover * rng.random(len(turnover)) ** 1.5, 0).astype(np.int64)


def _weight(size_class: Ints, section: Ints, sections: int) -> Ints:
    """Sampling weights in hundredths, the same for all of one size class and section, as in a stratified sample."""
    thinned = np.linspace(0.7, 1, sections)[section]
    return np.rint(100 * (1 + (_WEIGHTS[size_class] - 1) * thinned)).astype(np.int64)
