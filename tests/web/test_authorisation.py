"""What each role may open: every address of a site, asked for by everybody."""

from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from confide.answering.service import Service
from confide.errors import Mistake
from confide.site.access import Admission, Person, PersonRole, Reach, TokenTerms, add_token, declare
from confide.web.api import create_app

VALUES = {
    "dataset": "people",
    "name": "people",
    "kind": "json",
    "ending": "json",
    "look": "light",
    "number": "1",
    "file": "none.css",
}
QUERY = "rows=sex&variables=age,income&formula=income~age&last=1"
PAGES_FOR_ALL = {"/", "/about", "/api", "/login", "/login/openid", "/login/openid/return", "/logout"}
FILES_FOR_ALL = {"/static/none.css", "/charts/vega.sex.js"}
"""What strangers see of a site for people with tokens: how it protects, where to log in, and what pages are made of."""


def addresses(site: Path) -> list[str]:
    """An address for every route that is opened by GET."""
    with Service.open(site) as service:
        routes = [route for route in create_app(service).routes if isinstance(route, APIRoute)]
    return sorted(
        route.path_format.format(**{name: VALUES.get(name, "sex") for name in route.param_convertors})
        for route in routes
        if "GET" in route.methods
    )


def who_show(site: Path) -> dict[str, dict[str, str]]:
    """What each role shows to a site for people with tokens; a stranger shows nothing."""
    declare(site / "access.toml", Reach.TOKENS)
    tokens = {role: add_token(site / "access.toml", name=f"one {role}", role=role) for role in PersonRole}
    return {"stranger": {}, **{str(role): {"Authorization": f"Bearer {token}"} for role, token in tokens.items()}}


def turned_away(address: str) -> set[str]:
    """Who may not open an address."""
    if address in PAGES_FOR_ALL | FILES_FOR_ALL:
        return set()
    if address == "/metrics":
        return {"stranger", "analyst"}
    for_custodians = address.startswith("/custodian") or address == "/api/ledger"
    return {"stranger", "monitor", *(["analyst"] if for_custodians else [])}


def test_every_address_is_for_the_roles_that_it_is_for(site, serve_here):
    shown, found = who_show(site), addresses(site)
    server = serve_here(site)
    assert len(found) > 40 and {"/metrics", "/custodian/tokens", "/people/table.json"} <= set(found)
    statuses = {
        address: {who: server.get(f"{address}?{QUERY}", headers=show).status_code for who, show in shown.items()}
        for address in found
    }
    denied = {a: {who for who, code in status.items() if code in (401, 403)} for a, status in statuses.items()}
    wrong = {address: statuses[address] for address in found if denied[address] != turned_away(address)}
    assert not wrong
    assert max(code for status in statuses.values() for code in status.values()) < 500


def test_a_monitor_is_a_stranger_on_a_public_site_too(site, serve_here):
    declare(site / "access.toml", Reach.PUBLIC)
    token = add_token(site / "access.toml", name="prometheus", role=PersonRole.MONITOR)
    server, shown = serve_here(site), {"Authorization": f"Bearer {token}"}
    table = server.get("/people/table.json?rows=sex", headers=shown)
    assert table.status_code == 403 and "/metrics and nothing else" in table.json()["detail"]
    assert server.get("/metrics", headers=shown).status_code == 200
    assert server.get("/metrics").status_code == 403


def test_a_monitor_does_not_log_in(site, serve_here, browser):
    declare(site / "access.toml", Reach.TOKENS)
    token = add_token(site / "access.toml", name="prometheus", role=PersonRole.MONITOR)
    person = browser(serve_here(site))
    page = person.post("/login", {"csrf": person.secret("/login"), "token": token})
    assert page.status_code == 422 and "does not know this token" in page.text
    with pytest.raises(Mistake, match="does not log in"):
        Admission(role=PersonRole.MONITOR, claim="groups", value="watchers")


def test_no_data_set_is_there_for_a_monitor_and_none_can_be_given(site):
    assert not Person("prometheus", PersonRole.MONITOR).may_ask("people")
    for terms in (TokenTerms(datasets=("people",)), TokenTerms(quota=3), TokenTerms(project="cohort")):
        with pytest.raises(Mistake, match="asks nothing"):
            add_token(site / "access.toml", name="prometheus", role=PersonRole.MONITOR, terms=terms)
