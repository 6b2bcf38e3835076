"""Reading the `dataset.toml` of households, a level above the data set of the people who live in them.

Its variables are those of people that all of a household have in common, under the same names, and what is taken of its people:
how many they are, whether any is something, sums and means, what the head is. People have the latter too.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from confide.errors import Mistake, nearest
from confide.model.catalog.dataset import MOST_DECIMALS, Dataset, HouseholdLevel, Role, Taken, Taking, Variable
from confide.model.catalog.sampling import read_design
from confide.model.catalog.toml import known_keys, member, read_variables, text_of, whole_of
from confide.model.toml import parse_toml
from confide.model.universe import Piece

__all__ = ["read_level"]

Reader = Callable[[str], str]
Raw = Mapping[str, Any]

_KEYS = {"title", "source", "period", "key", "head", "weight", "weight_decimals", "sampling", "variables"}
_OWN = {"label", "subject", "asked_of", "universe"}
"""What may be said of a variable that people have too: all else is as it is for them."""

_OF_TAKEN = {"take", "from", "among"}
"""What says how a variable is taken; all else describes it as any other."""

_YES_NO = {"yes": "Yes", "no": "No"}


def read_level(text: str, people: Dataset, *, name: str, read_file: Reader) -> tuple[Dataset, Dataset]:
    """The data set of households that a text describes, and that of people with what is taken of their households."""
    where = f"dataset.toml of {name!r}"
    raw = parse_toml(text, what=where)
    known_keys(raw, _KEYS, where)
    if people.household is None:
        raise Mistake(
            f"{name!r} is a level above {people.name!r}, which does not say who lives with whom.",
            suggestions=[
                f'Add household = "..." to dataset.toml of {people.name!r}: the column that names households.'
            ],
        )
    variables = _variables(raw.get("variables", {}), people, where, read_file)
    more = {v.name: v for v in variables.values() if v.name not in people.variables}
    named = {n: v for n, v in people.variables.items() if n == people.household}
    households = replace(
        people,
        name=name,
        title=text_of(raw, "title", where) or f"{people.title}: households",
        source=text_of(raw, "source", where) or people.source,
        period=text_of(raw, "period", where) or people.period,
        unit=people.household,
        household=None,
        weight=text_of(raw, "weight", where) or None,
        weight_decimals=whole_of(raw, "weight_decimals", 2, where=where),
        level=HouseholdLevel(people.name, text_of(raw, "key", where) or people.household, _head(raw, people, where)),
        sampling=read_design(raw["sampling"], where=where) if "sampling" in raw else None,
        structural_zeros=_shared_zeros(people, variables),
        variables=named | variables,
    )
    return households, replace(people, variables={**people.variables, **more}, above=households)


def _shared_zeros(people: Dataset, variables: Mapping[str, Variable]) -> tuple[Piece, ...]:
    """The structural zeros of people whose variables all of a household have in common."""
    return tuple(zero for zero in people.structural_zeros if all(c.variable in variables for c in zero.conditions))


def _head(raw: Raw, people: Dataset, where: str) -> tuple[str, str] | None:
    said = text_of(raw, "head", where)
    if not said:
        return None
    name, _, code = said.partition("=")
    if code not in (_source(name, people, "head", where).codes or ()):
        raise Mistake(f"'head' in {where} must be a variable with codes and a code of it, as in relation=1.")
    return name, code


def _variables(tables: Any, people: Dataset, where: str, read_file: Reader) -> dict[str, Variable]:
    if not isinstance(tables, dict) or not tables:
        raise Mistake(f"{where} declares no variables. Add a [variables.NAME] section for each.")
    odd = [name for name, table in tables.items() if not isinstance(table, dict)]
    if odd:
        raise Mistake(f"{odd[0]!r} must be a [variables.{odd[0]}] section.")
    taken = {name: _taken(name, table, people) for name, table in tables.items() if "take" in table}
    same = {name: _same(name, table, people) for name, table in tables.items() if not {"take", "of"} & set(table)}
    same |= {name: _same(name, table, people) for name, table in tables.items() if name in people.variables}
    others = {name: table for name, table in tables.items() if name not in same}
    full = {n: _described(n, t, taken[n], people) if n in taken else t for n, t in others.items()}
    return {n: replace(v, taken=taken.get(n)) for n, v in read_variables(full, read_file, same).items()}


def _same(name: str, table: Raw, people: Dataset) -> Variable:
    """A variable that all of a household have in common."""
    where = f"variable {name!r}"
    if "take" in table:
        raise Mistake(f"{people.name!r} has a variable {name!r}.", suggestions=["What is taken needs another name."])
    known_keys(table, _OWN, f"{where}, which is as it is in {people.name!r}")
    base = _source(name, people, name, where)
    said: dict[str, Any] = {key: text_of(table, key, where) for key in _OWN - {"universe"} if key in table}
    universe = table.get("universe", base.universe)
    if not isinstance(universe, bool):
        raise Mistake(f"'universe' of {where} must be true or false, without quotes.")
    return replace(base, universe=universe, **said)


def _source(name: str, people: Dataset, of: str, where: str) -> Variable:
    found = people.variables.get(name)
    if found is None or found.role is Role.IDENTIFIER:
        known = [v.name for v in people.variables.values() if v.role is not Role.IDENTIFIER]
        hint = nearest(name, known) or ["Say 'take' if it is made of the people of a household."]
        raise Mistake(f"{of!r} in {where} needs a variable of {people.name!r}; {name!r} is none.", suggestions=hint)
    return found


def _taken(name: str, table: Raw, people: Dataset) -> Taken:
    where = f"variable {name!r}"
    how = member(Taking, text_of(table, "take", where), f"take of {name!r}")
    if how is Taking.SIZE:
        known_keys({key: table[key] for key in ("from", "among") if key in table}, set(), f"{where}: all are counted")
        return Taken(how)
    source = _source(text_of(table, "from", where), people, "from", where)
    among = table.get("among", [])
    if not isinstance(among, list) or not all(isinstance(code, str) for code in among):
        raise Mistake(f"'among' of {where} must be a list of codes in square brackets.")
    counted = how in (Taking.NUMBER, Taking.ANY)
    if counted != bool(among):
        raise Mistake(f'\'among\' lists the codes that are counted by take = "number" and "any" only ({where}).')
    for code in among:
        if code not in (source.codes or ()):
            raise Mistake(f"{source.name!r} has no code {code!r} ({where}).", suggestions=_nearest_code(code, source))
    if how in (Taking.SUM, Taking.MEAN) and not source.measurable:
        raise Mistake(f"{source.name!r} is no number: {str(how)!r} cannot be taken of it ({where}).")
    if how is Taking.HEAD and source.of is not None:
        raise Mistake(f"Take {source.of!r} of the head, and cut it anew: {source.name!r} is a recode ({where}).")
    return Taken(how, source.name, tuple(among))


def _nearest_code(code: str, variable: Variable) -> list[str]:
    return nearest(code, (variable.codes.names if variable.codes else ())) or ["The codebook lists them."]


def _described(name: str, table: Raw, taken: Taken, people: Dataset) -> Raw:
    """All that is said of a variable that is taken: in its section, or else by what it is taken of."""
    own = {key: value for key, value in table.items() if key not in _OF_TAKEN}
    if taken.how is Taking.SIZE:
        return {"kind": "numeric", "role": "key", "minimum": 1} | own
    source = people.variables[taken.source]
    usual: dict[str, Any] = {"role": str(source.role), "subject": source.subject}
    if taken.how is Taking.NUMBER:
        return usual | {"kind": "numeric", "minimum": 0} | own
    if taken.how is Taking.ANY:
        if set(own.get("codes", _YES_NO)) != set(_YES_NO):
            raise Mistake(f"The codes of {name!r} are 'yes' and 'no': they may have other labels.")
        return usual | {"codes": _YES_NO} | own
    usual |= {"missing": list(source.missing)}
    return usual | (_number(source, taken.how) if source.numeric else _codes(source, table)) | own


def _number(source: Variable, how: Taking) -> dict[str, Any]:
    decimals = min(source.decimals + 2, MOST_DECIMALS) if how is Taking.MEAN else source.decimals
    domain = {"minimum": source.minimum, "maximum": source.maximum if how is not Taking.SUM else None}
    if how is Taking.SUM and source.signed:
        domain["minimum"] = None
    cuts = {"cutpoints": list(source.cutpoints), "nodes": list(source.nodes)} if how is Taking.HEAD else {}
    return {"kind": "numeric", "decimals": decimals, **cuts, **{k: v for k, v in domain.items() if v is not None}}


def _codes(source: Variable, table: Raw) -> dict[str, Any]:
    """The codes of what the head is; they have parents if the variable says what these are codes of."""
    above = "parent" in table
    return {
        "codes": {
            code.code: {"label": code.label} | ({"parent": code.parent} if above and code.parent is not None else {})
            for code in source.codes or ()
        }
    }
