"""An open site: admits questions, answers or refuses them, and records each before anybody sees the answer.

This is all that pages, commands and clients see of `answering`: answers, explanations, replays, data sets, and typed results for
the custodian. No engine, no road and no evidence leaves it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar

from confide.answering.analysis import Admitted, Analysis
from confide.answering.auditing.audit import TOGETHER, AuditFinding, QuestionAudit
from confide.answering.check import Finding, check_roads
from confide.answering.frontier.frontier import ReleaseMap
from confide.answering.frontier.mapping import (
    FrontierQuestion,
    Mapped,
    candidates,
    map_road,
    read_weights,
    write_choice,
)
from confide.answering.frontier.splits import RISKS, UTILITIES
from confide.answering.mechanisms.safe.build import make_base
from confide.answering.notes import model_notes, protections, scope
from confide.answering.opened import Opened, gone
from confide.answering.opening import named
from confide.answering.projects import project_policy
from confide.answering.recalling import Keeping, recalled
from confide.answering.recording.answers import Answers, Enquiry
from confide.answering.reproducing import Reproduced, VintageState, list_vintages, reproduce
from confide.answering.reviewing import decision
from confide.answering.road import ANALYSES, Road
from confide.answering.rules.registry import RULES
from confide.answering.rules.rule import Checked, Rule, Stage, Verdict
from confide.answering.trials import Replayed, drafted_policies, not_tried, replay_roads, trial
from confide.answering.unopened import audit, audit_roads, check, frontier, replay
from confide.data.private import only_mine
from confide.errors import Fault, Mistake
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import Request
from confide.records.keeping import read_report
from confide.records.report import RecordsReport
from confide.site import ledger
from confide.site.access import VISITOR, Access, AccessFile, Person, PersonRole, Project, asked_by
from confide.site.audit import AuditLog
from confide.site.documents import RED_TEAM, documents_of
from confide.site.folder import Folder, Papers
from confide.site.ledger import Entry, Ledger, together
from confide.site.looks.appearance import Appearance
from confide.site.policies import keep
from confide.site.policy_drafts import Drafts
from confide.site.reviews import Review, Reviews, ReviewState
from confide.site.state import State, must_belong, open_state
from confide.site.state.papers import SharedPapers
from confide.site.vintages import parse
from confide.site.workspaces import Workspaces
from confide.spelling.json import read_request

__all__ = [
    "NOT_RELOADED",
    "RELOADED",
    "RISKS",
    "RULES",
    "TOGETHER",
    "UTILITIES",
    "Admitted",
    "AuditFinding",
    "Checked",
    "Finding",
    "FrontierQuestion",
    "Mapped",
    "QuestionAudit",
    "RecordsReport",
    "ReleaseMap",
    "Replayed",
    "Reproduced",
    "Rule",
    "Service",
    "Stage",
    "Verdict",
    "VintageState",
    "audit",
    "candidates",
    "check",
    "decision",
    "frontier",
    "list_vintages",
    "make_base",
    "model_notes",
    "not_tried",
    "project_policy",
    "protections",
    "read_weights",
    "replay",
    "reproduce",
    "scope",
    "trial",
    "write_choice",
]

R = TypeVar("R")

RELOADED, NOT_RELOADED = "site loaded anew", "site not loaded anew"
"""The acts by which a server tells what became of `confide reload`."""

SUGGESTIONS = 3
"""So many ways forward are offered with a refusal. Looking for them is most of the work of refusing."""


class Service:
    """An open site. Safe to share among threads."""

    def __init__(
        self,
        folder: Folder,
        *,
        allow_open: bool,
        analyses: Sequence[Analysis[Any, Any, Any]] = ANALYSES,
        suggestions: int = SUGGESTIONS,
        state: State | None = None,
    ) -> None:
        """`state` is shared by the processes that serve the site, if there are several."""
        self._folder = folder
        self.papers = Papers(folder.path)
        self.kinds: tuple[type[Request[Any]], ...] = tuple(analysis.kind for analysis in analyses)
        """What may be asked."""
        self._opening, self._reloading = partial(Opened, folder, allow_open=allow_open, analyses=analyses), Lock()
        with only_mine(), ExitStack() as opened:
            self._now: Opened = self._opening()
            self._secret = folder.secret()
            self._before: Opened | None = None
            opened.callback(lambda: self._close_all())
            self.state = state or open_state(folder.path)
            opened.callback(self.state.close)
            must_belong(self.state, self._secret.version)
            self._shared_papers = SharedPapers(self.state, folder.path) if self.state.machine else None
            self._reviews = Reviews(documents_of(folder.path, "reviews", self.state))
            kept = Workspaces(documents_of(folder.path, "workspaces", self.state))
            self.workspaces = Keeping(kept, dataset=self.dataset, admit=self.admit)
            """What people keep for themselves."""
            self.drafts = Drafts(self.papers, self.state)
            self.attacked = documents_of(folder.path, RED_TEAM, self.state)
            """The runs of the red team that the site keeps."""
            self._ledger = opened.enter_context(
                Ledger(folder.ledger, alone=not self.state.of_several, within=self.state.at_once)
            )
            self._answers = Answers(
                self._ledger, self.state, self._reviews, questions=self._entries, suggestions=suggestions
            )
            self.audit = AuditLog(self._ledger)
            self._take_up_papers()
            self._opened = opened.pop_all()

    @classmethod
    def open(cls, path: str | Path, *, allow_open: bool = False, **more: Any) -> Self:
        """Open a site; anything missing or out of step stops the start."""
        return cls(Folder(Path(path)), allow_open=allow_open, **more)

    def reload(self) -> None:
        """Go over to the policies, the appearance and the newest vintages as they are in the folder now; a Mistake changes nothing.

        Promise: a question is admitted, decided and answered by one and the same version of data and policy. Those under way
        end on the one they began with, which is closed when the next one goes.
        """
        with self._reloading:
            if self._folder.secret() != self._secret:
                raise Mistake("The secret is another one now.", suggestions=["Stop the server, and start it again."])
            opened = self._opening()
            old, self._before, self._now = self._before, self._now, opened
            self._take_up_papers()
            if old is not None:
                old.close()

    @property
    def policy(self) -> Policy:
        """The site's: of what is no data set's (the pace of requests), and of data sets that have none of their own."""
        return self._now.policy

    @property
    def loaded(self) -> str:
        """What policies and data are answered by, in a few letters, the same at all machines; nothing where there is but one."""
        return self._shared_papers.loaded if self._shared_papers else ""

    @property
    def appearance(self) -> Appearance:
        """How its pages look."""
        return self._now.appearance

    @property
    def datasets(self) -> dict[str, Dataset]:
        """What may be asked about: the newest vintage of each data set."""
        return {name: road.dataset for name, road in self._roads.items()}

    def datasets_of(self, person: Person) -> dict[str, Dataset]:
        """What a person may ask about."""
        return {name: dataset for name, dataset in self.datasets.items() if person.may_ask(name)}

    def vintages(self, dataset: str) -> list[str]:
        """The names of the vintages of a data set that one may ask about, the newest first; none if there is but one."""
        return self._now.vintages(dataset)

    @property
    def _roads(self) -> Mapping[str, Road]:
        return self._now.roads

    def dataset(self, name: str, *, person: Person | None = None) -> Dataset:
        """A data set, or a vintage of one; a Mistake if there is none of that name, in the same words as if there is none for
        this person.
        """
        opened = self._now
        if name in opened and (person is None or person.may_ask(name)):
            return opened.road(name).dataset
        return named(self.datasets if person is None else self.datasets_of(person), name)

    def find(self, name: str, *, person: Person) -> Dataset | None:
        """A data set, or a vintage of one; None if there is none of that name for this person."""
        try:
            return self.dataset(name, person=person)
        except Mistake:
            return None

    def policy_of(self, dataset: str, *, person: Person | None = None) -> Policy:
        """The policy under which questions about a data set are answered: of the person's project, its own, or the site's."""
        return self._now.road(dataset, self.project_of(person) if person else None).policy

    def project_of(self, person: Person) -> Project | None:
        """The project in which somebody asks."""
        return self.access.project(person.project) if person.project else None

    def asked_today(self, project: str) -> int:
        """How many questions the people of a project asked today (UTC)."""
        return self._ledger.asked(together(project), None, datetime.now(UTC).date())

    def follows(self, dataset: str) -> bool:
        """Whether the policy of a data set is the site's, as it was when the site was opened."""
        return parse(dataset)[0] in self._now.followers

    @property
    def access(self) -> Access:
        """Who may reach the site, as `access.toml` says now; anything wrong with it is a Mistake at first and a Fault later.

        Who opens the folder has the secret, so this matters to who comes over HTTP, and is read when the first does.
        """
        self._must_have_the_papers()
        return self._people.now()

    @cached_property
    def _people(self) -> AccessFile:
        return AccessFile(self._folder.access)

    def must_be_ready(self) -> None:
        """A Fault or a Mistake if nobody could be let in, or no question recorded: then nothing is answered."""
        _ = self.access
        self._ledger.must_be_writable()

    def visitor(self, machine: str) -> str:
        """What somebody without a token is called on a public site. A machine has a name of its own for a day, for the quota and
        the ledger, which cannot be told back to the machine.
        """
        today = f"{datetime.now(UTC).date()} {machine}"
        return VISITOR + self._secret.digest("visitor", today.encode()).hex()[:10]

    def login_secret(self) -> str:
        """What the site shows its provider of logins to be known."""
        return self._folder.login_secret()

    def signing_key(self, purpose: str) -> bytes:
        """A key for signing what the site will have to recognise again; it tells nothing of the secret."""
        return self._secret.digest(purpose, b"")

    def admit(self, request: Request[R] | Admitted[Request[R]], *, who: str = "") -> Admitted[Request[R]]:
        """The question as it will be considered; a Mistake if it does not fit the codebook. Once admitted, it stays so.

        It may name what the asker keeps.
        """
        if isinstance(request, Admitted):
            return request
        opened = self._now
        newest = opened.newest.get(request.dataset, request.dataset)
        road = opened.road(newest)
        request = recalled(request, road.dataset, self.workspaces.of(asked_by(who))) if who else request
        return road.admit(replace(request, dataset=newest))  # type: ignore[type-var]  # every kind is a dataclass

    def receipt(self, question: Admitted[Request[Any]], *, who: str = "local") -> str:
        """The content address that the answer will have for who asks."""
        project = self.project_of(asked_by(who))
        return self._opened_for(question).road(question.request.dataset, project).receipt(question)

    def answer(
        self,
        request: Request[R] | Admitted[Request[R]],
        *,
        who: str = "local",
        diagnostics: bool = False,
        kept: float = 0.0,
    ) -> R:
        """A protected answer, recorded before it is given; or Mistake, Refused, Fault.

        Under a `Cancellation` it may be stopped before the answer is there: that is recorded too, and counts as a question.

        With `diagnostics` a regression has its synthetic plots too: charts and the data behind them. It is one question.

        For `kept` seconds the same question, asked of any process of the site with `kept`, is the same: not recorded or counted again.
        """
        person = asked_by(who)
        self._must_have_the_papers()
        self._must_be_for(person, request)
        question = self.admit(request, who=who)
        if diagnostics and not question.request.diagnosable:
            raise Mistake("Only a regression has diagnostics.")
        opened = self._opened_for(question)
        with opened.answering():
            enquiry = Enquiry(opened, question, who, person, self.project_of(person), diagnostics)
            return self._answers.answer(enquiry, kept=kept)  # type: ignore[no-any-return]  # as its request says

    def answered(self, receipt: str, diagnostics: bool, *, who: str) -> str:
        """How a question came out that some process answered and that is kept: released or refused; else nothing."""
        return self._answers.outcome(receipt, diagnostics, who=who)

    def is_awaited(self, receipt: str, diagnostics: bool, *, who: str) -> bool:
        """Whether another process waits for the answer that is being made here."""
        return self._answers.is_awaited(receipt, diagnostics, who=who)

    def _must_be_for(self, person: Person, asked: Request[Any] | Admitted[Request[Any]]) -> None:
        """A Mistake if what is asked about is not there for somebody. What was admitted stays there until it is answered."""
        name = asked.request.dataset if isinstance(asked, Admitted) else asked.dataset
        if not isinstance(asked, Admitted) or not person.may_ask(name):
            self.dataset(name, person=person)

    def _opened_for(self, question: Admitted[Request[Any]]) -> Opened:
        """What a question was admitted by: what is open now, or was before it was loaded anew."""
        for opened in (self._now, self._before):
            if opened is not None and opened.admitted(question):
                return opened
        raise gone()

    def reviews_of(self, person: Person) -> list[Review]:
        """The results under review that concern somebody: their own in this project, or for a custodian all."""
        every = self._reviews.all()
        if person.role is PersonRole.CUSTODIAN:
            return every
        return [each for each in every if (each.who, each.project) == (person.name, person.project)]

    def review(self, id: str) -> tuple[Review, Any]:
        """A result under review, and what its asker would see; a Mistake if data or policy have changed since."""
        review = self._reviews.numbered(id)
        opened = self._now
        with opened.answering():
            road = opened.road(review.dataset, self.access.project(review.project))
            question = road.admit(read_request(review.request))
            considered = road.consider(question)
            if road.receipt(question) != review.receipt or considered.reasons:
                raise Mistake("The data or the policy have changed since this was asked: it would be asked anew.")
            return review, road.release(considered)

    def decide(self, id: str, state: ReviewState, *, custodian: Person, reason: str) -> Review:
        """A custodian's yes or no to a result, recorded with its reason."""

        def record(review: Review) -> None:
            self.record_act(custodian, f"review {state}", dataset=parse(review.dataset)[0], **decision(review))

        return self._reviews.decide(id, state, by=custodian.name, reason=reason, record=record)

    def audit_questions(self, dataset: str = "", *, who: str | None = None, since: str = "") -> QuestionAudit:
        """What the recorded questions isolate, of one data set or of all: for the custodian alone."""
        return audit_roads(self._roads, self._entries(), dataset=dataset, who=who, since=since)

    def explain(self, request: Request[Any], policy: Policy | None = None) -> list[Checked]:
        """How every rule comes out on a request, under the policy in force or another. Nothing is recorded or released."""
        road = self._road(request.dataset)
        road = road if policy is None else road.under(policy)
        return list(road.consider(road.admit(request)).checked)

    def must_be_possible(self, policy: Policy, *, dataset: str | None = None) -> None:
        """A Mistake if the mechanisms of a policy, of the site or of a data set, cannot be carried out."""
        for name, drafted in self.drafted(policy, dataset=dataset).items():
            self._roads[name].under(drafted)

    def drafted(self, policy: Policy, *, dataset: str | None = None) -> dict[str, Policy]:
        """The policies that data sets would have under a draft of the site's, or of one of theirs; the others are left out."""
        return drafted_policies(self.papers, self._roads, policy, dataset)

    def replay(self, policy: Policy, *, dataset: str | None = None) -> Iterator[Replayed]:
        """Every recorded question under another policy of the site or of a data set, beside a running site.

        Nothing is recorded or released. Questions about data sets that the policy is not for are left out.
        """
        return replay_roads(self.papers, self._roads, policy, dataset=dataset, trying=trial)

    def reload_and_record(self) -> None:
        """Load the site anew because the machine's custodian wants it; that it was done, or why not, is recorded."""
        try:
            self.reload()
        except (Mistake, Fault) as error:
            self._ledger.record(ledger.COMMAND_LINE, NOT_RELOADED, why=error.message)
            raise
        self._ledger.record(ledger.COMMAND_LINE, RELOADED)

    def record_act(self, person: Person, act: str, *, dataset: str = "", **more: str | int) -> None:
        """Record what a custodian did: in a few words, and to what. Nothing secret may be among it."""
        self._ledger.record(person.name, act, dataset=dataset, **more)

    def check(self) -> list[Finding]:
        """What a custodian should know: what is missing, risky or unanswerable."""
        return check_roads(self._roads, self.access)

    def records(self, dataset: str) -> RecordsReport | None:
        """What protecting the records of a data set did, of true figures: for the custodian alone."""
        self._road(dataset)
        return read_report(self._folder, dataset)

    def frontier(self, dataset: str, wanted: FrontierQuestion) -> Mapped:
        """The map of models of a sensitive variable, of true figures rounded to two decimals: for the custodian alone."""
        return map_road(self._road(dataset), wanted).rounded()

    def close(self) -> None:
        self._opened.close()

    def _close_all(self) -> None:
        for opened in (self._before, self._now):
            if opened is not None:
                opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _road(self, name: str) -> Road:
        return self._now.road(name)

    def _take_up_papers(self) -> None:
        """Keep the policies that are answered by, and let the other machines of the site know."""
        if self._shared_papers:
            self._shared_papers.take_up()
        if self.state.worker:
            return  # the first does it
        keep(self.papers, self.policy)
        for name in self._roads:
            if not self.follows(name):
                keep(self.papers, self.policy_of(name), name=name)

    def _must_have_the_papers(self) -> None:
        """A Fault if this machine has other papers than the other machines of the site."""
        if self._shared_papers:
            self._shared_papers.must_be_the_sites()

    def _entries(self) -> list[Entry]:
        return list(ledger.read_questions(self.papers.ledger))
