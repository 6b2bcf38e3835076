"""The ledger of a site, open for writing: nothing is answered that is not recorded."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Condition
from types import TracebackType
from typing import Any, Self, TypeVar

from confide.errors import Fault, Mistake
from confide.site.ledger.anchor import Anchor, must_reach, write_anchor
from confide.site.ledger.entry import Damage, Draft, Entry, Head, Outcome
from confide.site.ledger.files import damaged, open_files, walk
from confide.site.ledger.holding import faults, tell_pid, untell_pid
from confide.site.ledger.index import LedgerIndex
from confide.site.ledger.shared import chain_of
from confide.site.ledger.tail import HalfWritten, Tail
from confide.site.ledger.turns import Piece, Together

__all__ = ["COMMAND_LINE", "Ledger", "accept", "record_act", "share"]

COMMAND_LINE = "command line"
"""Who does what is done on the machine of the site."""

T = TypeVar("T")


@dataclass(eq=False)
class _Counting(Piece):
    """Something to be counted while nobody records."""

    count: Callable[[LedgerIndex], None]


@dataclass(eq=False)
class _Recording(Piece):
    """An entry to be written, and what must be done before."""

    draft: Draft
    before: Callable[[int], None]
    entry: Entry = field(init=False)


class Ledger:
    """The ledger of a site, open for writing by one process; its threads may share it.

    Promise: an entry is on the disk, and the anchor knows it, before `append` returns, so that no answer is seen which is not
    recorded. Threads that append or count at once share one turn among the processes, one write and one fsync. Meanwhile other
    processes may record what custodians did: they open it with `alone=False`, and all wait for each other for the time of one write.

    >>> from tempfile import TemporaryDirectory
    >>> from confide.site.ledger import verify
    >>> with TemporaryDirectory() as site, Ledger(f"{site}/ledger.jsonl") as ledger:
    ...     entry = ledger.append(who="ana", dataset="people", request={"rows": ["sex"]}, outcome="refused",
    ...                           rules=["tables.sparsity"], policy="standard 1", data="2024")
    ...     verify(f"{site}/ledger.jsonl").head == entry.hash
    True
    """

    def __init__(
        self,
        path: str | Path,
        *,
        alone: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        within: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """All that is counted in a turn, and all that is done before its entries are recorded, is done `within` what is given."""
        self._path, self._clock, self._owner, self._alone = Path(path), clock, os.getpid(), alone
        self._within = within
        self._together: Together[_Counting | _Recording] = Together(self._do_all)
        self._turn, self._syncing = Condition(), False
        self._broken = ""
        with faults(self._path), _undoing() as undo:
            self._anchor = Anchor(self._path, alone=alone)
            undo.append(self._anchor.close)
            if alone:
                tell_pid(self._path)
                undo.append(lambda: untell_pid(self._path))
            self._tail = Tail(self._path.resolve(), chain_of(self._path))
            undo.append(self._tail.close)
            anchored = self._anchor.read()
            there = self._tail.load(anchored)
            durable = self._tail.head
            with self._tail.held():
                self._anchor.write(durable)
            self._synced = durable.entries
        if anchored is None and there:
            # One from before there were anchors: from now on a missing anchor shows.
            self.record(COMMAND_LINE, "ledger anchored")

    def append(
        self,
        *,
        who: str,
        dataset: str,
        request: Mapping[str, Any],
        outcome: Outcome,
        policy: str,
        data: str,
        rules: Sequence[str] = (),
        receipt: str = "",
        answer: str = "",
        project: str = "",
        before: Callable[[int], None] = lambda number: None,
    ) -> Entry:
        """Record a question and its outcome; on return it is on the disk. A Fault means: withhold the answer.

        `before` is done first, with the number that the entry will have, while nobody else, in whatever process, records something or
        counts; if it fails, nothing is recorded.
        """
        fields = {"who": who, "dataset": dataset, "request": dict(request), "outcome": outcome, "rules": list(rules)}
        fields |= {"receipt": receipt, "answer": answer, "policy": policy, "data": data}
        fields |= {"project": project} if project else {}
        recording = _Recording(Draft(fields), before)
        self._together.do(recording)
        self._sync(recording.entry.number + 1)
        return recording.entry

    def record(self, who: str, act: str, *, dataset: str = "", **more: str | int) -> Entry:
        """Record what a custodian did, in a few words, and to what."""
        request = {"act": act, **more}
        return self.append(who=who, dataset=dataset, request=request, outcome="done", policy="", data="")

    def must_be_writable(self) -> None:
        """A Fault if an entry could not be recorded now, as far as that can be told without recording one."""
        self.counted(lambda index: None)

    def __len__(self) -> int:
        """How many entries there are."""
        return self._tail.head.entries

    def asked(self, who: str, dataset: str | None, day: date) -> int:
        """How many questions a person asked of a data set, or of all, on a UTC date, refused ones included; of the last days only."""
        return self.look(lambda index: index.asked_on(day, who, dataset))

    def known_to_be_asked(self, who: str, dataset: str | None, day: date) -> int:
        """As `asked`, without waiting for anybody: all that is among the first `len` entries, and maybe more."""
        return self._tail.index.asked_on(day, who, dataset)

    def counted(self, count: Callable[[LedgerIndex], T]) -> T:
        """What is found while nobody records anything, in whatever process, and the index holds all that was; maybe by another
        thread.
        """
        found: list[T] = []
        self._together.do(_Counting(lambda index: found.append(count(index))))
        return found[0]

    def look(self, view: Callable[[LedgerIndex], T]) -> T:
        """What is read off the index, which holds what other processes recorded too and nobody changes meanwhile."""
        with self._together.alone():
            with suppress(Fault), self._held():
                pass
            return view(self._tail.index)

    def entries(self, begin: int, end: int) -> list[Entry]:
        """The entries numbered `begin` to `end - 1`, each checked by itself."""
        with open_files(self._path) as files:
            try:
                return list(self._tail.index.entries(files, max(0, begin), min(end, len(self))))
            except Damage as damage:
                raise damaged(self._path, damage) from None

    def close(self) -> None:
        """Let another process use the ledger; who is still appending gets a Fault instead of an answer."""
        with self._together.alone():
            mine, self._owner = self._owner == os.getpid(), -1
            self._broken = self._broken or "is closed"
        with self._turn:
            self._turn.wait_for(lambda: not self._syncing)
            if mine:
                with suppress(OSError):
                    self._anchor.sync()
                self._tail.close()
                if self._alone:
                    untell_pid(self._path)
                self._anchor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _do_all(self, take: Callable[[], Sequence["_Counting | _Recording"]]) -> None:
        """What threads want counted and recorded, within one turn among the processes: first all counts, since what is being
        recorded has left the places of its quotas and is not in the index yet.
        """
        with self._held():
            pieces = take()
            self._count_all([each for each in pieces if isinstance(each, _Counting)])
            self._record_all([each for each in pieces if isinstance(each, _Recording)])

    def _count_all(self, counts: "Sequence[_Counting]") -> None:
        if not counts:
            return
        with self._within():
            for each in counts:
                with each.failing():
                    each.count(self._tail.index)
        for each in counts:
            each.settled = True

    def _record_all(self, recordings: "Sequence[_Recording]") -> None:
        """One write of all entries whose `before` does not fail."""
        if not recordings:
            return
        now = self._clock().astimezone(UTC)
        time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._tail.end_year(now.year)
        head, lines = self._tail.head, list[tuple[Entry, bytes]]()
        with self._within():
            for each in recordings:
                with each.failing():
                    each.before(head.entries)
                    each.entry, line = each.draft.seal(head, time)
                    head = Head(each.entry.number + 1, each.entry.hash)
                    lines.append((each.entry, line))
        self._tail.write(lines)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """The file, held for one write; whatever is wrong with it withholds the answer."""
        if self._broken or os.getpid() != self._owner:
            why = self._broken or "was opened before this process was forked"
            raise _withheld(self._path, why, "Restart Confide, which checks the ledger.")
        with self._withholding(), self._tail.held():
            yield

    @contextmanager
    def _withholding(self) -> Iterator[None]:
        """Whatever is wrong with the files of the ledger withholds the answer."""
        try:
            if not self._anchor.is_in_place():
                raise Damage("its anchor is gone.")
            yield
        except (Damage, FileNotFoundError):
            why = "was moved or changed by another program"
            raise _withheld(self._path, why, "Put it back and restart Confide.") from None
        except BlockingIOError:
            raise _withheld(self._path, "is held by another program", "Stop that program.") from None
        except HalfWritten as error:
            self._broken = f"holds half an entry that could not be removed ({error})"
            raise _withheld(self._path, self._broken, "Check the disk, then restart Confide.") from error
        except OSError as error:
            why = f"could not be written ({error.strerror})"
            raise _withheld(self._path, why, "Free disk space where it is kept, then ask again.") from error

    def _sync(self, number: int) -> None:
        """Make the entries below `number` durable; one fsync serves all who wrote before it began.

        Nobody holds a lock during the fsync: who was served by it leaves at once, whoever has begun the next.
        """
        with self._turn:
            self._turn.wait_for(lambda: self._synced >= number or not self._syncing)
            if self._synced >= number:
                return
            if self._broken:
                raise _withheld(self._path, self._broken, "Check the disk, then restart Confide.")
            self._syncing = True
        try:
            self._flush()
        finally:
            with self._turn:
                self._syncing = False
                self._turn.notify_all()

    def _flush(self) -> None:
        try:
            reached = self._tail.sync()
        except OSError as error:
            # After a failed fsync the kernel may drop the pages and report success next time: never try again.
            self._broken = f"could not be made durable ({error.strerror})"
            raise _withheld(self._path, self._broken, "Check the disk, then restart Confide.") from error
        with self._withholding():
            self._anchor.write(reached)
        self._synced = reached.entries


def accept(path: str | Path) -> Entry:
    """Go on with a ledger as it stands, whatever its anchor knew; gives the entry that records it.

    The chain must be sound: entries that were changed are not accepted, only ones that are missing at the end.
    """
    path = Path(path)
    with faults(path), closing(Anchor(path, alone=True)) as anchor:
        known = anchor.known()
        head = Head()
        with open_files(path) as files:
            for walked in walk(files):
                head = Head(walked.entry.number + 1, walked.entry.hash)
        write_anchor(path, head)
    with Ledger(path) as ledger:
        lost = max(0, known.entries - head.entries)
        return ledger.record(COMMAND_LINE, "ledger accepted", lost=lost, head=known.hash)


def share(path: str | Path) -> Entry:
    """Let the database of several machines have what a folder recorded and it lacks; gives the entry that records it.

    What the database holds must be how the ledger of the folder begins, and no server may run on it.
    """
    path = Path(path)
    with faults(path), closing(Anchor(path, alone=True)) as anchor:
        chain = chain_of(path)
        if chain is None:
            hint = 'Put state = "postgresql://host/name" into site.toml.'
            raise Mistake("This site shares its ledger with no other machine.", suggestions=[hint])
        with open_files(path) as files:
            head = Head(sum(1 for _ in walk(files)))
        must_reach(head, anchor.known())
        with closing(chain), chain.held():
            number = chain.fill()
    with Ledger(path) as ledger:
        return ledger.record(COMMAND_LINE, "ledger shared", entries=number)


def record_act(path: str | Path, act: str, *, dataset: str = "", **more: str | int) -> None:
    """Record what was done to a site on the command line, also while it is served."""
    with Ledger(path, alone=False) as ledger:
        ledger.record(COMMAND_LINE, act, dataset=dataset, **more)


@contextmanager
def _undoing() -> Iterator[list[Callable[[], None]]]:
    """What was begun is undone, the last first, if something fails."""
    undo: list[Callable[[], None]] = []
    try:
        yield undo
    except BaseException:
        for each in reversed(undo):
            each()
        raise


def _withheld(path: Path, why: str, cure: str) -> Fault:
    what = f"The ledger {str(path)!r} {why}: the question could not be recorded, so the answer was withheld."
    return Fault(what, suggestions=[cure])
