"""Puts honest questions to a site and compares the answers with the truth; the site's own ledger and quota stay as they are."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from confide.attacks.codebook import read_codebook, read_public_policy
from confide.attacks.intruder import Spent
from confide.attacks.truth.copies import copied
from confide.attacks.truth.truth import truth_elsewhere, truth_of_site
from confide.attacks.workload.asking import Questioner, Reply
from confide.attacks.workload.generator import Drawn, Generator, Sizes
from confide.attacks.workload.margins import margins_outside
from confide.attacks.workload.proportions import STATISTICS
from confide.attacks.workload.recorded import recorded_requests
from confide.attacks.workload.roads import OffRecord, TrueAnswers, true_answers
from confide.attacks.workload.sizes import PublishedSizes, TrueSizes
from confide.attacks.workload.statistic_errors import deviations
from confide.attacks.workload.summary import Asked, Usefulness
from confide.client import Site
from confide.errors import Mistake, nearest
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import Request, TableRequest
from confide.site.folder import Folder

__all__ = ["Measuring", "Progress", "measure_remote", "measure_site"]

Progress = Callable[[int, int], None]
"""Told how many questions were asked, and of how many."""


def measure_site(
    site: Path,
    name: str,
    *,
    policy: Policy | None = None,
    generator: Generator | None = None,
    ledger: bool = False,
    progress: Progress = lambda asked, of: None,
) -> Usefulness:
    """What an honest analyst gets of a site of this machine, under its own policy or another; nothing is recorded."""
    folder, generator = Folder(site), generator or Generator()
    policy = policy or folder.policy(name)
    truth = truth_of_site(site, name)
    recorded = recorded_requests(folder.ledger, name, most=generator.questions) if ledger else None
    with (
        copied(site, name, policy, truth=truth, suggestions=True) as copy,
        true_answers(truth, store=folder.store(name)) as true,
    ):
        drawn = Drawn(recorded, {}) if recorded else generator.draw(truth.dataset, TrueSizes(true))
        asked, stopped = Measuring(Questioner(copy), truth.dataset, true.under(policy)).all(drawn.requests, progress)
    return Usefulness.of(
        asked,
        dataset=name,
        policy=policy.title,
        sizes="truth",
        aside=drawn.aside,
        source="ledger" if ledger else "generated",
        seed=None if ledger else generator.seed,
        notes=tuple(_notes(asked, stopped)),
    )


def measure_remote(
    site: Site,
    name: str,
    *,
    truth: Path | None = None,
    generator: Generator | None = None,
    progress: Progress = lambda asked, of: None,
) -> Usefulness:
    """What an honest analyst gets of a site elsewhere, whose quota and ledger are used; errors only with what it was made of."""
    generator = generator or Generator()
    _must_be_known(name, site.names())
    told = site.codebook(name)
    book, questioner = read_codebook(told), Questioner(site)
    with _true_of(truth, book) as true:
        drawn = _drawn(generator, book, TrueSizes(true) if true else PublishedSizes(questioner, book))
        asked, stopped = Measuring(questioner, book, true).all(drawn.requests, progress)
    notes = [*_notes(asked, stopped), "" if true else NO_TRUTH]
    return Usefulness.of(
        asked,
        dataset=name,
        policy=read_public_policy(told).title,
        sizes="truth" if true else "published",
        aside=drawn.aside,
        source="generated",
        seed=generator.seed,
        notes=tuple(filter(None, notes)),
    )


NO_TRUTH = (
    "Errors are not measured: a site elsewhere does not tell the truth. "
    "Add --truth with the file it was made of, or a copy of its folder."
)


def _drawn(generator: Generator, book: Dataset, sizes: Sizes) -> Drawn:
    try:
        return generator.draw(book, sizes)
    except Spent as spent:
        raise Mistake(f"No question could be made up. {spent}", suggestions=["Ask again later."]) from None


@contextmanager
def _true_of(file: Path | None, book: Dataset) -> Iterator[TrueAnswers | None]:
    if file is None:
        yield None
        return
    with true_answers(truth_elsewhere(file, book)) as true:
        yield true


def _must_be_known(name: str, names: list[str]) -> None:
    if name not in names:
        hint = nearest(name, names) or ["There are " + ", ".join(names) + "."]
        raise Mistake(f"There is no data set called {name[:60]!r}.", suggestions=hint)


def _notes(asked: list[Asked], stopped: str) -> Iterator[str]:
    if stopped:
        yield f"Not all questions could be asked. {stopped}"
    if asked and not any(one.answered for one in asked):
        yield "Nothing is answered: there is no error to measure."
    unknown = sum(one.answered and not one.errors for one in asked)
    if unknown and any(one.errors for one in asked):
        yield f"Answers without a number that could be compared with the truth: {unknown}."


@dataclass(frozen=True)
class Measuring:
    """Asks a question, follows its suggestions, and compares."""

    questioner: Questioner | OffRecord
    book: Dataset
    true: TrueAnswers | None

    def all(
        self, requests: Sequence[Request[Any]], progress: Progress = lambda asked, of: None
    ) -> tuple[list[Asked], str]:
        """What came of the questions, and why some could not be asked."""
        asked: list[Asked] = []
        try:
            for request in requests:
                asked.append(self.one(request))
                progress(len(asked), len(requests))
        except Spent as spent:
            return asked, str(spent)
        return asked, ""

    def one(self, request: Request[Any]) -> Asked:
        reply = self.questioner.ask(request)
        if reply.release is None:
            return self._followed(request, reply)
        true = self.true.ask(request) if self.true else None
        errors = tuple(deviations(reply.release, true, self.true.truth)) if self.true and true is not None else ()
        found = Asked(request=request, answered=True, errors=tuple((n, d) for n, d in errors if len(d.ratio)))
        return self._table(found, reply.release) if isinstance(request, TableRequest) else found

    def _table(self, found: Asked, release: Any) -> Asked:
        marks = np.concatenate([column.marks.ravel() for column in release.columns.values()])
        return replace(
            found,
            margins=() if found.kind in STATISTICS else tuple(margins_outside(release, self.book)),
            cells=int((marks != "z").sum()),
            withheld=int(np.isin(marks, ("c", "x")).sum()),
        )

    def _followed(self, request: Request[Any], reply: Reply[Any]) -> Asked:
        passed = sum(self.questioner.ask(near).release is not None for near in reply.suggestions)
        return Asked(
            request=request,
            answered=False,
            rules=reply.rules,
            mistake=reply.mistake,
            offered=len(reply.suggestions),
            passed=passed,
        )
