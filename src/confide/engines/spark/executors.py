"""What executors do: sums of a model over the records of a part, by the kernels that every engine uses.

A part has its records in the order of their units and every unit is in one part. So sums by part, joined in the order of their
first units, have the same bits whichever executors made them, and however often one had to begin again.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide import __version__
from confide.arrays import Floats
from confide.engines import StoreFacts
from confide.engines.sums import stream
from confide.engines.sums.batches import columns_of, lay_out, read_batch
from confide.engines.sums.kernels import Batch, MomentSums, SpreadSums
from confide.errors import Fault
from confide.model.evidence import Step

__all__ = [
    "FOUND",
    "Arrays",
    "Task",
    "joined_moments",
    "joined_spread",
    "moments",
    "ordered",
    "rows",
    "spread",
    "summed",
]

Arrays = dict[str, NDArray[Any]]

FOUND = "first BIGINT, number BIGINT, sums BINARY, fault STRING"
"""What comes back: the first unit of the part, a number within it, and arrays as NumPy writes them; or a fault's sentence."""


@dataclass(frozen=True)
class Task:
    """A step of a model on records that say of themselves what `facts` has; `version` is Confide's where it was asked."""

    step: Step
    facts: StoreFacts
    inverse: Floats
    version: str = __version__

    @property
    def nothing(self) -> Batch:
        """A batch without records."""
        names = columns_of(self.step, self.facts)
        return self._batch({name: np.zeros(0, np.int64) for name in names})

    def batches(self, parts: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
        """The records as the kernels read them; a Fault if they do not come in their order."""
        last = None
        for part in parts:
            arrays = {name: part[name].to_numpy(zero_copy_only=False) for name in part.schema.names}
            last = _end(arrays["unit"], arrays["key"], last)
            yield self._batch(arrays)

    def _batch(self, arrays: Arrays) -> Batch:
        return read_batch(arrays, self.step, self.facts, lay_out(self.step.design).sizes)


S = TypeVar("S", MomentSums, SpreadSums)
Sums = Callable[[Task, Iterable[Batch]], Iterator[Arrays]]


def moments(task: Task, batches: Iterable[Batch]) -> Iterator[Arrays]:
    """The sums of `add_moments`, of each half of the units."""
    one, other = stream.moment_halves(task.step, lay_out(task.step.design), batches, several=task.facts.several)
    yield {**_named("one", one), **_named("other", other)}


def spread(task: Task, batches: Iterable[Batch]) -> Iterator[Arrays]:
    """The sums of `add_spread`, of each half of the units."""
    one, other = stream.spread_halves(task.step, lay_out(task.step.design), batches, task.inverse)
    yield {**_named("one", one), **_named("other", other)}


def rows(task: Task, batches: Iterable[Batch]) -> Iterator[Arrays]:
    """The complete records, batch by batch."""
    for batch in batches:
        yield vars(stream.rows(task.step, lay_out(task.step.design), [batch], task.inverse))


def summed(task: Task, sums: Sums, parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What an executor gives for a part, as `FOUND` says; nothing if no record is left of it."""
    filled = (part for part in parts if part.num_rows)
    begin = next(filled, None)
    if begin is None:
        return
    first = begin["unit"][0].as_py()
    try:
        if task.version != __version__:
            raise Fault(f"Executors have Confide {__version__} and not {task.version}: install the same version there.")
        for number, arrays in enumerate(sums(task, task.batches(chain([begin], filled)))):
            yield _row(first, number, _packed(arrays), None)
    except Fault as fault:
        yield _row(first, 0, None, str(fault))


def ordered(found: pa.Table) -> list[Arrays]:
    """What came back, in the order of units; a Fault if an executor says so."""
    faults = found["fault"].drop_null()
    if len(faults):
        raise Fault(faults[0].as_py())
    return [
        _unpacked(sums.as_py()) for sums in found.sort_by([("first", "ascending"), ("number", "ascending")])["sums"]
    ]


def joined_moments(found: Iterable[Arrays]) -> tuple[MomentSums, MomentSums]:
    """The sums of each half of the units over all parts, one after the other."""
    first, *others = found
    for arrays in others:
        for half in ("one", "other"):
            first[f"{half}.counts"][2] ^= arrays[f"{half}.counts"][2]
            first[f"{half}.counts"][:2] += arrays[f"{half}.counts"][:2]
            for name in ("gram", "score", "sums", "support"):
                first[f"{half}.{name}"] += arrays[f"{half}.{name}"]
    return _half(MomentSums, "one", first), _half(MomentSums, "other", first)


def joined_spread(found: Iterable[Arrays]) -> tuple[SpreadSums, SpreadSums]:
    """The same of `spread`."""
    first, *others = found
    for arrays in others:
        for half in ("one", "other"):
            first[f"{half}.meat"] += arrays[f"{half}.meat"]
            first[f"{half}.fits"] += arrays[f"{half}.fits"]
            first[f"{half}.pull"] += arrays[f"{half}.pull"]
            first[f"{half}.scores"] += arrays[f"{half}.scores"]
            mine, theirs = first[f"{half}.sums"], arrays[f"{half}.sums"]
            mine[0] += theirs[0]
            np.maximum(mine[3:], theirs[3:], out=mine[3:])  # the largest unit is in one part
    return _half(SpreadSums, "one", first), _half(SpreadSums, "other", first)


def _end(unit: NDArray[Any], key: NDArray[Any], last: tuple[int, int] | None) -> tuple[int, int]:
    """The last record of a batch. Sums in another order would have other bits."""
    unit, key = (
        np.concatenate([[before], now]) for before, now in zip(last or (unit[0], key[0]), (unit, key), strict=True)
    )
    if ((unit[1:] < unit[:-1]) | ((unit[1:] == unit[:-1]) & (key[1:] < key[:-1]))).any():
        raise Fault("The cluster gave the records of a part in another order than they were written in.")
    return int(unit[-1]), int(key[-1])


def _named(half: str, sums: MomentSums | SpreadSums) -> Arrays:
    return {f"{half}.{name}": value for name, value in sums._asdict().items()}


def _half(kind: type[S], half: str, arrays: Arrays) -> S:
    return kind(*(arrays[f"{half}.{name}"] for name in kind._fields))


def _row(first: int, number: int, sums: bytes | None, fault: str | None) -> pa.RecordBatch:
    arrays = [pa.array([first], pa.int64()), pa.array([number], pa.int64())]
    return pa.RecordBatch.from_arrays(
        [*arrays, pa.array([sums], pa.binary()), pa.array([fault], pa.string())], ["first", "number", "sums", "fault"]
    )


def _packed(arrays: Arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # none of them is called `allow_pickle`
    return buffer.getvalue()


def _unpacked(packed: bytes) -> Arrays:
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        return dict(arrays)
