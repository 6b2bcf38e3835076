"""A codebook beside the data, of whatever kind, and the data as it describes them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from confide.errors import Mistake, nearest
from confide.sources.columns import distinct, texts
from confide.sources.dictionaries.ddi import read_ddi
from confide.sources.dictionaries.entry import DictionaryEntry, StudyFacts
from confide.sources.dictionaries.json import read_json
from confide.sources.dictionaries.tabular import read_rows, read_sheet
from confide.sources.labelled import READERS, read_labelled
from confide.sources.source import Source, read_source

__all__ = ["Dictionary", "read_dictionary"]

KNOWN = "csv, tsv, xlsx, json, xml (DDI-Codebook), sav, por, dta, sas7bdat, xpt"

LARGEST = 200 * 2**20
"""Bytes of a codebook beyond which it is none."""

NAMED = 5
"""At most so many names in one note."""


@dataclass(frozen=True)
class Dictionary:
    """What a codebook says of each variable and of the study, and the file it is from."""

    file: str
    variables: Mapping[str, DictionaryEntry] = field(default_factory=dict)
    study: StudyFacts = field(default_factory=StudyFacts)

    def describe(self, source: Source) -> Source:
        """The data with what the codebook says of them; a Mistake if it is that of other data."""
        found = self._matched(source.table.column_names)
        if not found:
            some = ", ".join(list(self.variables)[:NAMED])
            raise Mistake(
                f"{self.file} describes other data: none of its variables ({some}) is a column of these.",
                suggestions=nearest(next(iter(self.variables)), source.table.column_names)
                or [f"The columns are {', '.join(source.table.column_names[:NAMED])}."],
            )
        spelled = {name: _as_in_data(source, name, entry) for name, entry in found.items()}
        return replace(
            source,
            labels={**source.labels, **{n: e.label for n, e in spelled.items() if e.label}},
            value_labels={**source.value_labels, **{n: e.values for n, e in spelled.items() if e.values}},
            missing={**source.missing, **{n: e.missing for n, e in spelled.items() if e.missing}},
            universes={n: e.universe for n, e in spelled.items() if e.universe},
            study=self.study,
            notes=(*source.notes, *self._unmatched(source, found), *_strange(source, spelled)),
        )

    def _matched(self, columns: list[str]) -> dict[str, DictionaryEntry]:
        """What is said of each column, capitals aside where only they differ."""
        folded = {name.casefold(): entry for name, entry in self.variables.items()}
        said = {name: self.variables.get(name, folded.get(name.casefold())) for name in columns}
        return {name: entry for name, entry in said.items() if entry is not None}

    def _unmatched(self, source: Source, found: Mapping[str, DictionaryEntry]) -> list[str]:
        there = {name.casefold() for name in found}
        absent = [name for name in self.variables if name.casefold() not in there]
        untold = [name for name in source.table.column_names if name not in found]
        return [
            *([f"{self.file} describes {_named(absent)}, which the data do not have."] if absent else []),
            *([f"{self.file} says nothing of {_named(untold)}."] if untold else []),
        ]


def _named(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _as_in_data(source: Source, name: str, entry: DictionaryEntry) -> DictionaryEntry:
    """The codes as the data spell them, where they differ by leading zeros or a decimal point only: 01, 1 and 1.0."""
    if not (entry.values or entry.missing):
        return entry
    plain: dict[str, list[str]] = {}
    for code in _codes(source, name):
        plain.setdefault(_plain(code), []).append(code)
    there = {code for codes in plain.values() for code in codes}
    once = {key: codes[0] for key, codes in plain.items() if len(codes) == 1}

    def spelled(code: str) -> str:
        return code if code in there else once.get(_plain(code), code)

    values = {spelled(code): label for code, label in entry.values.items()}
    return replace(entry, values=values, missing=tuple(spelled(code) for code in entry.missing))


def _codes(source: Source, name: str) -> list[str]:
    found = texts(name, distinct(name, source.table[name]).values).unique()
    return [code for code in found.to_pylist() if code is not None] if len(found) <= 10_000 else []


def _plain(code: str) -> str:
    return re.sub(r"^(-?)0+(?=\d)", r"\1", re.sub(r"\.0+$", "", code)) if re.match(r"-?\d", code) else code


def _strange(source: Source, spelled: Mapping[str, DictionaryEntry]) -> list[str]:
    """Variables none of whose codes in the data the codebook lists, numbers with a few labels aside."""
    odd = []
    for name, entry in spelled.items():
        codes = set(_codes(source, name)) if len(entry.values) > 1 else set()
        if codes and not codes & set(entry.values) and len(codes) <= 10 * len(entry.values):
            odd.append(name)
    return [f"The codebook lists none of the codes that the data have of {_named(odd)}."] if odd else []


def read_dictionary(path: Path) -> Dictionary:
    """The codebook of a file: CSV, XLSX, JSON, DDI-Codebook, or the labels of an SPSS, Stata or SAS file."""
    if not path.is_file():
        raise Mistake(f"There is no file {str(path)!r}.")
    if path.stat().st_size > LARGEST:
        raise Mistake(f"{path.name} is too large for a codebook (over {LARGEST >> 20} MB).")
    kind = path.name.lower().removesuffix(".gz").rsplit(".", 1)[-1]
    variables, study = read_ddi(path) if kind == "xml" else (_read(path, kind), StudyFacts())
    if not variables:
        raise Mistake(f"{path.name} describes no variables.")
    return Dictionary(path.name, variables, study)


def _read(path: Path, kind: str) -> Mapping[str, DictionaryEntry]:
    if kind in ("csv", "tsv", "txt"):
        table = read_source(path, encoding="likely").table
        return read_rows([table.column_names, *(list(row.values()) for row in table.to_pylist())], path.name)
    if kind == "xlsx":
        return read_rows(read_sheet(path), path.name)
    if kind == "json":
        return read_json(path)
    if kind in READERS:
        _, labels, values, missing = read_labelled(path, kind)
        names = dict.fromkeys([*labels, *values, *missing])
        return {n: DictionaryEntry(labels.get(n, ""), values.get(n, {}), tuple(missing.get(n, ()))) for n in names}
    if kind == "sas7bcat":
        raise Mistake(
            f"{path.name} names formats, not variables.",
            suggestions=[
                "Put it beside its data file under the same name, as survey.sas7bcat: it is read with the data."
            ],
        )
    raise Mistake(f"Cannot tell what codebook {path.name!r} is.", suggestions=[f"Known endings: {KNOWN}."])
