"""A site of the intruder's own: invented records behind the same code and policy, under a secret that they draw."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.arrays import Ints
from confide.client import Site
from confide.engines import Coded, StoreFacts
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.duckdb.store import write_store
from confide.errors import Refused
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import Request
from confide.site.draws import record_keys
from confide.site.secret import Secret
from confide.spelling.codebook import write_codebook

__all__ = ["simulated"]

R = TypeVar("R")


class SimulatedSite(Site):
    """Answers without a ledger and without quotas."""

    def __init__(self, road: Road) -> None:
        self._road = road

    def names(self) -> list[str]:
        return [self._road.dataset.name]

    def ask(self, request: Request[R], *, diagnostics: bool = False) -> R:
        considered = self._road.consider(self._road.admit(request))
        if considered.reasons:
            raise Refused(considered.reasons, policy=self._road.policy.title)
        release: Any = self._road.release(considered, diagnostics=diagnostics)
        return release  # type: ignore[no-any-return]  # an analysis releases what its request says

    def codebook(self, name: str) -> dict[str, Any]:
        return write_codebook(self._road.dataset, self._road.policy)

    def close(self) -> None:
        self._road.close()


@contextmanager
def simulated(book: Dataset, policy: Policy, records: Mapping[str, Ints], rng: np.random.Generator) -> Iterator[Site]:
    """A site with these records, one a unit: the place of its code in each variable. Only counts can be asked for."""
    secret = Secret(rng.bytes(32))
    columns = {name: f"c{at}" for at, name in enumerate(records)}
    size = len(next(iter(records.values())))
    unit, key = record_keys([str(number).encode() for number in range(size)], secret)
    facts = StoreFacts(book.name, "", "simulated", secret.version, False, False, 0, columns, {})
    coded = {columns[name]: pa.array(places.astype(np.int16)) for name, places in records.items()}
    table = pa.table({"unit": unit, "key": key.view(np.int32), **coded})
    with TemporaryDirectory(prefix="confide-") as place:
        store = Path(place) / "records.duckdb"
        write_store(Coded(facts, table), store)
        with SimulatedSite(Road(book, DuckDBEngine(store), Shield(policy, secret))) as site:
            yield site
