"""Policies to try around the one in force: one field at a time, and the two best changes together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from confide.errors import Mistake, nearest
from confide.model.parameter import limits
from confide.model.policy import SECTIONS, Policy, describe, policy_of
from confide.model.toml import parse_toml

__all__ = ["FieldValues", "around", "read_values", "single_changes", "varied", "words"]

APART = ("quota", "red_team", "audit", "review")
"""No answer depends on these, and a copy that is attacked has no quota."""


@dataclass(frozen=True)
class FieldValues:
    """A field of the policy, and what to try for it."""

    field: str
    values: tuple[Any, ...]


AROUND: Mapping[str, tuple[float, float]] = {
    "tables.mean_cell": (0.5, 2),
    "tables.sparsity": (0.5, 1.5),
    "records.noise": (2 / 3, 4 / 3),
    "records.noise_exposed": (0.5, 1.5),
    "records.background": (0.3, 3),
    "records.background_exposed": (0.5, 1.4),
    "universe.gamma": (0.5, 2),
    "drop.k": (0.6, 2),
    "counts.variance": (0.5, 1.5),
    "totals.beta": (0.5, 2),
}
"""What is tried if nobody says what: these fields, where they are in use, times these factors."""


def read_values(text: str) -> FieldValues:
    """What to try, as in `tables.mean_cell=2,4,8`; a text that is no value of TOML is a word.

    >>> read_values("counts.mechanism=cell-key,none")
    FieldValues(field='counts.mechanism', values=('cell-key', 'none'))
    """
    name, sign, given = (part.strip() for part in text.partition("="))
    if not sign or not given:
        raise Mistake(f"{text[:60]!r} says nothing to try.", suggestions=["As in: --try tables.mean_cell=2,4,8"])
    known = [field for field, _, _ in describe()]
    if name not in known:
        raise Mistake(f"The policy has no field called {name[:60]!r}.", suggestions=nearest(name, known))
    if name.partition(".")[0] in APART:
        raise Mistake(f"{name} changes no answer: there is nothing to compare.", suggestions=["Try another field."])
    return FieldValues(name, tuple(_values(given)))


def _values(text: str) -> list[Any]:
    try:
        return list(parse_toml(f"values = [{text}]", what=text)["values"])
    except Mistake:
        return [word.strip() for word in text.split(",") if word.strip()]


def varied(policy: Policy, changes: Mapping[str, Any]) -> Policy:
    """The policy with some of its fields changed; a Mistake if one may not be so."""
    for field, value in changes.items():
        section, _, name = field.partition(".")
        policy = policy_of({section: {name: value}}, base=policy)
    return policy


def around(policy: Policy) -> tuple[FieldValues, ...]:
    """A smaller and a larger value for each field of the usual ones that the policy uses."""
    return tuple(
        FieldValues(field, tuple(_near(policy, field, AROUND[field]))) for field in AROUND if _used(policy, field)
    )


def _used(policy: Policy, field: str) -> bool:
    if field == "counts.variance":
        return policy.counts.mechanism != "none" and policy.counts.variance > 0
    if field == "totals.beta":
        return policy.totals.mechanism == "ma" and policy.totals.beta > 0
    if field == "tables.sparsity":
        return policy.tables.sparsity < 1
    return bool(_value(policy, field))


def _near(policy: Policy, field: str, factors: Sequence[float]) -> Iterator[Any]:
    """The value times each factor, to two digits and within the range of the field."""
    section, _, name = field.partition(".")
    declared = limits(next(f for f in fields(SECTIONS[section]) if f.name == name))  # type: ignore[arg-type]  # every section is a dataclass
    value = _value(policy, field)
    for factor in factors:
        near = float(f"{value * factor:.2g}")
        near = min(max(near, declared.low or 0.0), near if declared.high is None else declared.high)
        yield round(near) if isinstance(value, int) else near


def _value(policy: Policy, field: str) -> Any:
    section, _, name = field.partition(".")
    return getattr(getattr(policy, section), name)


def single_changes(policy: Policy, tried: Sequence[FieldValues]) -> list[dict[str, Any]]:
    """The policy as it is, and with one field changed at a time; what makes no difference is left out."""
    seen, found = {policy.mark}, [dict[str, Any]()]
    for one in tried:
        for given in one.values:
            after = varied(policy, {one.field: given})
            if after.mark not in seen:
                seen.add(after.mark)
                found.append({one.field: _value(after, one.field)})
    return found


def words(changes: Mapping[str, Any]) -> str:
    """A variant by what is changed.

    >>> words({"tables.mean_cell": 2.0, "drop.k": 3}), words({})
    ('tables.mean_cell 2, drop.k 3', 'as it is')
    """
    return ", ".join(f"{field} {_word(value)}" for field, value in changes.items()) or "as it is"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)
