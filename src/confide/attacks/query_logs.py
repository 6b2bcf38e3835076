"""Attacks on a query log in clusters (L8): finding a user's cluster by a few queries, and what is learnt there.

The intruder knows the method, the topics and all of the released log, and some queries of a target; neither the key nor the
log before. What is found is scored against the truth, which the custodian has.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array, diags_array

from confide.arrays import Bools, Floats, Ints
from confide.data.release_key import ReleaseKey
from confide.errors import Mistake
from confide.querylogs.classification import Classification
from confide.querylogs.microaggregation import ClusteredLog, LogMicroaggregation

__all__ = ["LogLinkage", "LogWeaknesses", "link_users", "planted_users", "weaknesses"]

PART = 200
"""Targets that are looked for at a time."""


@dataclass(frozen=True, kw_only=True)
class LogLinkage:
    """What an intruder who knows so many queries of a target achieves.

    `found` is the share of targets whose cluster is the intruder's first choice; `pseudonyms` the same if users had only got
    new names; `theirs` the share of the other lines in the target's cluster that the target asked too, of targets who asked
    more than is known.
    """

    known: int
    targets: int
    found: float
    pseudonyms: float
    theirs: float


@dataclass(frozen=True, kw_only=True)
class LogWeaknesses:
    """What clusters give away to whoever finds them, as shares of clusters.

    `dominated` are those of whose lines one member gave more than half; `one_topic`, of those whose members all have topics,
    those in which the main topic of all is the same: who is in one, asks about that.
    """

    dominated: float
    one_topic: float


def link_users(
    topics: Classification, clustered: ClusteredLog, random: np.random.Generator, *, known: int, most: int = 1000
) -> LogLinkage:
    """Look for the clusters of users of whom so many different queries are known, drawn at random from their lines.

    The intruder takes the log that has most of the known queries, rare ones first; then most of their terms; then the most
    similar topics; between equals any.
    """
    log = clustered.log
    able = np.flatnonzero(np.diff(log.counts.indptr) >= known)
    if not len(able):
        raise Mistake(f"No user has {known} different queries.")
    targets = random.permutation(able)[:most]
    knows = _known(log.counts[targets], known, random)
    return LogLinkage(
        known=known,
        targets=len(targets),
        found=_first_choices(topics, knows, clustered.counts, clustered.cluster[targets]),
        pseudonyms=_first_choices(topics, knows, log.counts, targets),
        theirs=_share_of_others(clustered, targets, knows),
    )


def _known(asked: csr_array, known: int, random: np.random.Generator) -> csr_array:
    """So many different queries of each row, drawn by how often they were asked (Efraimidis and Spirakis 2006)."""
    drawn = np.log(random.random(asked.nnz)) / asked.data
    rows = np.repeat(np.arange(asked.shape[0]), np.diff(asked.indptr))
    order = np.lexsort((-drawn, rows))
    chosen = order[np.arange(asked.nnz) - asked.indptr[rows] < known]
    return csr_array((np.ones(len(chosen)), (rows[chosen], asked.indices[chosen])), shape=asked.shape)


def _first_choices(topics: Classification, knows: csr_array, released: csr_array, right: Ints) -> float:
    """The share of rows for which the intruder's first choice is right; one of several equal choices counts as a part."""
    layers = [(knows, released), (knows @ topics.terms, released @ topics.terms)]
    rows = [(_ones(mine), _weighted(theirs)) for mine, theirs in layers]
    rows.append((_unit(knows @ topics.topics), _unit(released @ topics.topics)))
    success = 0.0
    for start in range(0, len(right), PART):
        part = slice(start, start + PART)
        scores = [np.asarray((mine[part] @ theirs.T).todense()) for mine, theirs in rows]
        success += float(_hits(scores, right[part]).sum())
    return success / len(right)


def _hits(scores: list[Floats], right: Ints) -> Floats:
    """The chance that the best by the first score, among these by the second, and so on, is the right one."""
    best = np.ones(scores[0].shape, bool)
    for score in scores:
        kept = np.where(best, score, -np.inf)
        best &= kept >= kept.max(axis=1, keepdims=True) - 1e-9
    return np.asarray(best[np.arange(len(right)), right] / best.sum(axis=1))


def _ones(counts: csr_array) -> csr_array:
    return csr_array((np.ones(counts.nnz), counts.indices, counts.indptr), shape=counts.shape)


def _weighted(counts: csr_array) -> csr_array:
    """Ones where there are counts, times the logarithm of the rarity of the column."""
    ones = _ones(counts)
    often = np.maximum(np.asarray(ones.sum(axis=0)), 1)
    return csr_array(ones @ diags_array(np.log1p(counts.shape[0] / often)))


def _unit(counts: csr_array) -> csr_array:
    length = np.sqrt(np.asarray((counts * counts).sum(axis=1), np.float64))
    return csr_array(diags_array(1 / np.maximum(length, 1e-12)) @ counts)


def _share_of_others(clustered: ClusteredLog, targets: Ints, knows: csr_array) -> float:
    """Of the lines in a target's cluster that are not known, the share that the target asked; mean over who asked more."""
    log = clustered.log
    asked = _ones(log.counts[targets])
    unknown = asked - knows
    more = np.asarray(unknown.sum(axis=1)) > 0
    there = clustered.counts[clustered.cluster[targets]]
    theirs = np.asarray((there * unknown).sum(axis=1))
    others = np.asarray(there.sum(axis=1)) - np.asarray((there * knows).sum(axis=1))
    shares = theirs[more & (others > 0)] / others[more & (others > 0)]
    return float(shares.mean()) if len(shares) else float("nan")


def weaknesses(topics: Classification, clustered: ClusteredLog) -> LogWeaknesses:
    """Look for clusters that one member dominates, and for those whose members all have one main topic."""
    log, number = clustered.log, len(clustered.sizes)
    given = np.bincount(log.users[clustered.lines], minlength=len(log.names))
    total = np.bincount(clustered.cluster, weights=given)
    dominating = 2 * given > total[clustered.cluster]
    main = _main_topic(topics)
    low, high = np.full(number, np.iinfo(np.int64).max), np.full(number, -1)
    np.minimum.at(low, clustered.cluster, main)
    np.maximum.at(high, clustered.cluster, main)
    known = low >= 0
    return LogWeaknesses(
        dominated=len(np.unique(clustered.cluster[dominating])) / number,
        one_topic=float((low == high)[known].mean()) if known.any() else float("nan"),
    )


def _main_topic(topics: Classification) -> Ints:
    """The commonest topic of each user on level 1; -1 of who has none."""
    counts = np.asarray((topics.log.counts @ topics.topics[:, np.flatnonzero(topics.levels == 1)]).todense())
    return np.where(counts.any(axis=1), counts.argmax(axis=1), -1)


def planted_users(
    topics: Classification, method: LogMicroaggregation, key: ReleaseKey, *, targets: int = 50, often: int = 1
) -> float:
    """Give the share of targets whom k-1 planted users isolate, who each ask two queries of the target `often` times.

    Isolated is a target alone with the planted users: the intruder takes away their own lines, and all else is the target's.
    Of a log of several blocks, a sample of the size of one is attacked; a target has fewer users alike in it.
    """
    random = key.generator("query log", "planted")
    if len(topics.log.names) > method.block:
        topics = topics.some(np.sort(random.choice(len(topics.log.names), method.block, replace=False)))
    log = topics.log
    able = random.permutation(np.flatnonzero(np.diff(log.counts.indptr) >= 2))[:targets]
    if not len(able):
        raise Mistake("No user has 2 different queries.")
    knows = _known(log.counts[able], 2, random)
    isolated = [
        _isolated(
            topics, method, key.under("planted", int(target)), target, knows.indices[2 * row : 2 * row + 2], often
        )
        for row, target in enumerate(able)
    ]
    return float(np.mean(isolated))


def _isolated(
    topics: Classification, method: LogMicroaggregation, key: ReleaseKey, target: int, queries: Ints, often: int
) -> bool:
    log, others = topics.log, method.k - 1
    fresh = np.repeat(np.arange(len(log.names), len(log.names) + others), often * len(queries))
    planted = replace(
        log,
        users=np.concatenate([log.users, fresh]),
        queries=np.concatenate([log.queries, np.tile(queries, often * others)]),
        names=pa.concat_arrays([log.names, pa.array([f"planted {one}" for one in range(others)], log.names.type)]),
        days=None,
        clicks=None,
    )
    cluster = method.clusters(replace(topics, log=planted), key=key)
    members: Bools = cluster == cluster[target]
    return bool(members[len(log.names) :].all() and members.sum() == method.k)
