"""The command line: words, exit status, what it prints where. Tests of the site over HTTP run it as a process."""

import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import resources
from io import StringIO
from pathlib import Path

import pyarrow.csv
import pytest
import typer.main
from typer.testing import CliRunner

import confide
from confide import demo
from confide.cli.main import app, main
from confide.cli.registry import COMMANDS as HOMES
from confide.cli.registry import load
from confide.demo.texts import policy_text
from confide.model.policy import describe
from confide.site import ledger
from confide.site.access import PersonRole, Reach, load_access
from confide.site.folder import Folder

CONFIDE = [sys.executable, "-c", "from confide.cli.main import main; main()"]
COMMANDS = [
    [], ["init"], ["ingest"], ["check"], ["table"], ["regression"], ["correlation"], ["codebook"],
    ["serve"], ["demo"], ["policy"], ["ledger"],
    ["ledger", "verify"], ["ledger", "accept"], ["ledger", "show"], ["ledger", "replay"],
    ["token"], ["token", "add"], ["token", "remove"],
    ["token", "list"], ["access"], ["login"], ["login", "set"], ["login", "admit"], ["login", "show"], ["login", "remove"],
    ["doctor"], ["backup"], ["restore"], ["enforce"], ["workload"], ["audit"], ["records"], ["tune"],
    ["protect"], *(["protect", name] for name in ("adjust", "audit", "round", "safe", "suppress", "transitions")),
]  # fmt: skip


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def run(*words):
    """Run `main` here, as the command would."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["confide", *map(str, words)])
        patch.delenv("CONFIDE_TOKEN", raising=False)
        try:
            main()
            status = 0
        except SystemExit as leave:
            status = leave.code or 0
    return Done(status, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "site"
    text = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    confide.add(demo.people(3_000), folder, name="people", catalog=text)
    return folder


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_teaches(words):
    shown = CliRunner().invoke(app, [*words, "--help"])
    assert shown.exit_code == 0
    needs_words = "[OPTIONS] {" in shown.output or "[OPTIONS] [" in shown.output
    if needs_words and "COMMAND" not in shown.output:
        line = re.search(r"Example: (confide .*)", shown.output)
        assert line and line[1].startswith(" ".join(["confide", *words]))


def command(words):
    if not words:
        return typer.main.get_command(app)
    found = load(words[0])
    for word in words[1:]:
        found = found.commands[word]
    return found


def test_help_describes_every_option():
    for words in COMMANDS:
        for parameter in command(words).params:
            assert parameter.help, (words, parameter.name)


@pytest.mark.parametrize("name", HOMES)
def test_the_line_that_help_shows_without_importing_a_command_is_its_own(name):
    assert HOMES[name][1] == load(name).get_short_help_str(1000)


def test_a_mistyped_command_is_told_the_nearest():
    assert "Did you mean 'table'" in run("tabel").stderr


def test_the_version_is_shown():
    assert run("--version").stdout == f"confide {confide.__version__}\n"


def test_a_table_is_printed_and_exits_0(site):
    done = run("table", site, "people", "--rows", "sex", "--columns", "region")
    assert done.returncode == 0 and done.stderr == ""
    with confide.open(site) as opened:
        assert done.stdout == opened["people"].table(rows="sex", columns="region").to_text()


def test_a_refusal_says_the_rule_and_what_to_try_and_exits_3(site):
    done = run("table", site, "people", "--rows", "occupation", "--columns", "municipality")
    assert done.returncode == 3 and done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0] == (
        "Refused: Together 'municipality' and 'occupation' have too many cells for so few units. "
        "Leave out 'municipality' or another of them, or take a coarser form."
    )
    assert lines[1] == "  rule   tables.mean_cell  (policy standard, version 1)"
    assert lines[2].startswith("  try    ") and all(line.startswith("         or ") for line in lines[3:])


def test_a_mistake_offers_the_nearest_and_exits_2(site):
    done = run("table", site, "people", "--rows", "sx")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "Mistake: No variable called 'sx' in 'people'. Did you mean 'sex'?\n"


def test_usage_errors_exit_2_without_a_traceback(site):
    for words in (
        ["tabel"],
        ["table", site],
        ["serve", site, "--port", "0"],
        ["token", "add", site, "x", "--role", "king"],
    ):
        done = run(*words)
        assert done.returncode == 2 and "Traceback" not in done.stderr and done.stderr


def test_a_fault_exits_1_and_shows_no_detail(site):
    with confide.open(site):
        done = run("table", site, "people", "--rows", "sex")
    assert done.returncode == 1 and done.stderr.startswith("Fault: Another Confide process")


def test_an_unforeseen_error_is_a_fault_without_its_message():
    code = (
        "import confide.cli.site.policies as c\ndef broken(*_): raise RuntimeError('person 4711')\nc.describe = broken\n"
        "from confide.cli.main import main\nmain()"
    )
    words = [sys.executable, "-c", code, "policy"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "Fault: RuntimeError. Run again with CONFIDE_TRACE=1 to see where.\n"


@pytest.mark.parametrize(
    "words, said",
    [
        (["--format", "pdf"], "There is no format 'pdf'. Formats: text, csv, json, xlsx, python."),
        (["--format", "jsn"], "There is no format 'jsn'. Did you mean 'json'?"),
        (["--format", "xlsx"], "An XLSX file needs a name. Add -o table.xlsx."),
        (["-o", "/nowhere/out.txt"], "/nowhere/out.txt cannot be written (No such file or directory)."),
        (["-o", "/"], "/ cannot be written (Is a directory)."),
        (["--rows", "sex"], "'sex' stands twice in the table."),
        (["--where", "sex"], "Cannot read the condition 'sex'. Write variable=code,code."),
    ],
)
def test_options_that_cannot_be_are_mistakes(site, words, said):
    done = run("table", site, "people", "--rows", "sex", *words)
    assert done.returncode == 2 and said in done.stderr


def test_a_full_disk_is_a_clear_mistake(site):
    done = run("table", site, "people", "--rows", "sex", "-o", "/dev/full")
    assert done.returncode == 2 and "No space left on device" in done.stderr


def test_who_stops_reading_gets_no_complaint(site):
    words = [*CONFIDE, "table", str(site), "people", "--rows", "municipality", "--format", "csv"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_data_file_becomes_a_site_that_answers(tmp_path):
    pyarrow.csv.write_csv(
        demo.people(2_000).select(["person_id", "sex", "municipality", "income"]), tmp_path / "survey.csv"
    )
    done = run("init", tmp_path / "survey.csv", "-o", tmp_path / "mine")
    assert done.returncode == 0 and "'survey' is ready" in done.stdout and "confide check" in done.stdout
    assert run("init", tmp_path / "survey.csv", "-o", tmp_path / "mine").returncode == 2
    assert run("ingest", tmp_path / "survey.csv", tmp_path / "mine", "survey").returncode == 0
    assert run("table", tmp_path / "mine", "survey", "--rows", "sex").returncode == 0
    checked = run("check", tmp_path / "mine")
    assert checked.returncode == 0 and "missing" in checked.stdout


def test_the_ledger_can_be_shown_verified_and_replayed(site, tmp_path):
    run("table", site, "people", "--rows", "sex", "--where", "region=N")
    run("table", site, "people", "--rows", "occupation", "--columns", "municipality")
    entries = list(ledger.read(site / "ledger.jsonl"))
    verified = run("ledger", "verify", site)
    assert verified.stdout == f"{len(entries)} entries, all sound. Head: {entries[-1].hash}\n"
    shown = run("ledger", "show", site, "--last", "2").stdout.splitlines()
    assert len(shown) == 2 and "released" in shown[0] and "refused (tables.mean_cell)" in shown[1]
    draft = tmp_path / "draft.toml"
    draft.write_text('preset = "standard"\nname = "strict"\nversion = 2\n[universe]\ngamma = 100000\n')
    replayed = run("ledger", "replay", site, "--policy", draft)
    assert replayed.returncode == 0 and "would change under strict, version 2" in replayed.stdout
    *same, tried = ledger.read(site / "ledger.jsonl")
    assert same == entries and tried.request == {"act": "draft tried", "policy": tried.request["policy"]}
    assert run("ledger", "replay", site, "--policy", tmp_path / "none.toml").returncode == 2


def test_tokens_are_added_listed_and_removed(site):
    assert "There are no tokens" in run("token", "list", site).stdout
    before = (site / "access.toml").read_text()
    token = run("token", "add", site, "ana").stdout.strip()
    assert token.startswith("confide_") and token not in (site / "access.toml").read_text()
    assert run("token", "add", site, "ana").returncode == 2
    run("token", "add", site, "cus", "--role", "custodian")
    listed = run("token", "list", site).stdout.splitlines()
    assert [line.split()[:2] for line in listed] == [["ana", "analyst"], ["cus", "custodian"]]
    removed = run("token", "remove", site, "ana")
    assert removed.returncode == 0 and removed.stdout == "The token of 'ana' is removed.\n"
    assert run("token", "remove", site, "ana").returncode == 2
    for words in (
        ["add", site / "no", "x"],
        ["list", site / "no"],
        ["remove", site / "no", "x"],
    ):
        assert "There is no site at" in run("token", *words).stderr
    (site / "access.toml").write_text(before)


def test_who_may_reach_a_site_is_declared_and_shown(site):
    before = (site / "access.toml").read_text()
    local = "Who may reach the site: local: whoever is on this machine, and nobody else.\n"
    assert run("access", site).stdout == local
    words = ["--name", "stats.example.org", "--name", "10.0.0.7:8000", "--proxy", "127.0.0.1"]
    said = run("access", site, "public", *words).stdout
    assert "public: everybody" in said and "as stats.example.org or 10.0.0.7:8000" in said and "at 127.0.0.1." in said
    assert run("access", site).stdout == said
    assert run("access", site, "tokens").stdout == "Who may reach the site: tokens: people with a token.\n"
    for wrong in (
        ["--name", "x"],
        ["local", "--name", "x"],
        ["tokens", "--proxy", "127.0.0.1"],
        ["tokens", "--name", "a b"],
    ):
        assert run("access", site, *wrong).returncode == 2, wrong
    assert run("access", site / "no", "tokens").returncode == 2
    (site / "access.toml").unlink()
    lost = run("serve", site)
    assert lost.returncode == 2 and "is missing" in lost.stderr and f"'confide access {site} tokens'" in lost.stderr
    assert run("access", site, "local").stdout == local and (site / "access.toml").read_text() == before


def test_a_draft_is_put_in_force(site):
    none = run("enforce", site)
    assert none.returncode == 2 and "There is no draft" in none.stderr
    before = (site / "policy.toml").read_text()
    (site / "draft.toml").write_text("name = 'new'\nversion = 7\n")
    assert run("enforce", site).stdout.startswith("The policy is now new, version 7.")
    assert 'name = "new"' in (site / "policy.toml").read_text() and not (site / "draft.toml").exists()
    assert len(list((site / "policies").iterdir())) == 1
    (site / "policy.toml").write_text(before)


def test_a_draft_of_a_data_set_is_put_in_force_for_it_alone(site):
    none = run("enforce", site, "--data", "nobody")
    assert none.returncode == 2 and "no data set called 'nobody'" in none.stderr
    (site / "people" / "draft.toml").write_text("[records]\nnoise = 0.3\n")
    said = run("enforce", site, "--data", "people").stdout
    assert said.startswith("The policy of 'people' is now standard for people, version 2.")
    assert "The draft was version 1; it was raised to 2." in said and f"confide records {site} people --renew" in said
    assert "records.noise" in run("policy", site, "--data", "people").stdout
    shown = {line.split()[0]: line.split()[1] for line in run("policy", site, "--data", "people").stdout.splitlines()}
    assert shown["records.noise"] == "0.3" and run("policy", "--data", "people").returncode == 2
    (site / "people" / "policy.toml").unlink()
    shutil.rmtree(site / "people" / "policies")


def test_a_ledger_is_replayed_under_a_draft_of_a_data_set(site, tmp_path):
    (tmp_path / "draft.toml").write_text("[tables]\ncells = 1\n")
    for words in ([], ["--data", "people"]):
        assert (
            "outcomes would change" in run("ledger", "replay", site, "--policy", tmp_path / "draft.toml", *words).stdout
        )
    (tmp_path / "draft.toml").write_text("[tables]\ncell = 1\n")
    wrong = run("ledger", "replay", site, "--policy", tmp_path / "draft.toml", "--data", "people")
    assert wrong.returncode == 2 and "draft.toml" in wrong.stderr and "'cells'" in wrong.stderr


def test_the_policy_command_tells_every_field():
    shown = CliRunner().invoke(app, ["policy"]).output
    assert all(name in shown and text in shown for name, _, text in describe())


def test_the_demo_site_is_made_once(tmp_path):
    folder = tmp_path / "demo"
    first = run("demo", folder, "--rows", "1000", "--no-serve")
    assert first.returncode == 0 and "The demo site is in" in first.stderr
    assert "http://127.0.0.1:8000/custodian" in first.stderr
    token = re.search(r"confide_[\w-]{43}", first.stderr)[0]
    access = load_access(folder / "access.toml")
    assert access.reach is Reach.LOCAL and access.person(token).role is PersonRole.CUSTODIAN
    before = Folder(folder).store("people").stat()
    second = run("demo", folder, "--rows", "1000", "--no-serve")
    assert second.returncode == 0 and "confide_" not in second.stderr and "confide token add" in second.stderr
    assert Folder(folder).store("people").stat() == before
    with confide.open(folder) as opened:
        assert list(opened) == ["firms", "people"]
        rules = {name: opened[name].codebook["policy"] for name in opened}
    assert [rules[name]["name"] for name in rules] == ["firms", "standard"]
    told = tomllib.loads(policy_text("firms") or "")["records"]
    assert told and {key: rules["firms"]["records"][key] for key in told} == told
    assert rules["people"]["records"]["exchange"] == 1 and rules["firms"]["tables"] == rules["people"]["tables"]


def test_python_code_is_printed_without_asking(site, tmp_path):
    entries = len(list(ledger.read(site / "ledger.jsonl"))) if (site / "ledger.jsonl").exists() else 0
    done = run("table", site, "people", "--rows", "sex", "--where", "region=N", "--format", "python")
    code = f"import confide\n\nconfide.open({str(site)!r})['people'].table(rows=['sex'], where={{'region': ['N']}})\n"
    assert done.stdout == code
    assert (
        run("table", site, "people", "--rows", "sex", "--format", "python", "-o", tmp_path / "ask.py").returncode == 0
    )
    assert Path(tmp_path / "ask.py").read_text().startswith("import confide\n")
    assert subprocess.run([sys.executable, tmp_path / "ask.py"], check=False).returncode == 0
    assert len(list(ledger.read(site / "ledger.jsonl"))) == entries + 1


@pytest.mark.parametrize(
    "words, call",
    [
        (["regression", "income ~ age*sex"], "regression('income ~ age + sex + age:sex')"),
        (
            ["regression", "work~age", "--family", "binomial", "--where", "sex=f", "--diagnostics"],
            "regression('work ~ age', where={'sex': ['f']}, family='binomial').diagnostics()",
        ),
        (["correlation", "age,income", "hours"], "correlation(['age', 'income', 'hours'])"),
        (["correlation", "age,income", "--method", "spearman"], "correlation(['age', 'income'], method='spearman')"),
        (
            ["correlation", "\\-a,b", "--where=c=1", "--where=d=2"],
            "correlation(['-a', 'b'], where=[{'c': ['1']}, {'d': ['2']}])",
        ),
    ],
)
def test_the_code_of_a_model_is_printed_without_asking(words, call):
    ask, *rest = words
    done = run(ask, "nowhere", "people", *rest, "--format", "python")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout == f"import confide\n\nconfide.open('nowhere')['people'].{call}\n"


@pytest.mark.parametrize(
    "words, said",
    [
        (["regression", "income ~"], "Expected a variable instead of 'the end' in the formula."),
        (["regression", "y ~ x", "--family", "gausian"], "There is no family 'gausian'. Did you mean 'gaussian'?"),
        (["regression", "y ~ exp(x)"], "There is no transformation 'exp'. Possible are log, sqrt and square."),
        (["correlation", "age"], "A correlation needs two or more variables, each named once."),
        (["correlation", "age,hours", "--format", "pdf"], "There is no format 'pdf'."),
    ],
)
def test_models_that_cannot_be_are_mistakes(words, said):
    ask, *rest = words
    done = run(ask, "nowhere", "people", *rest)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith(f"Mistake: {said}")


def test_the_codebook_is_printed(site):
    done = run("codebook", site, "people")
    assert done.returncode == 0 and "age_group" in done.stdout and "person_id" not in done.stdout
