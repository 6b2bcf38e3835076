"""What an honest analyst gets of small sites: under any policy, from the ledger, elsewhere, and where nothing is to be had."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import confide
from confide.attacks.workload.asking import Questioner
from confide.attacks.workload.generator import Generator
from confide.attacks.workload.glance import glance
from confide.attacks.workload.measuring import measure_remote, measure_site
from confide.attacks.workload.recorded import recorded_requests
from confide.attacks.workload.summary import Usefulness
from confide.errors import Mistake
from confide.model.policy import PRESETS, read_policy
from conftest import population

SOME = Generator(questions=50, seed=2)
NEVER = read_policy(
    "[tables]\nmean_cell = 1e9\n[models]\nunits = 1000000000\n"
)  # no number of units is enough for a table or a model


def digest(site: Path) -> dict[str, str]:
    files = (file for file in sorted(site.rglob("*")) if file.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture(scope="module")
def found(site: Path) -> Usefulness:
    return measure_site(site, "people", generator=SOME)


def test_the_same_seed_measures_the_same_and_the_site_stays_as_it_was(site: Path, found: Usefulness) -> None:
    before = digest(site)
    assert measure_site(site, "people", generator=SOME) == found
    assert digest(site) == before


def test_every_question_is_answered_or_refused_by_a_rule(found: Usefulness) -> None:
    assert found.asked == 50 == found.answered + found.refused and not found.mistakes
    assert 0 < found.answered < 50 and sum(found.rules.values()) >= found.refused
    assert sum(s.asked for s in found.kinds) == 50 == sum(s.asked for s in found.conditions)
    assert sum(s.answered for s in found.kinds) == found.answered


def test_suggestions_are_followed(found: Usefulness) -> None:
    """A site suggests only what it answers."""
    assert 0 < found.offered == found.led_on <= found.refused


def test_under_open_the_same_is_asked_all_tables_are_answered_and_nothing_is_off(site: Path, found: Usefulness) -> None:
    standard = {(share.kind, share.conditions): share.asked for share in found.conditions}
    found = measure_site(site, "people", policy=PRESETS["open"], generator=SOME)
    assert {(share.kind, share.conditions): share.asked for share in found.conditions} == standard
    tables = [share for share in found.kinds if share.kind in ("counts", "totals", "means")]
    assert len(tables) == 3 and all(share.answered == share.asked for share in tables)
    assert len(found.errors) >= 5 and not [e for e in found.errors if e.ninth_decile or e.relative]
    assert not sum(margin.outside for margin in found.margins)


def test_means_are_off_by_as_much_as_the_policy_says(site: Path) -> None:
    """The mean relative change of a total is beta, so the median is near it; a tenfold beta is seen tenfold."""
    tables = "[tables]\nclass_disclosure = false\nsparsity = 1.0\nmean_cell = 0.0\n"
    small, large = (
        measure_site(
            site, "people", policy=read_policy(f'preset = "drop-q"\n[totals]\nbeta = {beta}\n' + tables), generator=SOME
        ).error("means")
        for beta in (0.01, 0.1)
    )
    assert small and large
    assert 0.005 < small.relative < 0.02 and 0.05 < large.relative < 0.2 and large.median > 5 * small.median


def test_a_site_that_refuses_everything_is_measured_and_said(site: Path) -> None:
    found = measure_site(site, "people", policy=NEVER, generator=Generator(questions=12))
    assert found.answered == 0 and found.refused == 12 and not found.errors and not found.margins
    assert any("Nothing is answered" in note for note in found.notes)
    assert "0 are answered" in found.sentence() and "off by" not in found.sentence()


def test_an_unknown_data_set_is_a_mistake(site: Path) -> None:
    with pytest.raises(Mistake, match="no data set called 'poeple'. Did you mean 'people'"):
        measure_site(site, "poeple")


def test_one_record_is_not_too_few_to_try(make) -> None:
    found = measure_site(make(population(size=1, seed=1)), "people", generator=Generator(questions=8))
    assert found.asked == 8 and found.answered + found.refused + found.mistakes == 8


def test_without_numbers_there_are_no_totals(make) -> None:
    lines = "title = 'T'\n" + "".join(
        f"[variables.{name}]\n[variables.{name}.codes]\n" + "".join(f"{code} = '{code}'\n" for code in codes)
        for name, codes in {"sex": "fm", "trade": "pqr"}.items()
    )
    site = make(population(size=900, seed=3).select(["sex", "trade"]), catalog=lines)
    found = measure_site(site, "people", generator=Generator(questions=20))
    assert {share.kind for share in found.kinds} <= {"counts", "models", "correlations"}
    assert found.answered and not found.error("means")


def test_the_ledger_gives_the_questions_that_were_asked(make) -> None:
    site = make(population(size=1500, seed=1))
    with confide.open(site) as opened:
        for rows in ("sex", "county", "sex"):
            opened["people"].table(rows=rows)
        opened["people"].table(rows="sex", measure="mean", of="income")
    found = measure_site(site, "people", ledger=True)
    assert (found.asked, found.answered, found.source, found.seed) == (3, 3, "ledger", None)
    assert {share.kind: share.asked for share in found.kinds} == {"counts": 2, "means": 1}
    assert len(recorded_requests(site / "ledger.jsonl", "people", most=2)) == 2


def test_an_empty_ledger_is_a_mistake(site: Path) -> None:
    with pytest.raises(Mistake, match="has no question about 'people'. Leave --ledger out"):
        measure_site(site, "people", ledger=True)


def test_a_site_elsewhere_tells_shares_and_with_the_truth_errors(make, tmp_path: Path) -> None:
    people = population(size=1500, seed=1)
    pa.parquet.write_table(people, tmp_path / "truth.parquet")
    generator = Generator(questions=15)
    with confide.open(make(people)) as opened:
        blind = measure_remote(opened, "people", generator=generator)
        seeing = measure_remote(opened, "people", generator=generator, truth=tmp_path / "truth.parquet")
    assert blind.answered and not blind.errors and blind.sizes == "published" and "--truth" in blind.notes[-1]
    assert seeing.errors and seeing.sizes == "truth" and not any("--truth" in note for note in seeing.notes)


def test_a_quota_that_runs_out_stops_the_questions_and_is_said(make) -> None:
    site = make(population(size=1500, seed=1), policy="[quota]\nper_day = 25\n")
    with confide.open(site) as opened:
        found = measure_remote(opened, "people", generator=Generator(questions=40))
    assert found.asked < 25 and any("quota ran out (quota.per_day)" in note for note in found.notes)


def test_who_asks_waits_when_told_to() -> None:
    """A site that says "slow down" twice is asked a third time."""
    told: list[int] = []

    class Hurried:
        def ask(self, request):
            told.append(1)
            if len(told) < 3:
                raise confide.Refused([confide.errors.Reason("quota.per_minute", "Slow down.")], policy="standard")
            return "answer"

    assert Questioner(Hurried(), wait=0.0).ask(None).release == "answer" and len(told) == 3


def test_a_glance_says_the_same_as_the_measure(site: Path) -> None:
    [finding] = glance(site)
    found = measure_site(site, "people", generator=Generator(questions=60, seed=1))
    assert finding.kind == "note" and finding.text == f"{found.sentence()} More: confide workload."


def test_a_glance_does_not_wait_for_a_large_store(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.attacks.workload.glance.LARGEST", 0)
    [finding] = glance(site)
    assert "takes a while to measure" in finding.text


def test_a_glance_says_where_nothing_can_be_asked(make) -> None:
    site = make(population(size=50, seed=1).select(["age"]), catalog="title = 'T'\n[variables.age]\nkind = 'numeric'\n")
    [finding] = glance(site)
    assert finding.text.startswith("people: what an honest analyst gets cannot be measured. Nothing can be asked")
