"""A log in clusters as a file that goes out: fresh pseudonyms, days for times, and the gate of every release."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from confide.arrays import Ints
from confide.data.release_key import ReleaseKey
from confide.microdata.release.manifest import Manifest
from confide.microdata.release.release import ReleaseGate
from confide.microdata.released import Released, StepDone
from confide.querylogs.log import QueryLog
from confide.querylogs.microaggregation import ClusteredLog

__all__ = ["LogRelease"]

DIGITS = 16
"""Hexadecimal digits of a pseudonym."""


@dataclass(frozen=True)
class LogRelease:
    """How a log in clusters leaves: one log a cluster with its size, or with `copies` one for each member, all the same.

    Promise: pseudonyms are drawn from the key and say nothing of the users; times are the day, or left out; records are in
    an order drawn at random; the written bytes are read back for users and queries of the `original` that must be gone.
    """

    original: QueryLog
    _: KW_ONLY
    key: ReleaseKey
    copies: bool = False
    days: bool = True
    clicks: bool = False

    def table(self, clustered: ClusteredLog) -> pa.Table:
        """The lines that go out."""
        log, lines = clustered.log, clustered.lines
        cluster = clustered.cluster[log.users[lines]]
        if self.copies:
            lines, rows = self._for_each_member(clustered, cluster)
            columns = {"user": self._pseudonyms(len(log.names)).take(pa.array(rows))}
        else:
            named = self._pseudonyms(len(clustered.sizes)).take(pa.array(cluster))
            columns = {"cluster": named, "size": pa.array(clustered.sizes[cluster])}
        columns["query"] = log.texts.take(pa.array(log.queries[lines]))
        if self.days and log.days is not None:
            columns["day"] = log.days.take(pa.array(lines))
        if self.clicks and log.clicks is not None:
            columns["click"] = log.clicks.take(pa.array(lines))
        return pa.table(columns)

    def write(
        self, clustered: ClusteredLog, path: str | Path, *, told: dict[str, int | str], replace: bool = False
    ) -> Manifest:
        """Write the log (CSV, Parquet or Arrow) through the gate, and its manifest; `told` are parameters it may name."""
        table = self.table(clustered)
        step = StepDone("query-log-microaggregation", tuple(table.column_names), told, taught=self.key.teaching)
        return self._gate.write(Released((table,), {}, (step,)), path, replace=replace)[0]

    def check_place(self, path: Path, *, replace: bool) -> None:
        """A Mistake where the log cannot go: before the work begins."""
        self._gate.check_place(path, replace=replace)

    @property
    def _gate(self) -> ReleaseGate:
        log = self.original
        before = {"user": log.names.take(pa.array(log.users)), "query": log.texts.take(pa.array(log.queries))}
        return ReleaseGate(pa.table(before), key=self.key)

    def _for_each_member(self, clustered: ClusteredLog, cluster: Ints) -> tuple[Ints, Ints]:
        """Every line of a cluster once for every member, and whose copy it is."""
        members = np.argsort(clustered.cluster, kind="stable")
        first = np.cumsum(clustered.sizes) - clustered.sizes
        sizes = clustered.sizes[cluster]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.repeat(clustered.lines, sizes), members[np.repeat(first[cluster], sizes) + within]

    def _pseudonyms(self, number: int) -> pa.Array:
        drawn = self.key.generator("query log", "pseudonyms").bytes(number * DIGITS // 2).hex()
        return pa.array([drawn[DIGITS * place : DIGITS * (place + 1)] for place in range(number)], pa.string())
