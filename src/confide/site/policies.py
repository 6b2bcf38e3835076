"""The policies of a site: the one in force, those before it, and the draft of the next.

mysite/policy.toml  draft.toml  policies/0001-20260115T093000Z.toml
"""

import re
import tomllib
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confide.errors import Mistake
from confide.model.policy import PRESETS, SECTIONS, Policy, read_policy, write_policy
from confide.site.folder import Papers, write_whole

__all__ = [
    "Change",
    "Kept",
    "PolicyDraft",
    "compare",
    "enforce",
    "keep",
    "kept",
    "preset_name",
    "read_draft",
    "save_draft",
]

_NAME = re.compile(r"(\d{4,})-(\d{8}T\d{6}Z)\.toml")
_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True)
class Kept:
    """A policy that was in force, as the how-manieth of the site, and since when."""

    number: int
    since: datetime
    policy: Policy
    preset: str


@dataclass(frozen=True)
class PolicyDraft:
    """A policy that is not in force."""

    policy: Policy
    preset: str


@dataclass(frozen=True)
class Change:
    """A field in which two policies differ."""

    field: str
    before: Any
    after: Any


def keep(papers: Papers, policy: Policy) -> None:
    """Keep the policy in force, with all its fields written out, unless it is the last one kept."""
    known = _files(papers)
    if known and (last := _read(*known[-1])) and last.policy == policy:
        return
    number, now = (known[-1][0] + 1 if known else 1), datetime.now(UTC).strftime(_TIME)
    places = papers.path / "policies"
    try:
        places.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Mistake(f"{places} cannot be made ({error.strerror}).") from None
    write_whole(places / f"{number:04}-{now}.toml", write_policy(policy, preset=preset_name(papers)))


def kept(papers: Papers) -> list[Kept]:
    """The policies that were in force, the oldest first; one that can no longer be read is left out."""
    return [found for place in _files(papers) if (found := _read(*place))]


def preset_name(papers: Papers) -> str:
    """The preset that the policy in force starts from."""
    try:
        return _preset((papers.path / "policy.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "standard"


def read_draft(papers: Papers) -> PolicyDraft | None:
    """The draft of a policy, if there is one."""
    try:
        text = papers.draft.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"{papers.draft} cannot be read as UTF-8 text.") from None
    try:
        return PolicyDraft(read_policy(text), _preset(text))
    except Mistake as mistake:
        raise Mistake(f"The draft cannot be used. {mistake}", suggestions=["Mend draft.toml, or discard it."]) from None


def save_draft(papers: Papers, draft: PolicyDraft) -> None:
    """Keep a draft on the site, with all its fields written out. The policy in force stays."""
    write_whole(papers.draft, write_policy(draft.policy, preset=draft.preset))


def enforce(papers: Papers) -> Policy:
    """Put the draft in force: it becomes `policy.toml`, and the policy before it is kept."""
    draft = read_draft(papers)
    if draft is None:
        raise Mistake(f"There is no draft at {str(papers.draft)!r}.", suggestions=["Write one in the browser first."])
    keep(papers, papers.policy())
    write_whole(papers.path / "policy.toml", write_policy(draft.policy, preset=draft.preset))
    papers.draft.unlink(missing_ok=True)
    return draft.policy


def compare(before: Policy, after: Policy) -> list[Change]:
    """The fields in which two policies differ, in the order of the policy.

    >>> from dataclasses import replace
    >>> compare(PRESETS["standard"], replace(PRESETS["standard"], version=2))
    [Change(field='version', before=1, after=2)]
    """
    changes = [Change(key, getattr(before, key), getattr(after, key)) for key in ("name", "version")]
    for section in SECTIONS:
        old, new = getattr(before, section), getattr(after, section)
        changes += [Change(f"{section}.{f.name}", getattr(old, f.name), getattr(new, f.name)) for f in fields(old)]
    return [change for change in changes if change.before != change.after]


def _files(papers: Papers) -> list[tuple[int, Path]]:
    named = ((_NAME.fullmatch(file.name), file) for file in (papers.path / "policies").glob("*.toml"))
    return sorted((int(match[1]), file) for match, file in named if match)


def _read(number: int, file: Path) -> Kept | None:
    try:
        text = file.read_text(encoding="utf-8")
        since = datetime.strptime(file.stem.partition("-")[2], _TIME).replace(tzinfo=UTC)
        return Kept(number, since, read_policy(text), _preset(text))
    except (OSError, ValueError, Mistake):
        return None


def _preset(text: str) -> str:
    preset = tomllib.loads(text).get("preset", "standard")
    return preset if preset in PRESETS else "standard"
