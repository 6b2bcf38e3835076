"""Tuning a policy: what is measured, what is recommended, and how a run goes on."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from confide.attacks import PolicyTrial, Result, Tuning, tune
from confide.attacks.registry import chosen_attacks
from confide.attacks.tuning.showing import map_of, page_of, policy_text, rows, sentences
from confide.attacks.tuning.tuning import STRONGEST, TuneProgress, TuningConditions
from confide.cli.main import main
from confide.errors import Mistake
from confide.model.policy import RedTeamRules, preset_policy, read_policy
from confide.site.folder import Folder

HOW = {"attacks": "secret-in-universe", "targets": 30, "questions": 40, "workload": 20}
TRIES = ["tables.mean_cell=2,40", "records.noise_exposed=0.1"]


class Counted(TuneProgress):
    def __init__(self) -> None:
        self.expected, self.trials = 0, list[PolicyTrial]()

    def variants(self, number: int) -> None:
        self.expected = number

    def measured(self, trial: PolicyTrial) -> None:
        self.trials.append(trial)


@pytest.fixture(scope="module")
def site(demo_site: Callable[[int, str], Path]) -> Path:
    return demo_site(3_000, "people")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tuning") / "tune.json"


@pytest.fixture(scope="module")
def found(site: Path, file: Path) -> Tuning:
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    found = tune(site, "people", tries=TRIES, json=file, **HOW)
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*")} == before, "nothing is kept with the site"
    return found


def test_every_variant_is_measured_and_the_two_best_changes_together(found: Tuning) -> None:
    assert [dict(trial.changes) for trial in found.trials[:4]] == [
        {},
        {"tables.mean_cell": 2.0},
        {"tables.mean_cell": 40.0},
        {"records.noise_exposed": 0.1},
    ]
    assert set(found.trials[4].changes) == {"tables.mean_cell", "records.noise_exposed"}
    assert len(found.trials) == 5
    assert all(trial.asked == 20 and not trial.broken for trial in found.trials)


def test_where_no_cross_passes_nothing_can_be_tried_and_nothing_is_learnt(found: Tuning) -> None:
    strict = found.trials[2]
    assert (strict.worst, strict.risk) == (None, 0.0)
    assert "no attack could be tried" in list(rows(found))[2][-1]
    assert all(trial.worst for trial in found.trials if trial is not strict)


def test_attacks_that_can_never_be_tried_are_a_mistake(site: Path) -> None:
    with pytest.raises(Mistake, match="None of these attacks"):
        tune(site, "people", tries=["records.noise=0.2"], **{**HOW, "attacks": "base-left-behind"})


def test_a_stricter_rule_answers_less(found: Tuning) -> None:
    _, loose, strict, *_ = found.trials
    assert strict.share < found.trials[0].share <= loose.share


def test_records_are_protected_anew_for_each_variant(found: Tuning) -> None:
    """With a fifth of the noise a perfect reconstruction tells more, and released numbers err no more."""
    as_is, quiet = found.trials[0], found.trials[3]
    assert as_is.ceiling is not None and quiet.ceiling is not None
    assert quiet.ceiling > as_is.ceiling + 0.1
    assert quiet.errors["means"] <= as_is.errors["means"]


def test_the_policy_recommended_answers_most_of_those_within_the_limit(found: Tuning) -> None:
    assert found.recommended is not None
    within = [trial for trial in found.trials if trial.risk <= found.limit]
    if within:
        assert found.recommended.share == max(trial.share for trial in within)
    else:
        assert found.recommended.risk == min(trial.risk for trial in found.trials)


def test_a_run_goes_on_from_what_was_written(site: Path, file: Path, found: Tuning) -> None:
    counted = Counted()
    again = tune(site, "people", tries=TRIES, json=file, progress=counted, **HOW)
    assert counted.trials == []
    assert [trial.to_json() for trial in again.trials] == [trial.to_json() for trial in found.trials]
    assert again.recommended is not None and found.recommended is not None
    assert again.recommended.changes == found.recommended.changes


def test_a_run_that_was_cut_off_measures_the_rest(site: Path, file: Path, found: Tuning, tmp_path: Path) -> None:
    raw = json.loads(file.read_text(encoding="utf-8"))
    part = tmp_path / "part.json"
    part.write_text(json.dumps({**raw, "trials": [raw["trials"][n] for n in (0, 1, 3, 4)]}), encoding="utf-8")
    counted = Counted()
    again = tune(site, "people", tries=TRIES, json=part, progress=counted, **HOW)
    assert [dict(trial.changes) for trial in counted.trials] == [{"tables.mean_cell": 40.0}]
    assert _figures(counted.trials[0]) == _figures(found.trials[2])
    assert len(again.trials) == len(json.loads(part.read_text(encoding="utf-8"))["trials"]) == 5


def _figures(trial: PolicyTrial) -> dict[str, object]:
    """All but how long it took."""
    raw = trial.to_json()
    return {**raw, "results": [{**result, "seconds": 0} for result in raw["results"]]}


def test_a_file_of_another_run_stays_as_it_is(site: Path, file: Path, found: Tuning, tmp_path: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(Mistake, match="other conditions"):
        tune(site, "people", tries=TRIES, json=file, **{**HOW, "targets": 31})
    assert file.read_bytes() == before
    other = tmp_path / "other.json"
    other.write_text("[]", encoding="utf-8")
    with pytest.raises(Mistake, match="not what confide tune wrote"):
        tune(site, "people", tries=TRIES, json=other, **HOW)


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(site: Path, tmp_path: Path) -> None:
    counted = Counted()
    with pytest.raises(Mistake, match="cannot be written"):
        tune(site, "people", tries=TRIES, json=tmp_path / "nowhere" / "tune.json", progress=counted, **HOW)
    assert counted.expected == 0


def test_without_time_nothing_is_measured_and_the_rest_is_told(site: Path) -> None:
    found = tune(site, "people", tries=TRIES, minutes=0.0, **HOW)
    assert (found.trials, found.left, found.recommended, found.policy) == ((), 5, None, None)
    assert any("5 not measured" in sentence for sentence in sentences(found))


def test_the_truth_is_needed(site: Path, tmp_path: Path) -> None:
    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    Folder(copy).truth("people").unlink()
    with pytest.raises(Mistake, match="true ones"):
        tune(copy, "people", tries=TRIES, **HOW)


def test_a_variant_that_cannot_be_put_to_use_is_a_mistake_before_anything_is_measured(site: Path) -> None:
    with pytest.raises(Mistake, match="do not go together"):
        tune(site, "people", tries=["counts.variance=30"], **HOW)
    with pytest.raises(Mistake, match="no SAFE base"):
        tune(site, "people", tries=["counts.mechanism=safe"], **HOW)


def test_the_usual_attacks_are_on_units_and_on_sets() -> None:
    assert len(chosen_attacks(STRONGEST)) == len(STRONGEST.split(","))


def test_the_policy_is_written_with_its_evidence(found: Tuning) -> None:
    text = policy_text(found, command="confide tune mysite people")
    assert read_policy(text) == found.policy
    comments = [line for line in text.split("\n\n")[0].splitlines() if line.startswith("# ")]
    said = " ".join(comments)
    assert "confide tune mysite people" in said and "seed 1" in said and found.when in said
    assert found.recommended is not None and f"{100 * found.recommended.share:.1f} % answered" in said


def test_the_page_shows_the_map_and_every_variant(found: Tuning) -> None:
    page = page_of(found).html()
    assert all(trial.words in page for trial in found.trials)
    points = map_of(found)["layer"][0]["data"]["values"]
    assert [point["answered"] for point in points] == [round(100 * trial.share, 2) for trial in found.trials]


def test_numbers_at_the_right_edge_of_the_map_stand_to_the_left_of_their_point() -> None:
    layers = map_of(made(trial(0.01, 20), trial(0.05, 100), trial(0.3, 40)))["layer"]
    sides = {each["mark"]["align"]: each["data"]["values"] for each in layers if each["mark"]["type"] == "text"}
    assert [[row["numbers"] for row in sides[side]] for side in ("left", "right")] == [["1", "3"], ["2"]]


def made(*trials: PolicyTrial, limit: float = 0.05) -> Tuning:
    about = {"dataset": "people", "data": "", "policy": "standard, version 1", "mark": "", "attacks": ("zeros",)}
    conditions = TuningConditions(**about, targets=100, questions=10, workload=100, seed=1)
    present = replace(preset_policy("standard"), red_team=RedTeamRules(limit=limit))
    return Tuning(conditions=conditions, present=present, when="2026-01-15T09:30:00Z", trials=trials)


def trial(lift: float, answered: int, error: float = 0.3, stopped: str = "", **changes: object) -> PolicyTrial:
    about = {"attack": "zeros", "code": "T10", "words": ""}
    result = Result(**about, targets=100, success=0.5 + lift, guess=0.5, stopped=stopped)
    fields = {name.replace("__", "."): value for name, value in changes.items()}
    counted = {"asked": 100, "answered": answered, "error": error, "errors": {}, "kinds": {}}
    return PolicyTrial(changes=fields, mark=str(fields), results=(result,), **counted)


def test_more_answers_above_the_limit_are_not_recommended() -> None:
    found = made(trial(0.04, 70), trial(0.2, 95, tables__mean_cell=1.0), trial(0.05, 80, tables__mean_cell=3.0))
    assert found.recommended is not None and found.recommended.changes == {"tables.mean_cell": 3.0}
    assert found.policy is not None and (found.policy.tables.mean_cell, found.policy.version) == (3.0, 2)
    assert [line[-1] for line in rows(found)] == ["*", "*", "* recommended"]


def test_of_those_that_answer_as_much_the_one_that_errs_less_is_recommended() -> None:
    found = made(trial(0.01, 80, 0.4), trial(0.04, 80, 0.2, records__noise=0.1))
    assert found.recommended is not None and found.recommended.changes == {"records.noise": 0.1}


def test_if_none_is_within_the_limit_the_least_risky_is_named_and_said_to_be_above_it() -> None:
    found = made(trial(0.3, 70), trial(0.2, 60, records__noise=0.3))
    assert found.recommended is not None and found.recommended.risk == pytest.approx(0.2)
    assert any("None is within the limit of 5 points" in sentence for sentence in sentences(found))
    assert "No policy was within the limit" in policy_text(found, command="confide tune")


def test_an_attack_that_broke_down_is_no_evidence_of_safety() -> None:
    found = made(trial(0.0, 99, stopped="The attack itself broke down."), trial(0.02, 50, records__noise=0.3))
    assert np.isnan(found.trials[0].risk) and found.recommended == found.trials[1]
    assert found.frontier == (found.trials[1],)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["trials"][0]["risk"] is None


def test_the_policy_as_it_is_may_be_the_best() -> None:
    found = made(trial(0.0, 80), trial(0.0, 70, records__noise=0.3))
    assert found.policy == found.present
    assert "Recommended: the policy as it is." in list(sentences(found))


def run(*words: str | Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["confide", "tune", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def test_the_command_ends_with_status_4_where_every_variant_leaks(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cell keys alone do not keep somebody's class from who asks with and without it in the universe."""
    copy, draft, page = tmp_path / "site", tmp_path / "draft.toml", tmp_path / "page.html"
    shutil.copytree(site, copy)
    (copy / "policy.toml").write_text('preset = "tablebuilder"\n', encoding="utf-8")
    how = ("--attacks", "secret-in-universe", "--targets", 40, "--questions", 80, "--workload", 10)
    words = (copy, "people", "--try", "counts.variance=3", *how, "-o", draft, "--report", page)
    assert run(*map(str, words), monkeypatch=monkeypatch) == 4
    said = capsys.readouterr()
    assert "None is within the limit of 5 points of lift." in said.out
    assert said.err.count("points, ") == 2
    assert "--attacks secret-in-universe" in draft.read_text(encoding="utf-8")
    assert "least risky" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--try", "tables.mean=2"), "no field"),
        (("--try", "records.noise=7"), "records.noise"),
        (("--attacks", "nothing"), "no attack called"),
    ],
)
def test_bad_input_is_your_mistake(
    site: Path, words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(site, "people", *words, monkeypatch=monkeypatch) == 2
    assert said in capsys.readouterr().err
