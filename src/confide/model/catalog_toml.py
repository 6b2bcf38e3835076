"""Reading `dataset.toml`: every typo is a Mistake that names the key, the variable and the nearest known word."""

import csv
import tomllib
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any, TypeVar

from confide.errors import Mistake, nearest
from confide.model.catalog import Code, CodeList, Dataset, Kind, Role, Variable
from confide.model.hierarchy import read_hrc

__all__ = ["bin_codes", "read_dataset"]

Reader = Callable[[str], str]
Option = TypeVar("Option", Kind, Role)

_DATASET_KEYS = {"title", "source", "period", "unit", "weight", "weight_decimals", "variables"}
_VARIABLE_KEYS = {
    *("label", "kind", "role", "subject", "codes", "codes_file", "parent", "group", "universe", "of"),
    *("cutpoints", "nodes", "decimals", "minimum", "maximum", "missing", "hierarchy_file", "levels"),
}
_STRINGS = ("label", "kind", "role", "subject", "codes_file", "parent", "group", "of", "hierarchy_file")


def read_dataset(text: str, *, name: str, read_file: Reader) -> Dataset:
    """The data set described by the text of a `dataset.toml`; `read_file` gives the text of a file it names."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f"dataset.toml of {name!r} is not valid TOML: {error}.") from None
    _known_keys(raw, _DATASET_KEYS, f"dataset.toml of {name!r}")
    tables = raw.get("variables", {})
    if not isinstance(tables, dict) or not tables:
        raise Mistake(f"dataset.toml of {name!r} declares no variables. Add a [variables.NAME] section for each.")
    variables: dict[str, Variable] = {}
    for key, table in tables.items():
        for variable in _variables(key, _inherited(table, tables), read_file):
            if variables.setdefault(variable.name, variable) is not variable:
                raise Mistake(f"Variable {variable.name!r} is declared twice.")
    dataset = Dataset(
        name=name,
        title=_text(raw, "title", name),
        source=_text(raw, "source", ""),
        period=_text(raw, "period", ""),
        unit=raw.get("unit"),
        weight=raw.get("weight"),
        weight_decimals=_whole(raw, "weight_decimals", 2, where=f"dataset.toml of {name!r}"),
        variables=variables,
    )
    for variable in variables.values():
        _check_links(variable, dataset)
    return dataset


def _text(raw: Mapping[str, Any], key: str, default: str) -> str:
    value = raw.get(key, default)
    if not isinstance(value, str):
        raise Mistake(f"{key!r} must be text in quotes.")
    return value


def _whole(raw: Mapping[str, Any], key: str, default: int, *, where: str) -> int:
    value = raw.get(key, default)
    if not isinstance(value, int) or not 0 <= value <= 9:
        raise Mistake(f"{key!r} in {where} must be a whole number from 0 to 9.")
    return value


def _known_keys(raw: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in raw:
        if key not in known:
            raise Mistake(f"Unknown key {key!r} in {where}.", suggestions=nearest(key, known))


def _variables(name: str, table: Any, read_file: Reader) -> list[Variable]:
    """One variable, or the levels of one whose hierarchy stands in a τ-ARGUS file."""
    where = f"variable {name!r}"
    if not isinstance(table, dict):
        raise Mistake(f"{where} must be a [variables.{name}] section.")
    if not name.strip() or len(name) > 100 or any(ord(c) < 32 for c in name):
        raise Mistake(f"{name[:40]!r} cannot name a variable: use 1 to 100 printable characters.")
    _known_keys(table, _VARIABLE_KEYS, where)
    for key in _STRINGS:
        if key in table and not isinstance(table[key], str):
            raise Mistake(f"{key!r} of {where} must be text in quotes.")
    if "hierarchy_file" in table:
        return _levels(name, table, read_file)
    return [_variable(name, table, _codes(name, table, read_file))]


def _inherited(table: Any, tables: Mapping[str, Any]) -> Any:
    """A recode has the declared domain and role of the number behind it, unless it says otherwise."""
    base = tables.get(str(table.get("of"))) if isinstance(table, dict) else None
    if not isinstance(base, dict):
        return table
    shared = ("kind", "role", "subject", "group", "decimals", "minimum", "maximum", "missing")
    return {key: base[key] for key in shared if key in base} | table


def _variable(name: str, table: Mapping[str, Any], codes: CodeList | None) -> Variable:
    kind = _member(Kind, table.get("kind", "categorical"), f"kind of {name!r}")
    role = _member(Role, table.get("role", "other"), f"role of {name!r}")
    cutpoints = tuple(_number(c, f"a cutpoint of {name!r}") for c in table.get("cutpoints", ()))
    variable = Variable(
        name=name,
        label=table.get("label", name),
        kind=kind,
        role=role,
        subject=table.get("subject", ""),
        codes=codes,
        parent=table.get("parent"),
        group=table.get("group"),
        universe=bool(table.get("universe", True)),
        of=table.get("of"),
        cutpoints=cutpoints,
        decimals=_whole(table, "decimals", 0, where=f"variable {name!r}"),
        minimum=_optional_number(table, "minimum", name),
        maximum=_optional_number(table, "maximum", name),
        missing=tuple(str(m) for m in table.get("missing", ())),
    )
    if kind is Kind.NUMERIC:
        return _with_bins(variable, tuple(table.get("nodes", ())))
    if cutpoints:
        raise Mistake(f"{name!r} is categorical and cannot have cutpoints.", suggestions=["Set kind = 'numeric'."])
    if codes is None and role is not Role.IDENTIFIER:
        raise Mistake(f"{name!r} declares no codes.", suggestions=["Add [variables." + name + ".codes]."])
    return variable


def _member(options: type[Option], value: str, where: str) -> Option:
    try:
        return options(value)
    except ValueError:
        known = [str(option) for option in options]
        raise Mistake(f"The {where} is {value!r}; it must be one of {', '.join(known)}.") from None


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise Mistake(f"{where[0].upper() + where[1:]} must be a number.")
    return value


def _optional_number(table: Mapping[str, Any], key: str, name: str) -> float | None:
    return _number(table[key], f"the {key} of {name!r}") if key in table else None


def _codes(name: str, table: Mapping[str, Any], read_file: Reader) -> CodeList | None:
    missing = {str(m) for m in table.get("missing", ())}
    if "codes_file" in table:
        rows = csv.DictReader(read_file(table["codes_file"]).splitlines())
        if rows.fieldnames is None or "code" not in rows.fieldnames:
            raise Mistake(f"The codes file of {name!r} needs a header with 'code', and may have 'label', 'parent'.")
        entries = {row["code"]: {k: v for k, v in row.items() if k in ("label", "parent") and v} for row in rows}
    elif "codes" in table:
        if not isinstance(table["codes"], dict):
            raise Mistake(f"The codes of {name!r} must be a [variables.{name}.codes] section.")
        entries = {c: e if isinstance(e, dict) else {"label": e} for c, e in table["codes"].items()}
    else:
        return None
    for entry in entries.values():
        _known_keys(entry, {"label", "parent"}, f"the codes of {name!r}")
    entries |= {m: {"label": "Missing"} for m in sorted(missing - entries.keys()) if m}
    return CodeList(tuple(Code(c, str(e.get("label", c)), e.get("parent"), c in missing) for c, e in entries.items()))


def _levels(name: str, table: Mapping[str, Any], read_file: Reader) -> list[Variable]:
    """The levels of a `.hrc` hierarchy as variables, finest (under the declared name) first."""
    levels = read_hrc(read_file(table["hierarchy_file"]))
    names = table.get("levels") or [f"{name}_{depth + 1}" for depth in range(len(levels) - 1)]
    if len(names) != len(levels) - 1:
        raise Mistake(f"{name!r}: 'levels' names the {len(levels) - 1} coarser levels of the file, coarsest first.")
    labels = {code.code: code.label for code in _codes(name, table, read_file) or ()}
    chain = [*names, name]
    variables = []
    for depth, level in enumerate(levels):
        codes = CodeList(tuple(Code(c, labels.get(c, c), parent) for c, parent in level.items()))
        parent = {"parent": chain[depth - 1]} if depth else {}
        label = table.get("label", name) if depth == len(levels) - 1 else f"{table.get('label', name)}: {chain[depth]}"
        entry = {k: v for k, v in table.items() if k not in ("levels", "hierarchy_file", "codes", "label")}
        variables.append(_variable(chain[depth], {**entry, **parent, "label": label}, codes))
    return variables[::-1]


def _with_bins(variable: Variable, nodes: tuple[Any, ...]) -> Variable:
    if not variable.cutpoints:
        return variable
    cuts = variable.cutpoints
    if any(b <= a for a, b in pairwise(cuts)):
        raise Mistake(f"The cutpoints of {variable.name!r} must increase.")
    codes = CodeList(tuple(bin_codes(variable)))
    fields = {**variable.__dict__, "codes": codes}
    fields["nodes"] = {str(node): _node(variable, str(node), codes) for node in nodes}
    return Variable(**fields)


def bin_codes(variable: Variable) -> list[Code]:
    """The bins that cutpoints make, as codes: below the first, between, from the last; then missing, if declared."""
    cuts = [Decimal(str(c)) for c in variable.cutpoints]
    step = Decimal(1).scaleb(-variable.decimals)
    low = None if variable.minimum is None else Decimal(str(variable.minimum))
    high = None if variable.maximum is None else Decimal(str(variable.maximum))
    if (low is not None and low >= cuts[0]) or (high is not None and high < cuts[-1]):
        raise Mistake(f"The cutpoints of {variable.name!r} must lie inside its declared minimum and maximum.")
    names = [f"<{cuts[0]}" if low is None else _range(low, cuts[0] - step)]
    names += [_range(a, b - step) for a, b in pairwise(cuts)]
    names.append(f"{cuts[-1]}+")
    codes = [Code(n, n) for n in names]
    return [*codes, Code("missing", "Missing", missing=True)] if variable.missing else codes


def _range(low: Decimal, high: Decimal) -> str:
    if low == high:
        return str(low)
    return f"{low} to {high}" if low < 0 or high < 0 else f"{low}-{high}"


def _node(variable: Variable, node: str, codes: CodeList) -> tuple[str, ...]:
    """The bins below a node "low-high" of a partition tree."""
    try:
        low, high = (Decimal(part) for part in node.split(" to " if " to " in node else "-", 1))
    except (InvalidOperation, ValueError):
        raise Mistake(f"Node {node!r} of {variable.name!r} must be written low-high.") from None
    edges = [Decimal("-Infinity"), *(Decimal(str(c)) for c in variable.cutpoints), Decimal("Infinity")]
    inside = [i for i in range(len(edges) - 1) if edges[i + 1] > low and edges[i] <= high]
    return tuple(codes.names[i] for i in inside)


def _check_links(variable: Variable, dataset: Dataset) -> None:
    names = dataset.variables
    if variable.of is not None:
        base = names.get(variable.of)
        if base is None or not base.numeric or base.of is not None:
            raise Mistake(
                f"{variable.name!r} is a recode of {variable.of!r}, which is not a declared numeric variable."
            )
    if variable.parent is None:
        return
    parent = names.get(variable.parent)
    if parent is None or parent.codes is None:
        raise Mistake(
            f"The parent of {variable.name!r} is {variable.parent!r}, which is not a variable with codes.",
            suggestions=nearest(variable.parent, names),
        )
    ancestors, level = {variable.name}, parent
    while level.parent is not None and level.parent in names:
        if level.name in ancestors:
            raise Mistake(f"The levels of {variable.name!r} run in a circle.")
        ancestors.add(level.name)
        level = names[level.parent]
    for code in variable.codes or ():
        if code.parent not in parent.codes:
            raise Mistake(
                f"Code {code.code!r} of {variable.name!r} has the parent {code.parent!r}, not a code of {parent.name!r}.",
                suggestions=nearest(code.parent or "", parent.codes.names),
            )
