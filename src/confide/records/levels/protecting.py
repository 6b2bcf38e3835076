"""Households as records of their own, made of the records of the people who live in them.

Promise: records are protected once, as those of people, with what a household has in common exchanged together. Households are
made of the protected people, so both levels tell one protected truth, and neither tells more than the other does.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from confide.data.scratch import IN_MEMORY, Scratch
from confide.engines import Coded
from confide.engines.stores import write_stores
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.records.ceilings.ceiling import find_ceilings
from confide.records.exchanges.exchange import Exchange
from confide.records.exposure import find_exposed
from confide.records.keeping import write_kept, write_truth
from confide.records.levels.households import household_records
from confide.records.protect import protect_records
from confide.records.report import RecordsReport, compare
from confide.records.spreads.deviations import measure_deviation_spread
from confide.records.spreads.totals import measure_spread
from confide.site.coding.encode import roles_mark
from confide.site.secret import Secret
from confide.site.vintages import split_level

__all__ = ["ProtectedLevel", "protect_levels", "write_levels"]


@dataclass(frozen=True, eq=False)
class ProtectedLevel:
    """A data set of true and of protected records, and what was done to them, if anything was."""

    dataset: Dataset
    true: Coded
    records: Coded
    report: RecordsReport | None


def protect_levels(
    true: Coded, dataset: Dataset, policy: Policy, secret: Secret, scratch: Scratch = IN_MEMORY
) -> list[ProtectedLevel]:
    """The records of people as they are stored, and those of the level above, if there is one."""
    people, report = protect_records(true, dataset, policy, secret, scratch)
    found = [ProtectedLevel(dataset, true, people, report)]
    if dataset.above is not None:
        was, now = (household_records(each, dataset) for each in (true, people))
        found.append(_measured(was, now, dataset.above, policy))
    return found


def _measured(true: Coded, protected: Coded, level: Dataset, policy: Policy) -> ProtectedLevel:
    """The records of households with what is to be known of how they were protected."""
    if not policy.records.changes:
        return ProtectedLevel(level, true, protected, None)
    exposure = find_exposed(true, level, policy)
    ceilings = find_ceilings(true, protected, level, exposure)
    noise, exchanges = protected.facts.noise, policy.records.exchanges
    facts = replace(
        protected.facts,
        records=policy.records_mark,
        roles=roles_mark(level),
        spread=measure_spread(true, protected, level, noise),
        deviations=measure_deviation_spread(true, protected, level, noise, exchanges=exchanges),
        ceiling=[vars(ceiling) for ceiling in ceilings],
    )
    changed = []
    for trait in exposure.traits:
        rows = np.flatnonzero(true.classes(trait.name) != protected.classes(trait.name))
        changed.append(Exchange(trait, rows, rows, len(rows)))
    report = replace(compare(true, protected, level, exposure, changed), ceilings=tuple(ceilings))
    return ProtectedLevel(level, true, replace(protected, facts=facts), report)


def write_levels(levels: Sequence[ProtectedLevel], inside: Path) -> None:
    """Write the stores of protected records and what is kept of the true ones: people's, and in a folder within those of a level.

    Where there is a level above, the true records of people are kept in any case: their store has households as units.
    """
    for each in levels:
        place = inside / split_level(each.dataset.name)[1]
        place.mkdir(exist_ok=True)
        with ThreadPoolExecutor(1) as pool:
            kept = pool.submit(write_kept, place, each.true, each.report)
            write_stores(each.records, place / "records.duckdb", each.dataset)
            kept.result()
        if each.report is None and each.dataset.above is not None:
            write_truth(place, each.true)
