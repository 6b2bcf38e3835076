"""Opening the data sets of a site; anything missing or out of step stops the start."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from confide.answering.analysis import Analysis
from confide.answering.mechanisms.safe.build import read_base
from confide.answering.road import ANALYSES, Road
from confide.answering.shield import Shield
from confide.engines.duckdb.engine import DuckDBEngine
from confide.errors import Mistake
from confide.model.policy import Policy
from confide.site.encode import catalog_mark
from confide.site.folder import Folder

__all__ = ["open_roads"]


@contextmanager
def open_roads(
    folder: Folder,
    policy: Policy,
    *,
    allow_open: bool = False,
    analyses: Sequence[Analysis[Any, Any, Any]] = ANALYSES,
) -> Iterator[dict[str, Road]]:
    """The roads of all data sets of a site under a policy; anything missing or out of step is a Mistake."""
    if not policy.protects and not allow_open:
        raise Mistake(
            f"The policy {policy.name!r} protects nothing.", suggestions=["For teaching only: add --allow-open."]
        )
    with ExitStack() as opened:
        roads = {}
        for name in folder.names():
            roads[name] = _open_road(folder, name, policy, analyses)
            opened.callback(roads[name].close)
        yield roads


def _open_road(folder: Folder, name: str, policy: Policy, analyses: Sequence[Analysis[Any, Any, Any]]) -> Road:
    """A data set with its store, checked to be of the present catalog and secret."""
    dataset, secret = folder.dataset(name), folder.secret()
    if not folder.store(name).exists():
        raise Mistake(f"The data of {name!r} are not ingested.", suggestions=[f"Run: confide ingest FILE SITE {name}"])
    engine = DuckDBEngine(folder.store(name))
    try:
        if engine.facts.catalog != catalog_mark(dataset):
            raise Mistake(
                f"dataset.toml of {name!r} changed how records are coded since the data were ingested.",
                suggestions=[f"Run: confide ingest FILE SITE {name}"],
            )
        if engine.facts.keys != secret.version:
            raise Mistake(
                f"The data of {name!r} were ingested under another secret. Restore that secret, or ingest again."
            )
        if engine.facts.records != policy.records_mark:
            raise Mistake(
                f"The records of {name!r} were not protected as the policy's [records] asks for.",
                suggestions=[f"Run: confide records SITE {name} --renew"],
            )
        base = partial(read_base, folder, name, engine.facts)
        return Road(dataset, engine, Shield(policy, secret), base=base, analyses=analyses)
    except BaseException:
        engine.close()
        raise
