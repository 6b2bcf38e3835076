"""A site to be attacked in place of the custodian's own: its ledger, its quota and its audit stay as they are."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

from confide.answering.service import Service, make_base
from confide.arrays import Ints
from confide.attacks.truth.truth import Truth
from confide.client import LocalSite, Site
from confide.engines import Coded
from confide.engines.duckdb.store import read_store_facts
from confide.engines.stores import store_files, write_stores
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy, write_policy
from confide.records.keeping import read_truth
from confide.records.leaving.loading import prepare_update
from confide.records.leaving.stand_ins import NOBODY
from confide.records.levels.protecting import ProtectedLevel, protect_levels
from confide.site.folder import Folder
from confide.site.secret import Secret
from confide.site.vintages import LIST, split_level

__all__ = [
    "EVERYBODY",
    "OF_POLICY",
    "CopiedUnits",
    "copied",
    "copy_base",
    "copy_description",
    "protect_copy",
    "write_copy",
]

OF_POLICY = {
    *("records.duckdb", "records.columns", "records.postgres", "records.spark"),
    *("safe.parquet", "truth.parquet", "records.json", "cohorts.parquet"),
    *("vintages", LIST),
    *("policy.toml", "draft.toml"),
}
"""What a data set may have that depends on a policy: its records, their vintages, and a policy of its own. A copy stands under the
policy that it is tried under, and has these anew or not at all."""


@dataclass(frozen=True, eq=False)
class CopiedUnits:
    """The units of a copy: all but those it was ever `without`, after an update in which some `joined` or `left`."""

    without: Ints | None = None
    joined: Ints | None = None
    left: Ints | None = None

    @property
    def all(self) -> bool:
        """Whether they are the same as those of the site, and came as they did."""
        return self.without is None and self.joined is None and self.left is None

    def of(
        self, coded: Coded, dataset: Dataset, policy: Policy, secret: Secret, *, by_household: bool = False
    ) -> Coded:
        """Their true records as an update of so many would leave them; the units may be households of people."""
        ever = _but(coded, self.without, by_household)
        after = _but(ever, self.left, by_household)
        if after is not ever or self.joined is not None:
            before = _but(ever, self.joined, by_household)
            free = replace(policy, updates=replace(policy.updates, least=0, few="wait"))
            both = (dataset, dataset)
            after = prepare_update(before, after, NOBODY, catalogs=both, policy=free, secret=secret).records
        away = coded.records.num_rows - after.records.num_rows
        return replace(after, facts=replace(coded.facts, data=f"{coded.facts.data}-{away}"))


def _but(coded: Coded, units: Ints | None, by_household: bool) -> Coded:
    named = coded.households if by_household and coded.households is not None else coded.units
    return coded if units is None else coded.only(~np.isin(named, units))


EVERYBODY = CopiedUnits()


@contextmanager
def copied(
    site: Path, name: str, policy: Policy, *, truth: Truth, units: CopiedUnits = EVERYBODY, suggestions: bool = False
) -> Iterator[Site]:
    """A copy of a site with one of its data sets, its secret, and a policy without quotas; all records, or those of other
    units; refusals with suggestions or without. It is gone afterwards.
    """
    source = Folder(site)
    with TemporaryDirectory(prefix="confide-") as place:
        target = Folder(Path(place))
        unlimited = replace(policy, quota=replace(policy.quota, per_day=0, per_minute=0))
        (target.path / "policy.toml").write_text(write_policy(unlimited, preset="standard"), encoding="utf-8")
        shutil.copy2(source.path / "secret", target.path / "secret")
        _copy_dataset(source, target, name, policy, truth, units)
        if not target.base(name).exists() and policy.counts.mechanism == "safe" and source.base(name).exists():
            copy_base(source, target, name)
        few = {} if suggestions else {"suggestions": 0}
        with LocalSite(Service.open(target.path, allow_open=True, **few)) as opened:
            yield opened


def _copy_dataset(source: Folder, target: Folder, name: str, policy: Policy, truth: Truth, units: CopiedUnits) -> None:
    """The data set as it is, or protected anew: of other units, or under another section on records. All levels go along."""
    copy_description(source, target, name)
    if not units.all or read_store_facts(source.store(name)).records != policy.records_mark:
        protect_copy(source, target, truth, policy, units)
        return
    for each in target.names():
        for file in (*store_files(source.store(each), truth.dataset.engine), source.base(each)):
            if file.exists():
                (target.catalog(each).parent / file.name).symlink_to(file.resolve())


def copy_description(source: Folder, target: Folder, name: str) -> None:
    """What the custodian says of a data set and of the levels above it."""
    shutil.copytree(source.home(name), target.home(name), ignore=lambda _, names: OF_POLICY & set(names))


def protect_copy(
    source: Folder, target: Folder, truth: Truth, policy: Policy, units: CopiedUnits = EVERYBODY
) -> list[ProtectedLevel]:
    """Protect the records of a copy anew, of all levels, those of some units of the truth's; and write them."""
    people, level = split_level(truth.dataset.name)
    true = read_truth(source, people) if level else truth.coded
    dataset = source.dataset(people) if level else truth.dataset
    secret = source.secret()
    chosen = units.of(true, dataset, policy, secret, by_household=bool(level))
    levels = protect_levels(chosen, dataset, policy, secret)
    for each in levels:
        write_copy(each.records, target, each.dataset.name)
    return levels


def write_copy(protected: Coded, target: Folder, name: str) -> None:
    """Write the records of a copy of a site into its folder: what is only tried never goes into an agency's database or storage."""
    if target.dataset(name).engine.outside:
        catalog = target.catalog(split_level(name)[0])
        text = catalog.read_text(encoding="utf-8")
        catalog.write_text(re.sub(r"(?m)^\s*engine\s*=.*$", "", text, count=1), encoding="utf-8")
    write_stores(protected, target.store(name), target.dataset(name))


def copy_base(source: Folder, target: Folder, name: str) -> None:
    """Make a SAFE base for a copy by the variables of the site's own, which itself holds units that the copy may leave out."""
    make_base(target.path, name, by=pq.read_schema(source.base(name)).names[:-1])
