"""The questions that people really asked: those of a site's ledger."""

import json
from pathlib import Path
from typing import Any

from confide.errors import Mistake
from confide.model.request import Request
from confide.site import ledger
from confide.spelling.json import read_request

__all__ = ["recorded_requests"]


def recorded_requests(path: Path, dataset: str, *, most: int) -> tuple[Request[Any], ...]:
    """The last different questions about a data set, at most so many; a Mistake if there is none."""
    found: dict[str, Request[Any]] = {}
    for entry in ledger.read_questions(path):
        if entry.dataset == dataset:
            written = json.dumps(entry.request, sort_keys=True)
            request = found.pop(written, None) or _read(entry.request)
            found |= {written: request} if request else {}
    if not found:
        raise Mistake(
            f"The ledger has no question about {dataset!r}.",
            suggestions=["Leave --ledger out: questions are then generated."],
        )
    return tuple(found.values())[-most:]


def _read(raw: dict[str, Any]) -> Request[Any] | None:
    """The question; none if it is of a kind that is no more."""
    try:
        return read_request(raw)
    except Mistake:
        return None
