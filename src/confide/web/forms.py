"""The few forms that change something: which addresses take one, how large it may be, and that it is really ours."""

import hmac
from urllib.parse import parse_qsl

from fastapi import Request

from confide.errors import Denied, Mistake
from confide.web.authentication import asker_of

__all__ = [
    "LARGEST_FORM",
    "fields_of",
    "must_be_of_session",
    "must_be_own",
    "must_match",
    "names_in",
    "number_in",
    "read_form",
]

LARGEST_FORM = {
    "/login": 2_000,
    "/logout": 1_000,
    "/workspace": 20_000,
    "/workspace/remove": 2_000,
    "/api/workspace": 20_000,
    "/api/workspace/remove": 2_000,
    "/custodian/draft/form": 20_000,
    "/custodian/draft/text": 60_000,
    "/custodian/draft/discard": 1_000,
    "/custodian/replay": 1_000,
    "/custodian/tokens": 2_000,
    "/custodian/tokens/remove": 2_000,
    "/custodian/review": 4_000,
    "/custodian/projects": 4_000,
    "/custodian/projects/remove": 2_000,
}
"""The addresses that take a form, and the bytes it may have. All others answer GET and HEAD only."""

MOST_FIELDS = 200
FORM = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form of a site."""
    return await fields_of(request, largest=LARGEST_FORM.get(request.scope["path"], 0))


async def fields_of(request: Request, *, largest: int, most: int = MOST_FIELDS) -> dict[str, str]:
    """The fields of a form of so many bytes and fields at most; of a name given twice the last counts."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Mistake("This address takes the form of its page, and nothing else.")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            raise Mistake(f"The form is larger than {largest} bytes.")
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=most, errors="strict")
    except ValueError:
        raise Mistake("The form cannot be read.") from None
    return {key: value.replace("\r\n", "\n") for key, value in pairs}


def must_be_own(request: Request, form: dict[str, str]) -> None:
    """Deny a form that was not made for the session that sends it; who shows a token in a header has no session and needs none."""
    if asker_of(request).session or not request.headers.get("authorization"):
        must_be_of_session(request, form)


def must_be_of_session(request: Request, form: dict[str, str]) -> None:
    """Deny a form that was not made for the session that sends it."""
    session = asker_of(request).session
    must_match(form, session.csrf if session else "")


def must_match(form: dict[str, str], csrf: str) -> None:
    """Deny a form without the secret that its page was given."""
    if not csrf or not hmac.compare_digest(form.get("csrf", "").encode(), csrf.encode()):
        raise Denied(
            "This form is out of date, or is not one of this site's.",
            http_status=403,
            suggestions=["Open its page again, and send it from there."],
        )


def number_in(text: str) -> int:
    """The number of questions that a field of a form names; 0 if it is empty."""
    text = text.strip()
    if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Mistake(f"{text[:60]!r} is no number of questions.", suggestions=["Leave it empty for no quota."])
    return int(text or 0)


def names_in(text: str) -> tuple[str, ...]:
    """The names in a field of a form, with commas between them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())
