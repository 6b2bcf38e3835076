"""What a custodian may change of one variable, each a change of the text of `dataset.toml`."""

from collections.abc import Iterable, Mapping
from typing import Any

from confide.errors import Mistake, nearest
from confide.model.catalog.dataset import Variable
from confide.site.describing.document import Table, TomlDocument

__all__ = [
    "add_codes",
    "add_level",
    "add_recode",
    "merge_code",
    "put_in_group",
    "section_of",
    "set_list",
    "set_role",
    "set_spellings",
    "set_text",
    "set_words",
]

_SHARED = ("role", "subject", "asked_of", "group", "universe")
"""What a coarser level has in common with its variable."""


def section_of(name: str) -> Table:
    """Where a variable is declared."""
    return ("variables", name)


def set_text(document: TomlDocument, key: str, text: str, *, table: Table = ()) -> None:
    """Let a key have a text. One that is not there stays so while the text is empty."""
    if document.get(table).get(key, "") != text:
        document.set(table, key, text)


def set_role(document: TomlDocument, name: str, role: str) -> None:
    """Give a variable a role. The comment, which says why it had the one before, is told as of that one."""
    table = section_of(name)
    before = document.get(table).get("role")
    if before == role:
        return
    comment = document.comment(table, "role")
    if comment and before and not comment.startswith("# was "):
        comment = f"# was {before}: {comment.removeprefix('#').strip()}"
    document.set(table, "role", role, comment=comment)


def set_list(document: TomlDocument, name: str, key: str, values: Iterable[Any]) -> None:
    """Let a key of a variable be a list; an empty one is taken out."""
    table, values = section_of(name), list(values)
    if document.get(table).get(key, []) == values:
        return
    if values:
        document.set(table, key, values)
    else:
        document.remove(table, key)


def set_words(document: TomlDocument, name: str, code: str, label: str) -> None:
    """Give a code a label."""
    entry = _entry(document, name, code)
    if entry.get("label", code) != label:
        _put(document, name, code, {"label": label} | {key: entry[key] for key in entry if key != "label"})


def set_spellings(document: TomlDocument, name: str, code: str, spellings: Iterable[str]) -> None:
    """Let a code have these other spellings in the data."""
    entry, found = _entry(document, name, code), list(dict.fromkeys(spellings))
    if entry.get("synonyms", []) != found:
        _put(document, name, code, {key: entry[key] for key in entry if key != "synonyms"} | _some(synonyms=found))


def merge_code(document: TomlDocument, name: str, code: str, into: str) -> None:
    """Make one class of two: what was a code is another spelling of the other, and finer levels follow it."""
    known = document.get((*section_of(name), "codes"))
    if into == code:
        raise Mistake(f"{code[:60]!r} cannot be merged into itself.")
    if into not in known:
        raise Mistake(
            f"{into[:60]!r} is no code of {name!r} to merge into.",
            suggestions=nearest(into, known) or ["It may be merged itself: name the code that is left."],
        )
    gone, entry = _entry(document, name, code), _entry(document, name, into)
    spellings = dict.fromkeys([*entry.get("synonyms", []), code, *gone.get("synonyms", [])])
    document.remove((*section_of(name), "codes"), code)
    set_list(document, name, "missing", [m for m in document.get(section_of(name)).get("missing", []) if m != code])
    _put(document, name, into, entry | {"synonyms": list(spellings)})
    for finer, said in document.get(("variables",)).items():
        if isinstance(said, dict) and said.get("parent") == name and isinstance(said.get("codes"), dict):
            for below in [c for c in said["codes"] if _entry(document, finer, c).get("parent") == code]:
                put_in_group(document, finer, below, into)


def put_in_group(document: TomlDocument, name: str, code: str, group: str) -> None:
    """Let a code lie in a class of the next coarser level."""
    entry = _entry(document, name, code)
    if entry.get("parent", "") != group:
        _put(document, name, code, {"label": entry.get("label", code)} | entry | {"parent": group})


def add_codes(document: TomlDocument, name: str, codes: Iterable[str]) -> None:
    """List classes that could occur, behind those that are listed."""
    known = document.get((*section_of(name), "codes"))
    for code in codes:
        if code in known:
            raise Mistake(f"{code[:60]!r} is a code of {name!r} already.")
        _put(document, name, code, {"label": code})


def add_level(document: TomlDocument, variable: Variable, level: str, label: str, groups: Mapping[str, str]) -> None:
    """Make the next coarser level of a variable: its classes are the groups of the codes, in their order."""
    table, missing = section_of(variable.name), {code.code for code in variable.codes or () if code.missing}
    own = document.get(table)
    codes = document.get((*table, "codes"))
    _must_be_new(document, level)
    without = next((code for code in codes if not groups.get(code) and code not in missing), None)
    if without is not None:
        raise Mistake(f"{without[:60]!r} is in no group. A coarser level has a group for every code.")
    found = {group: group for code in codes if (group := groups.get(code, ""))}
    if len(found) < 2:
        raise Mistake("A coarser level needs two groups or more.")
    unplaced = next((code for code in own.get("missing", []) if code and not groups.get(code)), None)
    section = {"label": label or level} | {key: own[key] for key in _SHARED if key in own}
    section |= _some(missing=[] if unplaced is None else [unplaced])
    document.add(section_of(level), section | {"codes": found}, after=table)
    document.set(table, "parent", level)
    for code in codes:
        if groups.get(code):
            put_in_group(document, variable.name, code, groups[code])


def add_recode(document: TomlDocument, variable: Variable, level: str, label: str, cutpoints: Iterable[float]) -> None:
    """Make a recode of a number: the same number, cut in fewer places."""
    _must_be_new(document, level)
    section = {"label": label or level, "of": variable.name, "cutpoints": list(cutpoints)}
    document.add(section_of(level), section, after=section_of(variable.name))


def _must_be_new(document: TomlDocument, level: str) -> None:
    if not level:
        raise Mistake("The coarser level needs a name.")
    if level in document.get(("variables",)):
        raise Mistake(f"There is a variable {level[:60]!r} already.", suggestions=["Choose another name."])


def _entry(document: TomlDocument, name: str, code: str) -> dict[str, Any]:
    """What is said of a code, its label alone or more; nothing of one that only `missing` lists."""
    found = document.get((*section_of(name), "codes")).get(code, {"label": "Missing"})
    return dict(found) if isinstance(found, dict) else {"label": found}


def _put(document: TomlDocument, name: str, code: str, entry: Mapping[str, Any]) -> None:
    """Say something of a code, as shortly as it goes."""
    said = {key: value for key, value in entry.items() if value != []}
    document.set((*section_of(name), "codes"), code, said["label"] if list(said) == ["label"] else said)


def _some(**values: list[str]) -> dict[str, list[str]]:
    return {key: value for key, value in values.items() if value}
