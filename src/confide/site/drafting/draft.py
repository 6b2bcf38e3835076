"""Drafting `dataset.toml` from a data file: a start that works, for the custodian to read and mend.

A draft lists the codes it saw. What is published is what the file declares, so complete the lists where classes are missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from confide.errors import Mistake
from confide.model.catalog.dataset import Role
from confide.model.toml import toml_key, toml_value
from confide.site.cutpoints.draft import round_cutpoints
from confide.site.profiling import names
from confide.site.profiling.codes import MISSING_WORDS
from confide.site.profiling.column import ProfiledColumn
from confide.site.profiling.grouping import Grouping
from confide.site.profiling.joining import Joined, codes_above
from confide.site.profiling.kept import kept_profile
from confide.site.profiling.profile import Decision, Profile, profile, units_for_each
from confide.site.profiling.report import profile_page, summary
from confide.sources.dictionaries.dictionary import read_dictionary
from confide.sources.source import Source

__all__ = ["Draft", "draft", "draft_dataset", "sampling_lines"]

HUNDRED = 100


@dataclass(frozen=True)
class Draft:
    """The text of a `dataset.toml`; lines and a page that say what was seen in the data, for the custodian only."""

    catalog: str
    lines: tuple[str, ...]
    page: str
    kept: str
    """What is kept of the profile for `confide describe`."""


def draft(source: Source, *, name: str, dictionary: str | Path | None = None, household: str | None = None) -> Draft:
    """A description of the data, with what a dictionary says of them, and the profile that it rests on.

    Which column names households may be known.
    """
    if dictionary is not None:
        source = read_dictionary(Path(dictionary)).describe(source)
    found = profile(source, household)
    text = draft_dataset(source, found, name=name)
    return Draft(text, (*source.notes, *summary(found)), profile_page(found, name=name), kept_profile(found))


def draft_dataset(source: Source, found: Profile, *, name: str) -> str:
    """The text of a `dataset.toml` for the data, by what was found in them."""
    lines = [
        "# Drafted from the data. Read it through: what stands here is public.",
        f"title = {toml_value(source.study.title or name)}",
        f"source = {toml_value(source.study.source)}",
        f"period = {toml_value(source.study.period)}",
        *_unit(found),
        *([f"household = {toml_value(found.household.name)}"] if found.household else []),
        *_weight(found),
        *_sampling(found),
    ]
    if all(column.empty for column in found.columns):
        raise Mistake("The data have no values: every column is empty. Are the fields where the first line says?")
    described = [_section(decision, found, source) for decision in found.decisions.values()]
    if not any("codes]" in line or line.startswith("decimals") for section in described for line in section):
        raise Mistake("The data hold nothing but identifiers: no column has codes or numbers to ask about.")
    return "\n".join(line for section in [lines, *described] for line in section) + "\n"


def _unit(found: Profile) -> list[str]:
    if found.unit is None:
        return ['# unit = "..."   # the column that names whom a record is about']
    aside = (found.unit, found.household)
    named = [*found.named(Role.IDENTIFIER, "identifier"), *found.named(Role.IDENTIFIER, "running index")]
    others = [c.name for c in found.columns if c not in aside and c.name in named and _names(c)]
    remarks = ["several records each"] if not found.unit.unique else []
    remarks += [f"or {', '.join(toml_value(name) for name in others)}"] if others else []
    return [f"unit = {toml_value(found.unit.name)}" + (f"   # {'; '.join(remarks)}" if remarks else "")]


def _names(column: ProfiledColumn) -> bool:
    return column.named_unit or column.numbered or column.single_words


def _weight(found: Profile) -> list[str]:
    if found.weight is None:
        return ['# weight = "..."   # the column of survey weights']
    decimals = min(found.weight.decimals, 6)
    return [f"weight = {toml_value(found.weight.name)}", f"weight_decimals = {decimals}"]


def _sampling(found: Profile) -> list[str]:
    replicates = found.named(Role.IDENTIFIER, "replicate weight") if found.weight is not None else []
    return sampling_lines(found.named(Role.IDENTIFIER, "sample design"), replicates)


def sampling_lines(design: list[str], replicates: list[str]) -> list[str]:
    """The design of a sample, by the names of columns, for the custodian to confirm: a wrong one gives wrong errors."""
    strata, psus = [name for name in design if names.of_strata(name)], [n for n in design if not names.of_strata(n)]
    lines = [f"# {key} = {toml_value(some[0])}" for key, some in (("strata", strata), ("psu", psus)) if some]
    if replicates:
        listed = ", ".join(map(toml_value, replicates))
        lines = [f"# replicates = [{listed}]", '# method = "brr"   # or "jackknife", "bootstrap"']
    return ["", "# [sampling]   # standard errors: take the # away if units were drawn so", *lines] if lines else []


def _section(decision: Decision, found: Profile, source: Source) -> list[str]:
    column = decision.column
    if decision.role is None:
        return ["", f"# {toml_value(column.name)} has no values at all and is left out."] if column.empty else []
    head = ["", f"[variables.{toml_key(column.name)}]", f"label = {toml_value(column.label or column.name)}"]
    if decision.role is Role.IDENTIFIER:
        remark = f"   # {decision.why}: never shown, never asked for"
        return [*head, 'kind = "categorical"', f'role = "identifier"{remark}']
    asked = source.universes.get(column.name)
    head += [f"asked_of = {toml_value(asked)}"] if asked else []
    head += [f"# {note}" for note in decision.notes]
    kind = "categorical" if column.categorical else "numeric"
    head += [f'kind = "{kind}"', f'role = "{decision.role}"   # {decision.why}']
    if not column.categorical:
        return head + _number(column, units_for_each(found.unit))
    group = found.groupings.get(column.name)
    above = _group(group, column, decision.role) if group else []
    return [*above, *head, *_categories(column, found)]


def _group(group: Grouping, column: ProfiledColumn, role: Role) -> list[str]:
    """The section of a coarser level that the data do not have."""
    missing = _missing(column)
    return [
        "",
        f"[variables.{toml_key(group.name)}]",
        f"label = {toml_value(f'{column.label or column.name}, groups')}",
        f"# by the first {group.length} characters of {column.name!r}: label them, or remove if that is no classification",
        'kind = "categorical"',
        f'role = "{role}"',
        *([f"missing = {toml_value(missing[:1])}"] if missing else []),
        f"[variables.{toml_key(group.name)}.codes]",
        *(f"{toml_key(code)} = {toml_value(column.labels.get(code, code))}" for code in group.groups),
    ]


def _categories(column: ProfiledColumn, found: Profile) -> list[str]:
    parent, group = found.parents.get(column.name), found.groupings.get(column.name)
    lines, up = [], dict(group.of) if group else {}
    if parent:
        up = codes_above(column, parent, found.joined)
        lines.append(
            f"parent = {toml_value(parent.name)}   # every code lies within one code of it; remove if by accident"
        )
    elif group:
        lines.append(f"parent = {toml_value(group.name)}")
    if missing := _missing(column):
        lines.append(f"missing = {toml_value(missing)}")
    lines.append(f"[variables.{toml_key(column.name)}.codes]")
    if column.name in found.joined:
        return [*lines, *_joined(column, found.joined[column.name], up)]
    codes = dict.fromkeys([*column.labels, *column.codes])
    return [*lines, *(f"{toml_key(code)} = {_code(column, code, up.get(code))}" for code in codes)]


def _joined(column: ProfiledColumn, joined: Joined, up: Mapping[str, str]) -> list[str]:
    """A line for each class; the codes of those that have several are its spellings."""
    apart = {code: (code,) for code in dict.fromkeys([*column.labels, *column.codes]) if code in column.marks}
    lines = []
    for name, codes in (apart | dict(joined.members)).items():
        others = [*(c for c in codes if c != name), *(other for c in codes for other in column.synonyms.get(c, ()))]
        label = joined.labels.get(name) or _label(column, name)
        lines.append(f"{toml_key(name)} = {_said(label, up.get(codes[0]), others)}")
    return lines


def _missing(column: ProfiledColumn) -> list[str]:
    """The codes that mean missing, that of what is empty first."""
    return list(dict.fromkeys([*([_empty(column)] if column.missing else []), *column.marks]))


def _empty(column: ProfiledColumn) -> str:
    """The code of what is empty: one that stands for no other value, or that a codebook has for it already."""
    taken = {*column.codes, *column.labels} - (set(column.marks) - set(column.codes))
    return next(code for code in ("NA", "missing", "no value") if code not in taken)


def _code(column: ProfiledColumn, code: str, parent: str | None) -> str:
    return _said(_label(column, code), parent, column.synonyms.get(code, ()))


def _label(column: ProfiledColumn, code: str) -> str:
    """The label of a code; of one that means missing and says so to nobody, as 9 does, that it does."""
    silent = code in column.marks and (code in MISSING_WORDS or not any(c.isalpha() for c in code))
    return column.labels.get(code, f"Missing ({code})" if silent else code)


def _said(label: str, parent: str | None, others: Sequence[str]) -> str:
    """What is said of a code: its label alone, or with its parent and its other spellings."""
    parts = [f"label = {toml_value(label)}"]
    parts += [f"parent = {toml_value(parent)}"] if parent is not None else []
    parts += [f"synonyms = [{', '.join(map(toml_value, others))}]"] if others else []
    return toml_value(label) if len(parts) == 1 else f"{{ {', '.join(parts)} }}"


def _number(column: ProfiledColumn, units: float) -> list[str]:
    lines = [f"decimals = {column.decimals}"]
    if column.dates:
        century = int(column.present.min()) // HUNDRED * HUNDRED
        lines = ['dates = "year"   # or "month", or "age 2025-12-31" for the age at a day', *lines]
        lines.append(f"minimum = {century}")
    elif not (column.present < 0).any():
        lines.append("minimum = 0")
    missing = [*([""] if column.missing else []), *column.marks]
    if missing:
        lines.append(f"missing = {toml_value(missing)}")
    cuts = round_cutpoints(column, share=units)
    return [*lines, f"cutpoints = {toml_value(cuts)}"] if cuts else lines
