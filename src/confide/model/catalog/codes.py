"""Code lists as `dataset.toml` gives them: a section, a CSV file, or a τ-ARGUS hierarchy file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from confide.errors import Mistake, nearest
from confide.model.catalog.code_file import read_code_file
from confide.model.catalog.dataset import Code, CodeList
from confide.model.catalog.hrc import read_hrc

__all__ = ["Level", "read_codes", "read_levels"]

Reader = Callable[[str], str]
Entries = dict[str, Mapping[str, Any]]

_TEXTS = ("label", "parent")
_KEYS = (*_TEXTS, "synonyms")


@dataclass(frozen=True)
class Level:
    """One level of a hierarchy file as a variable."""

    name: str
    label: str
    parent: str | None
    codes: CodeList


def read_codes(name: str, table: Mapping[str, Any], read_file: Reader) -> CodeList | None:
    """The codes a variable declares, in order; missing codes that are not listed come last."""
    missing = [str(m) for m in table.get("missing", ()) if str(m)]
    if "codes_file" in table:
        entries = _from_file(name, read_file(table["codes_file"]))
    elif "codes" in table:
        entries = _from_section(name, table["codes"])
    else:
        return None
    entries |= {m: {"label": "Missing"} for m in missing if m not in entries}
    codes = tuple(_code(name, c, entry, missing=c in missing) for c, entry in entries.items())
    try:
        return CodeList(codes)
    except Mistake as mistake:
        raise Mistake(f"In {name!r}: {mistake.message}", suggestions=mistake.suggestions) from None


def _code(name: str, code: str, entry: Mapping[str, Any], *, missing: bool) -> Code:
    for key, value in entry.items():
        if key not in _KEYS:
            raise Mistake(f"Unknown key {key!r} in the codes of {name!r}.", suggestions=nearest(key, _KEYS))
        if key in _TEXTS and not isinstance(value, str):
            raise Mistake(f"The {key} of code {code!r} of {name!r} must be text in quotes.")
    others = entry.get("synonyms", [])
    if not isinstance(others, list) or not all(isinstance(other, str) and other for other in others):
        raise Mistake(f"The synonyms of code {code!r} of {name!r} must be a list of texts in square brackets.")
    return Code(code, entry.get("label", code), entry.get("parent"), missing, tuple(others))


def _from_section(name: str, section: Any) -> Entries:
    if not isinstance(section, dict):
        raise Mistake(f"The codes of {name!r} must be a [variables.{name}.codes] section.")
    return {code: entry if isinstance(entry, dict) else {"label": entry} for code, entry in section.items()}


def _from_file(name: str, text: str) -> Entries:
    return {**read_code_file(text, f"codes file of {name!r}", needed=["code"], known=_TEXTS)}


def read_levels(name: str, table: Mapping[str, Any], read_file: Reader) -> list[Level]:
    """The levels of a `.hrc` hierarchy, finest (under the declared name) first; `codes` may give labels."""
    levels = read_hrc(read_file(table["hierarchy_file"]))
    coarser = [str(n) for n in table.get("levels") or [f"{name}_{depth + 1}" for depth in range(len(levels) - 1)]]
    if len(coarser) != len(levels) - 1:
        raise Mistake(f"{name!r}: 'levels' names the {len(levels) - 1} coarser levels of the file, coarsest first.")
    labels = {code.code: code.label for code in read_codes(name, table, read_file) or ()}
    missing = [str(m) for m in table.get("missing", ()) if str(m)]
    found: list[Level] = []
    for depth, (level_name, level) in enumerate(zip([*coarser, name], levels, strict=True)):
        codes = [Code(c, labels.get(c, c), parent, c in missing) for c, parent in level.items()]
        codes += [Code(m, "Missing", m if depth else None, missing=True) for m in missing if m not in level]
        label = table.get("label", name) + ("" if level_name == name else f": {level_name}")
        found.append(Level(level_name, label, found[-1].name if found else table.get("parent"), CodeList(tuple(codes))))
    return found[::-1]
