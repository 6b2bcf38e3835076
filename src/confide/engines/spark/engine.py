"""The engine for records on the shared storage of a Spark cluster: tables are counted and models are summed by its executors.

It reads the folder that `write_spark` wrote and nothing else.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from confide.arrays import Floats, Ints
from confide.engines import StoreFacts
from confide.engines.relation import Relation
from confide.engines.spark.dialect import SPARK
from confide.engines.spark.sessions import SparkRecords
from confide.engines.spark.store import read_pointer
from confide.engines.sql import inside
from confide.errors import Fault
from confide.model.evidence import Box, Cells, Moments, Rows, Spread, Step, Tally

if TYPE_CHECKING:
    from confide.engines.spark.executors import Arrays, Sums, Task

__all__ = ["SparkEngine"]


class SparkEngine:
    """Answers tallies from records written by `write_spark`; safe to share among threads."""

    def __init__(self, path: Path, cluster: str) -> None:
        pointer = read_pointer(path)
        described = pointer.described()
        try:
            self.facts = StoreFacts(**described["facts"])
            self._relation = Relation(self.facts, described["sizes"], SPARK)
        except (KeyError, TypeError):
            raise Fault("The records were written by another version of Confide. Ingest the data again.") from None
        self._records = SparkRecords(cluster, pointer)
        with self._records.question():
            pass  # a fault says what the cluster lacks

    def tally(self, tally: Tally) -> Cells:
        with self._records.question() as question:
            return self._relation.tally(tally, question.ask)

    def units(self, within: Sequence[Box], *, low: int, high: int) -> Ints:
        condition = f" AND {inside(within, self.facts, self._relation.sizes)}" if within else ""
        sql = f"SELECT DISTINCT unit FROM records WHERE unit BETWEEN {low} AND {high}{condition}"
        with self._records.question() as question:
            return np.sort(question.ask(sql)[:, 0])

    def moments(self, step: Step) -> Moments:
        from confide.engines.spark import executors
        from confide.engines.sums import stream

        found = self._summed(executors.Task(step, self.facts, np.zeros((0, 0))), executors.moments)
        return stream.added(executors.joined_moments(found))

    def spread(self, step: Step, inverse: Floats) -> Spread:
        from confide.engines.spark import executors
        from confide.engines.sums import batches, stream

        found = self._summed(executors.Task(step, self.facts, inverse), executors.spread)
        return stream.spread_of(executors.joined_spread(found), batches.lay_out(step.design))

    def rows(self, step: Step, inverse: Floats, *, low: int, high: int) -> Rows:
        from confide.engines.spark import executors

        only = f"unit BETWEEN {low} AND {high}"
        found = self._summed(executors.Task(step, self.facts, inverse), executors.rows, only)
        return Rows(**{name: np.concatenate([arrays[name] for arrays in found]) for name in found[0]})

    def close(self) -> None:
        self._records.close()

    def _summed(self, task: "Task", sums: "Sums", only: str = "true") -> "list[Arrays]":
        """What executors found, in the order of units, after what there is to be found in no record."""
        from confide.engines.spark.executors import FOUND, ordered, summed
        from confide.engines.sums.batches import columns_of

        step = task.step
        chosen = inside(step.within, self.facts, self._relation.sizes) if step.within else "true"
        columns = columns_of(step, self.facts)
        with self._records.question() as question:
            found = question.mapped(columns, f"{only} AND {chosen}", partial(summed, task, sums), FOUND)
        return [*sums(task, [task.nothing]), *ordered(found)]
