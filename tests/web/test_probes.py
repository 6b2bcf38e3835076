"""What machines that watch a site ask: whether it lives, whether it can answer, and what it counted."""

from pathlib import Path
from typing import Any

import pytest

from confide.site.access import PersonRole, Reach, add_token, declare


def numbers(text: str) -> dict[str, float]:
    """The numbers of a Prometheus text, by name and labels."""
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(number) for name, _, number in lines}


@pytest.fixture
def watched(site: Path, serve_here: Any) -> tuple[Any, dict[str, str]]:
    """A site for people with tokens, and the headers of a custodian and an analyst."""
    declare(site / "access.toml", Reach.TOKENS)
    people = {"carla": PersonRole.CUSTODIAN, "ana": PersonRole.ANALYST}
    tokens = {name: add_token(site / "access.toml", name=name, role=role) for name, role in people.items()}
    return serve_here(site), {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}


@pytest.mark.parametrize(("address", "said"), [("/health", {"status": "alive"}), ("/ready", {"status": "ready"})])
def test_a_probe_needs_neither_a_token_nor_a_name_and_tells_nothing_else(watched, address, said):
    server, _ = watched
    for headers in ({}, {"Host": "10.0.0.7:8000"}, {"Authorization": "Bearer nonsense"}):
        answer = server.get(address, headers=headers)
        assert answer.status_code == 200 and answer.json() == said
        assert "set-cookie" not in answer.headers and answer.headers["cache-control"] == "no-store"
        assert "Content-Security-Policy" in answer.headers
    head = server.client.head(server.url + address)
    assert head.status_code == 200 and not head.content


def test_a_site_that_lets_nobody_in_lives_and_is_not_ready(site, watched):
    server, _ = watched
    text = (site / "access.toml").read_text()
    (site / "access.toml").unlink()
    assert server.get("/health").status_code == 200
    answer = server.get("/ready")
    assert answer.status_code == 503 and answer.json() == {"status": "not ready"}
    (site / "access.toml").write_text(text)
    assert server.get("/ready").status_code == 200


def test_a_site_that_cannot_record_is_not_ready(site, watched):
    server, _ = watched
    (site / "ledger.jsonl").rename(site / "moved.jsonl")
    assert server.get("/ready").status_code == 503
    assert server.get("/health").status_code == 200


def test_probes_are_not_counted_against_the_pace_of_anybody(site, policy, serve_here):
    policy(site, per_minute=1)
    server = serve_here(site)
    assert {server.get("/health").status_code for _ in range(5)} == {200}
    assert server.get("/api/datasets").status_code == 200
    assert server.get("/api/datasets").status_code == 429
    assert server.get("/ready").status_code == 200


def test_metrics_are_for_the_custodian(watched):
    server, shown = watched
    assert server.get("/metrics").status_code == 401
    assert server.get("/metrics", headers=shown["ana"]).status_code == 403
    answer = server.get("/metrics", headers=shown["carla"])
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_metrics_count_requests_and_questions_and_nothing_of_the_data(watched):
    server, shown = watched
    for address in (
        "/people/table.csv?rows=sex",
        "/people/table.json?rows=nothing",
        "/people/table?rows=sex",
        "/health",
    ):
        server.get(address, headers=shown["ana"])
    server.get("/people")
    text = server.get("/metrics", headers=shown["carla"]).text
    found = numbers(text)
    assert found['confide_requests_total{kind="data",status="200"}'] == 1
    assert found['confide_requests_total{kind="data",status="422"}'] == 1
    assert found['confide_requests_total{kind="page",status="200"}'] == 1
    assert found['confide_requests_total{kind="page",status="401"}'] == 1
    assert found['confide_requests_total{kind="probe",status="200"}'] == 1
    assert found['confide_questions_total{outcome="answered"}'] == 1
    assert found['confide_questions_total{outcome="refused"}'] == 0
    assert found["confide_ledger_entries"] == 1 and found["confide_data_sets"] == 2
    assert not any(word in text for word in ("people", "firms", "ana", "carla", "sex"))


def test_every_family_of_metrics_is_explained_once(watched):
    server, shown = watched
    text = server.get("/metrics", headers=shown["carla"]).text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# HELP")]
    typed = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert names == typed == list(dict.fromkeys(names))
    assert {name.partition("{")[0] for name in numbers(text)} <= set(names)


def test_whatever_clients_ask_for_the_kinds_of_requests_stay_few(watched):
    server, shown = watched
    for number in range(30):
        server.get(f"/x{number}.y{number}/z{number}", headers=shown["ana"])
    found = numbers(server.get("/metrics", headers=shown["carla"]).text)
    assert sum(name.startswith("confide_requests_total") for name in found) <= 2
