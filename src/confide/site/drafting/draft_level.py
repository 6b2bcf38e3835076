"""Drafting the `dataset.toml` of households: what all of one have in common, how many they are, what they have together, and
what the head is, for the custodian to read and mend. Or of the people whose jobs or visits the records are."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.model.toml import toml_key, toml_value
from confide.site.coding.homes import Households
from confide.site.cutpoints.draft import round_cutpoints
from confide.site.drafting.draft import sampling_lines
from confide.site.profiling import names
from confide.site.profiling.column import column_of
from confide.sources.columns import each_text, numbers
from confide.sources.source import Source

__all__ = ["LEVELS", "draft_level", "level_above"]

SIZES = [2, 3, 4, 5, 6]
"""Households of six and more are few, and stand together."""


@dataclass(frozen=True)
class _Words:
    """What a level is called, and how names and labels of what is taken begin and end."""

    one: str
    level: str
    size: tuple[str, str]
    head: tuple[str, str]
    whole: tuple[str, str]
    remark: str


_HOMES = _Words(
    "household",
    "households",
    ("household_size", "Persons in the household"),
    ("head", "of the head"),
    ("household", "all of the household"),
    '# head = "relation=1"   # who is the head; without it, whoever comes first in the file',
)
_PEOPLE = _Words(
    "person",
    "people",
    ("person_records", "Records of the person"),
    ("first", "in the first record"),
    ("person", "all of the person"),
    '# head = "main=1"   # which record is the first; without it, the one that comes first in the file',
)


LEVELS = (_HOMES.level, _PEOPLE.level)
"""What levels that are drafted may be called."""


def level_above(records: Dataset) -> str:
    """What the level above some records is called: households of people, or people of their jobs or visits."""
    return _words(records).level


def _words(records: Dataset) -> _Words:
    return _PEOPLE if records.unit == records.household else _HOMES


def draft_level(source: Source, people: Dataset, *, key: str | None) -> str:
    """The text of a `dataset.toml` of households, for people who are described; `key` names households in a file of theirs.

    Their weight is the first that all of a household have in common.
    """
    drafted = _Drafting(source, people)
    columns = source.table.column_names
    replicate = names.replicates(columns)
    weights = [n for n in columns if (names.of_weight(n) and n not in replicate) or n == people.weight]
    weight = next((name for name in weights if drafted.same(name)), None)
    design = [name for name in columns if names.of_design(name) and drafted.same(name)]
    replicates = [name for name in columns if weight and name in replicate and drafted.same(name)]
    lines = [
        "# Drafted from the data. Read it through: what stands here is public.",
        f"title = {toml_value(f'{people.title}: {drafted.words.level}')}",
        *([f"key = {toml_value(key)}   # the column that names them in their file"] if key else []),
        drafted.words.remark,
        f"weight = {toml_value(weight)}"
        if weight
        else f'# weight = "..."   # the column of weights of {drafted.words.level}',
        *([f"weight_decimals = {min(column_of(source, weight).decimals, 6)}"] if weight else []),
        *sampling_lines(design, replicates),
    ]
    return "\n".join([*lines, *drafted.lines()]) + "\n"


class _Drafting:
    """What is to be said of the variables of households."""

    def __init__(self, source: Source, people: Dataset) -> None:
        self._source, self._people, self._column = source, people, people.household or ""
        self.words = _words(people)
        keys, of = np.unique(
            each_text(self._column, source.table[self._column]).to_numpy(zero_copy_only=False).astype(str),
            return_inverse=True,
        )
        first = np.unique(of, return_index=True)[1]
        self._homes = Households(np.arange(len(keys)), of, first)
        if len(keys) == len(of):
            raise Mistake(
                f"Each {self.words.one}, by {self._column!r}, has one record: there is no level above.",
                suggestions=["Leave out --households."],
            )

    def same(self, name: str) -> bool:
        """Whether all of a household have the same in a column."""
        column = self._source.table[name]
        texts = each_text(name, column)
        return self._homes.same(np.asarray(texts.fill_null("").to_numpy(zero_copy_only=False)).astype(str))

    def lines(self) -> Iterator[str]:
        shown = [v for v in self._people.variables.values() if v.classifies or v.measurable]
        shared = {v.name for v in shown if all(self.same(c) for c in self._columns(v))}
        for variable in shown:
            if variable.name in shared:
                yield from (
                    "",
                    f"[variables.{toml_key(variable.name)}]   # all of a {self.words.one} have it in common",
                )
        yield from ("", *self._section(*self.words.size), 'take = "size"')
        yield f"cutpoints = {toml_value(SIZES)}"
        for variable in shown:
            if variable.name not in shared and variable.of is None:
                yield from self._taken(variable)

    def _columns(self, variable: Variable) -> set[str]:
        """The columns behind a variable at every level of detail: these move together when records are protected."""
        family = self._people.levels(variable.name) if variable.classifies else (variable,)
        return {v.column for v in family if v.column in self._source.table.column_names}

    def _section(self, name: str, label: str) -> list[str]:
        taken = self._people.variables
        while name in taken:
            name += "_"
        return [f"[variables.{toml_key(name)}]", f"label = {toml_value(label)}"]

    def _taken(self, variable: Variable) -> Iterator[str]:
        """Of keys what the head has, of other numbers what the household has together."""
        if variable.role is Role.KEY:
            begin, end = self.words.head
            yield from ("", *self._section(f"{begin}_{variable.name}", f"{variable.label} {end}"), 'take = "head"')
            yield f"from = {toml_value(variable.name)}"
        elif variable.measurable:
            begin, end = self.words.whole
            yield from ("", *self._section(f"{begin}_{variable.name}", f"{variable.label}: {end}"), 'take = "sum"')
            yield f"from = {toml_value(variable.name)}"
            cuts = self._cutpoints(variable)
            yield from [f"cutpoints = {toml_value(cuts)}"] if cuts else []

    def _cutpoints(self, variable: Variable) -> list[float]:
        read = numbers(each_text(variable.column, self._source.table[variable.column]))
        values = np.zeros(len(self._homes.of)) if read is None else read[0]
        for mark in variable.missing:
            values[values == _number(mark)] = np.nan
        sums = np.round(self._homes.sums(np.nan_to_num(values)), variable.decimals)
        return list(round_cutpoints(column_of(Source(pa.table({variable.name: sums})), variable.name)))


def _number(mark: str) -> float:
    try:
        return float(mark)
    except ValueError:
        return float("nan")
