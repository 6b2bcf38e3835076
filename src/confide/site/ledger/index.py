"""What a ledger holds, counted: where its entries stand, and what quotas and pages want to know of all of them.

A checkpoint keeps it, so that opening a ledger reads only what was written since. It is made from the ledger and nothing else, and
checked before use: without it, or with one that does not fit, the whole ledger is read.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

from confide.data.replacing import replacing
from confide.site.access import VISITOR
from confide.site.ledger.anchor import must_agree, must_reach
from confide.site.ledger.entry import FIRST, Damage, Entry, Head, intact
from confide.site.ledger.files import Walked, walk, walk_lines

__all__ = ["EVERY", "VISITORS", "LedgerIndex", "checkpoint_file", "load_checkpoint", "save_checkpoint", "together"]

EVERY = 1_000
"""After so many entries there is a checkpoint, and the place of one entry in so many is kept."""

VISITORS = "visitors without a token"
"""How visitors are counted: together."""

DAYS = 3
"""For so many days, the latest that were seen, it is kept who asked how much: a clock put back by more begins its quotas anew."""

Counts = dict[str, Counter[tuple[str, str]]]


@dataclass(eq=False)
class LedgerIndex:
    """A ledger up to its entry `number - 1`, which begins at byte `begin` and ends at byte `end` of the file `file`."""

    number: int = 0
    head: str = FIRST
    file: int = 0
    begin: int = 0
    end: int = 0
    year: int = 0
    acts: int = 0
    closed: list[int] = field(default_factory=list)
    """How long the files before are."""
    places: list[tuple[int, int]] = field(default_factory=list)
    """File and byte where entries 0, EVERY, 2 EVERY ... begin."""
    counts: Counts = field(default_factory=lambda: {key: Counter() for key in ("day", "dataset", "who")})
    rules: Counter[str] = field(default_factory=Counter)
    asked: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    """By day, how much somebody asked of a data set."""

    def add(self, walked: Walked) -> None:
        """Take the next entry in."""
        entry = walked.entry
        self.enter(walked.file)
        if entry.number % EVERY == 0:
            self.places.append((walked.file, walked.begin))
        self.number, self.head, self.begin, self.end = entry.number + 1, entry.hash, walked.begin, walked.end
        self.year = max(self.year, entry.year)
        if entry.is_act:
            self.acts += 1
        else:
            self._count(entry)

    def enter(self, file: int) -> None:
        """Go on to a later file."""
        while self.file < file:
            self.closed.append(self.end)
            self.file, self.end = self.file + 1, 0

    def follow(self, files: Sequence[BinaryIO]) -> None:
        """Take in what was written since; `Damage` if it does not follow."""
        for walked in walk(files, number=self.number, head=self.head, file=self.file, end=self.end):
            self.add(walked)
        self.enter(len(files) - 1)

    def take_in(self, lines: Iterable[bytes]) -> None:
        """Take in what was written since into the file that is known last; `Damage` if it does not follow."""
        for walked in walk_lines(lines, number=self.number, head=self.head, file=self.file, end=self.end):
            self.add(walked)

    def entries(self, files: Sequence[BinaryIO], begin: int, end: int) -> Iterator[Entry]:
        """The entries numbered `begin` to `end - 1`, each checked by itself."""
        if begin >= end:
            return
        file, byte = self.places[begin // EVERY]
        number = begin - begin % EVERY
        for place in range(file, len(files)):
            files[place].seek(byte)
            for line in files[place]:
                if number >= begin:
                    yield intact(line[:-1], number)
                number += 1
                if number == end:
                    return
            byte = 0
        raise Damage(f"entry {number} is gone.")

    def asked_on(self, day: date, who: str, dataset: str | None) -> int:
        """How many questions somebody asked of a data set, or of all, on a UTC date; of the last days only."""
        counts = self.asked.get(day.isoformat(), Counter())
        if dataset is not None:
            return counts[who, dataset]
        return sum(many for (asker, _), many in list(counts.items()) if asker == who)  # which may grow meanwhile

    def must_fit(self, anchored: Head | None, files: Sequence[BinaryIO]) -> None:
        """`Damage` if what the anchor knows is not here."""
        must_reach(Head(self.number, self.head), anchored)
        known = anchored.entries if anchored else 0
        for entry in self.entries(files, known - 1, known) if known else ():
            must_agree(Head(known, entry.hash), anchored)

    def forget_old_days(self) -> None:
        """Who asked how much is needed for the day's quota only."""
        for day in sorted(self.asked)[:-DAYS]:
            del self.asked[day]

    def _count(self, entry: Entry) -> None:
        day, who = entry.time[:10], VISITORS if entry.who.startswith(VISITOR) else entry.who
        self.rules.update(entry.rules)
        for key, value in (("day", day), ("dataset", entry.dataset), ("who", who)):
            self.counts[key][value, entry.outcome] += 1
        asked = self.asked.setdefault(day, Counter())
        asked[entry.who, entry.dataset] += 1
        if entry.project:
            asked[together(entry.project), entry.dataset] += 1


def together(project: str) -> str:
    """Under what all questions of a project are counted; nobody's name has a line break."""
    return f"project\n{project}"


def checkpoint_file(ledger: Path) -> Path:
    """Where the checkpoint of a ledger is kept."""
    return ledger.resolve().with_suffix(".checkpoint")


def save_checkpoint(index: LedgerIndex, ledger: Path) -> None:
    """Keep the index; on a full disk there is no new checkpoint, and that is all."""
    index.forget_old_days()
    text = json.dumps(_to_json(index), separators=(",", ":")).encode()
    with suppress(OSError), replacing(checkpoint_file(ledger)) as partial:
        os.chmod(partial, 0o600)
        partial.write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)


def load_checkpoint(ledger: Path, files: Sequence[BinaryIO]) -> LedgerIndex:
    """The index of the last checkpoint, if it fits the files; else an empty one."""
    try:
        digest, _, text = checkpoint_file(ledger).read_bytes().partition(b"\n")
        if hashlib.sha256(text).hexdigest().encode() == digest:
            index = _from_json(json.loads(text))
            return index if _fits(index, files) else LedgerIndex()
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return LedgerIndex()


def _fits(index: LedgerIndex, files: Sequence[BinaryIO]) -> bool:
    """Whether the files before are as long as they were, and the last entry of the checkpoint is where it was."""
    sizes = [os.fstat(file.fileno()).st_size for file in files]
    if index.file >= len(files) or sizes[: index.file] != index.closed or sizes[index.file] < index.end:
        return False
    files[index.file].seek(index.begin)
    try:
        line = files[index.file].read(index.end - index.begin)
        return line.endswith(b"\n") and intact(line[:-1], index.number - 1).hash == index.head
    except Damage:
        return False


def _to_json(index: LedgerIndex) -> dict[str, Any]:
    fields = {name: getattr(index, name) for name in index.__dataclass_fields__}
    counts = {key: [[*pair, many] for pair, many in counter.items()] for key, counter in index.counts.items()}
    asked = {day: [[*pair, many] for pair, many in counter.items()] for day, counter in index.asked.items()}
    return {**fields, "counts": counts, "asked": asked}


def _from_json(raw: dict[str, Any]) -> LedgerIndex:
    def counters(name: str) -> dict[str, Counter[tuple[str, str]]]:
        return {key: Counter({(a, b): many for a, b, many in rows}) for key, rows in raw[name].items()}

    places = [(file, byte) for file, byte in raw["places"]]
    more = {"places": places, "counts": counters("counts"), "asked": counters("asked"), "rules": Counter(raw["rules"])}
    return LedgerIndex(**{**raw, **more})
