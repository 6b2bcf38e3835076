"""A description as the fields of a form: texts out, changes of `dataset.toml` by the field in."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from confide.errors import Mistake
from confide.model.catalog.dataset import Role, Variable
from confide.site.describing import changes
from confide.site.describing.document import TomlDocument
from confide.site.describing.saving import ChangedField
from confide.site.profiling.kept import KeptColumn

__all__ = [
    "CODES",
    "HEAD",
    "LEVEL",
    "CodeRow",
    "bars",
    "code_rows",
    "dataset_changes",
    "editable_codes",
    "lines_in",
    "missing_text",
    "number_of",
    "numbers_in",
    "numbers_text",
    "variable_changes",
]

CODES = 200
"""So many codes stand on a page."""

LEVEL = ("level", "level_label", "level_cutpoints")
HEAD = ("title", "source", "period")

LONGEST = 300
"""Characters of a label."""

WIDTH = 12
"""The longest bar, in characters."""

_EMPTY = '""'
"""What stands for an empty field of the data in a list of lines."""

Form = Mapping[str, str]


@dataclass(frozen=True)
class CodeRow:
    """One code on a page: its place, what is said of it as texts, and how many records had it when the data were profiled."""

    place: int
    code: str
    label: str
    spellings: str
    group: str
    missing: bool
    records: str
    bar: str
    into: str = ""


def editable_codes(document: TomlDocument, variable: Variable) -> bool:
    """Whether the codes stand in `dataset.toml` itself, or may: those of numbers follow from cutpoints, others have a file."""
    said = document.get(changes.section_of(variable.name))
    return bool(said) and not variable.numeric and "hierarchy_file" not in said and "codes_file" not in said


def code_rows(
    document: TomlDocument, variable: Variable, seen: KeptColumn | None, *, first: int, given: Form
) -> list[CodeRow]:
    """The codes from `first` on, with what a form says of them, right or wrong, if one is given."""
    said = document.get((*changes.section_of(variable.name), "codes"))
    counted = bars(seen) if seen else {}
    rows = []
    for place, code in enumerate(list(variable.codes or ())[first : first + CODES]):
        entry = said.get(code.code, {})
        group = entry.get("parent", "") if isinstance(entry, dict) else ""
        records, bar = counted.get(code.code, ("", ""))
        rows.append(
            CodeRow(
                place,
                code.code,
                given.get(f"words-{place}", code.label),
                given.get(f"spellings-{place}", "\n".join(code.synonyms)),
                given.get(f"group-{place}", group),
                code.missing,
                records,
                bar,
                given.get(f"into-{place}", ""),
            )
        )
    return rows


def bars(seen: KeptColumn) -> dict[str, tuple[str, str]]:
    """How many records have each value, and a bar that shows it."""
    most = max(seen.counts.values(), default=0) or 1
    return {
        value: (f"{count:,}", "█" * max(1 if count else 0, round(WIDTH * count / most)))
        for value, count in seen.counts.items()
    }


def dataset_changes(form: Form) -> Iterator[ChangedField]:
    """What the form of the whole data set changes: its words, and the label and role of each variable it names."""
    for key in HEAD:
        if key in form:
            yield ChangedField(key, partial(_text, key=key, text=form[key], table=()))
    for field in [field for field in form if re.fullmatch(r"name-\d{1,4}", field, re.ASCII)]:
        place = field.removeprefix("name-")
        yield from _words(form, form[field], label=f"label-{place}", role=f"role-{place}")


def variable_changes(form: Form, variable: Variable, document: TomlDocument) -> Iterator[ChangedField]:
    """What the form of a variable changes, in an order in which one change does not undo another."""
    name = variable.name
    yield from _words(form, name, label="label", role="role")
    if "missing" in form:
        said = document.get(changes.section_of(name)).get("missing", [])
        yield ChangedField("missing", partial(_missing, name=name, text=form["missing"], said=said))
    if variable.numeric:
        yield from _numeric(form, variable)
    elif editable_codes(document, variable):
        yield from _codes(form, variable)


def _words(form: Form, name: str, *, label: str, role: str) -> Iterator[ChangedField]:
    if label in form:
        yield ChangedField(label, partial(_label, name=name, text=form[label]))
    if role in form:
        yield ChangedField(role, partial(_role, name=name, role=form[role]))


def _numeric(form: Form, variable: Variable) -> Iterator[ChangedField]:
    if "cutpoints" in form:
        yield ChangedField("cutpoints", partial(_cutpoints, name=variable.name, text=form["cutpoints"]))
    level, label, cuts = (form.get(key, "").strip() for key in LEVEL)
    if level or label or cuts:
        field = "level_cutpoints" if level else "level"
        yield ChangedField(field, partial(_recode, variable=variable, level=level, label=label, text=cuts))


def _codes(form: Form, variable: Variable) -> Iterator[ChangedField]:
    name, known = variable.name, {code.code: code for code in variable.codes or ()}
    rows = {place: form[f"code-{place}"] for place in range(CODES) if form.get(f"code-{place}") in known}
    for place, code in rows.items():
        words, spellings = form.get(f"words-{place}"), form.get(f"spellings-{place}")
        if words is not None:
            change = partial(_code_label, name=name, code=code, before=known[code].label, text=words)
            yield ChangedField(f"words-{place}", change)
        if spellings is not None:
            change = partial(_spellings, name=name, code=code, before=known[code].synonyms, text=spellings)
            yield ChangedField(f"spellings-{place}", change)
    yield from _regrouped(form, variable, rows)


def _regrouped(form: Form, variable: Variable, rows: Mapping[int, str]) -> Iterator[ChangedField]:
    """New codes, codes that are merged, and groups: of the level above, or of a new one."""
    name = variable.name
    if added := lines_in(form.get("added", "")):
        yield ChangedField("added", partial(changes.add_codes, name=name, codes=added))
    groups = {code: form.get(f"group-{place}", "").strip() for place, code in rows.items()}
    if variable.parent is not None:
        for place, code in rows.items():
            change = partial(changes.put_in_group, name=name, code=code, group=groups[code])
            yield ChangedField(f"group-{place}", change)
    merged = {place: code for place, code in rows.items() if form.get(f"into-{place}", "").strip()}
    spelled = {code.code.strip(): code.code for code in variable.codes or ()}
    for place, code in merged.items():
        into = spelled.get(form[f"into-{place}"].strip(), form[f"into-{place}"].strip())
        yield ChangedField(f"into-{place}", partial(changes.merge_code, name=name, code=code, into=into))
    level, label = (form.get(key, "").strip() for key in LEVEL[:2])
    if variable.parent is None and (level or label or any(groups.values())):
        kept = {code: group for code, group in groups.items() if code not in merged.values()}
        change = partial(changes.add_level, variable=variable, level=level, label=label, groups=kept)
        yield ChangedField("level", change)


def _text(document: TomlDocument, *, key: str, text: str, table: tuple[str, ...]) -> None:
    before = str(document.get(table).get(key, ""))
    changes.set_text(document, key, _line(text, before), table=table)


def _label(document: TomlDocument, *, name: str, text: str) -> None:
    table = _declared(document, name)
    before = str(document.get(table).get("label", name))
    if not (label := _line(text, before)):
        raise Mistake(f"{name[:60]!r} needs a label.", suggestions=["It is what people read in place of the name."])
    if label != before:
        document.set(table, "label", label)


def _role(document: TomlDocument, *, name: str, role: str) -> None:
    table = _declared(document, name)
    if role not in tuple(Role):
        raise Mistake(f"{role[:60]!r} is no role.", suggestions=[f"Choose one of {', '.join(Role)}."])
    said = document.get(table)
    if said.get("role") is None and (role == Role.OTHER or "of" in said):
        return  # that of a recode is that of its number, unless it has its own
    changes.set_role(document, name, role)


def _code_label(document: TomlDocument, *, name: str, code: str, before: str, text: str) -> None:
    if not (label := _line(text, before)):
        raise Mistake(f"The code {code[:60]!r} needs a label.", suggestions=["The code itself, if there is no other."])
    if label != before:
        changes.set_words(document, name, code, label)


def _spellings(document: TomlDocument, *, name: str, code: str, before: tuple[str, ...], text: str) -> None:
    if (found := _listed(text, before)) != list(before):
        changes.set_spellings(document, name, code, found)


def _missing(document: TomlDocument, *, name: str, text: str, said: list[Any]) -> None:
    before = [str(each) or _EMPTY for each in said]  # numbers without quotes mean the same, and stay
    if (found := _listed(text, before)) != before:
        changes.set_list(document, name, "missing", ["" if line == _EMPTY else line for line in found])


def _cutpoints(document: TomlDocument, *, name: str, text: str) -> None:
    changes.set_list(document, name, "cutpoints", numbers_in(text))


def _recode(document: TomlDocument, *, variable: Variable, level: str, label: str, text: str) -> None:
    changes.add_recode(document, variable, level, label, numbers_in(text))


def _declared(document: TomlDocument, name: str) -> tuple[str, ...]:
    """The section of a variable; one that only a hierarchy file names has none."""
    table = changes.section_of(name)
    if name not in document.get(table[:1]):
        raise Mistake(
            f"{name[:60]!r} has no section of its own.", suggestions=["Change the variable that names its file."]
        )
    return table


def _line(text: str, before: str) -> str:
    """A text on one line, without what nobody sees; as it was if the words are the same."""
    line = " ".join(text.split())
    if line == " ".join(before.split()):
        return before
    if len(line) > LONGEST:
        raise Mistake(f"This is longer than {LONGEST} characters.")
    if not line.isprintable():
        raise Mistake("This has characters that cannot be seen.", suggestions=["Write it anew."])
    return line


def _listed(text: str, before: Sequence[str]) -> list[str]:
    """The lines of a field, each as it was before if it was there: spaces around a spelling are not seen in a form."""
    found, known = lines_in(text), {each.strip(): each for each in before}
    return list(before) if found == lines_in("\n".join(before)) else [known.get(line, line) for line in found]


def lines_in(text: str) -> list[str]:
    """The lines of a field with something on them.

    >>> lines_in(" -9\\n\\n99 ")
    ['-9', '99']
    """
    return list(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip()))


def numbers_in(text: str) -> list[float]:
    """The numbers in a field, with commas or spaces between them; whole ones stay whole.

    >>> numbers_in("10, 20.5 30")
    [10, 20.5, 30]
    """
    found: list[float] = []
    for word in re.split(r"[\s,;]+", text.strip()):
        if not word:
            continue
        if not re.fullmatch(r"-?\d{1,15}(\.\d{1,9})?", word, re.ASCII):
            raise Mistake(f"{word[:60]!r} is no number.", suggestions=["Write them as in 10, 20, 30.5."])
        found.append(float(word) if "." in word else int(word))
    return found


def numbers_text(numbers: Sequence[float]) -> str:
    """Numbers as a person writes them.

    >>> numbers_text((10, 20.5))
    '10, 20.5'
    """
    return ", ".join(f"{number:.15g}" for number in numbers)


def missing_text(said: Sequence[Any]) -> str:
    """What means missing, each on a line.

    >>> missing_text(["", -9])
    '""\\n-9'
    """
    return "\n".join(str(each) or _EMPTY for each in said)


def number_of(text: str) -> int:
    """From where a page shows something; 0 if that makes no sense."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0
