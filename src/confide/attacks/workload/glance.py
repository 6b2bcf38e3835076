"""One line on what an honest analyst gets of each data set: what a check of a site ends with."""

from collections.abc import Iterator
from pathlib import Path

from confide.answering.opening import open_roads
from confide.answering.road import Road
from confide.answering.service import Finding
from confide.attacks.truth.truth import truth_of_site
from confide.attacks.workload.generator import Generator
from confide.attacks.workload.measuring import Measuring
from confide.attacks.workload.roads import OffRecord, true_answers
from confide.attacks.workload.sizes import TrueSizes
from confide.attacks.workload.summary import Usefulness
from confide.engines.stores import store_files
from confide.errors import ConfideError
from confide.model.policy import Policy
from confide.site.folder import Folder

__all__ = ["GLANCE", "glance"]

GLANCE = Generator(questions=60, seed=1)
"""Enough to see whether a site is of use, and to be waited for."""

LARGEST = 100 * 2**20
"""Bytes of a store, about a million records, beyond which nobody would wait while a site is checked."""


def glance(site: Path, policy: Policy | None = None) -> list[Finding]:
    """A note on each data set under its policy, or another. Nothing is recorded, and no suggestion followed."""
    folder = Folder(site)
    with open_roads(folder, policy, allow_open=True) as roads:
        return [Finding("note", text) for name, road in roads.items() for text in _note(folder, name, road)]


def _note(folder: Folder, name: str, road: Road) -> Iterator[str]:
    if sum(file.stat().st_size for file in store_files(folder.store(name), folder.dataset(name).engine)) > LARGEST:
        yield f"{name}: what an honest analyst gets takes a while to measure. Run: confide workload."
        return
    try:
        yield f"{_usefulness(folder, name, road).sentence()} More: confide workload."
    except ConfideError as error:
        yield f"{name}: what an honest analyst gets cannot be measured. {error.message}"


def _usefulness(folder: Folder, name: str, road: Road) -> Usefulness:
    truth, policy = truth_of_site(folder.path, name), road.policy
    with true_answers(truth, store=folder.store(name)) as true:
        drawn = GLANCE.draw(truth.dataset, TrueSizes(true))
        asked, _ = Measuring(OffRecord(road), truth.dataset, true.under(policy)).all(drawn.requests)
    about = {"dataset": name, "policy": policy.title, "sizes": "truth", "source": "generated"}
    return Usefulness.of(asked, **about, seed=GLANCE.seed, aside=drawn.aside)
