"""An answer that was given, worked out again from its receipt: from the vintage and under the policy that it had then."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confide.answering.opening import open_vintage
from confide.answering.projects import project_policy
from confide.errors import Mistake
from confide.model.policy import Policy
from confide.site import ledger
from confide.site.folder import Folder
from confide.site.ledger import Entry
from confide.site.policies import kept
from confide.site.vintages import Vintage
from confide.spelling.json import read_request

__all__ = ["Reproduced", "VintageState", "list_vintages", "reproduce"]


@dataclass(frozen=True)
class Reproduced:
    """A recorded answer worked out again: what it is, from which vintage, and whether it is the one that was recorded."""

    entry: Entry
    vintage: str
    release: Any
    same: bool


def reproduce(path: str | Path, receipt: str) -> Reproduced:
    """The answer that has this receipt, from the data and the policy of then, as long as they are kept. Nothing is recorded."""
    folder = Folder(Path(path))
    entry = _entry(folder, receipt)
    vintage, policy = _vintage(folder, entry), _policy(folder, entry)
    with ExitStack() as opened:
        road = opened.enter_context(open_vintage(folder, entry.dataset, vintage, policy))
        request = replace(read_request(entry.request), dataset=road.dataset.name)  # type: ignore[type-var]  # a dataclass
        question = road.admit(request)
        considered = road.consider(question)
        if considered.reasons:
            raise Mistake(f"{receipt} is no receipt of this site: the question is refused.")
        release = road.release(considered)
        same = (road.receipt(question), release.digest) == (receipt, entry.answer)
    return Reproduced(entry, vintage.name, release, same)


def _entry(folder: Folder, receipt: str) -> Entry:
    for entry in ledger.read_questions(folder.ledger):
        if entry.receipt == receipt and entry.outcome == "released":
            return entry
    raise Mistake(f"No answer with the receipt {receipt[:60]!r} was given.", suggestions=["confide ledger show SITE"])


def _vintage(folder: Folder, entry: Entry) -> Vintage:
    for vintage in folder.vintages(entry.dataset):
        if vintage.data == entry.data:
            return vintage
    raise Mistake(
        f"The data of {entry.dataset!r} that it was answered from are no longer kept.",
        suggestions=["updates.kept of the policy says how many older vintages are kept."],
    )


def _policy(folder: Folder, entry: Entry) -> Policy:
    known = [each.policy for each in (*kept(folder, name=entry.dataset), *kept(folder))]
    for policy in (*known, *_of_project(folder, entry)):
        if f"{policy.title} ({policy.mark})" == entry.policy:
            return policy
    raise Mistake(f"The policy {entry.policy!r} is not among those kept in policies/.")


def _of_project(folder: Folder, entry: Entry) -> Iterator[Policy]:
    """The policy of the project in which it was asked, as it is today."""
    with suppress(OSError, UnicodeDecodeError, Mistake):
        text = folder.project(entry.project).read_text(encoding="utf-8")
        yield project_policy(folder, entry.project, folder.policy(entry.dataset), text)


@dataclass(frozen=True)
class VintageState:
    """A vintage, and what it is there for, in words."""

    vintage: Vintage
    words: str


def list_vintages(path: str | Path, name: str) -> list[VintageState]:
    """The vintages of a data set, the newest first, and whether people may ask about them."""
    folder = Folder(Path(path))
    policy, known = folder.policy(name), folder.vintages(name)
    older = [VintageState(each, _words(folder, name, each, policy)) for each in reversed(known[:-1])]
    return [*(VintageState(each, "the newest") for each in known[-1:]), *older]


def _words(folder: Folder, name: str, vintage: Vintage, policy: Policy) -> str:
    if not policy.updates.asked:
        return "kept for receipts (updates.asked)"
    try:
        with open_vintage(folder, name, vintage, policy):
            return f"may be asked about as {name}@{vintage.name}"
    except Mistake as mistake:
        return f"kept; not asked about, for the policy cannot answer from it: {mistake.message}"
