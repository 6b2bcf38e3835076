"""What `access.toml` says, read strictly and written in one spelling."""

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from confide.errors import Mistake, nearest
from confide.model.toml import parse_toml
from confide.site.access.declared import Access, Reach
from confide.site.access.openid import Admission, Provider
from confide.site.access.people import PersonRole, Token, TokenTerms
from confide.site.access.projects import Project

__all__ = ["read_access", "write_access"]

_KEYS = ("reach", "names", "proxies", "token", "project", "login")
_TOKEN_KEYS = ("name", "label", "role", "created", "expires", "datasets", "quota", "project", "sha256")
_PROJECT_KEYS = ("name", "purpose", "people", "datasets", "quota", "review", "policy")
_LOGIN_KEYS = ("issuer", "client", "label", "named_by", "scopes", "admit")
_ADMIT_KEYS = ("role", "claim", "value", "datasets", "quota", "project")


def read_access(text: str, *, what: str, mend: str) -> Access:
    """What a text declares; a Mistake names the file, and says how to mend one that says nothing."""
    try:
        raw = parse_toml(text, what=what)
    except Mistake as mistake:
        raise Mistake(mistake.message, suggestions=[mend]) from None
    unknown = [key for key in raw if key not in _KEYS]
    if unknown or not all(isinstance(raw.get(key, []), list) for key in ("token", "project")):
        raise Mistake(
            f"{what} may hold only 'reach', 'names', 'proxies', [[token]] and [[project]] sections, and [login]."
        )
    if raw.get("reach") not in tuple(Reach):
        said = f"{what} does not say who may reach the site: 'reach' must be one of {', '.join(Reach)}."
        raise Mistake(said, suggestions=[mend])
    names, proxies = (_texts(raw, key, what) for key in ("names", "proxies"))
    tokens, projects = _tokens(raw.get("token", []), what), _projects(raw.get("project", []), what)
    login = _login(raw["login"], f"[login] of {what}") if "login" in raw else None
    return Access(Reach(raw["reach"]), tokens, names, proxies, projects, login)


def write_access(access: Access) -> str:
    """The declaration as TOML. A printable string's JSON, not escaped to ASCII, is a TOML string."""
    head = [
        "# Written by Confide ('confide access', 'confide token', 'confide project'): digests of tokens, never tokens.",
        f"reach = {json.dumps(access.reach)}  # {access.reach.words}",
        *([f"names = {json.dumps(access.names)}"] if access.names else []),
        *([f"proxies = {json.dumps(access.proxies)}"] if access.proxies else []),
    ]
    sections = [*map(_token_text, access.tokens), *map(_project_text, access.projects)]
    return "\n".join(["\n".join(head) + "\n", *sections, *_login_texts(access.login)])


def _token_text(token: Token) -> str:
    terms = token.terms
    values = {"name": token.name, "label": terms.label, "role": token.role, "created": token.created}
    values |= {"expires": terms.expires, "datasets": terms.datasets, "quota": terms.quota, "project": terms.project}
    values["sha256"] = token.digest
    return _section("token", values)


def _project_text(project: Project) -> str:
    return _section("project", {key: getattr(project, key) for key in _PROJECT_KEYS})


def _login_texts(login: Provider | None) -> list[str]:
    if login is None:
        return []
    head = {key: getattr(login, key) for key in _LOGIN_KEYS[:-1]}
    return [
        _section("login", head, "[{}]"),
        *(_section("login.admit", _admission_values(rule)) for rule in login.admits),
    ]


def _admission_values(rule: Admission) -> dict[str, Any]:
    asked = {"role": rule.role, "claim": rule.claim, "value": rule.value}
    return asked | {"datasets": rule.terms.datasets, "quota": rule.terms.quota, "project": rule.terms.project}


def _section(name: str, values: dict[str, Any], head: str = "[[{}]]") -> str:
    """A section of what is not empty."""
    lines = [f"{key} = {_value(value)}\n" for key, value in values.items() if value]
    return f"{head.format(name)}\n{''.join(lines)}"


def _value(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else json.dumps(value, ensure_ascii=False)


def _tokens(tables: Sequence[Any], what: str) -> tuple[Token, ...]:
    tokens = tuple(_token(table, f"[[token]] {place} of {what}") for place, table in enumerate(tables, 1))
    for same, values in (
        ("name and label", {(token.name, token.terms.label) for token in tokens}),
        ("digest", {token.digest for token in tokens}),
    ):
        if len(values) < len(tokens):
            raise Mistake(f"Two tokens in {what} have the same {same}.", suggestions=["Remove one of them."])
    return tokens


def _token(table: Any, where: str) -> Token:
    _must_have(table, _TOKEN_KEYS, where)
    created, expires = table.get("created"), table.get("expires")
    if type(created) is not date:
        raise Mistake(f"'created' in {where} must be a date such as 2025-01-31.")
    if expires is not None and type(expires) is not date:
        raise Mistake(f"'expires' in {where} must be a date such as 2025-01-31.")
    terms = TokenTerms(
        _text(table, "label", where),
        expires,
        _texts(table, "datasets", where),
        _quota(table, where),
        _text(table, "project", where),
    )
    return Token(_text(table, "name", where), _role(table, where), created, _digest(table, where), terms)


def _projects(tables: Sequence[Any], what: str) -> tuple[Project, ...]:
    projects = tuple(_project(table, f"[[project]] {place} of {what}") for place, table in enumerate(tables, 1))
    if len({project.name for project in projects}) < len(projects):
        raise Mistake(f"Two projects in {what} have the same name.", suggestions=["Remove one of them."])
    return projects


def _project(table: Any, where: str) -> Project:
    _must_have(table, _PROJECT_KEYS, where)
    name, purpose = (_text(table, key, where) for key in ("name", "purpose"))
    people, datasets = (_texts(table, key, where) for key in ("people", "datasets"))
    review, policy = (_flag(table, key, where) for key in ("review", "policy"))
    return Project(name, purpose, people, datasets, _quota(table, where), review, policy)


def _login(table: Any, where: str) -> Provider:
    _must_have(table, _LOGIN_KEYS, where)
    rules = table.get("admit", [])
    if not isinstance(rules, list):
        raise Mistake(f"'admit' in {where} must be [[login.admit]] sections.")
    admits = tuple(_admission(rule, f"[[login.admit]] {place} of {where}") for place, rule in enumerate(rules, 1))
    issuer, client, label, named_by = (_text(table, key, where) for key in _LOGIN_KEYS[:4])
    return Provider(issuer, client, label, named_by, _texts(table, "scopes", where), admits)


def _admission(table: Any, where: str) -> Admission:
    _must_have(table, _ADMIT_KEYS, where)
    claim, value, project = (_text(table, key, where) for key in ("claim", "value", "project"))
    terms = TokenTerms(datasets=_texts(table, "datasets", where), quota=_quota(table, where), project=project)
    return Admission(_role(table, where), claim, value, terms)


def _role(table: dict[str, Any], where: str) -> PersonRole:
    role = table.get("role")
    if role not in tuple(PersonRole):
        raise Mistake(f"The role in {where} must be one of {', '.join(PersonRole)}.")
    return PersonRole(role)


def _flag(table: dict[str, Any], key: str, where: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise Mistake(f"{key!r} in {where} must be true or false.")
    return value


def _must_have(table: Any, keys: Sequence[str], where: str) -> None:
    if not isinstance(table, dict):
        raise Mistake(f"{where} must be a section.")
    for key in table:
        if key not in keys:
            raise Mistake(f"Unknown key {key!r} in {where}.", suggestions=nearest(key, keys))


def _digest(table: dict[str, Any], where: str) -> str:
    digest = table.get("sha256")
    if not isinstance(digest, str) or len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise Mistake(f"'sha256' in {where} must be 64 hexadecimal digits.")
    return digest


def _quota(table: dict[str, Any], where: str) -> int:
    quota = table.get("quota", 0)
    if type(quota) is not int or quota < 0:
        raise Mistake(f"'quota' in {where} must be a whole number of questions a day, 0 or more.")
    return quota


def _text(table: dict[str, Any], key: str, where: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise Mistake(f"The {key} in {where} must be text of printable characters.")
    return value


def _texts(table: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Mistake(f"{key!r} in {where} must be a list of texts.")
    return tuple(value)
