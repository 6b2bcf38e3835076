"""Drafting `dataset.toml` from a data file: a start that works, for the custodian to read and mend.

A draft lists the codes it saw. What is published is what the file declares, so complete the lists where classes are missing.
"""

import json
import re

from confide.errors import Mistake
from confide.site.cutpoints.draft import round_cutpoints
from confide.site.guess import Guess, ProfiledColumn, guess, parent_codes
from confide.sources.source import Source

__all__ = ["draft_dataset"]

_AGE = re.compile(r"(^|[_. ])agep?$", re.IGNORECASE)


def draft_dataset(source: Source, *, name: str) -> str:
    """The text of a `dataset.toml` for the data."""
    found = guess(source)
    lines = [
        "# Drafted from the data. Read it through: what stands here is public.",
        f"title = {_text(name)}",
        'source = ""',
        'period = ""',
        *_unit(found),
        *_weight(found),
    ]
    described = [_section(column, found, source) for column in found.columns if column is not found.weight]
    if not any("codes]" in line or line.startswith("decimals") for section in described for line in section):
        raise Mistake("The data hold nothing but identifiers: no column has codes or numbers to ask about.")
    return "\n".join(line for section in [lines, *described] for line in section) + "\n"


def _unit(found: Guess) -> list[str]:
    if found.unit is None:
        return ['# unit = "..."   # the column that names whom a record is about']
    others = [c.name for c in found.columns if c is not found.unit and (c.named_unit or c.numbered)]
    remarks = ["several records each"] if not found.unit.unique else []
    remarks += [f"or {', '.join(_text(name) for name in others)}"] if others else []
    return [f"unit = {_text(found.unit.name)}" + (f"   # {'; '.join(remarks)}" if remarks else "")]


def _weight(found: Guess) -> list[str]:
    if found.weight is None:
        return ['# weight = "..."   # the column of survey weights']
    decimals = min(found.weight.decimals, 6)
    return [f"weight = {_text(found.weight.name)}", f"weight_decimals = {decimals}"]


def _section(column: ProfiledColumn, found: Guess, source: Source) -> list[str]:
    if not column.codes:
        return ["", f"# {_text(column.name)} has no values at all and is left out."]
    label = source.labels.get(column.name, column.name)
    head = ["", f"[variables.{_key(column.name)}]", f"label = {_text(label)}"]
    why = _hidden(column, found)
    if why:
        return [*head, 'kind = "categorical"', f'role = "identifier"   # {why}: never shown, never asked for']
    if column.categorical:
        return [*head, *_role(found.bands.get(column.name)), *_categories(column, found.parents.get(column.name))]
    return [*head, *_number(column)]


def _hidden(column: ProfiledColumn, found: Guess) -> str:
    """Why a column is kept from view, or nothing."""
    if column is found.unit or column.named_unit or column.numbered:
        return "it names records"
    if column.weighs:
        return "another weight"
    if column.temporal and column.identifies:
        return "exact dates; add a column of years or months"
    return "many different texts" if column.identifies else ""


def _role(number: ProfiledColumn | None) -> list[str]:
    if number is None or _AGE.search(number.name):
        return ['kind = "categorical"', 'role = "key"   # identifier, key, confidential or other']
    return ['kind = "categorical"', f'role = "confidential"   # it tells {_text(number.name)}']


def _categories(column: ProfiledColumn, parent: ProfiledColumn | None) -> list[str]:
    lines = []
    if parent:
        lines.append(f"parent = {_text(parent.name)}   # every code lies within one code of it; remove if by accident")
    codes = dict.fromkeys([*column.labels, *column.codes])
    missing = list(column.marks)
    if column.missing:
        missing.insert(0, next(code for code in ("NA", "missing", "no value") if code not in codes))
    if missing:
        lines.append(f"missing = {json.dumps(missing, ensure_ascii=False)}")
    up = parent_codes(column, parent) if parent else {}
    lines.append(f"[variables.{_key(column.name)}.codes]")
    for code in codes:
        label = _text(column.labels.get(code, code))
        lines.append(
            f"{_key(code)} = " + (f"{{ label = {label}, parent = {_text(up[code])} }}" if code in up else label)
        )
    return lines


def _number(column: ProfiledColumn) -> list[str]:
    role = "key" if _AGE.search(column.name) else "confidential"
    lines = ['kind = "numeric"', f'role = "{role}"', f"decimals = {column.decimals}"]
    if not (column.present < 0).any():
        lines.append("minimum = 0")
    missing = [*([""] if column.missing else []), *column.marks]
    if missing:
        lines.append(f"missing = {json.dumps(missing, ensure_ascii=False)}")
    cuts = round_cutpoints(column)
    return [*lines, f"cutpoints = {json.dumps(cuts)}"] if cuts else lines


def _key(name: str) -> str:
    """A TOML key, in quotes only where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
