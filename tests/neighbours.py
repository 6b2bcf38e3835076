"""Two sites that differ in one unit, and all that an analyst sees of an answer there: outcome, rules, shape, size, and how
often the engine was called for it, which stands for the time."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from confide.answering.road import Road
from confide.answering.service import SUGGESTIONS
from confide.answering.shield import Shield
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.duckdb.store import write_store
from confide.errors import Mistake, Refused
from confide.formats.release import writers
from confide.model.catalog.dataset import Dataset
from confide.model.catalog.toml import read_dataset
from confide.model.policy import Policy
from confide.model.request import Request
from confide.site.coding.encode import encode
from confide.web.problems import problem
from differencing import numbered

__all__ = ["NEIGHBOURS", "Counting", "Seen", "ask", "demo_dataset", "site"]


def demo_dataset() -> Dataset:
    text = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    return read_dataset(text, name="people", read_file=str)


def _typical(people: pa.Table) -> int:
    """The row of somebody with the median income."""
    return int(np.argsort(people["income"].to_numpy(), kind="stable")[people.num_rows // 2])


def _largest(people: pa.Table) -> int:
    """The row of the largest income, who moves the most."""
    return int(np.argmax(people["income"].to_numpy()))


def _exposed(people: pa.Table) -> int:
    """The row of the person whose classes are the rarest, taken together."""
    rarity = np.zeros(people.num_rows)
    for name in ("region", "marital", "education", "employment", "industry", "occupation_major"):
        _, place, size = np.unique(people[name].to_numpy(), return_inverse=True, return_counts=True)
        rarity += np.log(size[place])
    return int(np.argmin(rarity))


def _without(people: pa.Table, row: int) -> pa.Table:
    return people.take(np.delete(np.arange(people.num_rows), row))


def _changed(people: pa.Table, row: int) -> pa.Table:
    """The same people, one of them under their own name with everything else of another person."""
    taken = np.arange(people.num_rows)
    taken[row] = (row + people.num_rows // 2) % people.num_rows
    return people.take(taken).set_column(people.column_names.index("person_id"), "person_id", people["person_id"])


NEIGHBOURS = {
    "a typical person left": lambda people: _without(people, _typical(people)),
    "an exposed person left": lambda people: _without(people, _exposed(people)),
    "the largest income left": lambda people: _without(people, _largest(people)),
    "a typical person became like another": lambda people: _changed(people, _typical(people)),
}


class Counting:
    """An engine that notes how often it was called, by verb."""

    def __init__(self, engine: DuckDBEngine) -> None:
        self.facts, self._engine, self.calls = engine.facts, engine, Counter[str]()

    def __getattr__(self, verb: str) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            self.calls[verb] += 1
            return getattr(self._engine, verb)(*given, **named)

        return called


@contextmanager
def site(people: pa.Table, policy: Policy, path: Path, *, secret: int = 0) -> Iterator[tuple[Road, Counting]]:
    """A site of these people, and the engine behind it."""
    dataset = demo_dataset()
    write_store(encode(dataset, people, secret=numbered(secret)), path)
    engine = DuckDBEngine(path)
    try:
        counting = Counting(engine)
        yield Road(dataset, counting, Shield(policy, numbered(secret))), counting
    finally:
        engine.close()


@dataclass(frozen=True)
class Seen:
    """What an analyst sees of an answer: the outcome and, if refused, by which rules; rows and columns; bytes of JSON."""

    outcome: str
    rules: tuple[str, ...]
    shape: tuple[Any, ...]
    size: int
    calls: tuple[tuple[str, int], ...]


def ask(road: Road, engine: Counting, request: Request[Any], *, suggestions: int = SUGGESTIONS) -> Seen:
    """The answer as a site gives it, without ledger and quota."""
    engine.calls.clear()
    outcome, rules, shape, document = _answer(road, request, suggestions)
    return Seen(outcome, rules, shape, len(json.dumps(document)), tuple(sorted(engine.calls.items())))


def _answer(road: Road, request: Request[Any], most: int) -> tuple[str, tuple[str, ...], tuple[Any, ...], Any]:
    try:
        question = road.admit(request)
    except Mistake as mistake:
        return "mistake", (), (), problem(mistake).model_dump()
    considered = road.consider(question)
    if considered.reasons:
        suggestions = list(islice(road.suggest(question), most))
        error = Refused(considered.reasons, policy=road.policy.title, suggestions=suggestions)
        return "refused", tuple(reason.rule for reason in error.reasons), (), problem(error).model_dump()
    release = road.release(considered)
    return "released", (), _shape(release), writers(release).json(release)


def _shape(release: Any) -> tuple[Any, ...]:
    """How many numbers there are: cells by column of a table, rows by part of a model."""
    parts = getattr(release, "columns", None) or release.grids
    return tuple(
        (name, np.shape(getattr(part, "values", getattr(part, "rows", ())))[0]) for name, part in parts.items()
    )
