"""Opening the data sets of a site; anything missing or out of step stops the start."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from confide.answering.analysis import Analysis
from confide.answering.mechanisms.safe.build import read_base
from confide.answering.road import ANALYSES, Road
from confide.answering.shield import Shield
from confide.engines.stores import open_engine, store_files
from confide.errors import Mistake, nearest
from confide.model.policy import Policy
from confide.site.coding.encode import catalog_mark, roles_mark
from confide.site.folder import Folder
from confide.site.vintages import Vintage, split_level

__all__ = ["named", "open_roads", "open_vintage", "open_vintages"]

T = TypeVar("T")


@contextmanager
def open_roads(
    folder: Folder,
    policy: Policy | None = None,
    *,
    allow_open: bool = False,
    analyses: Sequence[Analysis[Any, Any, Any]] = ANALYSES,
) -> Iterator[dict[str, Road]]:
    """The roads of all data sets of a site, each under its own policy or all under another; anything missing or out of
    step is a Mistake.
    """
    folder.policy()  # a site without data sets, or whose policy cannot be read, is not opened under another either
    policies = {name: policy or folder.policy(name) for name in folder.names()}
    for name in policies if not allow_open else ():
        _must_protect(folder, name, policies[name])
    with ExitStack() as opened:
        roads = {}
        for name in policies:
            roads[name] = _open_road(folder, name, policies[name], analyses)
            opened.callback(roads[name].close)
        yield roads


@contextmanager
def open_vintages(folder: Folder, roads: Mapping[str, Road]) -> Iterator[dict[str, Road]]:
    """The roads of older vintages that people may ask about, by names as people@2025, under the policies of today.

    One that these cannot answer from (its records were protected in another way) is left out: `confide vintages` tells why.
    """
    with ExitStack() as opened:
        found = {}
        for name, road in roads.items():
            for vintage in folder.vintages(name)[:-1] if road.policy.updates.asked else ():
                with suppress(Mistake):
                    found[f"{name}@{vintage.name}"] = opened.enter_context(
                        open_vintage(folder, name, vintage, road.policy)
                    )
        yield found


@contextmanager
def open_vintage(folder: Folder, name: str, vintage: Vintage, policy: Policy) -> Iterator[Road]:
    """The road of one vintage; a Mistake says why it cannot be answered from."""
    road = _open_road(folder, f"{name}@{vintage.name}", policy, ANALYSES)
    try:
        yield road
    finally:
        road.close()


def _must_protect(folder: Folder, name: str, policy: Policy) -> None:
    if not policy.protects:
        where = "" if folder.follows(name) else f" in {folder.own(name)}"
        raise Mistake(
            f"The policy {policy.name!r}{where} protects nothing.", suggestions=["For teaching only: add --allow-open."]
        )


def _open_road(folder: Folder, name: str, policy: Policy, analyses: Sequence[Analysis[Any, Any, Any]]) -> Road:
    """A data set with its store, checked to be of the present catalog and secret."""
    dataset, secret, people = folder.dataset(name), folder.secret(), split_level(name)[0]
    for file in store_files(folder.store(name), dataset.engine):
        if not file.exists():
            what = "ingested" if file == folder.store(name) else f"ingested for the engine {str(dataset.engine)!r}"
            raise Mistake(
                f"The data of {name!r} are not {what}.", suggestions=[f"Run: confide ingest FILE SITE {people}"]
            )
    engine = open_engine(folder.store(name), dataset)
    try:
        if engine.facts.catalog != catalog_mark(dataset):
            raise Mistake(
                f"dataset.toml of {name!r} changed how records are coded since the data were ingested.",
                suggestions=[f"Run: confide ingest FILE SITE {people}"],
            )
        if engine.facts.keys != secret.version:
            raise Mistake(
                f"The data of {name!r} were ingested under another secret. Restore that secret, or ingest again."
            )
        roles = roles_mark(dataset) if engine.facts.records else ""
        if (engine.facts.records, engine.facts.roles) != (policy.records_mark, roles):
            asking = "dataset.toml" if engine.facts.records == policy.records_mark else "the policy's [records]"
            raise Mistake(
                f"The records of {name!r} were not protected as {asking} asks for.",
                suggestions=[f"Run: confide records SITE {people} --renew"],
            )
        base = partial(read_base, folder, name, engine.facts)
        shield = Shield(policy, secret, by_unit=dataset.above is not None)
        return Road(dataset, engine, shield, base=base, analyses=analyses)
    except BaseException:
        engine.close()
        raise


def named(roads: Mapping[str, T], name: str) -> T:
    """What belongs to a data set, such as its road; a Mistake if there is none of that name."""
    if name not in roads:
        hint = nearest(name, roads) or (["There are " + ", ".join(roads) + "."] if roads else [])
        raise Mistake(f"There is no data set called {name[:60]!r}.", suggestions=hint)
    return roads[name]
