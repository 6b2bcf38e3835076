"""One entry of the ledger: its fields, its one spelling as a line, and its place in the chain of hashes.

The hash of an entry is the SHA-256 of its other fields as canonical JSON: keys sorted, no spaces, all but ASCII
escaped. A line is the canonical JSON of all fields, so that any language can check the chain.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["FIRST", "Damage", "Entry", "Outcome", "decode", "intact", "seal"]

Outcome = Literal["released", "refused", "cancelled", "done"]
"""Of a question: released or refused, or cancelled, if nobody waited for the answer. Of what a custodian did: done."""

FIRST = "0" * 64
"""What the first entry names as the hash before it."""

_OUTCOMES = ("released", "refused", "cancelled", "done")
_TEXTS = ("time", "who", "dataset", "outcome", "receipt", "answer", "policy", "data", "previous", "hash")
_TYPES: dict[str, type] = {"number": int, "request": dict, "rules": list, **dict.fromkeys(_TEXTS, str)}
_MAY_HAVE = "project"
"""Only in entries of questions that were asked in one."""
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One question and its outcome, or one act of a custodian, which `request` then describes.

    `answer` is the digest of what was released, never the numbers themselves.
    """

    number: int
    time: str
    who: str
    dataset: str
    request: dict[str, Any]
    outcome: Outcome
    rules: tuple[str, ...]
    receipt: str
    answer: str
    policy: str
    data: str
    previous: str
    hash: str
    project: str = ""

    @property
    def is_act(self) -> bool:
        """Whether a custodian did something; otherwise somebody asked."""
        return self.outcome == "done"

    @property
    def year(self) -> int:
        return int(self.time[:4])


class Damage(Exception):
    """The first thing in a ledger that is not as it was written."""


def seal(fields: Mapping[str, Any], *, number: int, previous: str) -> tuple[Entry, bytes]:
    """The next entry and its line; the entry is read back from the line, so nothing unreadable is ever written."""
    body = {**fields, "number": number, "previous": previous}
    line = _canonical({**body, "hash": _digest(body)}).encode()
    try:
        return decode(line, number, previous), line + b"\n"
    except Damage:
        raise TypeError("a field of a ledger entry has the wrong type") from None


def decode(line: bytes, number: int, previous: str) -> Entry:
    """The entry of a line, as the one of this number that follows the hash `previous`."""
    raw = _parse(line)
    if raw is None:
        raise Damage(f"entry {number} is not a ledger entry.")
    if raw["hash"] != _digest_of(raw):
        raise Damage(f"entry {number} was changed: its hash does not match its content.")
    if raw["number"] != number:
        raise Damage(f"entry {number} is numbered {raw['number']}: entries were deleted, added or moved.")
    if raw["previous"] != previous:
        raise Damage(f"entry {number} does not follow the entry before it: one of them was replaced.")
    return _entry(raw)


def intact(line: bytes, number: int) -> Entry:
    """The entry of a line by itself, not as a link of the chain."""
    raw = _parse(line)
    if raw is None or raw["hash"] != _digest_of(raw) or raw["number"] != number:
        raise Damage(f"entry {number} was changed since it was written.")
    return _entry(raw)


def _entry(raw: dict[str, Any]) -> Entry:
    return Entry(**{**raw, "rules": tuple(raw["rules"])})


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(body).encode()).hexdigest()


def _digest_of(raw: Mapping[str, Any]) -> str:
    return _digest({key: value for key, value in raw.items() if key != "hash"})


def _parse(line: bytes) -> dict[str, Any] | None:
    """The fields of a line, if it is the one canonical spelling: a key given twice would read differently elsewhere."""
    try:
        raw = json.loads(line.decode("ascii"))
        whole = isinstance(raw, dict) and raw.keys() - {_MAY_HAVE} == _TYPES.keys() and _canonical(raw).encode() == line
    except (ValueError, RecursionError):
        return None
    if not whole or not all(isinstance(raw[key], kind) for key, kind in _TYPES.items()):
        return None
    if not isinstance(raw.get(_MAY_HAVE, ""), str):
        return None
    known = raw["outcome"] in _OUTCOMES and all(isinstance(rule, str) for rule in raw["rules"])
    return raw if known and raw["time"][:4].isdecimal() else None
