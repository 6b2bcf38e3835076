"""Reading `dataset.toml`: every typo is a Mistake that names the key, the variable and the nearest known word."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from math import isfinite
from typing import Any, TypeVar

from confide.errors import Mistake, nearest
from confide.model.catalog.bins import bin_codes, with_bins
from confide.model.catalog.codes import read_codes, read_levels
from confide.model.catalog.dataset import MOST_DECIMALS, CodeList, Dataset, EngineName, Kind, Role, Taking, Variable
from confide.model.catalog.sampling import read_design
from confide.model.catalog.zeros import read_zeros
from confide.model.toml import parse_toml

__all__ = ["bin_codes", "known_keys", "member", "read_dataset", "read_variables", "text_of", "whole_of"]

Reader = Callable[[str], str]
Option = TypeVar("Option", EngineName, Kind, Role, Taking)

_DATASET_KEYS = {"title", "source", "period", "unit", "household", "weight", "weight_decimals", "variables"}
_DATASET_KEYS |= {"engine", "database", "cluster", "storage", "sampling", "structural_zeros"}
_TEXTS = {"label", "kind", "role", "subject", "codes_file", "parent", "group", "of", "hierarchy_file"}
_TEXTS |= {"asked_of", "dates"}
_LISTS = {"cutpoints", "nodes", "missing", "levels"}
_VARIABLE_KEYS = {*_TEXTS, *_LISTS, "codes", "universe", "decimals", "minimum", "maximum"}


def read_dataset(text: str, *, name: str, read_file: Reader) -> Dataset:
    """The data set described by the text of a `dataset.toml`; `read_file` gives the text of a file it names."""
    where = f"dataset.toml of {name!r}"
    raw = parse_toml(text, what=where)
    known_keys(raw, _DATASET_KEYS, where)
    tables = raw.get("variables", {})
    if not isinstance(tables, dict) or not tables:
        raise Mistake(f"{where} declares no variables. Add a [variables.NAME] section for each.")
    dataset = Dataset(
        name=name,
        title=text_of(raw, "title", where) or name,
        source=text_of(raw, "source", where),
        period=text_of(raw, "period", where),
        unit=text_of(raw, "unit", where) or None,
        household=text_of(raw, "household", where) or None,
        weight=text_of(raw, "weight", where) or None,
        weight_decimals=whole_of(raw, "weight_decimals", 2, where=where),
        engine=member(EngineName, text_of(raw, "engine", where) or "auto", f"engine in {where}"),
        database=text_of(raw, "database", where),
        cluster=text_of(raw, "cluster", where),
        storage=text_of(raw, "storage", where),
        sampling=read_design(raw["sampling"], where=where) if "sampling" in raw else None,
        variables=read_variables(tables, read_file),
    )
    return replace(dataset, structural_zeros=read_zeros(raw.get("structural_zeros", []), dataset, where=where))


def read_variables(
    tables: Mapping[str, Any], read_file: Reader, known: Mapping[str, Variable] | None = None
) -> dict[str, Variable]:
    """The variables that sections describe, after those that are `known`; what they refer to is there and fits."""
    variables = dict(known or {})
    for key, table in tables.items():
        for variable in _variables(key, _inherited(table, tables), read_file):
            if variables.setdefault(variable.name, variable) is not variable:
                raise Mistake(f"Variable {variable.name!r} is declared twice.")
    for variable in variables.values():
        _check_links(variable, variables)
    return {v.name: _with_missing_parents(v, variables) for v in variables.values()}


def text_of(raw: Mapping[str, Any], key: str, where: str) -> str:
    """The text under a key; empty if there is none."""
    value = raw.get(key, "")
    if not isinstance(value, str):
        raise Mistake(f"{key!r} in {where} must be text in quotes.")
    return value


def whole_of(raw: Mapping[str, Any], key: str, default: int, *, where: str) -> int:
    """The number of decimals under a key."""
    value = raw.get(key, default)
    if type(value) is not int or not 0 <= value <= MOST_DECIMALS:
        raise Mistake(f"{key!r} in {where} must be a whole number from 0 to {MOST_DECIMALS}.")
    return value


def known_keys(raw: Mapping[str, Any], known: set[str], where: str) -> None:
    """A Mistake that offers the nearest if a key is not known."""
    for key in raw:
        if key not in known:
            raise Mistake(f"Unknown key {key!r} in {where}.", suggestions=nearest(key, known))


def _variables(name: str, table: Any, read_file: Reader) -> list[Variable]:
    """One variable, or the levels of one whose hierarchy stands in a τ-ARGUS file."""
    where = f"variable {name!r}"
    if not isinstance(table, dict):
        raise Mistake(f"{name!r} must be a [variables.{name}] section.")
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise Mistake(f"{name[:40]!r} cannot name a variable: use 1 to 100 printable characters.")
    known_keys(table, _VARIABLE_KEYS, where)
    for key in table:
        if key in _TEXTS and not isinstance(table[key], str):
            raise Mistake(f"{key!r} of {where} must be text in quotes.")
        if key in _LISTS and not isinstance(table[key], list):
            raise Mistake(f"{key!r} of {where} must be a list in square brackets.")
    if "hierarchy_file" not in table:
        return [_variable(name, table, read_codes(name, table, read_file))]
    own = {key: value for key, value in table.items() if key not in ("levels", "hierarchy_file", "codes", "codes_file")}
    levels = read_levels(name, table, read_file)
    return [
        _variable(level.name, own | {"parent": level.parent, "label": level.label}, level.codes) for level in levels
    ]


def _inherited(table: Any, tables: Mapping[str, Any]) -> Any:
    """A recode is numeric and has the declared domain and role of the number behind it, unless it says otherwise."""
    if not isinstance(table, dict) or "of" not in table:
        return table
    base = tables.get(str(table["of"]))
    shared = ("role", "subject", "asked_of", "group", "decimals", "minimum", "maximum", "missing", "dates")
    return {key: base[key] for key in shared if isinstance(base, dict) and key in base} | {"kind": "numeric"} | table


def _variable(name: str, table: Mapping[str, Any], codes: CodeList | None) -> Variable:
    where = f"variable {name!r}"
    variable = Variable(
        name=name,
        label=table.get("label", name),
        kind=member(Kind, table.get("kind", "categorical"), f"kind of {name!r}"),
        role=member(Role, table.get("role", "other"), f"role of {name!r}"),
        subject=table.get("subject", ""),
        asked_of=table.get("asked_of", ""),
        codes=codes,
        parent=table.get("parent"),
        group=table.get("group"),
        universe=_flag(table, "universe", where),
        of=table.get("of"),
        cutpoints=tuple(_number(c, f"a cutpoint of {name!r}") for c in table.get("cutpoints", ())),
        decimals=whole_of(table, "decimals", 0, where=where),
        minimum=_optional_number(table, "minimum", name),
        maximum=_optional_number(table, "maximum", name),
        missing=tuple(str(m) for m in table.get("missing", ())),
        dates=table.get("dates", ""),
    )
    _check_domain(variable)
    return with_bins(variable, tuple(str(node) for node in table.get("nodes", ())))


def _check_domain(variable: Variable) -> None:
    name = variable.name
    if variable.numeric and variable.codes is not None:
        raise Mistake(
            f"{name!r} is numeric: it has cutpoints, not codes.", suggestions=["Or set kind = 'categorical'."]
        )
    if not variable.numeric and variable.cutpoints:
        raise Mistake(f"{name!r} is categorical and cannot have cutpoints.", suggestions=["Set kind = 'numeric'."])
    if variable.dates:
        _check_dates(variable)
    if not variable.numeric and variable.codes is None and variable.role is not Role.IDENTIFIER:
        raise Mistake(f"{name!r} declares no codes.", suggestions=[f"Add [variables.{name}.codes]."])
    if variable.of is not None and not variable.cutpoints:
        raise Mistake(f"{name!r} is a recode of {variable.of!r} and needs cutpoints.")
    if variable.minimum is not None and variable.maximum is not None and variable.minimum > variable.maximum:
        raise Mistake(f"The minimum of {name!r} is above its maximum.")


def _check_dates(variable: Variable) -> None:
    if not variable.numeric:
        raise Mistake(f"The dates of {variable.name!r} become numbers.", suggestions=["Set kind = 'numeric'."])
    if variable.dates not in ("year", "month") and not _age_at_a_day(variable.dates):
        raise Mistake(
            f'Of the dates of {variable.name!r} \'dates\' takes "year", "month" or the age at a day: "age 2025-12-31".'
        )


def _age_at_a_day(part: str) -> bool:
    try:
        return part.startswith("age ") and bool(date.fromisoformat(part[4:]))
    except ValueError:
        return False


def member(options: type[Option], value: str, where: str) -> Option:
    """The option of that name."""
    try:
        return options(value)
    except ValueError:
        known = [str(option) for option in options]
        raise Mistake(
            f"The {where} is {value!r}; it must be one of {', '.join(known)}.", suggestions=nearest(value, known)
        ) from None


def _flag(table: Mapping[str, Any], key: str, where: str) -> bool:
    value = table.get(key, True)
    if not isinstance(value, bool):
        raise Mistake(f"{key!r} of {where} must be true or false, without quotes.")
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise Mistake(f"{where[0].upper() + where[1:]} must be a number.")
    return value


def _optional_number(table: Mapping[str, Any], key: str, name: str) -> float | None:
    return _number(table[key], f"the {key} of {name!r}") if key in table else None


def _check_links(variable: Variable, variables: Mapping[str, Variable]) -> None:
    """What a variable refers to is there and fits."""
    name = variable.name
    if variable.of is not None:
        base = variables.get(variable.of)
        if base is None or not base.numeric or base.of is not None:
            raise Mistake(
                f"{name!r} is a recode of {variable.of!r}, which is not a declared numeric variable.",
                suggestions=nearest(variable.of, [v.name for v in variables.values() if v.numeric and v.of is None]),
            )
    codes = variable.codes or CodeList(())
    if variable.parent is None:
        if any(code.parent is not None for code in codes):
            raise Mistake(
                f"The codes of {name!r} have parents, but {name!r} names none.", suggestions=["Add parent = ..."]
            )
        return
    parent = variables.get(variable.parent)
    if parent is None or parent.codes is None or variable.codes is None:
        raise Mistake(
            f"The parent of {name!r} is {variable.parent!r}, which is not a variable with codes.",
            suggestions=nearest(variable.parent, [v.name for v in variables.values() if v.codes]),
        )
    _check_circle(variable, variables)
    _check_parents(name, codes, parent)


def _check_circle(variable: Variable, variables: Mapping[str, Variable]) -> None:
    above, level = {variable.name}, variable
    while level.parent is not None and level.parent in variables:
        level = variables[level.parent]
        if level.name in above:
            raise Mistake(f"The levels of {variable.name!r} run in a circle.")
        above.add(level.name)


def _check_parents(name: str, codes: CodeList, parent: Variable) -> None:
    assert parent.codes is not None
    for code in codes:
        if code.parent is None and not code.missing:
            raise Mistake(f"Code {code.code!r} of {name!r} has no parent among the codes of {parent.name!r}.")
        if code.parent is None and not any(above.missing for above in parent.codes):
            raise Mistake(
                f"{name!r} has a missing code and its parent {parent.name!r} has none.",
                suggestions=[f'Add missing = ["NA"] to [variables.{parent.name}].'],
            )
        if code.parent is not None and code.parent not in parent.codes:
            raise Mistake(
                f"Code {code.code!r} of {name!r} has the parent {code.parent!r}, not a code of {parent.name!r}.",
                suggestions=nearest(code.parent, parent.codes.names),
            )


def _with_missing_parents(variable: Variable, variables: Mapping[str, Variable]) -> Variable:
    """A missing code without a parent lies under the first missing code of the coarser level."""
    if variable.parent is None or variable.codes is None:
        return variable
    above = next((code.code for code in variables[variable.parent].codes or () if code.missing), None)
    codes = [replace(c, parent=above) if c.missing and c.parent is None else c for c in variable.codes]
    return replace(variable, codes=CodeList(tuple(codes)))
