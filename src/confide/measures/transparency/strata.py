"""An attack on a file that was masked stratum by stratum: tried in each stratum by itself."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from confide.arrays import Ints
from confide.measures.pairs import unpaired
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import FileClaims, Links
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["claimed_by_strata", "unfit_by_strata"]


def unfit_by_strata(attack: FileAttack, released: pa.Table, known: Knowledge) -> str:
    """Why there is nothing to try; strata help only who knows in which one the target is."""
    if not known.by or attack.of_members:
        return attack.unfit(released, known)
    unseen = [name for name in known.by if name not in known.keys or name in known.masked]
    if unseen:
        return f"The intruder does not know the stratum, {unseen[0]!r}."
    return attack.unfit(released, replace(known, by=()))


def claimed_by_strata(attack: FileAttack, released: pa.Table, known: Knowledge) -> FileClaims:
    """What the intruder claims, looking for each target in its own stratum alone."""
    if not known.by or attack.of_members:
        return attack.attack(released, known)
    found = np.full(known.targets.num_rows, -1, np.int64)
    for rows, targets in _strata(released, known):
        part = replace(known, targets=known.targets.take(pa.array(targets)), by=())
        claims = attack.attack(released.take(pa.array(rows)), part)
        assert isinstance(claims, Links)
        found[targets] = np.where(claims.record >= 0, rows[claims.record], -1)
    return Links(found)


def _strata(released: pa.Table, known: Knowledge) -> Iterator[tuple[Ints, Ints]]:
    """The rows and the targets of each stratum that has both."""
    columns = unpaired(released, known.targets, known.by).columns
    codes = [np.append(column.original, column.released).astype(np.float64) for column in columns]
    stratum = np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].ravel()
    there, wanted = stratum[: released.num_rows], stratum[released.num_rows :]
    for one in np.unique(wanted):
        rows = np.flatnonzero(there == one)
        if len(rows):
            yield rows, np.flatnonzero(wanted == one)
