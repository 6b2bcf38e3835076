"""How people ask, by the ledger alone: bursts of questions that are nearly the same, refusals, the use of quotas."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from confide.site.ledger import Entry

__all__ = ["Habit", "habits"]

BURST, MINUTES = 30, 10.0
"""So many questions of one shape within so many minutes are a burst."""

REFUSED, FEWEST = 0.5, 20
"""Of so many questions or more, more than this share refused is worth a look."""

QUOTA = 0.8
"""A day with more than this share of the quota is worth a look."""


@dataclass(frozen=True)
class Habit:
    """One thing about how a person asks: its kind, words, and the questions behind it."""

    kind: str
    words: str
    entries: tuple[int, ...]


def habits(entries: Sequence[Entry], *, per_day: int) -> Iterator[Habit]:
    """What is worth a look in the questions of one person about one data set; `per_day` is the quota, 0 for none."""
    yield from _bursts(entries)
    refused = [entry.number for entry in entries if entry.outcome == "refused"]
    if len(entries) >= FEWEST and len(refused) > REFUSED * len(entries):
        share = f"{len(refused) / len(entries):.0%}".replace("%", " %")
        yield Habit("refused", f"{share} of {len(entries)} questions were refused.", tuple(refused))
    yield from _quota(entries, per_day)


def _bursts(entries: Sequence[Entry]) -> Iterator[Habit]:
    shapes: dict[str, list[Entry]] = {}
    for entry in entries:
        shapes.setdefault(_shape(entry.request), []).append(entry)
    for alike in shapes.values():
        most = _densest([datetime.fromisoformat(entry.time).timestamp() for entry in alike])
        if len(most) >= BURST:
            words = f"{len(most)} questions within {MINUTES:g} minutes differ only in the codes they name."
            yield Habit("burst", words, tuple(alike[at].number for at in most))


def _densest(times: Sequence[float]) -> range:
    """The places of the most entries within the time of a burst."""
    best, begin = range(0), 0
    for end, time in enumerate(times):
        while time - times[begin] > 60 * MINUTES:
            begin += 1
        if end + 1 - begin > len(best):
            best = range(begin, end + 1)
    return best


def _quota(entries: Iterable[Entry], per_day: int) -> Iterator[Habit]:
    days = Counter(entry.time[:10] for entry in entries)
    for day, asked in sorted(days.items()):
        if per_day and asked > QUOTA * per_day:
            numbers = tuple(entry.number for entry in entries if entry.time.startswith(day))
            yield Habit("quota", f"{asked} of the {per_day} questions of a day were asked on {day}.", numbers)


def _shape(request: Mapping[str, Any]) -> str:
    """A question but for the codes of its universe."""
    pieces = request.get("where")
    named = sorted({name for piece in pieces for name in piece}) if isinstance(pieces, list) else []
    return json.dumps([{key: value for key, value in request.items() if key != "where"}, named], sort_keys=True)
