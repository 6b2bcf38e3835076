"""A site served by several processes of one machine: one that starts them and looks after them, and the workers, which answer.

Promise: a worker that ends, however it does, is started again; once the first process is told to end, all have ended within `LONGEST`
seconds; if it is killed, the workers end too, and nobody else can open the site before they have.
"""

import json
import logging
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import Thread

from confide.answering.service import Service
from confide.data.private import only_mine
from confide.errors import ConfideError, Fault
from confide.site.folder import Papers
from confide.site.ledger import held_for_workers
from confide.site.serving import serving
from confide.site.state import open_state, prepared_state
from confide.web.api import create_app
from confide.web.serving.homes import Homes
from confide.web.serving.server import LONGEST_END, Worker, run_app
from confide.web.subpath import SubPath

__all__ = ["ServedSite", "serve_workers"]

LONGEST = LONGEST_END + 1
"""Seconds after which workers that were told to end are killed."""

TRIES, PAUSE = 5, 1.0
"""So often, after so many seconds each, a worker that cannot start is tried again before the site ends."""

_WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What wakes the process that looks after the others."""

_END = (signal.SIGTERM, signal.SIGINT)

_LOG = logging.getLogger("confide.server")


@dataclass(frozen=True, kw_only=True)
class ServedSite:
    """A folder that is served, and below which path of its host."""

    folder: str
    path: str = ""
    allow_open: bool = False


@dataclass(frozen=True, kw_only=True)
class _WorkerTask:
    """What a worker is told: its number, and the descriptors that it inherits."""

    number: int
    listening: Sequence[int]
    doors: Sequence[int]
    inbox: int
    lifeline: int
    ready: int


@dataclass(eq=False)
class _Running:
    """A worker: its process, where it says that it answers or why it cannot, and how often it could not before."""

    process: subprocess.Popen[bytes]
    words: int
    failed: int
    begun: float
    answers: bool = False

    def hear(self, seconds: float = 0.0) -> None:
        """Note what the worker says, if it does; raises what it could not start for."""
        if self.answers or not select.select([self.words], [], [], seconds)[0]:
            return
        said = os.read(self.words, 1 << 16)
        error = pickle.loads(said) if said else Fault("A worker ended before it could answer.")
        if error is not None:
            raise error
        self.answers = True


class _Signals:
    """What this process is told, one after the other; none is lost, whatever thread it reaches and whatever goes on."""

    def __init__(self) -> None:
        self._heard, told = os.pipe()
        os.set_blocking(told, False)
        for each in _WATCHED:
            signal.signal(each, lambda *_: None)
        signal.set_wakeup_fd(told)

    def next(self, seconds: float) -> int | None:
        """The next one, within so many seconds."""
        return os.read(self._heard, 1)[0] if select.select([self._heard], [], [], seconds)[0] else None


class _Workers:
    """The workers of a site, and what each inherits."""

    def __init__(self, site: ServedSite, *, listening: Sequence[socket.socket], held: int, number: int) -> None:
        self._site, self._listening, self._held, self._signals = site, listening, held, _Signals()
        self._pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(number)]
        """Where connections are handed to each: they outlive a worker, and wait for the next."""
        self._lifeline = os.pipe()
        """Its end tells the workers that this process is no more."""
        self._running: list[_Running] = []

    def start(self) -> bool:
        """Start all, the first alone, since it may have to mend the ledger; False if told to end meanwhile."""
        heard = set[int | None]()
        for number in range(len(self._pairs)):
            self._running.append(self._begun(number))
            while not self._running[-1].answers:
                self._running[-1].hear(0.1)
                heard.add(self._signals.next(0))
                if heard.intersection(_END):
                    return False
        if signal.SIGHUP in heard:
            self._tell(signal.SIGHUP)
        return True

    def look_after(self) -> None:
        """Start again what ends, and pass on what is to be passed on, until this process is told to end."""
        while True:
            told = self._signals.next(PAUSE)
            if told in _END:
                return
            if told == signal.SIGHUP:
                self._tell(signal.SIGHUP)
            for number in range(len(self._running)):
                self._look_at(number)

    def end(self) -> None:
        """Let all end, within bounds."""
        self._tell(signal.SIGTERM)
        until = time.monotonic() + LONGEST
        for each in self._running:
            with suppress(subprocess.TimeoutExpired):
                each.process.wait(max(0.0, until - time.monotonic()))
            each.process.kill()
            each.process.wait()

    def _look_at(self, number: int) -> None:
        worker = self._running[number]
        with suppress(ConfideError):  # it is told when the worker has ended
            worker.hear()
        if worker.process.poll() is None or time.monotonic() < worker.begun + PAUSE:
            return
        if not worker.answers and worker.failed + 1 >= TRIES:
            raise Fault(f"Worker {number} could not be started again.", suggestions=["Look at the log."])
        _LOG.error("Worker %d has ended (%d) and is started again.", number, worker.process.returncode)
        os.close(worker.words)
        self._running[number] = self._begun(number, failed=0 if worker.answers else worker.failed + 1)

    def _begun(self, number: int, *, failed: int = 0) -> _Running:
        words, ready = os.pipe()
        task = _WorkerTask(
            number=number,
            listening=[each.fileno() for each in self._listening],
            doors=[door.fileno() for door, _ in self._pairs],
            inbox=self._pairs[number][1].fileno(),
            lifeline=self._lifeline[0],
            ready=ready,
        )
        inherited = [*task.listening, *task.doors, task.inbox, task.lifeline, task.ready, self._held]
        command = [sys.executable, "-P", "-m", __name__, json.dumps([asdict(self._site), asdict(task)])]
        told = {**os.environ, "CONFIDE_WORKER": f"{number}/{len(self._pairs)}"}
        process = subprocess.Popen(command, pass_fds=inherited, env=told)
        os.close(ready)
        return _Running(process, words, failed, time.monotonic())

    def _tell(self, what: signal.Signals) -> None:
        for each in self._running:
            if each.answers or what is signal.SIGTERM:  # one that starts reads the folder anyway
                each.process.send_signal(what)


def serve_workers(
    site: ServedSite, *, listening: Sequence[socket.socket], workers: int, ready: Callable[[], None]
) -> None:
    """Serve a site by so many workers until this process is told to end; `ready` is called when all of them answer."""
    papers = Papers(Path(site.folder))
    with (
        only_mine(),
        held_for_workers(papers.ledger) as held,
        prepared_state(papers.path),
        serving(papers.path, workers=workers),
    ):
        crew = _Workers(site, listening=listening, held=held, number=workers)
        try:
            if crew.start():
                ready()
                crew.look_after()
        finally:
            crew.end()


def _work(site: ServedSite, task: _WorkerTask) -> None:
    """Answer as one of the workers of a site, until told to end or left alone."""
    Thread(target=_end_with, args=(task.lifeline,), name="lifeline", daemon=True).start()
    doors = tuple(_socket(each) for each in task.doors)
    state = open_state(Path(site.folder), worker=task.number, of_several=True)
    with only_mine(), Service.open(site.folder, allow_open=site.allow_open, state=state) as service:
        app = create_app(service, path=SubPath(site.path), homes=Homes(task.number, doors))
        worker = Worker(_socket(task.inbox), partial(_say, task.ready, None), app.state.metrics.publish)
        run_app(app, service, sockets=[_socket(each) for each in task.listening], worker=worker)


def _socket(descriptor: int) -> socket.socket:
    found = socket.socket(fileno=descriptor)
    found.setblocking(False)
    return found


def _say(descriptor: int, error: ConfideError | None) -> None:
    """Tell the process that started this one that it answers, or why it cannot."""
    with suppress(OSError):
        os.write(descriptor, pickle.dumps(error))


def _end_with(lifeline: int) -> None:
    """End this process in good order when the one that started it is no more."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """What a worker is started with."""
    site, task = json.loads(sys.argv[1])
    try:
        _work(ServedSite(**site), _WorkerTask(**task))
    except ConfideError as error:
        _say(task["ready"], error)
        sys.exit(1)


if __name__ == "__main__":
    main()
