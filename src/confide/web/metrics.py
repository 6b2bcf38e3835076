"""What a running site counts, for those who watch it: requests, questions and what waits. Numbers of the data are not among it."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from platform import python_version
from threading import Lock
from typing import Any

from confide.errors import Fault
from confide.site.state import State

__all__ = ["MEDIA_TYPE", "Metrics", "kind_of"]

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The text format of Prometheus."""

_PUBLISH = (
    "INSERT INTO counts VALUES (?1, ?2, ?3, ?4) "
    "ON CONFLICT (machine, worker) DO UPDATE SET requests = excluded.requests, gauges = excluded.gauges"
)

Labels = tuple[tuple[str, str], ...]
Read = Callable[[], Mapping[Labels, float]]


@dataclass(frozen=True)
class _Family:
    """Numbers of one name: what they are, whether they only grow, and how to read them."""

    name: str
    help: str
    kind: str
    read: Read


class Metrics:
    """The counts of a site since it was started, and what others let it read. Safe to share among threads.

    >>> metrics = Metrics()
    >>> metrics.count("page", 200)
    >>> metrics.gauge("confide_questions_waiting", "Questions that wait for their turn.", lambda: 3)
    >>> print(metrics.text().split("# HELP confide_requests_total")[1])  # doctest: +NORMALIZE_WHITESPACE
     Requests by kind of address and status.
    # TYPE confide_requests_total counter
    confide_requests_total{kind="page",status="200"} 1
    # HELP confide_questions_waiting Questions that wait for their turn.
    # TYPE confide_questions_waiting gauge
    confide_questions_waiting 3
    <BLANKLINE>
    """

    def __init__(self, state: State | None = None) -> None:
        """With the state of several processes of one machine, what the others counted is added, up to a second late."""
        self._lock, self._requests = Lock(), Counter[tuple[str, int]]()
        self._state = state if state and state.of_several else None
        self._told, self._summed = "", dict[str, Callable[[], float]]()
        if self._state:
            columns = "machine TEXT, worker INTEGER, requests TEXT, gauges TEXT, PRIMARY KEY (machine, worker)"
            self._state.table("counts", columns)
            before = self._run("SELECT requests FROM counts WHERE machine = ?1 AND worker = ?2")
            self._requests += _counter(before)  # of one that was killed
        self._families = [
            _Family("confide_info", "Versions, as labels.", "gauge", _versions),
            _Family("confide_requests_total", "Requests by kind of address and status.", "counter", self._counted),
        ]

    def count(self, kind: str, status: int) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[kind, status] += 1

    def gauge(self, name: str, help: str, read: Callable[[], float]) -> None:
        """Let a number that goes up and down be read whenever somebody looks."""
        self._families.append(_Family(name, help, "gauge", lambda: {(): read()}))

    def sum(self, name: str, help: str, read: Callable[[], float]) -> None:
        """Let a number that goes up and down be read, of all processes of the site together."""
        self._summed[name] = read
        self.gauge(
            name,
            help,
            lambda: read() + sum(gauges.get(name, 0.0) for gauges in map(json.loads, self._others("gauges"))),
        )

    def publish(self) -> None:
        """Tell the other processes what this one counted."""
        if not self._state:
            return
        with self._lock:
            requests = json.dumps([[*key, many] for key, many in self._requests.items()])
        gauges = json.dumps({name: read() for name, read in self._summed.items()})
        if requests + gauges != self._told:
            with suppress(Fault):  # who looks at the counts will see it
                self._run(_PUBLISH, requests, gauges)
            self._told = requests + gauges

    def counter(self, name: str, help: str, label: str, read: Callable[[], Mapping[str, float]]) -> None:
        """Let numbers that only grow be read, each under its value of a label."""

        def labelled() -> Mapping[Labels, float]:
            return {((label, value),): number for value, number in read().items()}

        self._families.append(_Family(name, help, "counter", labelled))

    def text(self) -> str:
        """All of it as Prometheus reads it."""
        return "".join(f"{line}\n" for family in self._families for line in _lines(family))

    def _counted(self) -> Mapping[Labels, float]:
        with self._lock:
            counted = self._requests + _counter([(each,) for each in self._others("requests")])
        return {(("kind", kind), ("status", str(status))): number for (kind, status), number in sorted(counted.items())}

    def _others(self, column: str) -> list[str]:
        """What the other processes told last."""
        return [told for (told,) in self._run(f"SELECT {column} FROM counts WHERE machine = ?1 AND worker <> ?2")]

    def _run(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        """What a statement gives, whose first two values say which process this is; nothing where there is but one."""
        return self._state.run(statement, self._state.machine, self._state.worker, *values) if self._state else []


def kind_of(path: str) -> str:
    """What sort of address a request is for: few, whatever clients send.

    >>> [kind_of(path) for path in ("/people/table", "/people/table.csv", "/api/datasets", "/static/x.css", "/custodian/why")]
    ['page', 'data', 'data', 'file', 'custodian']
    """
    if path in ("/health", "/ready", "/metrics"):
        return "probe"
    if path.startswith(("/static/", "/charts/")):
        return "file"
    if path == "/custodian" or path.startswith("/custodian/"):
        return "custodian"
    return "data" if path.startswith("/api/") or path.endswith((".json", ".csv", ".xlsx")) else "page"


def _counter(told: Sequence[tuple[str]] | list[tuple[Any, ...]]) -> Counter[tuple[str, int]]:
    found = Counter[tuple[str, int]]()
    for (requests,) in told:
        found.update({(kind, status): many for kind, status, many in json.loads(requests)})
    return found


def _versions() -> Mapping[Labels, float]:
    known = [("python", python_version()), *((name, version(name)) for name in ("confide", "duckdb"))]
    return {tuple(sorted(known)): 1}


def _lines(family: _Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, number in family.read().items():
        named = ",".join(f'{key}="{value}"' for key, value in labels)
        yield f"{family.name}{f'{{{named}}}' if named else ''} {number:.10g}"
