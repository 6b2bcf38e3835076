"""The sampling units of a data set, as a class that no analyst sees: what standard errors are computed from.

Where units were drawn by themselves each is a sampling unit; of very many, some make one together, at random within their stratum
(random groups: Wolter, Introduction to Variance Estimation, chapter 2). With replicate weights, records whose weights change
alike from replicate to replicate make one.
"""

import base64
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake
from confide.model.catalog.sampling import LoneUnits, SampleDesign
from confide.sources.columns import distinct, texts

__all__ = ["Clusters", "find_clusters", "read_factors"]

MOST_CLUSTERS = 65_535
"""More sampling units than this do not fit the integers that they are stored as."""

GROUPS = 4096
"""So many random groups stand for units that were drawn by themselves, if they are too many: errors are then known to within
about 1 percent of themselves, 1 / sqrt(2 * GROUPS)."""

MOST_FACTORS = 8_000_000
"""Replicate weights take so many numbers at most: 100,000 units that differ and 80 replicates."""

NAMED = 5
"""So many strata at most are named in one sentence."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """The place of each record's sampling unit, and what a store says of them."""

    places: pa.Array
    facts: dict[str, Any]


def find_clusters(
    design: SampleDesign, table: pa.Table, unit: Ints, weight: Floats, numbers: Callable[[str], Floats]
) -> Clusters:
    """The sampling units that the columns of a design name; a Mistake if it does not fit the data, and nothing is written."""
    kish = float(len(weight) * (weight**2).sum() / max(weight.sum() ** 2, 1e-300))
    if design.replicates:
        places, facts = _replicated(design, weight, numbers)
    else:
        places, facts = _sampled(design, table, unit, numbers)
    return Clusters(pa.array(places.astype(np.uint16)), {**facts, "kish": kish})


def read_factors(facts: dict[str, Any]) -> Floats:
    """What the weight of each cluster is multiplied by in each replicate: a row a cluster."""
    packed = np.frombuffer(zlib.decompress(base64.b64decode(facts["factors"])), "<f4")
    return np.asarray(packed, dtype=np.float64).reshape(-1, facts["replicates"])


def _sampled(
    design: SampleDesign, table: pa.Table, unit: Ints, numbers: Callable[[str], Floats]
) -> tuple[Ints, dict[str, Any]]:
    stratum = _codes(table, design.strata) if design.strata else np.zeros(len(unit), np.int64)
    if design.psu:
        # A sampling unit may be numbered anew in each stratum: it is what both together name.
        psu = np.unique(np.column_stack([stratum, _codes(table, design.psu)]), axis=0, return_inverse=True)[1].ravel()
    else:
        psu = np.unique(unit, return_inverse=True)[1].ravel()
    strata = _strata_of(stratum, psu)
    sampled = np.bincount(strata, minlength=int(stratum.max()) + 1)
    fractions = _fractions(design, numbers, stratum, sampled)
    lone = (sampled == 1) & (fractions < 1)
    if lone.any():
        _check_lone(design, lone, table, stratum)
    if len(strata) > MOST_CLUSTERS:
        if design.psu:
            raise Mistake(
                f"There are more than {MOST_CLUSTERS:,} sampling units {design.psu!r}.",
                suggestions=["Leave 'psu' out if units were drawn by themselves."],
            )
        psu, strata = _grouped(psu, strata, sampled)
    return psu, {"strata": strata.tolist(), "fractions": fractions.tolist(), "single": str(design.single)}


def _codes(table: pa.Table, name: str) -> Ints:
    """A number for each different value of a column, which every record must have."""
    found = distinct(name, table[name])
    codes = texts(name, found.values)
    again = distinct(name, pa.chunked_array([codes])).places
    places = np.append(again, -1)[found.places]
    absent = int((places < 0).sum())
    if absent:
        raise Mistake(f"{name!r}, which [sampling] names, is missing in {absent} records. Every record needs one.")
    return np.asarray(np.unique(places, return_inverse=True)[1]).ravel()


def _strata_of(stratum: Ints, psu: Ints) -> Ints:
    """The stratum of each sampling unit."""
    strata = np.zeros(int(psu.max()) + 1, np.int64)
    strata[psu] = stratum
    if (strata[psu] != stratum).any():
        raise Mistake("Some units have records in several strata.", suggestions=["Name the 'psu' they were drawn in."])
    return strata


def _fractions(design: SampleDesign, numbers: Callable[[str], Floats], stratum: Ints, sampled: Ints) -> Floats:
    """The fraction of each stratum's sampling units that was drawn; none where the population is as good as infinite."""
    if not design.population:
        return np.zeros(len(sampled))
    given = numbers(design.population)
    size = np.zeros(len(sampled))
    size[stratum] = given
    name = design.population
    if not (given > 0).all():
        raise Mistake(f"The population {name!r} is missing, zero or negative in some records.")
    if (size[stratum] != given).any():
        raise Mistake(f"The population {name!r} is not the same in all records of some stratum.")
    fractions = size if (given <= 1).all() else sampled / size
    if (fractions > 1).any():
        raise Mistake(
            f"The population {name!r} of some stratum is less than the sampling units that were drawn from it."
        )
    return np.asarray(fractions)


def _check_lone(design: SampleDesign, lone: Bools, table: pa.Table, stratum: Ints) -> None:
    """A stratum of one shows no variation; drawn with certainty it has none."""
    if len(lone) == 1:
        raise Mistake("The sample has one sampling unit only, so that errors cannot be known.")
    if design.single is LoneUnits.REFUSE:
        rows = np.unique(stratum, return_index=True)[1][lone]
        codes = [str(code) for code in table[design.strata].take(pa.array(rows[:NAMED])).to_pylist()]
        more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
        raise Mistake(
            f"Some strata of {design.strata!r} have one sampling unit only, which shows no variation: "
            f"{', '.join(codes)}{more}.",
            suggestions=['Join them with others alike, or set single = "centre": they are compared with all units.'],
        )


def _grouped(psu: Ints, strata: Ints, sampled: Ints) -> tuple[Ints, Ints]:
    """Units dealt to random groups, a stratum's share of them but two at least: they are numbered by their secret keys."""
    share = np.clip(np.rint(GROUPS * sampled / sampled.sum()), 2, np.maximum(sampled, 1)).astype(np.int64)
    if share.sum() > MOST_CLUSTERS:
        raise Mistake("There are too many strata for random groups.", suggestions=["Join strata, or name a 'psu'."])
    order = np.argsort(strata, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sampled)[:-1]])
    turn = np.empty(len(strata), np.int64)
    turn[order] = np.arange(len(strata)) - np.repeat(starts, sampled)
    first = np.concatenate([[0], np.cumsum(share)[:-1]])
    group = first[strata] + turn % share[strata]
    return group[psu], np.repeat(np.arange(len(share)), share)


def _replicated(design: SampleDesign, weight: Floats, numbers: Callable[[str], Floats]) -> tuple[Ints, dict[str, Any]]:
    """The records by how their weight changes from replicate to replicate."""
    factors = np.zeros((len(weight), len(design.replicates)), "<f4")
    for place, name in enumerate(design.replicates):
        replicate = numbers(name)
        if not np.isfinite(replicate).all():
            raise Mistake(f"The replicate weight {name!r} is missing in some records. Every record needs one.")
        if (replicate[weight == 0] != 0).any():
            raise Mistake(f"The replicate weight {name!r} is not 0 in some records whose weight is.")
        # A replicate weight has as many digits as it was written with: finer ones would part records that are alike.
        factors[:, place] = np.round(replicate / np.where(weight > 0, weight, 1.0), 4)
    rows = np.ascontiguousarray(factors).view(np.dtype((np.void, factors.itemsize * factors.shape[1]))).ravel()
    _, first, places = np.unique(rows, return_index=True, return_inverse=True)
    if len(first) > MOST_CLUSTERS or len(first) * len(design.replicates) > MOST_FACTORS:
        raise Mistake(
            f"The replicate weights differ in too many ways: {MOST_CLUSTERS:,} records at most, and {MOST_FACTORS:,} numbers.",
            suggestions=["Name strata and sampling units instead."],
        )
    packed = base64.b64encode(zlib.compress(factors[first].tobytes(), 6)).decode()
    facts = {"factors": packed, "replicates": len(design.replicates), "multiplier": design.multiplier}
    return np.asarray(places).ravel(), facts
