"""Which results a custodian sees first, and what is said of one that is not given."""

from typing import Any

from confide.errors import Reason, Refused, Waiting
from confide.model.policy import Policy
from confide.model.request import Request, TableRequest
from confide.site.reviews import Review, ReviewState

__all__ = ["decision", "marks_for_review", "not_given"]


def marks_for_review(policy: Policy, request: Request[Any]) -> bool:
    """Whether a policy wants the results of such a question reviewed."""
    return policy.review.tables if request.ask == TableRequest.ask else policy.review.models


def not_given(review: Review, *, policy: Policy) -> Refused:
    """How a result stands that is not given."""
    if review.state is ReviewState.WAITING:
        hints = ["Ask again later, or look at your results under review (/reviews)."]
        return Waiting([Reason("review.waiting", review.words)], policy=policy.title, suggestions=hints)
    return Refused([Reason("review.no", review.words)], policy=policy.title, suggestions=["Talk to the custodian."])


def decision(review: Review) -> dict[str, str]:
    """What the ledger is told of a decision."""
    told = {"asker": review.who, "receipt": review.receipt, "reason": review.reason}
    return told | ({"project": review.project} if review.project else {})
