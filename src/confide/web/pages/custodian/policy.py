"""The policy in force, of the site or of a data set, field by field; and what changed between any two."""

from typing import Annotated

from fastapi import FastAPI, Request, Response

from confide.errors import Mistake
from confide.model.policy import Policy, describe
from confide.site.access import Person
from confide.site.policies import base_of, compare
from confide.web.pages.custodian.context import CustodianContext
from confide.web.pages.custodian.fields import TITLES, policy_fields, text_of
from confide.web.pages.custodian.whose import Whose, whose_policy

__all__ = ["add_policy", "changes"]


def add_policy(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/policy and /custodian/policy/changes."""
    service = context.service

    @app.get("/custodian/policy", include_in_schema=False)
    def policy(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        whose = whose_policy(service, request.query_params)
        return context.render(
            request,
            "policy.html",
            whose=whose,
            titles=TITLES,
            sections=policy_fields(whose.policy, base=base_of(service.papers, whose.preset)),
            versions=list(reversed(whose.versions)),
            draft=whose.draft,
            choices=_choices(_versions(whose)),
        )

    @app.get("/custodian/policy/changes", include_in_schema=False)
    def differences(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        whose = whose_policy(service, request.query_params)
        known = _versions(whose)
        before, after = (request.query_params.get(key, "") for key in ("before", "after"))
        if before not in known or after not in known:
            raise _unknown()
        titles = {name: title for name, (title, _) in known.items()}
        return context.render(
            request,
            "changes.html",
            whose=whose,
            titles=titles,
            before=before,
            after=after,
            changes=changes(known[before][1], known[after][1]),
        )


def changes(before: Policy, after: Policy) -> list[tuple[str, str, str, str]]:
    """The fields in which two policies differ: name, help, value before and after."""
    help = {name: words for name, _, words in describe()}
    return [
        (change.field, help.get(change.field, ""), text_of(change.before), text_of(change.after))
        for change in compare(before, after)
    ]


def _versions(whose: Whose) -> dict[str, tuple[str, Policy]]:
    """Everything that can be compared: what was in force by its number, and the draft."""
    found = {
        str(each.number): (f"{each.policy.title}, in force since {each.since:%Y-%m-%d %H:%M} UTC", each.policy)
        for each in whose.versions
    }
    draft = whose.draft
    return found | ({"draft": (f"the draft: {draft.policy.title}", draft.policy)} if draft else {})


def _choices(known: dict[str, tuple[str, Policy]]) -> dict[str, list[tuple[str, str, bool]]]:
    """What the two fields of a comparison offer; the last two are chosen."""
    names = list(known)
    last = {"before": names[-2:][:1], "after": names[-1:]}
    return {key: [(name, known[name][0], [name] == chosen) for name in names] for key, chosen in last.items()}


def _unknown() -> Mistake:
    mistake = Mistake("There is no such version to compare.", suggestions=["Choose two on the page of the policy."])
    mistake.http_status = 404
    return mistake
