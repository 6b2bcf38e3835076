"""From a question that was admitted to its answer: a place in the quotas, the rules, the limits on what answers tell together, a
custodian's review where one is wanted, and an entry in the ledger before anybody sees anything.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from confide.answering.analysis import Admitted
from confide.answering.limits import AnswerLimits, are_set
from confide.answering.opened import Opened
from confide.answering.recording.once import AnsweredOnce, Claim
from confide.answering.recording.quotas import DayPlaces, DayQuota, Place
from confide.answering.reviewing import marks_for_review, not_given
from confide.answering.road import Road
from confide.cancellation import Stopped, StopReason
from confide.errors import Fault, Mistake, Reason, Refused
from confide.model.request import Request
from confide.site.access import Person, PersonRole, Project
from confide.site.ledger import Entry, Ledger, together
from confide.site.reviews import Reviews, ReviewState
from confide.site.state import State
from confide.site.vintages import parse
from confide.spelling.json import write_request

__all__ = ["Answers", "Enquiry"]

_TOO_MUCH = {
    StopReason.TIME: Reason("quota.seconds", "This question took longer than a question may."),
    StopReason.MEMORY: Reason("quota.memory", "This question needs more memory than there is for questions."),
}


@dataclass(frozen=True)
class Enquiry:
    """An admitted question and who asks it, in which project; `opened` is what it was admitted by."""

    opened: Opened
    question: Admitted[Request[Any]]
    who: str
    person: Person
    project: Project | None
    diagnostics: bool = False

    @cached_property
    def road(self) -> Road:
        return self.opened.road(self.question.request.dataset, self.project)

    @property
    def receipt(self) -> str:
        return self.road.receipt(self.question)


@dataclass(frozen=True)
class _UnderWay:
    """A question that is being answered: its place among those of the day, and that no other process answers it."""

    enquiry: Enquiry
    place: Place
    claim: Claim


class Answers:
    """The questions of a site, answered and recorded. Safe to share among threads."""

    def __init__(
        self,
        ledger: Ledger,
        state: State,
        reviews: Reviews,
        *,
        questions: Callable[[], list[Entry]],
        suggestions: int,
    ) -> None:
        """`questions` reads all that were recorded; so many `suggestions` go with a refusal."""
        self._ledger, self._state, self._reviews = ledger, state, reviews
        self._questions, self._suggestions = questions, suggestions
        self._places, self._once = DayPlaces(ledger, state), AnsweredOnce(ledger, state)

    def answer(self, enquiry: Enquiry, *, kept: float) -> Any:
        """A protected answer, recorded before it is given; or Mistake, Refused, Fault."""
        with self._sharing(enquiry, kept) as (claim, place):
            return self._new(enquiry, claim, place) if claim.earlier is None else self._again(enquiry, claim.earlier)

    def outcome(self, receipt: str, diagnostics: bool, *, who: str) -> str:
        """How a question came out that some process answered and that is kept: released or refused; else nothing."""
        earlier = self._once.earlier(who, _key(receipt, diagnostics)) if self._state.shared else None
        return earlier.outcome if earlier else ""

    def is_awaited(self, receipt: str, diagnostics: bool, *, who: str) -> bool:
        """Whether another process waits for the answer that is being made here."""
        return self._state.shared and self._once.wanted(who, _key(receipt, diagnostics))

    @contextmanager
    def _sharing(self, enquiry: Enquiry, kept: float) -> Iterator[tuple[Claim, Place | None]]:
        """Within this no other process answers the same. A place among the day's questions is taken in the same step, if it can."""
        if not kept or not self._state.shared:
            yield Claim(), None
            return
        key, quotas, place = _key(enquiry.receipt, enquiry.diagnostics), _quotas(enquiry), list[Place | None]()
        reviewed = _is_reviewed(enquiry)  # it may have been decided, and then takes no place

        def first() -> None:
            if not reviewed:
                place.append(self._places.take_if_sure(quotas, dataset=_name(enquiry)))

        with self._once.answering(enquiry.who, key, kept=kept, first=first) as claim:
            yield claim, next(iter(place), None)

    def _again(self, enquiry: Enquiry, earlier: Entry) -> Any:
        """The answer that is recorded, made again. A Fault if it is another: machines have not the same data then."""
        road = enquiry.road
        considered = road.consider(enquiry.question)
        again: Any
        if considered.reasons:
            again, answer = self._refusal(enquiry, considered.reasons), ""
        elif earlier.outcome == "refused":
            again, answer = self._limits(enquiry).refusal(considered.question, enquiry.person.name), ""
        else:
            again = road.release(considered, diagnostics=enquiry.diagnostics)
            answer = again.digest
        if again is None or answer != earlier.answer:
            what = "This question was answered otherwise a moment ago, so the answer was withheld."
            raise Fault(what, suggestions=["Compare the data of the machines of the site: confide doctor SITE"])
        if isinstance(again, Refused):
            raise again
        return again

    def _new(self, enquiry: Enquiry, claim: Claim, place: Place | None) -> Any:
        road, to_review = enquiry.road, _is_reviewed(enquiry)
        if to_review and enquiry.diagnostics:
            raise Mistake("A custodian reviews the model only, so it is given without residuals.")
        reviewed = to_review and self._must_not_be_refused(enquiry)
        with self._turn(enquiry, claim, place) as asked, self._stoppable(asked):
            considered = road.consider(enquiry.question)
            # what is answered is what is recorded and limited
            asked = replace(asked, enquiry=replace(enquiry, question=considered.question))
            if reviewed and considered.question != enquiry.question:
                reviewed = self._must_not_be_refused(asked.enquiry)
            if considered.reasons:
                refusal = self._refusal(enquiry, considered.reasons)
                self._record(asked, considered.reasons, "")
                raise refusal
            with self._limiting_alone(road):
                self._must_stay_within(asked)
                if reviewed:
                    raise self._let_wait(asked)
                release = road.release(considered, diagnostics=enquiry.diagnostics)
                self._record(asked, (), release.digest)
        return release

    def _refusal(self, enquiry: Enquiry, reasons: Sequence[Reason]) -> Refused:
        suggestions = list(islice(enquiry.road.suggest(enquiry.question), self._suggestions))
        return Refused(reasons, policy=enquiry.road.policy.title, suggestions=suggestions)

    @contextmanager
    def _turn(self, enquiry: Enquiry, claim: Claim, place: Place | None) -> Iterator[_UnderWay]:
        """A place among the day's questions, unless there is one already, until the question is recorded or fails."""
        if place is None:
            policy = enquiry.road.policy.title
            place = self._places.take(_quotas(enquiry), dataset=_name(enquiry), policy=policy)
        try:
            yield _UnderWay(enquiry, place, claim)
        except BaseException:
            self._places.give_back(place)
            raise

    @contextmanager
    def _stoppable(self, asked: _UnderWay) -> Iterator[None]:
        """Record a question that is stopped: as refused if it took too much, as cancelled if nobody wants the answer."""
        try:
            yield
        except Stopped as stopped:
            reasons = [_TOO_MUCH[stopped.reason]] if stopped.reason in _TOO_MUCH else []
            self._record(asked, reasons, "", cancelled=not reasons)
            if not reasons:
                raise
            suggestions = ["Ask for less at once, or again when less is asked of the site."]
            raise Refused(reasons, policy=asked.enquiry.road.policy.title, suggestions=suggestions) from None

    @contextmanager
    def _limiting_alone(self, road: Road) -> Iterator[None]:
        """Within this no other process answers what a limit of the audit looks at: it knows what they have recorded only."""
        if not self._state.shared or not are_set(road.policy):
            yield
            return
        with self._state.in_turn(parse(road.dataset.name)[0]):
            yield

    def _must_stay_within(self, asked: _UnderWay) -> None:
        """Refuse what would tell too much together with what was answered before, where the policy has limits on that."""
        enquiry = asked.enquiry
        if not are_set(enquiry.road.policy):
            return
        refused = self._limits(enquiry).refusal(enquiry.question, enquiry.person.name)
        if refused is not None:
            self._record(asked, refused.reasons, "")
            raise refused

    def _must_not_be_refused(self, enquiry: Enquiry) -> bool:
        """Whether a result has still to wait; how it stands is told without asking, recording or counting it again."""
        person = enquiry.person
        found = self._reviews.find(person.name, person.project, enquiry.receipt)
        if found is None or found.state is ReviewState.YES:
            return found is None
        raise not_given(found, policy=enquiry.road.policy)

    def _let_wait(self, asked: _UnderWay) -> Refused:
        """Let a result that no rule refuses wait. It is recorded first, so that nothing waits that is not in the ledger."""
        self._record(asked, [Reason("review.waiting", "")], "")
        enquiry = asked.enquiry
        review = self._reviews.ask(
            who=enquiry.person.name,
            project=enquiry.person.project,
            dataset=enquiry.road.dataset.name,
            request=write_request(enquiry.question.request),
            receipt=enquiry.receipt,
        )
        return not_given(review, policy=enquiry.road.policy)

    def _limits(self, enquiry: Enquiry) -> AnswerLimits:
        """What was answered of a data set so far; the ledger is read once for each loading and policy, and then what is new in it."""
        opened, road = enquiry.opened, enquiry.road
        name, under = road.dataset.name, (road.dataset.name, road.policy)

        def of_this(entries: Iterable[Entry]) -> list[Entry]:
            older = name in opened.older
            return [e for e in entries if (e.data == road.data if older else e.dataset == name)]

        with opened.limiting:
            reached = self._ledger.look(lambda index: index.number)
            if under not in opened.limits:
                opened.limits[under] = AnswerLimits(road, of_this(self._questions()))
            else:
                limits = opened.limits[under]
                limits.take_in(of_this(self._ledger.entries(limits.reached, reached)))
            opened.limits[under].reached = reached
            return opened.limits[under]

    def _record(self, asked: _UnderWay, reasons: Sequence[Reason], answer: str, *, cancelled: bool = False) -> None:
        enquiry, road = asked.enquiry, asked.enquiry.road
        receipt, lasting = enquiry.receipt, not cancelled and all(reason.lasting for reason in reasons)

        def before(number: int) -> None:
            self._places.use(asked.place, number)
            if lasting:
                asked.claim.settle(number, receipt)

        self._ledger.append(
            who=enquiry.person.name,
            project=enquiry.person.project,
            dataset=parse(enquiry.question.request.dataset)[0],
            request=write_request(enquiry.question.request),
            outcome="cancelled" if cancelled else "refused" if reasons else "released",
            rules=tuple(reason.rule for reason in reasons),
            receipt=receipt,
            answer=answer,
            policy=f"{road.policy.title} ({road.policy.mark})",
            data=road.data,
            before=before,
        )
        asked.place.recorded, asked.claim.recorded = True, lasting


def _is_reviewed(enquiry: Enquiry) -> bool:
    """Whether a custodian must see the result first: the policy or the project says so. Custodians see their own at once."""
    project = enquiry.project
    wanted = marks_for_review(enquiry.road.policy, enquiry.question.request) or bool(project and project.review)
    return wanted and enquiry.person.role is not PersonRole.CUSTODIAN


def _name(enquiry: Enquiry) -> str:
    """What a data set is called, of all vintages together."""
    return parse(enquiry.road.dataset.name)[0]


def _quotas(enquiry: Enquiry) -> list[DayQuota]:
    """What limits somebody's questions of a day: the policy, their token and their project."""
    person, project, road = enquiry.person, enquiry.project, enquiry.road
    found = [DayQuota(person.name, _name(enquiry), road.policy.quota.per_day)]
    if person.quota:
        found.append(DayQuota(person.name, None, person.quota))
    if project and project.quota:
        found.append(DayQuota(together(project.name), None, project.quota, project.name))
    return found


def _key(receipt: str, diagnostics: bool) -> str:
    """What the processes of a site know the question by that an asker asks."""
    return f"{receipt}{' with diagnostics' if diagnostics else ''}"
