"""The questions of a ledger, counted and found again: what a custodian looks at."""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock

from confide.site.access import VISITOR
from confide.site.ledger import Entry, read_between

__all__ = ["AuditLog", "Counted", "Filter", "FoundEntries", "Summary"]

VISITORS = "visitors without a token"
LOOKED_AT = 2_000
"""At most so many entries are looked at for one page of a filtered ledger."""

_BLOCK = 50
"""So many entries are read at once."""


@dataclass(frozen=True)
class Counted:
    """Questions answered and refused."""

    released: int
    refused: int

    @property
    def asked(self) -> int:
        return self.released + self.refused


@dataclass(frozen=True)
class Summary:
    """Questions by day, data set and asker, and refusals by rule; the most first, but days in order."""

    everything: Counted
    days: Mapping[str, Counted]
    datasets: Mapping[str, Counted]
    askers: Mapping[str, Counted]
    rules: Mapping[str, int]


@dataclass(frozen=True)
class Filter:
    """Which entries to show: those that match everything given."""

    who: str = ""
    dataset: str = ""
    outcome: str = ""
    rule: str = ""
    day: str = ""

    def matches(self, entry: Entry) -> bool:
        return (
            (entry.who.startswith(VISITOR) if self.who == VISITORS else self.who in ("", entry.who))
            and self.dataset in ("", entry.dataset)
            and self.outcome in ("", entry.outcome)
            and (not self.rule or self.rule in entry.rules)
            and entry.time.startswith(self.day)
        )


@dataclass(frozen=True)
class FoundEntries:
    """Entries, the newest first; `older` is the number before which to look on, 0 if there is nothing older."""

    entries: tuple[Entry, ...]
    older: int


class AuditLog:
    """What was asked of a site, counted as it is recorded. Safe to share among threads.

    Promise: it holds counts of questions and places in the file, nothing of the data; memory is eight bytes a question and the
    counts.
    """

    def __init__(self, ledger: Path) -> None:
        self._ledger, self._lock = ledger, Lock()
        self._ends = array("q", [0])
        self._counts: dict[str, Counter[tuple[str, str]]] = {key: Counter() for key in ("day", "dataset", "who")}
        self._rules: Counter[str] = Counter()

    def add(self, entry: Entry, end: int) -> None:
        """Count an entry, whose line ends at this byte of the ledger."""
        who = VISITORS if entry.who.startswith(VISITOR) else entry.who
        with self._lock:
            self._ends.append(end)
            self._rules.update(entry.rules)
            for key, value in (("day", entry.time[:10]), ("dataset", entry.dataset), ("who", who)):
                self._counts[key][value, entry.outcome] += 1

    def __len__(self) -> int:
        """How many questions were recorded."""
        return len(self._ends) - 1

    @property
    def end(self) -> int:
        """The byte after the last entry."""
        return self._ends[-1]

    def summary(self) -> Summary:
        """The counts as they are now."""
        with self._lock:
            days, datasets, askers = (_counted(self._counts[key]) for key in ("day", "dataset", "who"))
            rules = dict(self._rules.most_common())
        total = Counted(*(sum(getattr(day, key) for day in days.values()) for key in ("released", "refused")))
        return Summary(total, dict(sorted(days.items())), _ranked(datasets), _ranked(askers), rules)

    def entry(self, number: int) -> Entry | None:
        """The entry of that number."""
        return next(iter(self._between(number, number + 1)), None) if 0 <= number < len(self) else None

    def find(self, wanted: Filter, *, before: int | None = None, most: int = 50) -> FoundEntries:
        """The newest entries that match, older than the one numbered `before`."""
        place = len(self) if before is None else max(0, min(before, len(self)))
        last = max(0, place - LOOKED_AT)
        matching = (entry for entry in self._backwards(place, last) if wanted.matches(entry))
        entries = tuple(islice(matching, most))
        full = len(entries) == most
        return FoundEntries(entries, entries[-1].number if full else last)

    def _backwards(self, place: int, last: int) -> Iterator[Entry]:
        while place > last:
            begin = max(last, place - _BLOCK)
            yield from reversed(self._between(begin, place))
            place = begin

    def _between(self, begin: int, end: int) -> list[Entry]:
        with self._lock:
            places = self._ends[begin], self._ends[end]
        return read_between(self._ledger, *places)


def _counted(counts: Counter[tuple[str, str]]) -> dict[str, Counted]:
    names = dict.fromkeys(name for name, _ in counts)
    return {name: Counted(counts[name, "released"], counts[name, "refused"]) for name in names}


def _ranked(counts: dict[str, Counted]) -> dict[str, Counted]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1].asked, item[0])))
