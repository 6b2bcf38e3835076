"""Query logs: what groups keep, what intruders find, and how long it takes.

    python benchmarks/querylogs.py [--data ../shared/data] [--quick]

Excite's log of 1997 and the topics of the IAB, neither part of the project. The large logs are Excite's resampled: a user's
lines are those of users of Excite, one after the other, drawn at random until there are enough. Seconds are of the processor,
without reading and writing and after compiling; memory is the largest of the whole process, the log itself included.
"""

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from confide import ReleaseKey
from confide.attacks.query_logs import link_users, planted_users, weaknesses
from confide.querylogs import (
    Classification,
    Classifier,
    ClusteredLog,
    LogColumns,
    LogMicroaggregation,
    QueryLog,
    Taxonomy,
    WordNet,
    classify,
    log_utility,
    random_clusters,
    read_log,
    with_hyponyms,
)
from confide.querylogs.similarity import likeness

KEYS = [ReleaseKey.taught(seed) for seed in range(5)]


def resampled(log: QueryLog, users: int, lines: int) -> QueryLog:
    """So many users with so many lines in all, each of whom asks what several users of the log did."""
    random = np.random.default_rng(1)
    order = np.argsort(log.users, kind="stable")
    ends = np.linspace(0, lines, users + 1).astype(int)
    starts = np.cumsum(log.lines) - log.lines
    queries, place = np.empty(lines, np.int64), 0
    while place < lines:
        user = random.integers(len(log.lines))
        room = ends[np.searchsorted(ends, place, side="right")] - place
        some = log.queries[order[starts[user] : starts[user] + min(log.lines[user], room)]]
        queries[place : place + len(some)] = some
        place += len(some)
    names = pa.array([str(number) for number in range(users)])
    return QueryLog(users=np.repeat(np.arange(users), np.diff(ends)), queries=queries, names=names, texts=log.texts)


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def kept(found: Classification, method: Callable[[ReleaseKey], ClusteredLog]) -> str:
    """Topics by level, and terms, means over keys."""
    each = [log_utility(found, method(key)) for key in KEYS]
    topics = np.mean([one.srp for one in each], axis=0)
    return " ".join(f"{share:.3f}" for share in topics) + f"  terms {np.mean([one.terms for one in each]):.3f}"


def table(found: Classification, title: str, similarity: str = "minima") -> None:
    print(f"{title}: reached by level {' '.join(f'{share:.3f}' for share in found.shares)}; "
          f"{(~found.classified).sum()} of {len(found.log.names)} users without topics")  # fmt: skip
    for k in (2, 3, 4, 5):
        method = LogMicroaggregation(k=k, similarity=similarity)
        grouped = kept(found, lambda key, method=method: method.protect(found, key=key))
        print(
            f"  k={k}  {grouped}   random {kept(found, lambda key, k=k: random_clusters(found.log, k, key))}",
            flush=True,
        )


def attacks(found: Classification, targets: int) -> None:
    for k in (2, 3, 5):
        method = LogMicroaggregation(k=k)
        clustered = method.protect(found, key=KEYS[0])
        links = [link_users(found, clustered, np.random.default_rng(1), known=known) for known in (1, 2, 3)]
        weak, drawn = weaknesses(found, clustered), weaknesses(found, random_clusters(found.log, k, KEYS[0]))
        print(f"  k={k}  found {' '.join(f'{link.found:.2f}' for link in links)}"
              f"  new names alone {' '.join(f'{link.pseudonyms:.2f}' for link in links)}"
              f"  theirs {' '.join(f'{link.theirs:.2f}' for link in links)}  dominated {weak.dominated:.2f}"
              f"  one topic {weak.one_topic:.2f} (random {drawn.one_topic:.2f})  planted, asking once "
              f"{planted_users(found, method, KEYS[0], targets=targets):.2f}, five times "
              f"{planted_users(found, method, KEYS[0], targets=targets, often=5):.2f}", flush=True)  # fmt: skip


def shared_within(found: Classification, cluster: np.ndarray) -> float:
    about, terms = found.of_users(np.arange(len(cluster)))
    like = likeness(about, terms, found.log.lines)
    same = (cluster[:, None] == cluster[None, :]) & ~np.eye(len(cluster), dtype=bool)
    return float(like[same].sum())


def speed(log: QueryLog, classifier: Classifier, *, quick: bool) -> None:
    small = resampled(log, 1000, 55_666)

    def all_sizes() -> None:
        found = classify(small, classifier)
        for k in (2, 3, 4, 5):
            LogMicroaggregation(k=k).protect(found, key=KEYS[0])

    all_sizes()
    print(f"1,000 users, 55,666 lines, k=2..5 with topics: {seconds(all_sizes):.2f} s")
    found = classify(small, classifier)
    whole = shared_within(found, LogMicroaggregation(k=3).protect(found, key=KEYS[0]).cluster)
    for block in (250, 100):
        cut = LogMicroaggregation(k=3, block=block).protect(found, key=KEYS[0])
        print(f"  {cut.blocks} blocks: {1 - shared_within(found, cut.cluster) / whole:.1%} of likeness in clusters lost; "
              f"estimated, of the most alike user, {cut.lost:.1%}")  # fmt: skip
    users, lines = (10_000, 500_000) if quick else (100_000, 5_000_000)
    large = resampled(log, users, lines)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    done: list[ClusteredLog] = []
    taken = seconds(lambda: done.append(LogMicroaggregation(k=3).protect(classify(large, classifier), key=KEYS[0])))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{users:,} users, {lines:,} lines, k=3 with topics: {taken:.1f} s, {most:.2f} GB at most ({before:.2f} before), "
          f"{done[0].blocks} blocks, {done[0].lost:.1%} lost")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--quick", action="store_true", help="fewer targets, and a smaller large log")
    options = parser.parse_args()
    log = read_log(options.data / "excite1997_small.csv.gz", LogColumns(time="datetime")).log
    names, nouns = Taxonomy.read(options.data / "iab_content_taxonomy_3_1.csv.gz"), WordNet.installed()
    topics = with_hyponyms(names, nouns)
    speed(log, topics, quick=options.quick)
    found = classify(log, topics)
    table(found, "IAB with hyponyms, 5 topics a term")
    table(found, "the same by Ruzicka", "ruzicka")
    table(classify(log, topics, best=1), "IAB with hyponyms, 1 topic a term")
    table(classify(log, names), "IAB by names, 5 topics a term")
    table(classify(log, names, best=1), "IAB by names, 1 topic a term")
    table(classify(log, nouns), "WordNet's own topics")
    print("attacks, IAB with hyponyms")
    attacks(found, 20 if options.quick else 100)


if __name__ == "__main__":
    main()
