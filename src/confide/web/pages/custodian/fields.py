"""A policy as the fields of a form: texts out, a policy or the mistakes by the field in."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import Field as Declared
from dataclasses import dataclass, fields, replace
from typing import Any

from confide.errors import Mistake, nearest
from confide.model.catalog.dataset import Dataset
from confide.model.policy import SECTIONS, Policy
from confide.web.pages.context import Error

__all__ = ["TITLES", "PolicyField", "field_id", "is_known", "policy_fields", "read_fields", "text_of"]

TITLES = {
    "records": "Records, changed once before anything is answered",
    "universe": "Universes: whom a question may be about",
    "drop": "Units left out",
    "counts": "Counts",
    "totals": "Totals and means",
    "tables": "Tables",
    "models": "Models",
    "output": "Rounding",
    "quota": "Quotas",
    "red_team": "The red team",
    "audit": "The audit of questions",
    "updates": "New data, and older vintages",
    "review": "The review of results",
}
"""What each section of a policy is about."""


@dataclass(frozen=True)
class PolicyField:
    """One field: its name, help and limits, its value and what its base, a preset or the site's policy, has there, as texts."""

    name: str
    help: str
    value: str
    usual: str
    kind: str
    options: tuple[str, ...]
    limits: str

    @property
    def id(self) -> str:
        return field_id(self.name)

    @property
    def changed(self) -> bool:
        return self.value != self.usual


def field_id(name: str) -> str:
    """What a field is called in the page: `universe.gamma` is `universe-gamma`."""
    return name.replace(".", "-")


def policy_fields(
    policy: Policy, *, base: Policy, given: Mapping[str, str] | None = None
) -> dict[str, list[PolicyField]]:
    """The fields of a policy by section, beside those of its base; where a form was given, with what it says, right or wrong."""
    given = given or {}
    return {
        section: [
            _field(f"{section}.{f.name}", f, getattr(policy, section), getattr(base, section), given)
            for f in fields(getattr(policy, section))
        ]
        for section in SECTIONS
    }


def _field(name: str, declared: "Declared[Any]", rules: Any, usual: Any, given: Mapping[str, str]) -> PolicyField:
    limits, key = declared.metadata, declared.name
    kind = type(declared.default)
    options = ("true", "false") if kind is bool else limits["among"]
    return PolicyField(
        name=name,
        help=limits["help"],
        value=given.get(name, text_of(getattr(rules, key))),
        usual=text_of(getattr(usual, key)),
        kind="choice" if options else {int: "whole", float: "number", tuple: "list"}.get(kind, "text"),
        options=options,
        limits=_limits(limits["low"], limits["high"]),
    )


def _limits(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "" if low is None else f"{low:g} or more"
    return f"{low:g} to {high:g}"


def text_of(value: Any) -> str:
    """A value of a policy as a person writes it.

    >>> text_of(0.03), text_of(4.0), text_of(True), text_of((0.4, 0.3)), text_of(20_000)
    ('0.03', '4', 'true', '0.4, 0.3', '20000')
    """
    if isinstance(value, tuple):
        return ", ".join(text_of(part) for part in value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def read_fields(form: Mapping[str, str], *, base: Policy) -> tuple[Policy, list[Error]]:
    """The policy that a form describes, with every mistake by its field. What the form leaves out stays as in `base`."""
    errors: list[Error] = []
    sections = {section: _section(getattr(base, section), form, errors) for section in SECTIONS}
    name, version = form.get("name", base.name).strip(), form.get("version", str(base.version)).strip()
    if not 1 <= len(name) <= 60 or not name.isprintable():
        errors.append(Error("name", "The name must be 1 to 60 printable characters."))
    if not re.fullmatch(r"[1-9]\d{0,8}", version, re.ASCII):
        errors.append(Error("version", "The version must be a whole number from 1."))
        version = str(base.version)
    return Policy(name=name, version=int(version), **sections), errors


def _section(base: Any, form: Mapping[str, str], errors: list[Error]) -> Any:
    for f in fields(base):
        name = f"{base.name}.{f.name}"
        if name in form:
            try:
                base = replace(base, **{f.name: _value(form[name].strip(), f)})
            except Mistake as mistake:
                errors.append(Error(field_id(name), str(mistake)))
    return base


def _value(text: str, declared: "Declared[Any]") -> Any:
    """The text as the value it spells, or as it is: then the policy says what it should have been."""
    kind: Any = type(declared.default)
    if kind is tuple:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return tuple(map(_number, parts)) if declared.metadata["low"] is not None else tuple(parts)
    if kind is bool:
        return {"true": True, "false": False}.get(text, text)
    return _number(text) if kind in (int, float) else text


def _number(text: str) -> Any:
    """A number written plainly; whole numbers stay whole."""
    if re.fullmatch(r"-?\d{1,15}", text, re.ASCII):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d{0,15}\.?\d{1,15}(e-?\d{1,2})?", text, re.ASCII) else text


def is_known(policy: Policy, datasets: Iterable[Dataset]) -> list[Error]:
    """Mistakes where the policy names variables that no data set has: such a rule would suppress nothing."""
    known = {name for dataset in datasets for name in dataset.variables}
    named = {"models.sensitive": (policy.models.sensitive,), "models.suppressed": policy.models.suppressed}
    return [
        Error(field_id(field), " ".join([f"No data set has a variable {name[:60]!r}.", *nearest(name, known)]))
        for field, names in named.items()
        for name in names
        if name and name not in known
    ]
