"""What the columns of a data file probably are: units, weights, codes, numbers, and levels of one another."""

import re
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.model.catalog.dataset import MOST_CODES, MOST_DECIMALS
from confide.sources.columns import LEADING_ZERO, distinct, fits, numbers, texts
from confide.sources.source import Source

__all__ = ["Guess", "ProfiledColumn", "column_of", "guess", "parent_codes"]

FEW = 12
"""A number with at most so many different values is probably a code."""

MANY = 1000
"""A text with more different values than this probably names something."""

LONG = 60
"""A text longer than this is probably a remark."""

EVIDENCE = 20
"""With fewer records than this, what a column looks like says little."""

BANDED = 0.95
"""Classes that tell so much of a number's rank are the number in bands."""

_UNIT = re.compile(
    r"(^|[_. ])(id|pid|hid|hhid|uid|uuid|guid|key|ident|identifier|serial|serialno|user)$", re.IGNORECASE
)
_CAMEL = re.compile(r"[a-z]I[dD]$")
_WEIGHT = re.compile(r"^(w|wt|p?wgtp?|fnlwgt|rb050|pb040|db090|p?weights?|.*[_. ](weights?|wgt|wt))$", re.IGNORECASE)
_BODY = re.compile(r"birth|body|kg", re.IGNORECASE)
_CODE = re.compile(
    r"(code|fips|(^|[_. ])(cd|zip|plz|naics|nace|isic|isco|sic|soc|nuts|lau|puma)\d*|[_. ](cat|category|class|group|type))$",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MISSING = {"NA", "N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", ".", "?", "-", "n/a"}
"""What means missing in any column; a lone N does so among numbers only: it may be North."""


@dataclass(frozen=True)
class ProfiledColumn:
    """A column as it looks: its codes in order, each record's place among them (-1 for none), its numbers if it has them."""

    name: str
    codes: tuple[str, ...]
    places: Ints
    numbers: Floats | None
    marks: tuple[str, ...]
    temporal: bool
    labels: dict[str, str]

    @property
    def rows(self) -> int:
        return len(self.places)

    @cached_property
    def missing(self) -> bool:
        """Whether some records have no value."""
        return bool((self.places < 0).any())

    @property
    def unique(self) -> bool:
        return len(self.codes) == self.rows

    @cached_property
    def present(self) -> Floats:
        """The numbers that are there, record by record."""
        assert self.numbers is not None
        values = self.numbers[self.places[self.places >= 0]]
        return values[~np.isnan(values)]

    @cached_property
    def whole(self) -> bool:
        return self.numbers is not None and bool((self.present == np.floor(self.present)).all())

    @cached_property
    def decimals(self) -> int:
        """As many as write every number to six digits."""
        return next((d for d in range(MOST_DECIMALS) if fits(self.present, d)), MOST_DECIMALS)

    @cached_property
    def numbered(self) -> bool:
        """Whether the records seem to be numbered by it: whole numbers that rise through the file without large gaps."""
        if not self.whole or self.missing or self.marks or self.rows < EVIDENCE:
            return False
        steps = np.diff(self.present)
        dense = len(self.codes) > max(self.rows / 20, np.ptp(self.present) / 2)
        return bool((steps > 0).all() or ((steps >= 0).all() and dense))

    @property
    def named_unit(self) -> bool:
        many = len(self.codes) > max(1, self.rows / 100)
        return many and bool(_UNIT.search(self.name) or _CAMEL.search(self.name))

    @property
    def weighs(self) -> bool:
        return self.numbers is not None and bool(_WEIGHT.match(self.name)) and not _BODY.search(self.name)

    @cached_property
    def identifies(self) -> bool:
        """Whether it names the record or something few records share: never to be shown."""
        if self.named_unit or self.numbered or (self.temporal and len(self.codes) > FEW):
            return True
        if self.numbers is not None or self.labels or _CODE.search(self.name):
            return len(self.codes) > MOST_CODES and self.numbers is None
        return len(self.codes) > max(FEW, min(MANY, self.rows / 5)) or any(len(code) > LONG for code in self.codes)

    @cached_property
    def categorical(self) -> bool:
        if self.numbers is None:
            return True
        if self.labels:
            return len(set(self.codes) - set(self.labels)) <= FEW
        if _CODE.search(self.name) and self.whole:
            return len(self.codes) <= MANY
        return len(self.codes) <= min(FEW, max(2, self.rows / 2))


def column_of(source: Source, name: str) -> ProfiledColumn:
    """The column as it looks."""
    found = distinct(name, source.table[name])
    codes = texts(name, found.values).to_pylist()
    known = sorted({code for code in codes if code is not None}, key=_natural)
    rank = {code: place for place, code in enumerate(known)}
    to = np.array([*(rank.get(code, -1) for code in codes), -1], dtype=np.int64)
    values, marks = _numbers(found.values, codes, rank)
    declared = [mark for mark in source.missing.get(name, ()) if mark not in marks]
    if values is not None:
        values[[rank[mark] for mark in declared if mark in rank]] = np.nan
    return ProfiledColumn(
        name=name,
        codes=tuple(known),
        places=to[found.places],
        numbers=None if values is None or np.isnan(values).all() else values,
        marks=(*marks, *declared),
        temporal=pa.types.is_temporal(found.values.type) or (bool(known) and all(map(_DATE.match, known))),
        labels=dict(source.value_labels.get(name, {})),
    )


def _natural(code: str) -> tuple[list[tuple[int, float, str]], str]:
    """Codes in the order people expect: 5-9 before 10-19, <18 before 18-24, -1 before 0."""
    sign = -1.0 if re.match(r"-\d", code) else 1.0
    parts = re.findall(r"\d+(?:\.\d+)?|[^\d]+", code.lstrip("<-") if sign < 0 or code[:1] == "<" else code)
    keys = [(0, float(part), "") if part[0].isdecimal() and part.isascii() else (1, 0.0, part) for part in parts]
    if keys and keys[0][0] == 0:
        keys[0] = (0, sign * keys[0][1] - (0.5 if code[0] == "<" else 0), "")
    return keys, code


def _numbers(values: pa.Array, codes: list[str | None], rank: dict[str, int]) -> tuple[Floats | None, tuple[str, ...]]:
    """The number of each code, if they are numbers written without leading zeros, and the codes that mean missing."""
    seen = [code for code in codes if code is not None]
    among_numbers = tuple(sorted((_MISSING | {"N"}).intersection(seen)))
    marks = tuple(mark for mark in among_numbers if mark in _MISSING)
    read = None if pa.types.is_boolean(values.type) else numbers(values)
    if read is None or set(read[1]) - set(among_numbers) or any(re.match(LEADING_ZERO, code) for code in seen):
        return None, marks
    ordered = np.full(len(rank), np.nan)
    for code, value in zip(codes, read[0].tolist(), strict=True):
        if code is not None:
            ordered[rank[code]] = value
    if np.isinf(ordered).any() or (among_numbers and not _measures(ordered)):
        return None, marks
    return ordered, among_numbers


def _measures(ordered: Floats) -> bool:
    """Whether numbers among which words stand are amounts, not codes: fractions, very many, or with few gaps."""
    values = ordered[~np.isnan(ordered)]
    if len(values) <= FEW or len(values) > MANY or (values != np.floor(values)).any():
        return len(values) > FEW
    return len(values) > max(4 * FEW, float(np.ptp(values)) / 2)


@dataclass(frozen=True)
class Guess:
    """The columns, which of them names the unit and which weighs, and the next coarser level of those that have one.

    `bands` has the classes that are hardly more than a number in bands, such as deciles of income, each with its number.
    """

    columns: tuple[ProfiledColumn, ...]
    unit: ProfiledColumn | None
    weight: ProfiledColumn | None
    parents: dict[str, ProfiledColumn]
    bands: dict[str, ProfiledColumn]


def guess(source: Source) -> Guess:
    """What the columns of a data file probably are."""
    columns = tuple(column_of(source, name) for name in source.table.column_names)
    weight = next((c for c in columns if c.weighs), None)
    units = [c for c in columns if not c.missing and not c.weighs and _names_units(c)]
    unit = max(units, key=lambda c: (c.named_unit, len(c.codes)), default=None)
    classes = [c for c in columns if len(c.codes) > 1 and c.categorical and not c.identifies and not c.weighs]
    amounts = [c for c in columns if c.numbers is not None and not (c.categorical or c.identifies or c.weighs)]
    return Guess(columns, unit, weight, _parents(classes), _bands(classes, amounts))


def _names_units(column: ProfiledColumn) -> bool:
    word = column.unique and column.rows >= EVIDENCE and all(" " not in c and len(c) <= LONG for c in column.codes)
    return column.named_unit or column.numbered or (word and column.numbers is None and not column.temporal)


def _bands(classes: list[ProfiledColumn], amounts: list[ProfiledColumn]) -> dict[str, ProfiledColumn]:
    """For each column of classes, the number that they nearly tell, if there is one."""
    found = {}
    for column in classes:
        told = {amount.name: _told(column, amount) for amount in amounts}
        best = max(amounts, key=lambda amount: told[amount.name], default=None)
        if best is not None and told[best.name] >= BANDED:
            found[column.name] = best
    return found


def _told(column: ProfiledColumn, amount: ProfiledColumn) -> float:
    """The share of the variance of a number's rank that lies between the classes; who has the commonest value, often 0, aside."""
    assert amount.numbers is not None
    values = np.append(amount.numbers, np.nan)[amount.places]
    commonest = amount.numbers[np.bincount(amount.places[amount.places >= 0]).argmax()]
    known = (column.places >= 0) & ~np.isnan(values) & (values != commonest)
    classes = column.places[known]
    if known.sum() < EVIDENCE * len(column.codes) or len(np.unique(classes)) < 3:
        return 0.0
    ranks = np.unique(values[known], return_inverse=True)[1].ravel().astype(float)
    ranks -= ranks.mean()
    sums, sizes = np.bincount(classes, ranks), np.bincount(classes)
    return float((sums**2 / np.maximum(sizes, 1)).sum() / max((ranks**2).sum(), 1e-300))


def _parents(columns: list[ProfiledColumn]) -> dict[str, ProfiledColumn]:
    """For each column, the finest other column that it determines, unless that looks like an accident."""
    found: dict[str, ProfiledColumn] = {}
    for fine in columns:
        if len(fine.codes) < 5 or len(fine.codes) > fine.rows / 5:
            continue
        coarser = [c for c in columns if len(c.codes) < len(fine.codes)]
        for coarse in sorted(coarser, key=lambda c: -len(c.codes)):
            if _determines(fine, coarse) and not _accidental(fine, coarse):
                found[fine.name] = coarse
                break
    siblings = [coarse.name for coarse in found.values()]
    by_name = {c.name: c for c in columns}
    return {n: c for n, c in found.items() if siblings.count(c.name) == 1 or _prefixed(by_name[n], c)}


def parent_codes(fine: ProfiledColumn, coarse: ProfiledColumn) -> dict[str, str]:
    """The coarser code of each code."""
    first = _first(fine, coarse)
    return {code: coarse.codes[first[place]] for place, code in enumerate(fine.codes)}


def _first(fine: ProfiledColumn, coarse: ProfiledColumn) -> Ints:
    """For each code, the coarser code of some record that has it; the last entry is for records without."""
    first = np.full(len(fine.codes) + 1, -1, dtype=np.int64)
    first[fine.places] = coarse.places
    return first


def _determines(fine: ProfiledColumn, coarse: ProfiledColumn) -> bool:
    if bool(fine.missing) != bool(coarse.missing):
        return False
    first = _first(fine, coarse)
    inside = bool(first[-1] < 0 and (first[:-1] >= 0).all())
    return inside and bool((first[fine.places] == coarse.places).all())


def _accidental(fine: ProfiledColumn, coarse: ProfiledColumn) -> bool:
    """Whether unrelated columns could look like this: the probability that each code meets one coarser code only."""
    sizes, times = np.unique(np.bincount(fine.places[fine.places >= 0]), return_counts=True)
    shares = np.bincount(coarse.places[coarse.places >= 0]) / max(1, (coarse.places >= 0).sum())
    chance = (shares[None, :] ** sizes[:, None].clip(max=1000)).sum(axis=1)
    return float(times @ np.log(np.maximum(chance, 1e-300))) > log(1e-9)


def _prefixed(fine: ProfiledColumn, coarse: ProfiledColumn) -> bool:
    return all(code.startswith(up) for code, up in parent_codes(fine, coarse).items())
