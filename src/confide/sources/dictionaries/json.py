"""Codebooks in JSON: an object by variable, or a list of variables, each with a description and its values."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from confide.errors import Mistake
from confide.sources.dictionaries.entry import DictionaryEntry

__all__ = ["read_json"]

LABELS = ("label", "description", "question", "title")
VALUES = ("values", "codes", "categories", "value_labels")
ASKED = ("asked_of", "universe")
RANGE = {"min", "max"}
"""Among values these are the bounds of a number, not codes."""


def read_json(path: Path) -> Mapping[str, DictionaryEntry]:
    """The variables of a JSON dictionary, such as that of the NIST excerpts of the American Community Survey."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        raise Mistake(f"{path.name} cannot be read as JSON.") from None
    if isinstance(raw, dict) and isinstance(raw.get("variables"), dict | list):
        raw = raw["variables"]
    entries = raw.items() if isinstance(raw, dict) else _listed(raw)
    found = {str(name): _described(entry) for name, entry in entries if isinstance(entry, dict | str)}
    if not found:
        raise Mistake(
            f"{path.name} is no dictionary of variables.",
            suggestions=['Write {"sex": {"label": "Sex", "values": {"1": "Man", "2": "Woman"}}}.'],
        )
    return found


def _listed(raw: Any) -> Iterable[tuple[str, Any]]:
    rows = [row for row in raw if isinstance(row, dict)] if isinstance(raw, list) else []
    return [(row[key], row) for row in rows for key in ("name", "variable") if isinstance(row.get(key), str)]


def _described(entry: dict[str, Any] | str) -> DictionaryEntry:
    if isinstance(entry, str):
        return DictionaryEntry(entry)
    label = next((str(entry[key]) for key in LABELS if isinstance(entry.get(key), str)), "")
    raw = next((entry[key] for key in VALUES if key in entry), None)
    asked = next((entry[key] for key in ASKED if isinstance(entry.get(key), str)), "")
    bins = entry.get("kind") == "numeric"  # a codebook of ours lists the bins of a number as codes
    return DictionaryEntry(label, {} if bins else _values(raw), _missing(entry.get("missing"), raw), asked)


def _missing(listed: Any, values: Any) -> tuple[str, ...]:
    """The codes that mean missing, in a list of their own or marked among the values."""
    marked = (
        [row for row in values if isinstance(row, dict) and row.get("missing") is True]
        if isinstance(values, list)
        else []
    )
    own = listed if isinstance(listed, list) else []
    return tuple(dict.fromkeys([*map(str, own), *(str(row.get("code", row.get("value"))) for row in marked)]))


def _values(raw: Any) -> dict[str, str]:
    if isinstance(raw, list):
        pairs = [(row.get("code", row.get("value")), _label(row)) for row in raw if isinstance(row, dict)]
        return {str(code): label for code, label in pairs if code is not None}
    if not isinstance(raw, dict):
        return {}
    return {str(code): _label(label) for code, label in raw.items() if code not in RANGE}


def _label(raw: Any) -> str:
    if isinstance(raw, dict):
        return str(next((raw[key] for key in ("label", "meaning", "name", *LABELS) if raw.get(key)), ""))
    return str(raw)
