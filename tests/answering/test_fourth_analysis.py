"""A fourth kind of question, defined here and nowhere else: shares of the classes of one variable.

It is answered, refused, explained, recorded and replayed through Python, JSON and URL without a change to any other module.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from confide import demo
from confide.answering.analysis import Admitted, Near, ReleaseFacts
from confide.answering.road import ANALYSES
from confide.answering.rules.rule import Rule, Stage, Verdict
from confide.answering.rules.universe import UNIVERSE_RULES
from confide.answering.selection import Selection
from confide.answering.service import Service
from confide.answering.shield import Shield
from confide.arrays import Ints
from confide.client import LocalSite
from confide.errors import Mistake, Reason, Refused
from confide.formats.document import read_release
from confide.formats.release import writers
from confide.model.admission.cross import cross_of
from confide.model.admission.universe import admit_universe
from confide.model.catalog.dataset import Dataset
from confide.model.model_release import Grid, ModelRelease
from confide.model.policy import Policy
from confide.model.request import Request, text
from confide.model.universe import EVERYONE, Universe
from confide.records.ingest import add
from confide.site.ledger import read
from confide.spelling.json import read_request, write_request
from confide.spelling.pasted import read_pasted
from confide.spelling.python import read_python, write_python
from confide.spelling.r import write_r
from confide.spelling.url import read_url, write_url
from confide.spelling.words import read_words, write_words
from confide.web.api import create_app


@dataclass(frozen=True)
class Shares(Request["ModelRelease[Shares]"]):
    """The shares of the classes of a variable."""

    ask: ClassVar = "shares"
    summary: ClassVar = "Protected shares"

    dataset: str
    of: str = text("A variable with classes.", bare=True)
    where: Universe = EVERYONE

    @property
    def names(self) -> tuple[str, ...]:
        return (self.of,)

    @property
    def title(self) -> str:
        return f"Shares of {self.of}"


@dataclass(frozen=True)
class ProtectedShares:
    policy: Policy
    codes: tuple[str, ...]
    units: Ints


def _few(shares: ProtectedShares, policy: Policy) -> list[Reason]:
    return [Reason("shares.units", "There are too few units.")] if shares.units[-1] < 500 else []


class SharesAnalysis:
    kind = Shares
    rules: Sequence[Rule] = (*UNIVERSE_RULES, Rule("shares.units", "Some 500 units.", "few", {Stage.CELLS: _few}))

    def admit(self, request: Shares, dataset: Dataset) -> Shares:
        dataset.classifier(request.of)
        admit_universe(request.where, dataset)
        return request

    def cross(self, question: Admitted[Shares]) -> list[tuple[str, ...]]:
        return [cross_of((question.request.of, *question.universe.variables), question.dataset)]

    def gather(self, question: Admitted[Shares], selection: Selection, shield: Shield) -> Any:
        return selection.cube([question.request.of])

    def protect(self, question: Admitted[Shares], evidence: Any, shield: Shield) -> ProtectedShares:
        publish, _ = shield.draws.counts(evidence.records, evidence.units, evidence.key)
        codes = question.dataset.classifier(question.request.of).codes
        assert codes is not None
        return ProtectedShares(shield.policy, codes.names, shield.counts.units(evidence.units, publish))

    def read(self, question: Admitted[Shares], base: Any, shield: Shield) -> None:
        return None

    def release(
        self, question: Admitted[Shares], protected: ProtectedShares, facts: ReleaseFacts, *, diagnostics: bool
    ) -> ModelRelease[Shares]:
        shares = (protected.units[:-1] / protected.units[-1]).round(3).tolist()
        rows = tuple(zip(protected.codes, shares, strict=True))
        grid = Grid("shares", "Shares", ("class", "share"), rows)
        return ModelRelease(question.request, grids={"shares": grid}, notes=(), **vars(facts))

    def instead(self, question: Admitted[Shares], protected: Any) -> None:
        return None

    def near(self, question: Admitted[Shares]) -> Iterator[Near[Shares]]:
        if question.request.where:
            yield Near("everyone instead of this universe", replace(question.request, where=EVERYONE))


ANSWERED = Shares("people", "education")
NARROW = read_url("people/shares?of=education&where=county%3DN5")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("fourth") / "site"
    catalog = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    add(demo.people(20_000), site, name="people", catalog=catalog, preset="drop-q")
    return site


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[LocalSite]:
    with LocalSite(Service.open(folder, analyses=(*ANALYSES, SharesAnalysis()))) as opened:
        yield opened


@pytest.fixture(scope="module")
def service(site: LocalSite) -> Service:
    return site.service


def test_it_is_spelled_in_every_way_and_read_back() -> None:
    for request in (ANSWERED, NARROW):
        assert read_request(json.loads(json.dumps(write_request(request)))) == request
        assert read_url(write_url(request)) == request
        assert read_python(write_python(request, site="s")) == request
        assert read_words(write_words(request), Shares) == request
        assert read_pasted(write_r(request, site="http://127.0.0.1")) == request


def test_it_is_answered_in_python_and_over_http_alike(site: LocalSite, service: Service) -> None:
    release = site.ask(ANSWERED)
    assert sum(share for _, share in release.grids["shares"].rows) == pytest.approx(1, abs=0.01)  # guards: rounding
    app = create_app(service)

    async def get(address: str) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return await client.get(address)

    answered = asyncio.run(get("/" + write_url(ANSWERED, ending=".json")))
    assert read_release(answered.json()) == release
    assert asyncio.run(get("/" + write_url(ANSWERED, ending=".csv"))).text == writers(release).csv(release)
    assert "/{dataset}/shares.{ending}" in app.openapi()["paths"]
    assert asyncio.run(get("/" + write_url(NARROW, ending=".json"))).status_code == 403


def test_it_is_refused_explained_and_a_way_on_is_offered(service: Service) -> None:
    with pytest.raises(Refused) as refused:
        service.answer(NARROW)
    assert [reason.rule for reason in refused.value.reasons] == ["shares.units"]
    assert [suggestion.address for suggestion in refused.value.suggestions] == ["people/shares?of=education"]
    found = {checked.rule: checked.verdict for checked in service.explain(NARROW)}
    assert found["shares.units"] is Verdict.FAILED and found["universe.gamma"] is Verdict.PASSED


def test_it_is_recorded_and_replayed(service: Service) -> None:
    entries = [e for e in read(service.papers.ledger) if e.request["ask"] == "shares"]
    assert {e.outcome for e in entries} == {"released", "refused"}
    assert not any(replayed.changed for replayed in service.replay(service.policy))


def test_a_mistake_names_what_is_wrong(service: Service) -> None:
    with pytest.raises(Mistake, match="No variable called"):
        service.answer(Shares("people", "educatoin"))


def test_a_site_without_the_analysis_says_so(folder: Path) -> None:
    """On a copy, for the other holds the ledger."""
    from confide.answering.opening import open_roads
    from confide.site.folder import Folder

    place = Folder(folder)
    with open_roads(place, place.policy()) as roads, pytest.raises(Mistake, match="answers no shares"):
        roads["people"].admit(ANSWERED)
