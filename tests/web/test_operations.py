"""Running a site for years: what custodians did is recorded, copies are consistent and checked, and the doctor tells."""

import json
import os
import shutil
import stat
import threading

import httpx
import pytest

import confide
from confide.site import ledger
from confide.site.access import list_tokens
from confide.site.folder import Folder

TABLE = "/people/table.json?rows=sex&columns=region"


def acts(site):
    return [(entry.who, entry.dataset, entry.request) for entry in ledger.read(Folder(site).ledger) if entry.is_act]


# ---- acts


def test_what_a_custodian_does_on_the_command_line_is_recorded_beside_a_running_server(site, serve, run):
    server = serve(site)
    server.get(TABLE)
    assert run("token", "add", site, "carla", "--role", "custodian").returncode == 0
    assert run("token", "add", site, "ben").returncode == 0
    assert run("token", "add", site, "ben").returncode == 2  # a mistake is no act
    assert run("token", "remove", site, "ben").returncode == 0
    shutil.copy(site / "policy.toml", site / "draft.toml")
    assert run("enforce", site).returncode == 0
    *first, last = acts(site)
    assert first == [
        ("command line", "", {"act": "token made", "name": "carla", "role": "custodian"}),
        ("command line", "", {"act": "token made", "name": "ben", "role": "analyst"}),
        ("command line", "", {"act": "token removed", "name": "ben"}),
    ]
    assert last[2]["act"] == "policy put in force" and "version 2" in last[2]["policy"]
    shown = run("ledger", "show", site, "--last", "2").stdout.decode()
    assert "command line done" in shown and '"act": "token removed"' in shown
    assert server.stop() == 0
    found = ledger.verify(Folder(site).ledger)
    assert found.problem is None and found.entries == 5


def test_no_token_stands_in_the_ledger(site, run):
    token = run("token", "add", site, "ana").stdout.decode().strip()
    text = Folder(site).ledger.read_text()
    assert "token made" in text and token not in text and list_tokens(Folder(site).access)[0].digest not in text


def test_loading_data_is_recorded_and_counts_as_no_question(site, run, tmp_path):
    data = tmp_path / "small.csv"
    data.write_text("sex,age\n" + "f,30\nm,40\n" * 200)
    assert run("init", data, "-o", site, "--name", "small").returncode == 0
    assert acts(site) == [("command line", "small", {"act": "data ingested"})]
    with confide.open(site) as opened:
        assert opened["people"].table(rows="sex")
    assert [entry.outcome for entry in ledger.read_questions(Folder(site).ledger)] == ["released"]
    assert run("audit", site).returncode == 0


# ---- backup and restore


def test_a_copy_of_a_site_under_load_holds_every_answer_given_before_and_gives_the_same_answers(
    site, serve, run, tmp_path
):
    server, stop = serve(site), threading.Event()
    before = server.get(TABLE)

    def ask():
        with httpx.Client(timeout=60) as client:
            for number in range(10_000):
                if stop.is_set():
                    return
                client.get(f"{server.url}/people/table.json?rows=education&where=age%3D{number % 60 + 20}")

    asking = threading.Thread(target=ask)
    asking.start()
    done = run("backup", site, tmp_path / "copy", "--secret-to", tmp_path / "kept")
    stop.set()
    asking.join()
    server.kill()
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "copy" / "secret").exists()
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o700
    restored = run("restore", tmp_path / "copy", tmp_path / "again", "--secret", tmp_path / "kept")
    assert restored.returncode == 0, restored.stderr
    assert ledger.verify(tmp_path / "again" / "ledger.jsonl").problem is None
    receipts = {entry.receipt for entry in ledger.read(tmp_path / "again" / "ledger.jsonl")}
    assert before.headers["etag"].strip('"') in receipts
    assert serve(tmp_path / "again").get(TABLE).content == before.content
    assert acts(tmp_path / "again")[-1][2]["act"] == "site restored"


@pytest.fixture
def copy(site, run, tmp_path):
    with confide.open(site) as opened:
        opened["people"].table(rows="sex")
    assert run("backup", site, tmp_path / "copy", "--secret-to", tmp_path / "kept").returncode == 0
    return tmp_path / "copy"


def test_nothing_is_restored_over_a_site_and_nothing_is_copied_over_a_copy(site, copy, run, serve, tmp_path):
    server = serve(site)
    policy = (site / "policy.toml").read_bytes()
    for words in (["restore", copy, site], ["backup", site, copy], ["backup", site, site / "inside"]):
        done = run(*words)
        assert done.returncode == 2, words
    inside = run("backup", site, tmp_path / "other", "--secret-to", tmp_path / "other" / "secret")
    assert inside.returncode == 2 and not (tmp_path / "other").exists()
    assert (site / "policy.toml").read_bytes() == policy and server.get(TABLE).status_code == 200


@pytest.mark.parametrize("damage", ["changed", "gone", "ledger", "manifest", "secret", "outside"])
def test_a_copy_that_is_not_what_was_made_is_not_restored(copy, run, tmp_path, damage):
    manifest = copy / "backup.json"
    if damage == "changed":
        (copy / "policy.toml").write_text("version = 7\n")
    elif damage == "gone":
        Folder(copy).store("people").unlink()
    elif damage == "ledger":
        (copy / "ledger.jsonl").write_bytes(b"")
    elif damage == "manifest":
        manifest.write_text("{}")
    elif damage == "secret":
        (tmp_path / "kept").write_text("ab" * 32)
    else:
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"files": {"../kept": "0"}}))
    done = run("restore", copy, tmp_path / "again", "--secret", tmp_path / "kept")
    assert done.returncode in (1, 2) and b"Traceback" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["copy", "kept", "site"]


def test_a_site_restored_without_its_secret_says_which_is_wanted(copy, run, tmp_path):
    done = run("restore", copy, tmp_path / "again")
    assert done.returncode == 0 and b"Put its secret" in done.stdout
    assert run("table", tmp_path / "again", "people", "--rows", "sex").returncode == 2
    (tmp_path / "kept").rename(tmp_path / "again" / "secret")
    assert run("table", tmp_path / "again", "people", "--rows", "sex").returncode == 0


def test_a_damaged_ledger_is_not_copied(copy, site, run, tmp_path):
    file = Folder(site).ledger
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    done = run("backup", site, tmp_path / "second")
    assert done.returncode == 1 and b"cut off the end" in done.stderr
    assert not (tmp_path / "second").exists()


# ---- the doctor


def examined(run, site):
    done = run("doctor", site)
    lines = done.stdout.decode().splitlines()
    assert sum(line.startswith("MEND") for line in lines) == sum(" -> " in line for line in lines)
    return done.returncode, {line[6:].partition(":")[0]: line for line in lines if line[:4] in ("OK  ", "MEND")}


def test_a_site_that_is_well_is_well_also_while_it_is_served(site, serve, run):
    site.chmod(0o700)
    serve(site).get(TABLE)
    status, found = examined(run, site)
    assert status == 0 and all(line.startswith("OK") for line in found.values()), found
    assert "1 entry, and the end" in found["ledger"]


@pytest.mark.parametrize(
    ("what", "spoil"),
    [
        ("permissions", lambda site: (site.chmod(0o755), Folder(site).store("people").chmod(0o644))),
        ("secret", lambda site: (site / "secret").chmod(0o644)),
        ("secret", lambda site: (site / "secret").unlink()),
        ("data sets", lambda site: Folder(site).store("people").unlink()),
        ("data sets", lambda site: (site / "policy.toml").write_text("[nonsense]\n")),
        ("access", lambda site: (site / "access.toml").write_text("[[token]\n")),
        ("appearance", lambda site: (site / "site.toml").write_text("nme = 'Norland'\n")),
        ("appearance", lambda site: (site / "site.toml").write_text("logo = 'gone.png'\n")),
        ("appearance", lambda site: (site / "site.toml").write_bytes(b"name = '\xff'\n")),
        ("ledger", lambda site: (site / "ledger.jsonl").write_bytes(b"")),
        ("ledger", lambda site: (site / "ledger.anchor").write_bytes(b"\0" * 1024)),
        ("ledger", lambda site: (site / "ledger.anchor").unlink()),
    ],
)
def test_the_doctor_names_what_is_wrong_and_what_to_do(site, run, what, spoil):
    site.chmod(0o700)
    with confide.open(site) as opened:
        opened["people"].table(rows="sex")
    spoil(site)
    status, found = examined(run, site)
    assert status == 1 and found[what].startswith("MEND"), found


def test_the_doctor_of_no_site_is_a_mistake(run, tmp_path):
    assert run("doctor", tmp_path / "nothing").returncode == 2
