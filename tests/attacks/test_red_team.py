"""The run of the red team: what is kept, taken up again, refused, dropped and said."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide
from confide import demo
from confide.attacks.claims import NotApplicable
from confide.attacks.history import keep_report, scorecards
from confide.attacks.red_team import AttackProgress, RedTeam, named_policy, open_field
from confide.attacks.registry import attacks, chosen_attacks
from confide.attacks.report import read_report
from confide.attacks.runner import RemoteField
from confide.attacks.showing import report_page, sentences
from confide.client import Site
from confide.errors import Fault, Mistake
from confide.site.folder import Papers

ONE = RedTeam(only="T18", targets=30, questions=45)


class Counting(AttackProgress):
    """Counts the questions, and breaks off after some."""

    def __init__(self, most: int = 10**9) -> None:
        self.questions, self.most = 0, most

    def asked(self, questions: int) -> None:
        self.questions += questions
        if self.questions > self.most:
            raise KeyboardInterrupt


class Broken(Site):
    """A site behind a network that drops the first so many questions."""

    def __init__(self, inside: Site, drops: int) -> None:
        self.inside, self.drops = inside, drops

    def names(self):
        return self.inside.names()

    def codebook(self, name):
        return self.inside.codebook(name)

    def close(self):
        self.inside.close()

    def ask(self, request, *, diagnostics=False):
        if self.drops > 0:
            self.drops -= 1
            raise Fault("The site cannot be reached.")
        return self.inside.ask(request, diagnostics=diagnostics)


@pytest.fixture
def at_once(monkeypatch):
    """Who waits for a network waits no time."""
    monkeypatch.setattr("confide.attacks.intruder.time.sleep", lambda seconds: None)


@pytest.fixture
def site(demo_site, tmp_path) -> Path:
    return Path(shutil.copytree(demo_site(5_000, "people"), tmp_path / "site"))


def test_a_run_leaves_the_site_as_it_was(site: Path) -> None:
    before = {file: file.read_bytes() for file in site.rglob("*") if file.is_file()}
    with open_field(site, "people") as field:
        ONE.attack(field)
    assert {file: file.read_bytes() for file in site.rglob("*") if file.is_file()} == before


def test_a_run_that_was_cut_off_goes_on_from_its_file(site: Path, tmp_path: Path) -> None:
    team = replace(ONE, json=tmp_path / "out.json", only="T17,T18")
    with open_field(site, "people") as field:
        whole = replace(team, json=None).attack(field)
        with pytest.raises(KeyboardInterrupt):
            team.attack(field, progress=Counting(most=2 * 45 + 10))
        assert list(read_report(tmp_path / "out.json").finished) == ["changed-cells"]
        first, again = Counting(), Counting()
        report = team.attack(field, progress=first)
        assert [replace(r, seconds=0) for r in report.results] == [replace(r, seconds=0) for r in whole.results]
        assert team.attack(field, progress=again) == report
    assert again.questions == 0 < first.questions <= 2 * 45
    assert read_report(tmp_path / "out.json") == report


def test_a_file_of_another_run_is_not_overwritten(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    with open_field(site, "people") as field:
        replace(ONE, json=file).attack(field)
        kept = file.read_bytes()
        with pytest.raises(Mistake, match="other conditions"):
            replace(ONE, json=file, seed=2).attack(field)
        assert file.read_bytes() == kept
        file.write_text("{}")
        with pytest.raises(Mistake, match="not a report of the red team"):
            replace(ONE, json=file).attack(field)
    assert file.read_text() == "{}"


def test_a_site_that_refuses_everything_is_said_to_do_so(field) -> None:
    strict = field("drop-q", rows=5_000)
    policy = replace(strict.policy, tables=replace(strict.policy.tables, mean_cell=1e6))
    [result] = ONE.attack(replace(strict, policy=policy)).results
    assert result.refusals == result.questions > 0
    assert result.claimed == 0 and result.lift <= 0
    assert "Every question was refused." in result.notes


def test_when_the_quota_runs_out_the_attack_ends_with_what_it_has(field, site: Path) -> None:
    policy = (site / "policy.toml").read_text().replace("per_day = 1000", "per_day = 20")
    (site / "policy.toml").write_text(policy)
    with confide.open(site) as opened:
        elsewhere = RemoteField(
            opened, "people", field("standard", rows=5_000).policy, field("standard", rows=5_000).truth
        )
        report = ONE.attack(elsewhere)
    [result] = report.results
    assert result.questions == 20
    assert "quota ran out after 20 questions" in result.stopped
    assert not report.finished
    assert result.others is None


def test_a_network_that_drops_now_and_then_does_not_matter(field, site: Path, at_once) -> None:
    here = field("standard", rows=5_000)
    with confide.open(site) as opened:
        [steady] = ONE.attack(RemoteField(opened, "people", here.policy, here.truth)).results
        [shaky] = ONE.attack(RemoteField(Broken(opened, drops=2), "people", here.policy, here.truth)).results
    assert replace(shaky, seconds=0) == replace(steady, seconds=0)


def test_a_network_that_stays_away_is_said(field, site: Path, at_once) -> None:
    here = field("standard", rows=5_000)
    with confide.open(site) as opened:
        report = ONE.attack(RemoteField(Broken(opened, drops=10**9), "people", here.policy, here.truth))
    [result] = report.results
    assert "failed to answer" in result.stopped and result.claimed == 0
    assert any("failed to answer" in sentence for sentence in sentences(report, limit=0.05, quota=0))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (demo.people(100).drop_columns(["sex"]), "sex"),
        (demo.people(100).set_column(4, "county", pa.array(["nowhere"] * 100)), "codebook"),
        (demo.people(100).slice(0, 0), "no records"),
    ],
)
def test_a_truth_file_that_does_not_match_the_codebook_is_a_mistake(
    table: pa.Table, words: str, site: Path, tmp_path: Path, monkeypatch
) -> None:
    pq.write_table(table, tmp_path / "truth.parquet")
    with confide.open(site) as opened:
        monkeypatch.setattr("confide.attacks.red_team.open_site", lambda place, token: opened)
        there = open_field("https://example.org", "people", truth=tmp_path / "truth.parquet")
        with pytest.raises(Mistake, match="does not match the codebook") as found, there:
            pass
    assert words in str(found.value)


def test_the_truth_of_a_file_is_the_truth_of_the_site_made_of_it(site: Path, tmp_path: Path, monkeypatch) -> None:
    pq.write_table(demo.people(5_000), tmp_path / "truth.parquet")
    with open_field(site, "people") as field, confide.open(site) as opened:
        monkeypatch.setattr("confide.attacks.red_team.open_site", lambda place, token: opened)
        with open_field("https://example.org", "people", truth=tmp_path / "truth.parquet") as elsewhere:
            assert (
                np.bincount(elsewhere.truth.places("income")).tolist()
                == np.bincount(field.truth.places("income")).tolist()
            )
            assert elsewhere.truth.numbers("income").sum() == field.truth.numbers("income").sum()


def test_a_copy_of_the_folder_tells_the_truth_of_either_level(homes, tmp_path: Path, monkeypatch) -> None:
    here = homes("standard")
    copy = shutil.copytree(here.site, tmp_path / "copy")
    with confide.open(here.site) as opened:
        monkeypatch.setattr("confide.attacks.red_team.open_site", lambda place, token: opened)
        with open_field("https://example.org", "people.homes", truth=copy) as elsewhere:
            assert np.array_equal(elsewhere.truth.numbers("all_income"), here.truth.numbers("all_income"))
            [result] = replace(ONE, only="T5").attack(elsewhere).results
            assert result.applies and result.targets
        with open_field("https://example.org", "people", truth=copy) as elsewhere:
            assert len(elsewhere.truth.places("sex")) == 5_000


def test_a_file_tells_no_truth_of_a_level_and_another_folder_none_at_all(
    homes, site: Path, tmp_path: Path, monkeypatch
) -> None:
    pq.write_table(demo.people(100), tmp_path / "truth.parquet")
    description = site / "people" / "dataset.toml"
    description.write_text(description.read_text().replace('male = "Male"', 'male = "Male"\nother = "Other"'))
    with confide.open(homes("standard").site) as opened:
        monkeypatch.setattr("confide.attacks.red_team.open_site", lambda place, token: opened)
        for name, truth, words in (
            ("people.homes", tmp_path / "truth.parquet", "Give the folder of the site, or a copy of it"),
            ("people", site, "describes 'sex' of 'people' otherwise than the codebook"),
        ):
            with pytest.raises(Mistake, match=words), open_field("https://example.org", name, truth=truth):
                pass


@pytest.mark.parametrize(
    ("place", "dataset", "more", "words"),
    [
        ("nowhere", "people", {}, "no site"),
        ("", "poeple", {}, "Did you mean 'people'"),
        ("", "people", {"truth": Path("x")}, "has the truth itself"),
        ("http://127.0.0.1:9", "people", {}, "--truth"),
        ("", "people", {"policy": confide.model.policy.PRESETS["open"]}, "--allow-open"),
    ],
)
def test_what_cannot_be_attacked_is_a_mistake(site: Path, place: str, dataset: str, more: dict, words: str) -> None:
    with pytest.raises(Mistake, match=words), open_field(place or site, dataset, **more):
        pass


def test_the_policy_open_is_attacked_on_demand(site: Path) -> None:
    with open_field(site, "people", policy=named_policy("open", site=site, dataset="people"), allow_open=True) as field:
        [result] = replace(ONE, questions=200).attack(field).results
    assert result.success > 0.95


def test_attacks_are_chosen_by_name_or_number() -> None:
    assert list(chosen_attacks("t18")) == list(chosen_attacks(" secret-in-universe ,")) == ["secret-in-universe"]
    assert chosen_attacks() == attacks()
    with pytest.raises(Mistake, match="Did you mean 'secret-in-universe'"):
        chosen_attacks("secret-in-univers")


def test_every_attack_says_what_it_does_and_what_is_known_beforehand() -> None:
    for attack in attacks().values():
        assert attack.words and attack.knows and attack.words[0].islower(), attack.name
        assert "Tried" in (type(attack).__doc__ or ""), f"{attack.name} does not say which specifications were tried"


def test_an_attack_without_anything_to_try_says_so(tmp_path: Path, field) -> None:
    from confide.records.ingest import add

    add(pa.table({"a": ["x", "y"] * 50}), tmp_path / "tiny", name="tiny")
    with open_field(tmp_path / "tiny", "tiny") as tiny:
        [result] = ONE.attack(tiny).results
    assert not result.applies and result.stopped
    assert NotApplicable.__doc__


def test_one_row_is_attacked_in_vain(tmp_path: Path) -> None:
    from confide.records.ingest import add

    add(demo.people(1), tmp_path / "one", name="people")
    with open_field(tmp_path / "one", "people") as field:
        for result in RedTeam(only="T18", targets=5, questions=30).attack(field).results:
            assert result.lift <= 0


def test_the_scorecard_has_the_last_result_under_each_policy(site: Path) -> None:
    papers = Papers(site)
    with open_field(site, "people") as field:
        report = ONE.attack(field)
    keep_report(papers, replace(report, when="2026-01-01T00:00:00Z"))
    other = replace(report.conditions, mark="another", policy="standard, version 2")
    keep_report(papers, replace(report, when="2026-01-02T00:00:00Z", conditions=other))
    better = replace(report.results[0], success=1.0)
    keep_report(papers, replace(report, when="2026-01-03T00:00:00Z", results=(better,)))
    (site / "red-team" / "junk.json").write_text("junk")
    cards = scorecards(papers)["people"]
    assert [card.mark for card in cards] == [report.conditions.mark, "another"]
    assert cards[0].results == (better,)


def test_the_page_has_every_attack_and_no_script(field) -> None:
    report = ONE.attack(field("standard", rows=5_000))
    page = report_page(report, limit=0.05, quota=1000).html()
    assert "secret-in-universe" in page and "For the custodian only" in page
    assert "<script" not in page
