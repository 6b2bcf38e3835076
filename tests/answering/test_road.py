"""One road: admitted once, fitted once, explained as it was judged, replayed alike wherever one replays."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import confide
from asking import Desk, python_regression, python_table
from confide.answering.road import ANALYSES, Road
from confide.answering.service import RULES, Service, Verdict, make_base, replay
from confide.answering.shield import Shield
from confide.cli.main import app
from confide.engines.memory.engine import MemoryEngine
from confide.errors import Mistake, Refused
from confide.model.policy import PRESETS, Policy, write_policy
from confide.spelling.url import read_url

SAFE = replace(PRESETS["drop-q"], counts=replace(PRESETS["drop-q"].counts, mechanism="safe"))
ADDRESSES = [
    "people/table?rows=sex",
    "people/table?rows=town&columns=sex",
    "people/table?rows=sex&where=town=a1;sex=f",
    "people/table?rows=ill&columns=town&where=sex=f",
    "people/table?rows=sex&measure=mean&of=income",
    "people/table?rows=town,age,trade&columns=work",
    "people/regression?formula=income~age%2Bsex",
    "people/correlation?variables=age,income",
]


def written(site: Path, town: Any, policy: Policy) -> Path:
    site.mkdir()
    (site / "policy.toml").write_text(write_policy(policy, preset="standard"))
    confide.add(town.people, site, name="people", catalog=town.catalog)
    return site


@pytest.fixture(scope="module", params=["standard", "drop-q", "safe"])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, town: Any) -> Iterator[Service]:
    """A site, with a SAFE base and without, whose ledger holds answers and refusals."""
    policy = SAFE if request.param == "safe" else PRESETS[request.param]
    site = written(tmp_path_factory.mktemp(request.param) / "site", town, policy)
    if request.param == "safe":
        make_base(site, "people", by=["sex", "town"])
    with Service.open(site) as service:
        for address in ADDRESSES:
            with suppress(Refused):
                service.answer(read_url(address))
        yield service


def test_replaying_the_policy_in_force_changes_nothing(asked: Service) -> None:
    found = list(asked.replay(asked.policy))
    assert len(found) == len(ADDRESSES) and {r.before == "released" for r in found} == {True, False}
    assert [r.number for r in found if r.changed] == []


def test_every_way_to_replay_gives_the_same_outcomes(asked: Service, tmp_path: Path) -> None:
    draft = replace(asked.policy, tables=replace(asked.policy.tables, dimensions=1), drop=PRESETS["open"].drop)
    (tmp_path / "draft.toml").write_text(write_policy(draft, preset="standard"))
    here = list(asked.replay(draft))
    assert list(replay(asked.papers.path, draft)) == here
    words = ["ledger", "replay", str(asked.papers.path), "--policy", str(tmp_path / "draft.toml")]
    printed = CliRunner().invoke(app, words).output
    assert f"{sum(r.changed for r in here)} of {len(here)} outcomes would change" in printed
    assert any(r.changed for r in here)


def test_an_explanation_says_which_rules_were_not_asked(asked: Service) -> None:
    found = {checked.rule: checked for checked in asked.explain(read_url(ADDRESSES[1]))}
    universe = found["universe.gamma"]
    if asked.policy.counts.mechanism == "safe":
        assert universe.verdict is Verdict.NOT_ASKED and "protected microdata" in universe.said
    elif asked.policy.universe.gamma:
        assert universe.verdict is Verdict.PASSED
    else:
        assert universe.verdict is Verdict.NOT_ASKED and "switches it off" in universe.said
    assert found["tables.mean_cell"].verdict is Verdict.PASSED


def test_a_draft_that_wants_a_base_which_is_not_there_is_a_mistake(tmp_path: Path, town: Any) -> None:
    with Service.open(written(tmp_path / "site", town, town.policy)) as service, pytest.raises(Mistake, match="SAFE"):
        service.must_be_possible(SAFE)


class Counting(MemoryEngine):
    """An engine that counts what it is asked."""

    def __init__(self, coded: Any) -> None:
        super().__init__(coded)
        self.asked: Counter[str] = Counter()

    def moments(self, step: Any) -> Any:
        self.asked["moments"] += 1
        return super().moments(step)

    def spread(self, step: Any, inverse: Any) -> Any:
        self.asked["spread"] += 1
        return super().spread(step, inverse)


def test_a_regression_with_diagnostics_fits_once(town: Any) -> None:
    """One step of moments for a gaussian model, and one for the spread of the response over everyone, which plots need."""
    plain, diagnosed = Counting(town.coded()), Counting(town.coded())
    request = python_regression("people", "income ~ age + sex")
    for engine, diagnostics in ((plain, False), (diagnosed, True)):
        road = Road(town.dataset, engine, Shield(town.policy, town.secret()))
        assert not Desk(road).consider(request, diagnostics=diagnostics).reasons
    assert plain.asked == {"moments": 1, "spread": 1}
    assert diagnosed.asked == {"moments": 2, "spread": 1}


def test_a_question_is_admitted_once(tmp_path: Path, town: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it comes: as a request it is admitted on the way, and what is admitted is not admitted again."""
    seen: Counter[object] = Counter()
    table = next(analysis for analysis in ANALYSES if analysis.kind.ask == "table")
    admit = type(table).admit

    def counted(self: Any, request: Any, dataset: Any) -> Any:
        seen[request] += 1
        return admit(self, request, dataset)

    monkeypatch.setattr(type(table), "admit", counted)
    request = python_table("people", rows="sex")
    with Service.open(written(tmp_path / "site", town, town.policy)) as service:
        service.answer(request)
        assert seen == {request: 1}
        service.answer(service.admit(request))
        assert seen == {request: 2}


def test_every_rule_is_one_object_with_one_name() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    told: dict[str, set[tuple[str, str]]] = {}
    for analysis in ANALYSES:
        for rule in analysis.rules:
            told.setdefault(rule.name, set()).add((rule.words, rule.refused))
    assert all(len(words) == 1 for words in told.values())


def test_a_replay_names_what_of_a_draft_it_does_not_try(asked: Service, tmp_path: Path) -> None:
    """The records are those that were ingested, and the noise is that in force, whatever the draft says of them."""
    records = replace(asked.policy, records=replace(asked.policy.records, noise=0.5))
    shape = replace(asked.policy, tables=replace(asked.policy.tables, dimensions=1))
    printed = []
    for draft in (records, shape):
        (tmp_path / "draft.toml").write_text(write_policy(draft, preset="standard"))
        words = ["ledger", "replay", str(asked.papers.path), "--policy", str(tmp_path / "draft.toml")]
        printed.append(CliRunner().invoke(app, words).output)
    assert "0 of" in printed[0] and "Not tried: [records]." in printed[0]
    assert "Not tried" not in printed[1]
