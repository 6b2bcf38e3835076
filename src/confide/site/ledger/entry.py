"""One entry of the ledger: its fields, its one spelling as a line, and its place in the chain of hashes.

The hash of an entry is the SHA-256 of its other fields as canonical JSON: keys sorted, no spaces, all but ASCII
escaped. A line is the canonical JSON of all fields, so that any language can check the chain.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

__all__ = ["FIRST", "Damage", "Draft", "Entry", "Head", "Outcome", "decode", "intact"]

Outcome = Literal["released", "refused", "cancelled", "done"]
"""Of a question: released or refused, or cancelled, if nobody waited for the answer. Of what a custodian did: done."""

FIRST = "0" * 64
"""What the first entry names as the hash before it."""

_OUTCOMES = ("released", "refused", "cancelled", "done")
_TEXTS = ("time", "who", "dataset", "outcome", "receipt", "answer", "policy", "data", "previous", "hash")
_TYPES: dict[str, type] = {"number": int, "request": dict, "rules": list, **dict.fromkeys(_TEXTS, str)}
_MAY_HAVE = "project"
"""Only in entries of questions that were asked in one."""
_PIECES = (
    ("answer", "data", "dataset"),  # then hash and number
    ("outcome", "policy"),  # then previous
    ("project", "receipt", "request", "rules"),  # then time
    ("who",),
)
"""The fields of an entry that are known before its place, as they stand in its line."""
_SOME_TIME = "2000-01-01T00:00:00.000Z"
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


@dataclass(frozen=True, order=True)
class Head:
    """How many entries there are, and the hash of the last."""

    entries: int = 0
    hash: str = FIRST


class Damage(Exception):
    """The first thing in a ledger that is not as it was written."""


class Draft:
    """An entry but for its place in the chain: spelled and checked beforehand, so that who holds the ledger has little left to do."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        """`TypeError` or `ValueError` for what could not be read back, so nothing unreadable is ever written."""
        self._pieces = [_canonical({name: fields[name] for name in names if name in fields})[1:-1] for names in _PIECES]
        _, line = self._sealed(0, FIRST, _SOME_TIME)
        try:
            self._entry = decode(line, 0, FIRST)
        except Damage:
            raise TypeError("a field of a ledger entry has the wrong type") from None

    def seal(self, head: Head, time: str) -> tuple[Entry, bytes]:
        """The entry that follows this head, and its line."""
        digest, line = self._sealed(head.entries, head.hash, time)
        return replace(self._entry, number=head.entries, previous=head.hash, time=time, hash=digest), line + b"\n"

    def _sealed(self, number: int, previous: str, time: str) -> tuple[str, bytes]:
        first, second, third, last = self._pieces
        rest = f',"number":{number},{second},"previous":"{previous}",{third},"time":"{time}",{last}}}'
        digest = hashlib.sha256(f"{{{first}{rest}".encode()).hexdigest()
        return digest, f'{{{first},"hash":"{digest}"{rest}'.encode()


def decode(line: bytes, number: int, previous: str) -> Entry:
    """The entry of a line, as the one of this number that follows the hash `previous`."""
    raw = _parse(line)
    if raw is None:
        raise Damage(f"entry {number} is not a ledger entry.")
    if raw["hash"] != _digest_of(line, raw["hash"]):
        raise Damage(f"entry {number} was changed: its hash does not match its content.")
    if raw["number"] != number:
        raise Damage(f"entry {number} is numbered {raw['number']}: entries were deleted, added or moved.")
    if raw["previous"] != previous:
        raise Damage(f"entry {number} does not follow the entry before it: one of them was replaced.")
    return _entry(raw)


def intact(line: bytes, number: int) -> Entry:
    """The entry of a line by itself, not as a link of the chain."""
    raw = _parse(line)
    if raw is None or raw["hash"] != _digest_of(line, raw["hash"]) or raw["number"] != number:
        raise Damage(f"entry {number} was changed since it was written.")
    return _entry(raw)


def _entry(raw: dict[str, Any]) -> Entry:
    return Entry(**{**raw, "rules": tuple(raw["rules"])})


def _digest_of(line: bytes, told: str) -> str:
    """The hash of a canonical line that tells one: quotes within texts are escaped, so that the key of the line stands there first."""
    return hashlib.sha256(line.replace(f'"hash":"{told}",'.encode(), b"", 1)).hexdigest()


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
