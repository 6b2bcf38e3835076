"""A running server takes up new data and policies without a restart, and answers from older vintages where it may."""

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import confide
from confide import demo
from confide.model.policy import UpdateRules, write_policy
from confide.site import ledger
from confide.site.access import PersonRole, Project, Reach, TokenTerms, add_project, add_token, declare
from confide.site.folder import Folder
from confide.site.serving import ServingProcess, serving, serving_process

TABLE = "/people/table.json?rows=sex&columns=region"
OLD = TABLE.replace("people", "people@1")


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """The people of the demo site, a thousand of them gone."""
    pa.parquet.write_table(demo.people(20_000).slice(1_000), tmp_path / "newer.parquet")
    return tmp_path / "newer.parquet"


def allow(site: Path, **rules: object) -> None:
    policy = replace(Folder(site).policy(), updates=UpdateRules(**rules))  # type: ignore[arg-type]
    (site / "policy.toml").write_text(write_policy(policy, preset="standard"))


def acts(site: Path) -> list[str]:
    return [entry.request["act"] for entry in ledger.read(Folder(site).ledger) if entry.is_act]


def test_new_data_and_a_new_policy_need_no_restart(site, serve, run, newer):
    allow(site, kept=1, asked=True)
    server = serve(site)
    before = server.get(TABLE)
    done = run("ingest", newer, site, "people", "--vintage", "2026")
    assert done.returncode == 0 and b"Units: 0 new, 1,000 gone, 0 changed, 19,000 as they were." in done.stdout
    assert server.get(TABLE).headers["ETag"] == before.headers["ETag"]
    assert server.get(TABLE.replace("people", "people@2026")).status_code == 404
    told = run("reload", site)
    assert told.returncode == 0, told.stderr
    after = server.get(TABLE)
    assert after.status_code == 200 and after.headers["ETag"] != before.headers["ETag"]
    assert server.get(OLD).headers["ETag"] == before.headers["ETag"]
    assert server.get(OLD).json()["value"] == before.json()["value"]
    assert server.get(TABLE.replace("people", "people@2026")).json()["value"] == after.json()["value"]
    assert acts(site)[-2:] == ["data ingested", "site loaded anew"]
    allow(site)
    assert run("reload", site).returncode == 0 and server.get(OLD).status_code == 404
    assert server.stop() == 0 and serving_process(site) is None


def test_a_vintage_is_asked_about_on_pages_by_programs_and_on_the_command_line(site, serve, run, newer):
    allow(site, kept=1, asked=True)
    assert run("ingest", newer, site, "people").returncode == 0
    server = serve(site)
    page = server.get("/people").text
    assert 'Vintages: <strong>2</strong>, <a href="/people@1">1</a>' in page
    older = server.get("/people@1").text
    assert "This is the vintage 1, not the newest." in older and 'href="/people%401/table/build"' in older
    table = server.get("/people@1/table?rows=sex&columns=region")
    assert table.status_code == 200 and "people@1" in table.text
    with confide.open(server.url) as there:
        remote = there["people@1"].table(rows="sex", columns="region")
        with pytest.raises(confide.Mistake, match="people@9"):
            there["people@9"]
    assert remote.receipt == server.get(OLD).headers["ETag"].strip('"')
    server.stop()
    listed = run("vintages", site, "people").stdout.decode().splitlines()
    assert listed[0].endswith("the newest") and listed[1].endswith("may be asked about as people@1")
    printed = run("table", site, "people@1", "--rows", "sex", "--columns", "region", "--format", "json")
    assert printed.returncode == 0 and remote.receipt.encode() in printed.stdout
    again = run("ledger", "reproduce", site, remote.receipt)
    assert (
        again.returncode == 0
        and b"This is the answer that was recorded" in again.stdout
        and b"vintage 1" in again.stdout
    )


def test_the_vintages_of_a_data_set_of_a_project_are_there_for_its_people_and_for_nobody_else(site, serve, run, newer):
    allow(site, kept=1, asked=True)
    assert run("ingest", newer, site, "people").returncode == 0
    file = Folder(site).access
    declare(file, Reach.PUBLIC, names=["stats.example.org"])
    add_project(file, Project("taxes", "Who pays", people=("ana",), datasets=("people",), quota=2))
    shown = add_token(file, name="ana", role=PersonRole.ANALYST, terms=TokenTerms(project="taxes"))
    ana, server = {"headers": {"Authorization": f"Bearer {shown}"}}, serve(site)
    for way in (
        "/api/datasets/{}",
        "/{}",
        "/{}/table.json?rows=sex",
        "/{}/table?rows=sex",
        "/{}/table/build",
        "/{}/ddi.xml",
    ):
        for vintage in ("@1", "@2", "@9"):
            hidden, absent = (server.get(way.format(name + vintage)) for name in ("people", "planet"))
            assert hidden.status_code == absent.status_code == 404
            assert hidden.text.replace("people", "planet") == absent.text, way
    assert server.get(OLD, **ana).status_code == server.get(TABLE, **ana).status_code == 200
    more = server.get("/people@1/table.json?rows=sex", **ana)
    assert more.status_code == 403 and more.json()["reasons"][0]["rule"] == "quota.project"
    asked = list(ledger.read_questions(Folder(site).ledger))
    assert [(e.who, e.project, e.dataset, e.outcome) for e in asked] == [("ana", "taxes", "people", "released")] * 2


def test_what_cannot_be_served_is_told_and_the_server_goes_on_as_before(site, serve, run):
    server = serve(site)
    before = server.get(TABLE)
    policy = site / "policy.toml"
    text = policy.read_text()
    policy.write_text(text.replace("gamma = ", "gama = "))
    told = run("reload", site)
    assert told.returncode == 2 and b"The server goes on as before." in told.stderr and b"gama" in told.stderr
    assert server.get(TABLE).headers["ETag"] == before.headers["ETag"]
    assert acts(site)[-1] == "site not loaded anew"
    policy.write_text(text)
    assert run("reload", site).returncode == 0


def test_no_answer_is_lost_or_mixed_while_the_site_is_loaded_anew(site, serve, newer):
    """Everybody has one of the two answers, whole, whenever they ask."""
    server = serve(site)
    questions = [f"/people/table.json?rows={rows}" for rows in ("sex", "region", "education", "marital")]
    before = {question: server.get(question).json()["value"] for question in questions}
    confide.ingest(newer, site, name="people")
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(server.get, question) for question in questions * 10]
        os.kill(server.process.pid, signal.SIGHUP)
        asked += [pool.submit(server.get, question) for question in questions * 10]
        answers = [(question, one.result()) for question, one in zip(questions * 20, asked, strict=True)]
    while acts(site)[-1] != "site loaded anew":
        time.sleep(0.05)
    after = {question: server.get(question).json()["value"] for question in questions}
    assert all(before[question] != after[question] for question in questions)
    for question, answer in answers:
        assert answer.status_code == 200 and answer.json()["value"] in (before[question], after[question])
    assert server.stop() == 0 and ledger.verify(Folder(site).ledger).problem is None


def test_nobody_is_told_where_no_server_runs_and_no_other_process_is_signalled(site, run):
    assert run("reload", site).returncode == 2
    (site / "server.pid").write_text(
        f"{os.getpid()}\n"
    )  # left by a server that was killed; the number is another's now
    done = run("reload", site)
    assert done.returncode == 2 and b"No server is running" in done.stderr
    with confide.open(site):  # it has the site open, but is no server: SIGHUP would end it
        assert run("reload", site).returncode == 2


def test_a_process_is_found_for_as_long_as_it_serves(site):
    with serving(site):
        assert serving_process(site) == ServingProcess(os.getpid(), 1)
    assert serving_process(site) is None and not (site / "server.pid").exists()


def test_a_dry_run_says_what_an_update_would_show(site, run, newer):
    before = Folder(site).store("people").stat().st_ino
    done = run("ingest", newer, site, "people", "--dry-run")
    units, stand_ins, loaded = done.stdout.decode().splitlines()
    assert done.returncode == 0 and units == "Units: 0 new, 1,000 gone, 0 changed, 19,000 as they were."
    assert re.fullmatch(
        r"[89]\d\d of those who left stay as they were, and as many alike leave in their stead\.", stand_ins
    )
    assert loaded == "They would be loaded as vintage 2. Nothing was written."
    pa.parquet.write_table(demo.people(20_000).slice(1), newer)
    for words in (("--dry-run",), ()):
        refused = run("ingest", newer, site, "people", *words)
        assert refused.returncode == 3 and b"updates.least" in refused.stderr and b"1 gone" in refused.stderr
    assert Folder(site).store("people").stat().st_ino == before
