"""The questions of a ledger, counted, and its entries found again: what a custodian looks at."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from confide.site.access import VISITOR
from confide.site.ledger import VISITORS, Entry, Ledger, LedgerIndex

__all__ = ["VISITORS", "AuditLog", "Counted", "Filter", "FoundEntries", "Summary"]

LOOKED_AT = 2_000
"""At most so many entries are looked at for one page of a filtered ledger."""

_BLOCK = 50
"""So many entries are read at once."""

_KEPT_APART = ("released", "refused", "cancelled")
"""The outcomes of questions."""


@dataclass(frozen=True)
class Counted:
    """Questions answered and refused, and those that nobody waited for."""

    released: int = 0
    refused: int = 0
    cancelled: int = 0

    @property
    def asked(self) -> int:
        return self.released + self.refused + self.cancelled


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

    Promise: it holds counts of questions and places in the file, nothing of the data.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __len__(self) -> int:
        """How many entries there are: questions, and what custodians did."""
        return self._ledger.look(lambda index: index.number)

    def summary(self) -> Summary:
        """The counts as they are now."""
        return self._ledger.look(_summary)

    def entry(self, number: int) -> Entry | None:
        """The entry of that number."""
        return next(iter(self._ledger.entries(number, number + 1)), None) if 0 <= number < len(self) else None

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
            yield from reversed(self._ledger.entries(begin, place))
            place = begin


def _summary(index: LedgerIndex) -> Summary:
    days, datasets, askers = (_counted(index.counts[key]) for key in ("day", "dataset", "who"))
    rules = dict(index.rules.most_common())
    total = Counted(*(sum(getattr(day, key) for day in days.values()) for key in _KEPT_APART))
    return Summary(total, dict(sorted(days.items())), _ranked(datasets), _ranked(askers), rules)


def _counted(counts: Counter[tuple[str, str]]) -> dict[str, Counted]:
    names = dict.fromkeys(name for name, _ in counts)
    return {name: Counted(*(counts[name, key] for key in _KEPT_APART)) for name in names}


def _ranked(counts: dict[str, Counted]) -> dict[str, Counted]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1].asked, item[0])))
