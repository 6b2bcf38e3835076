"""What new data become before they are loaded: few units wait, and those whom the update would tell of leave by a stand-in."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from confide.engines import Coded
from confide.errors import Reason, Refused
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.records.leaving.choosing import choose_stand_ins
from confide.records.leaving.stand_ins import NOBODY, Standing, StandIns, alike, stood_in
from confide.records.updates import Update, compare_records, enough, in_cohorts, put_together
from confide.site.secret import Secret

__all__ = ["Loading", "prepare_update"]

MANY = 0.1
"""A larger share of units that stay though they left is told by itself: what is asked about is less and less what the data say."""


@dataclass(frozen=True, eq=False)
class Loading:
    """The records that are loaded, with who stands in for whom in them; what the new data hold, and what is said of the rest.

    `again` are the same data once more.
    """

    records: Coded
    pairs: StandIns
    update: Update
    words: tuple[str, ...]
    again: bool


def prepare_update(
    before: Coded, after: Coded, pairs: StandIns, *, catalogs: tuple[Dataset, Dataset], policy: Policy, secret: Secret
) -> Loading:
    """What is loaded of new data, after the records that were loaded `before`, in which some stood in for others.

    Promise: of what these two differ in nobody who left is told, or what is told of them was protected by itself before. `Refused`
    if that cannot be, or if the policy lets nobody wait.
    """
    kept, changed = _lasting(before, after, pairs, catalogs, policy)
    now = stood_in(before, after, kept) if len(kept) else after
    shown = compare_records(before, now, catalogs=catalogs)
    records, words = enough(before, now, shown, policy)
    new = NOBODY
    if _stands_in(policy) and alike(before, after):
        new, alone = choose_stand_ins(before, records, kept, catalogs[1], policy, secret)
        if len(alone):
            words = [*words, _waiting(len(alone), policy)]
            records = put_together(records, before.only(np.isin(before.units, alone)))
        records = stood_in(before, records, new) if len(new) else records
    said = (*words, *_said(pairs, kept, changed, new), *_aging(len(kept) + len(new), len(np.unique(records.units))))
    again = (before.facts.data, before.facts.catalog) == (now.facts.data, now.facts.catalog)
    told = _told(before, after, shown, pairs) if len(pairs) and alike(before, after) else shown
    records = in_cohorts(before, records, back=pairs.stand_ins)
    return Loading(records, kept.with_others(new), told, said, again)


def _stands_in(policy: Policy) -> bool:
    """Whether anybody is left out in the stead of others: where nothing is protected all are told of anyway."""
    return policy.updates.stand_ins and policy.records.changes


def _lasting(
    before: Coded, after: Coded, pairs: StandIns, catalogs: tuple[Dataset, Dataset], policy: Policy
) -> tuple[StandIns, int]:
    """The pairs that last, and how many of them only because they would come and go as few."""
    if not len(pairs) or not _stands_in(policy) or not alike(before, after):
        return NOBODY, 0
    standing = Standing.of(pairs, after)
    lasts = pairs.only(standing.lasts)
    update = compare_records(before, stood_in(before, after, lasts), catalogs=catalogs)
    if not {"new", "gone"} & set(update.few(policy.updates.least)):
        return lasts, 0
    return pairs.only(standing.lasts | standing.changed), int(standing.changed.sum())


def _waiting(number: int, policy: Policy) -> str:
    """What is said of those who left and for whom nobody can leave; `Refused` if nobody may wait."""
    if policy.updates.few == "wait":
        return f"{number:,} who left wait, and stay as they were: nobody can leave in their stead."
    words = f"Answers before and after would tell of {number:,} who left, and nobody who stayed as they were can leave in their stead."
    hints = [
        'Let them wait: updates.few = "wait" in the policy.',
        "Load the data together with later changes, or let updates.stand_ins be false for this update.",
    ]
    raise Refused([Reason("updates.stand_ins", words)], policy=policy.title, suggestions=hints)


def _said(pairs: StandIns, kept: StandIns, changed: int, new: StandIns) -> Iterator[str]:
    """Who stands in for whom, in counts."""
    if len(new):
        yield f"{len(new):,} of those who left stay as they were, and as many alike leave in their stead."
    if len(kept):
        yield f"{len(kept):,} who left earlier still stay as they were, and others are left out in their stead."
    if changed:
        yield f"{changed:,} of those left out changed: so few wait until more do."
    if len(pairs) > len(kept):
        yield f"{len(pairs) - len(kept):,} who stayed in the stead of others leave now, or are back."


def _aging(pairs: int, units: int) -> Iterator[str]:
    """That many of those in the data are there no more."""
    if pairs > MANY * units:
        yield f"{pairs:,} of {units:,} units are there in the data no more, and their records age."
        yield "To let them go with an update of many, let updates.stand_ins be false for it."


def _told(before: Coded, after: Coded, shown: Update, pairs: StandIns) -> Update:
    """What the new data hold that the data before did not: who stood in for others was in these, and those others were not."""
    units = np.union1d(np.setdiff1d(before.units, pairs.leavers), pairs.stand_ins)
    now = np.unique(after.units)
    standing = Standing.of(pairs, after)
    other = pairs.stand_ins[standing.other]
    changed = np.union1d(np.setdiff1d(shown.changed, pairs.leavers), other)
    new, gone = np.setdiff1d(now, units), np.setdiff1d(units, now)
    return replace(shown, new=new, gone=gone, changed=changed, same=len(now) - len(new) - len(changed))
