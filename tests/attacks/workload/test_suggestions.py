"""Refusals lead on: of the honest questions that are refused, nearly all come with a suggestion that is answered."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide
from confide import demo
from confide.answering.opening import open_roads
from confide.answering.road import Road
from confide.attacks.truth.truth import truth_of_site
from confide.attacks.workload.generator import Generator
from confide.attacks.workload.roads import true_answers
from confide.attacks.workload.sizes import TrueSizes
from confide.demo.texts import catalog_text, policy_text
from confide.site.folder import Folder
from confide.spelling.url import read_url

SECRET = "c0f1de" * 12
DEMANDED = 0.9
SILC = Path(__file__).parents[4] / "shared" / "data" / "eusilc_laeken.csv.gz"


def survey(rows: int) -> dict[str, Any]:
    """A survey as `confide init` meets it: many amounts that most people do not have, so that a few carry every model."""
    rng = np.random.default_rng(3)
    amounts = {
        f"benefit_{i}": np.where(rng.random(rows) < 0.03, rng.lognormal(7, 1.2, rows).round(2), 0) for i in range(4)
    }
    age, sex = rng.integers(0, 95, rows), rng.choice(["f", "m"], rows)
    income = np.where(rng.random(rows) < 0.3, 0, rng.lognormal(9, 1, rows).round(2))
    return {
        "id": np.arange(rows).astype(str),
        "age": age,
        "sex": sex,
        "place": rng.choice(list("ABCDEF"), rows),
        "income": income,
        **amounts,
    }


def site_of(folder: Path, name: str) -> Path:
    """A site of 4,000 units under the demo's policy, or drafted from a file under the default."""
    folder.mkdir()
    (folder / "secret").touch(0o600)
    (folder / "secret").write_text(SECRET + "\n")
    if name == "silc":
        confide.add(SILC, folder, name=name)
    elif name == "survey":
        confide.add(survey(4_000), folder, name=name)
    else:
        confide.add(getattr(demo, name)(4_000), folder, name=name, catalog=catalog_text(name))
        if own := policy_text(name):
            (folder / name / "policy.toml").write_text(own)
            confide.ingest(getattr(demo, name)(4_000), folder, name=name)
    return folder


def refused(site: Path, name: str, *, questions: int) -> Iterator[tuple[Road, Any]]:
    """The honest questions that are refused, with the road that refuses them."""
    truth = truth_of_site(site, name)
    with true_answers(truth, store=Folder(site).store(name)) as true:
        drawn = Generator(questions=questions, seed=1).draw(truth.dataset, TrueSizes(true))
    with open_roads(Folder(site)) as roads:
        for request in drawn.requests:
            question = roads[name].admit(request)
            if roads[name].consider(question).reasons:
                yield roads[name], question


@pytest.mark.parametrize("name", ["people", "firms", "survey", pytest.param("silc", marks=pytest.mark.reference)])
def test_nearly_all_refusals_come_with_a_suggestion_that_is_answered(tmp_path: Path, name: str) -> None:
    leading = []
    for road, question in refused(site_of(tmp_path / "site", name), name, questions=100):
        first = next(road.suggest(question), None)
        leading.append(first is not None)
        if first is not None:
            assert not road.consider(road.admit(read_url(first.address))).reasons
    assert len(leading) >= 10
    assert np.mean(leading) >= DEMANDED
