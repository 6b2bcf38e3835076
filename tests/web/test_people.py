"""Who may ask, how often, and what the ledger says of them."""

import re

import pytest

from confide.answering.tables.analysis import TableAnalysis
from confide.site import ledger
from confide.site.access import PersonRole, Reach, TokenTerms, add_token, declare, remove_token
from confide.site.folder import Folder

TABLE = "/people/table.json?rows=sex"


def bearer(token):
    return {"headers": {"Authorization": f"Bearer {token}"}}


@pytest.fixture
def tokens(site):
    file = Folder(site).access
    declare(file, Reach.TOKENS)
    return {role: add_token(file, name=f"{role} one", role=role) for role in PersonRole}


def test_a_site_with_tokens_answers_only_who_shows_one(site, tokens, serve):
    server = serve(site)
    for address in (TABLE, "/api/datasets", "/api/datasets/people", "/api/datasets/nothing", "/api/ledger"):
        for options in ({}, bearer("confide_wrong"), {"headers": {"Authorization": "Basic YTpi"}}):
            response = server.get(address, **options)
            assert response.status_code == 401 and response.headers["www-authenticate"] == "Bearer"
            assert response.json()["title"] == "Denied" and "Bearer" in response.json()["suggestions"][0]["text"]
    assert server.get(TABLE, **bearer(tokens[PersonRole.ANALYST])).status_code == 200
    assert server.get("/api/datasets/people", **bearer(tokens[PersonRole.ANALYST])).status_code == 200


def test_the_home_page_of_a_site_with_tokens_names_no_data_set_to_strangers(site, tokens, serve):
    server = serve(site)
    assert "Norland" not in server.get("/").text and "token" in server.get("/").text
    assert "Norland" in server.get("/", **bearer(tokens[PersonRole.ANALYST])).text


def test_the_ledger_is_for_custodians_and_names_who_asked(site, tokens, serve):
    server = serve(site)
    for role in (PersonRole.ANALYST, PersonRole.CUSTODIAN):
        assert server.get(TABLE, **bearer(tokens[role])).status_code == 200
    denied = server.get("/api/ledger", **bearer(tokens[PersonRole.ANALYST]))
    assert denied.status_code == 403 and "custodian" in denied.json()["detail"] and denied.json()["reasons"] == []
    entries = server.get("/api/ledger", **bearer(tokens[PersonRole.CUSTODIAN])).json()["entries"]
    assert [entry["who"] for entry in entries] == ["analyst one", "custodian one"]
    assert entries[0]["request"]["rows"] == ["sex"] and entries[0]["outcome"] == "released"
    last = server.get("/api/ledger?last=1", **bearer(tokens[PersonRole.CUSTODIAN])).json()["entries"]
    assert last == entries[-1:]


def test_tokens_are_stored_hashed_and_never_logged(site, tokens, serve):
    server = serve(site)
    server.get(TABLE, **bearer(tokens[PersonRole.ANALYST]))
    kept = b"".join(file.read_bytes() for file in site.rglob("*") if file.is_file()) + server.log.read_bytes()
    assert not any(token.encode() in kept for token in tokens.values())


def test_a_site_without_tokens_is_not_served_to_other_machines(site, run):
    done = run("serve", site, "--host", "0.0.0.0", "--port", "1")
    assert (
        done.returncode == 2 and b"This site is local" in done.stderr and b"confide access SITE tokens" in done.stderr
    )


def test_without_tokens_everybody_is_an_analyst(site, serve):
    server = serve(site)
    assert server.get(TABLE).status_code == 200
    assert server.get("/api/ledger").status_code == 403
    assert [entry.who for entry in ledger.read(Folder(site).ledger)] == ["anyone"]


def test_who_knocks_too_often_is_told_how_long_to_wait(site, serve, policy):
    policy(site, per_minute=6)
    server = serve(site)  # has asked once already, to see that it runs
    answers = [server.get(TABLE) for _ in range(8)]
    assert [answer.status_code for answer in answers].count(429) >= 2
    refused = answers[-1]
    assert 1 <= int(refused.headers["retry-after"]) <= 10
    document = refused.json()
    assert document["title"] == "Refused" and document["reasons"][0]["rule"] == "quota.per_minute"
    assert re.search(r"Wait \d+ seconds?\.", document["detail"])
    assert refused.headers["x-content-type-options"] == "nosniff"


def test_unknown_tokens_and_forged_addresses_do_not_make_new_clients(site, tokens, serve, policy):
    policy(site, per_minute=6)
    server = serve(site)
    guesses = [server.get(TABLE, **bearer(f"confide_{number}")).status_code for number in range(10)]
    assert guesses.count(429) >= 4 and 200 not in guesses
    assert server.get(TABLE, **bearer(tokens[PersonRole.ANALYST])).status_code == 200


def test_a_forged_address_is_not_a_new_client_of_an_open_site(site, serve, policy):
    policy(site, per_minute=6)
    declare(site / "access.toml", Reach.PUBLIC)
    server = serve(site)
    answers = [server.get("/", headers={"X-Forwarded-For": f"10.0.0.{number}"}).status_code for number in range(10)]
    assert answers.count(429) >= 4


def test_the_daily_quota_counts_refusals_and_survives_a_restart(site, serve, policy):
    policy(site, per_day=3)
    server = serve(site)
    assert server.get(TABLE).status_code == 200
    assert server.get("/people/table.json?rows=sx").status_code == 422
    assert server.get("/people/table.json?rows=occupation&columns=municipality").status_code == 403
    assert server.stop() == 0
    server = serve(site)
    assert server.get(TABLE).status_code == 200
    over = server.get("/people/table.json?rows=region")
    assert over.status_code == 403 and over.json()["reasons"][0]["rule"] == "quota.per_day"
    assert server.get("/firms/table.json?rows=region").status_code == 200


def test_a_policy_that_protects_nothing_needs_an_explicit_flag(site, run, serve, under):
    under(site, "open")
    refused = run("serve", site)
    assert refused.returncode == 2 and b"--allow-open" in refused.stderr
    assert serve(site, "--allow-open").get(TABLE).status_code == 200


def test_a_token_for_some_data_sets_is_told_nothing_of_the_others(site, serve):
    file = Folder(site).access
    declare(file, Reach.TOKENS)
    ana = add_token(file, name="ana", role=PersonRole.ANALYST, terms=TokenTerms(datasets=("people",), quota=2))
    server = serve(site)
    assert [d["name"] for d in server.get("/api/datasets", **bearer(ana)).json()["datasets"]] == ["people"]
    for way in ("/api/datasets/{}", "/{}", "/{}/table.json?rows=region", "/{}/table/build", "/{}/variables/region"):
        hidden, absent = (server.get(way.format(name), **bearer(ana)) for name in ("firms", "norms"))
        assert hidden.status_code == absent.status_code == 404
        assert hidden.text.replace("firms", "norms") == absent.text, way
    for page in ("/", "/about", "/api"):
        assert '"/firms' not in server.get(page, **bearer(ana)).text
    assert server.get("/people/table.json?rows=sex", **bearer(ana)).status_code == 200
    assert server.get("/people/table.json?rows=region", **bearer(ana)).status_code == 200
    used = server.get("/people/table.json?rows=sex&columns=region", **bearer(ana))
    assert used.status_code == 403 and used.json()["reasons"][0]["rule"] == "quota.token"


def removing(file, name):
    """Tables, while which the custodian takes a token away."""

    class Removing(TableAnalysis):
        def release(self, *words, **more):
            remove_token(file, name=name)
            return super().release(*words, **more)

    return {"analyses": (Removing(),)}


@pytest.mark.parametrize(("address", "number"), [(TABLE, '"value"'), ("/people/table?rows=sex", "<td")])
def test_a_token_that_expires_or_goes_while_its_question_is_answered_gets_no_answer(site, serve_here, address, number):
    file = Folder(site).access
    declare(file, Reach.TOKENS)
    token = add_token(file, name="ana", role=PersonRole.ANALYST)
    late = serve_here(site, opened=removing(file, "ana")).get(address, **bearer(token))
    assert late.status_code == 401 and number not in late.text
    assert [entry.outcome for entry in ledger.last(Folder(site).ledger, 5)] == ["released"]


def test_who_is_logged_in_is_no_visitor_when_the_token_goes_while_the_question_is_answered(site, serve_here, browser):
    file = Folder(site).access
    declare(file, Reach.PUBLIC, names=["stats.example.org"])
    token = add_token(file, name="ana", role=PersonRole.ANALYST, terms=TokenTerms(datasets=("people",)))
    ana = browser(serve_here(site, opened=removing(file, "ana")))
    assert ana.post("/login", {"csrf": ana.secret("/login"), "token": token}).status_code == 303
    late = ana.get("/people/table?rows=sex")
    assert late.status_code == 401 and "<td" not in late.text
