"""A column of a data file as it looks: its codes in order, its numbers, what in it means missing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.model.catalog.dataset import MOST_CODES, MOST_DECIMALS
from confide.site.profiling import codes as said
from confide.site.profiling import names
from confide.site.profiling.ordering import natural_order
from confide.sources.columns import LEADING_ZERO, distinct, fits, numbers, texts
from confide.sources.dates import DAY, date_numbers
from confide.sources.source import Source

__all__ = ["EVIDENCE", "FEW", "MANY", "Places", "ProfiledColumn", "amount_sentinels", "column_of"]

Places = np.ndarray[Any, np.dtype[np.int32]]
"""Half as wide as usual: there is one for each record and column, and all are held together."""

FEW = 12
"""A number with at most so many different values is probably a code."""

MANY = 1000
"""A text with more different values than this probably names something."""

EVIDENCE = 20
"""With fewer records than this, what a column looks like says little."""

SPIKE = 5
"""Nines above all other numbers stand for no value if they are so many times as common as any of those next to them."""

UNSEEN = 10
"""Where no record has more than so many of the codes that a codebook lists, and than half of them, it is that of a larger file."""

_NO_DAY = re.compile(r"^(0+|9{4,8})$")

_AMONG_NUMBERS = sorted(said.MISSING_WORDS | {"N"})


@dataclass(frozen=True)
class ProfiledColumn:
    """A column as it looks: its codes in order, each record's place among them (-1 for none), its numbers if it has them.

    `values` has a code once, `synonyms` its other spellings, `marks` those that mean missing. The numbers of `dates` are years.
    """

    name: str
    label: str
    values: pa.StringArray
    places: Places
    numbers: Floats | None
    marks: tuple[str, ...]
    temporal: bool
    labels: Mapping[str, str]
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dates: bool = False
    larger: bool = False
    """Whether the codebook is that of a larger file: codes that no record has are left out then."""

    @property
    def rows(self) -> int:
        return len(self.places)

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.values)

    @cached_property
    def codes(self) -> tuple[str, ...]:
        return tuple(self.values.to_pylist())

    @cached_property
    def empty(self) -> bool:
        """Whether no record has a value: nothing stands there, or what means missing."""
        return self.size <= len(self.marks) and set(self.codes) <= set(self.marks)

    @cached_property
    def counts(self) -> Ints:
        """How many records have each code."""
        return np.bincount(self.places[self.places >= 0], minlength=self.size)

    @cached_property
    def absent(self) -> int:
        """How many records have no value."""
        return int((self.places < 0).sum())

    @property
    def missing(self) -> bool:
        """Whether some records have no value."""
        return self.absent > 0

    @property
    def unique(self) -> bool:
        return self.size == self.rows

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
        assert self.numbers is not None
        different = self.numbers[~np.isnan(self.numbers)]
        return next((d for d in range(MOST_DECIMALS) if fits(different, d) and fits(self.present, d)), MOST_DECIMALS)

    @cached_property
    def numbered(self) -> bool:
        """Whether the records seem to be numbered by it: whole numbers that rise through the file without large gaps."""
        if not self.whole or self.missing or self.marks or self.dates or self.rows < EVIDENCE:
            return False
        steps = np.diff(self.present)
        dense = self.size > max(self.rows / 20, np.ptp(self.present) / 2)
        return bool((steps > 0).all() or ((steps >= 0).all() and dense))

    @property
    def named_unit(self) -> bool:
        return self.size > max(1, self.rows / 100) and names.of_unit(self.name)

    @property
    def weighs(self) -> bool:
        return self.numbers is not None and names.of_weight(self.name, self.label)

    @cached_property
    def single_words(self) -> bool:
        """Whether all are short texts without a space, as names of records are."""
        if self.numbers is not None or self.temporal:
            return False
        words = pc.and_(
            pc.less_equal(pc.utf8_length(self.values), said.LONG), pc.invert(pc.match_substring(self.values, " "))
        )
        return bool(pc.all(words).as_py())

    @cached_property
    def remarks(self) -> bool:
        """Whether it is free text: long ones, or many, most of which a single record has."""
        if self.numbers is not None or self.labels:
            return False
        if self.size <= MANY and said.long_texts(self.codes):
            return True
        return self.size > 2 * FEW and self.rows >= EVIDENCE and int((self.counts == 1).sum()) > self.size / 2

    @cached_property
    def identifies(self) -> bool:
        """Whether it names the record or something few records share: never to be shown."""
        if self.dates:
            return False
        if self.named_unit or self.numbered or (self.temporal and self.size > FEW):
            return True
        if names.of_postcode(self.name) and not self.labels:
            return self.size > MANY
        if self.numbers is not None or self.labels or names.of_code(self.name):
            return self.size > MOST_CODES and self.numbers is None
        return self.size > max(FEW, min(MANY, self.rows / 5)) or self.remarks

    @cached_property
    def categorical(self) -> bool:
        if self.numbers is None:
            return True
        if self.dates:
            return False
        if self.labels:
            return self.size - sum(code in self.labels for code in self.some) <= FEW
        if names.of_code(self.name) and self.whole:
            return self.size <= MANY
        return self.size - len(self.marks) <= min(FEW, max(2, self.rows / 2))

    @property
    def some(self) -> tuple[str, ...]:
        """The codes, if they are no more than can be declared."""
        return self.codes if self.size <= MOST_CODES else ()


def column_of(source: Source, name: str) -> ProfiledColumn:
    """The column as it looks."""
    found = distinct(name, source.table[name])
    coded = texts(name, found.values).dictionary_encode()
    order = natural_order(coded.dictionary)
    rank = np.empty(len(order) + 1, np.int32)
    rank[order], rank[-1] = np.arange(len(order)), -1
    to = np.append(rank[pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)], np.int32(-1))
    values = coded.dictionary.take(pa.array(order))
    listed = dict(source.value_labels.get(name, {}))
    lost = [*source.missing.get(name, ()), *(code for code, label in listed.items() if said.says_missing(label))]
    labels = _seen(listed, {*values.to_pylist(), *lost}) if listed else listed
    amounts, marks = _numbers(found.values, to[:-1], values, lost)
    no_days = _no_days(values, marks)
    column = ProfiledColumn(
        name=name,
        label=source.labels.get(name, ""),
        values=values,
        places=to[found.places],
        numbers=amounts,
        marks=(*marks, *(no_days or ())),
        temporal=pa.types.is_temporal(found.values.type) or no_days is not None,
        labels=labels,
        larger=len(labels) < len(listed),
    )
    declared = [mark for mark in dict.fromkeys(lost) if mark not in column.marks]
    return _as_years(_one_spelling(_without(column, [*declared, *_sentinels(column, declared)])), found.values.type)


def _seen(listed: dict[str, str], seen: set[str]) -> dict[str, str]:
    """The codes of a codebook, without those that no record has if most are of these: a table would be empty rows mostly."""
    unseen = [code for code in listed if code not in seen]
    if len(unseen) <= max(UNSEEN, len(listed) / 2):
        return listed
    return {code: label for code, label in listed.items() if code in seen}


def _numbers(
    values: pa.Array, to: Ints, codes: pa.StringArray, lost: list[str]
) -> tuple[Floats | None, tuple[str, ...]]:
    """The number of each code, if they are numbers written without leading zeros, and the codes that mean missing.

    Those that are `lost`, because the file says so, may be words among numbers.
    """
    words = pa.array([*_AMONG_NUMBERS, *(code for code in lost if not re.match(r"[-+]?\d", code))], pa.string())
    among_numbers = tuple(sorted(codes.filter(pc.is_in(codes, words)).to_pylist()))
    marks = tuple(mark for mark in among_numbers if mark in said.MISSING_WORDS)
    read = None if pa.types.is_boolean(values.type) else numbers(values)
    if (
        read is None
        or set(read[1]) - set(among_numbers)
        or pc.any(pc.match_substring_regex(codes, LEADING_ZERO)).as_py()
    ):
        return None, marks
    ordered = np.full(len(codes) + 1, np.nan)
    ordered[to] = read[0]
    ordered = ordered[:-1]
    if np.isinf(ordered).any() or (among_numbers and not _measures(ordered)):
        return None, marks
    return (None if np.isnan(ordered).all() else ordered), among_numbers


def _measures(ordered: Floats) -> bool:
    """Whether numbers among which words stand are amounts, not codes: fractions, very many, or with few gaps."""
    values = ordered[~np.isnan(ordered)]
    if len(values) <= FEW or len(values) > MANY or (values != np.floor(values)).any():
        return len(values) > FEW
    return len(values) > max(4 * FEW, float(np.ptp(values)) / 2)


def _no_days(values: pa.StringArray, marks: tuple[str, ...]) -> list[str] | None:
    """Of a column of days, what stands for none, as 99999999 and 0 do; nothing if it has no days."""
    days = pc.match_substring_regex(values, DAY)
    others = set(values.filter(pc.invert(days)).slice(0, FEW).to_pylist()) - set(marks)
    if not pc.any(days).as_py() or pc.sum(days).as_py() < len(values) - FEW or not all(map(_NO_DAY.match, others)):
        return None
    return sorted(others)


def _sentinels(column: ProfiledColumn, declared: list[str]) -> list[str]:
    """Codes that are probably no values; where the file says which are, it is believed."""
    if declared or column.temporal or names.of_unit(column.name):
        return []
    if column.numbers is None or column.categorical:
        found = said.sentinels(column.codes, column.labels) if column.size <= MANY else []
        return [code for code in found if code not in column.marks] if len(found) < column.size else []
    places = np.flatnonzero(~np.isnan(column.numbers))
    order = places[np.argsort(column.numbers[places])]
    values = column.numbers[order]
    apart = amount_sentinels(values, column.counts[order])
    return [column.values[int(order[np.searchsorted(values, value)])].as_py() for value in apart]


def amount_sentinels(values: Floats, counts: Ints) -> list[float]:
    """Of distinct amounts in rising order, and how many records have each, those that probably stand for no value."""
    return [*said.number_sentinels(values), *_spike(values, counts)]


def _spike(values: Floats, counts: Ints) -> list[float]:
    """The highest number, if it is all nines, two above the next, and far commoner than those below."""
    top = values[-1:]
    nines = re.fullmatch(r"9{2,9}", f"{top[0]:.15g}") if len(top) else None
    if nines is None or len(values) <= FEW or top[0] - values[-2] < 2 or values[-2] <= top[0] / 2:
        return []
    return top.tolist() if counts[-1] >= SPIKE * max(1, int(counts[-6:-1].max())) else []


def _without(column: ProfiledColumn, marks: list[str]) -> ProfiledColumn:
    """The column with these codes as no values."""
    if not marks:
        return column
    amounts = column.numbers
    if amounts is not None:
        there = pc.is_in(column.values, pa.array(marks, pa.string())).to_numpy(zero_copy_only=False)
        amounts = np.where(there, np.nan, amounts)
        amounts = None if np.isnan(amounts).all() else amounts
    return replace(column, marks=(*column.marks, *marks), numbers=amounts)


def _one_spelling(column: ProfiledColumn) -> ProfiledColumn:
    """The column with the commonest of several spellings of a class as its code, the others as synonyms of that."""
    groups = [] if column.numbers is not None or column.labels or column.size > MANY else said.variants(column.codes)
    groups = [group for group in groups if not set(group) & set(column.marks)]
    if not groups:
        return column
    place = {code: at for at, code in enumerate(column.codes)}
    best = [max(group, key=lambda code: (int(column.counts[place[code]]), code)) for group in groups]
    into = {other: code for code, group in zip(best, groups, strict=True) for other in group}
    kept = [code for code in column.codes if into.get(code, code) == code]
    to = np.array([*(kept.index(into.get(code, code)) for code in column.codes), -1], np.int32)
    others = {code: tuple(o for o in group if o != code) for code, group in zip(best, groups, strict=True)}
    return replace(column, values=pa.array(kept, pa.string()), places=to[column.places], synonyms=others)


def _as_years(column: ProfiledColumn, kind: pa.DataType) -> ProfiledColumn:
    """Exact dates as years: who knows a day of birth knows a person."""
    if not column.temporal or column.size <= FEW or pa.types.is_time(kind) or pa.types.is_duration(kind):
        return column
    text = pc.if_else(pc.is_in(column.values, pa.array(list(column.marks), pa.string())), None, column.values)
    try:
        return replace(column, numbers=date_numbers(column.name, text, "year"), dates=True)
    except (Mistake, pa.ArrowException):
        return column
