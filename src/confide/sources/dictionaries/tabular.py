"""Codebooks in tables, CSV or XLSX: a row for each variable and code, or for each variable with its codes in one field."""

import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confide.errors import Mistake
from confide.sources.dictionaries.entry import DictionaryEntry

__all__ = ["read_rows", "read_sheet"]

HEADS = {
    "variable": ("variable", "variable name", "name", "column", "field", "var"),
    "label": ("label", "variable label", "description", "question", "title"),
    "code": ("code", "value", "category", "level"),
    "meaning": ("meaning", "value label", "code label", "category label", "text"),
    "values": ("values", "codes", "categories", "levels"),
    "missing": ("missing", "missing codes", "missing values", "is missing"),
    "universe": ("universe", "asked of", "applies to", "population"),
}
"""What a column of a codebook may be called."""

LARGEST = 200 * 2**20
"""Bytes that a workbook may have when it is unpacked."""

_YES = {"1", "y", "yes", "true", "x"}

Row = Sequence[str | None]


def read_rows(rows: Sequence[Row], file: str) -> Mapping[str, DictionaryEntry]:
    """The variables of a codebook from its rows, of which the first names the columns.

    >>> read_rows([["variable", "label", "code", "meaning"], ["sex", "Sex", "1", "Man"], [None, None, "2", "Woman"]], "f")
    {'sex': DictionaryEntry(label='Sex', values={'1': 'Man', '2': 'Woman'}, missing=(), universe='')}
    """
    places = _places(rows[0] if rows else (), file)
    found: dict[str, dict[str, Any]] = {}
    name = ""
    for row in rows[1:]:
        told = {head: (row[at] or "").strip() for head, at in places.items() if at < len(row)}
        name = told["variable"] or name
        if name:
            _add(found.setdefault(name, {"values": {}, "missing": []}), told)
    return {
        name: DictionaryEntry(
            e.get("label", ""), e["values"], tuple(dict.fromkeys(e["missing"])), e.get("universe", "")
        )
        for name, e in found.items()
    }


def _places(heads: Row, file: str) -> dict[str, int]:
    lower = [re.sub(r"[_\s]+", " ", (head or "").strip().lower()) for head in heads]
    places = {
        head: next(lower.index(word) for word in words if word in lower)
        for head, words in HEADS.items()
        if any(word in lower for word in words)
    }
    if "variable" not in places or not places.keys() & {"label", "code", "values"}:
        raise Mistake(
            f"The first row of {file} must name the columns of a codebook.",
            suggestions=["Call them variable, label, code, meaning; and, if wanted, missing and universe."],
        )
    return places


def _add(entry: dict[str, Any], told: Mapping[str, str]) -> None:
    """What one row adds to what is known of its variable."""
    for head in ("label", "universe"):
        if told.get(head):
            entry.setdefault(head, told[head])
    code, mark = told.get("code", ""), told.get("missing", "")
    if code:
        entry["values"][code] = told.get("meaning") or code
        entry["missing"] += [code] if mark.lower() in _YES else []
    elif mark:
        entry["missing"] += [word.strip() for word in re.split(r"[;,|]", mark) if word.strip()]
    entry["values"] |= _pairs(told.get("values", ""))


def _pairs(text: str) -> dict[str, str]:
    """Codes and labels in one field: 1=Man; 2=Woman."""
    parts = [part.partition("=") for part in re.split(r"[;|\n]", text) if "=" in part]
    return {code.strip(): label.strip() for code, _, label in parts if code.strip()}


def read_sheet(path: Path) -> Sequence[Row]:
    """The rows of the first sheet of a workbook, as text."""
    try:
        import openpyxl
    except ImportError:
        raise Mistake(
            f"Reading {path.name} needs openpyxl: pip install openpyxl.", suggestions=["Or save the sheet as CSV."]
        ) from None
    try:
        with zipfile.ZipFile(path) as packed:
            if sum(part.file_size for part in packed.infolist()) > LARGEST:
                raise Mistake(f"{path.name} is too large for a codebook (over {LARGEST >> 20} MB when unpacked).")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [[_cell(value) for value in row] for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Mistake:
        raise
    except Exception as error:  # openpyxl has no common exception class
        raise Mistake(f"{path.name} cannot be read as a workbook ({type(error).__name__}).") from None
    return rows


def _cell(value: Any) -> str | None:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None else str(value)
