"""The policies of a site and of its data sets: the one in force, and those before it.

mysite/policy.toml  policies/0001-20260115T093000Z.toml
mysite/people/policy.toml  people/policies/0001-20260115T093000Z.toml

Everything here is of the site unless a data set is named.
"""

import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confide.errors import Mistake
from confide.model.policy import PRESETS, SECTIONS, SITE, Policy, read_policy, write_policy
from confide.model.toml import parse_toml
from confide.site.folder import Papers, write_whole

__all__ = ["Change", "Kept", "base_of", "compare", "give_policy", "keep", "kept", "preset_name", "preset_of", "read_as"]

_NAME = re.compile(r"(\d{4,})-(\d{8}T\d{6}Z)\.toml")
_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True)
class Kept:
    """A policy that was in force, as the how-manieth of its site or data set, and since when."""

    number: int
    since: datetime
    policy: Policy
    preset: str


@dataclass(frozen=True)
class Change:
    """A field in which two policies differ."""

    field: str
    before: Any
    after: Any


def keep(papers: Papers, policy: Policy, *, name: str | None = None) -> None:
    """Keep the policy in force, with all its fields written out, unless it is the last one kept."""
    known = _files(papers, name)
    if known and (last := _read(papers, name, *known[-1])) and last.policy == policy:
        return
    number, now = (known[-1][0] + 1 if known else 1), datetime.now(UTC).strftime(_TIME)
    places = papers.home(name) / "policies"
    try:
        places.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Mistake(f"{places} cannot be made ({error.strerror}).") from None
    write_whole(places / f"{number:04}-{now}.toml", write_policy(policy, preset=preset_name(papers, name=name)))


def kept(papers: Papers, *, name: str | None = None) -> list[Kept]:
    """The policies that were in force, the oldest first; one that can no longer be read is left out."""
    return [found for place in _files(papers, name) if (found := _read(papers, name, *place))]


def preset_name(papers: Papers, *, name: str | None = None) -> str:
    """The preset that the policy in force starts from; `site` where a data set starts from the site's, or has no other."""
    try:
        return preset_of((papers.home(name) / "policy.toml").read_text(encoding="utf-8"), name)
    except (OSError, ValueError):
        return _usual(name)


def base_of(papers: Papers, preset: str) -> Policy:
    """The policy that a preset is, or the site's."""
    return papers.policy() if preset == SITE else PRESETS[preset]


def give_policy(papers: Papers, name: str, *, preset: str | None = None, text: str | None = None) -> bool:
    """Give a new data set a policy of its own: a text, or a preset if it is not the one that the site's starts from.

    Tells whether it has one; without, it follows the site's.
    """
    if text is None and (preset is None or preset == preset_name(papers)):
        return not papers.follows(name)
    if not papers.follows(name):
        raise Mistake(f"{papers.own(name)} is there already.", suggestions=["Leave --preset out to use it."])
    write_whole(papers.own(name), text or write_policy(PRESETS[str(preset)], preset=str(preset)))
    papers.policy(name)
    return True


def read_as(papers: Papers, text: str, *, name: str | None = None, file: Path | None = None) -> Policy:
    """The policy that a text describes as the site's, or as a data set's own."""
    return read_policy(text) if name is None else papers.read_own(text, name, site=papers.policy(), file=file)


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


def _files(papers: Papers, name: str | None) -> list[tuple[int, Path]]:
    named = ((_NAME.fullmatch(file.name), file) for file in (papers.home(name) / "policies").glob("*.toml"))
    return sorted((int(match[1]), file) for match, file in named if match)


def _read(papers: Papers, name: str | None, number: int, file: Path) -> Kept | None:
    try:
        text = file.read_text(encoding="utf-8")
        since = datetime.strptime(file.stem.partition("-")[2], _TIME).replace(tzinfo=UTC)
        return Kept(number, since, read_as(papers, text, name=name, file=file), preset_of(text, name))
    except (OSError, ValueError, Mistake):
        return None


def preset_of(text: str, name: str | None) -> str:
    """The preset that the text of a policy, of the site or of a data set, says it starts from."""
    preset = parse_toml(text, what="policy.toml").get("preset", _usual(name))
    return preset if preset in PRESETS or (name is not None and preset == SITE) else _usual(name)


def _usual(name: str | None) -> str:
    """The base where no preset is named."""
    return "standard" if name is None else SITE
