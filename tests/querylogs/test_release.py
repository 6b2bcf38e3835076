"""What leaves: pseudonyms, days, masked texts, and the gate."""

import csv
import json

import numpy as np
import pytest

from confide import Mistake, ReleaseKey
from confide.querylogs import LogMicroaggregation, LogRelease, QueryLog, RareQueries, classify, scrubbed

KEY = ReleaseKey(b"0123456789abcdef")


@pytest.mark.parametrize(
    ("query", "masked"),
    [
        ("mail ann.lee@mail.example.org now", "mail [address] now"),
        ("host 10.1.22.3 down", "host [address] down"),
        ("http://example.org/me?x=1", "[url]"),
        ("www.example.co.uk/a b", "[url] b"),
        ("example.com login", "[url] login"),
        ("phone 555-123-4567", "phone [number]"),
        ("ssn 078 05 1120 lost", "ssn [number] lost"),
        ("card 4111111111111111", "card [number]"),
        ("example.se/a and dr.strange", "[url] and dr.strange"),
        ("windows 95 and area 51", "windows 95 and area 51"),
        ("world cup 1998", "world cup 1998"),
    ],
)
def test_what_identifies_by_itself_is_masked(query, masked):
    log, changed = scrubbed(QueryLog.of(["a"], [query]))
    assert log.texts.to_pylist() == [masked] and changed == (query != masked)


def test_queries_that_become_the_same_are_one_query():
    log, changed = scrubbed(QueryLog.of(list("aab"), ["a@b.org", "c@d.org", "tea"]))
    assert changed == 2 and log.texts.to_pylist() == ["[address]", "tea"] and log.asked.times.tolist() == [2, 1]


def test_the_rare_filter_counts_users_and_not_lines():
    log = QueryLog.of(list("aaabb"), ["own", "own", "tea pot", "tea", "pot tea"])
    assert RareQueries("queries").share_kept(log) == 0.0
    with pytest.raises(Mistake, match="nothing would be left"):
        RareQueries("queries").kept(log)
    assert RareQueries("terms").kept(log).texts.to_pylist() == ["tea pot", "tea", "pot tea"]
    with pytest.raises(Mistake, match="not 'users'"):
        RareQueries("users")


def test_one_log_a_cluster_has_its_size_and_fresh_pseudonyms(log, taxonomy):
    clustered = LogMicroaggregation(k=4).protect(classify(log, taxonomy), key=KEY)
    table = LogRelease(log, key=KEY).table(clustered)
    assert table.column_names == ["cluster", "size", "query"] and len(table) == len(clustered.lines)
    assert len(set(table["cluster"].to_pylist())) == len(clustered.sizes)
    assert min(table["size"].to_pylist()) >= 4
    assert not any("person" in name for name in table["cluster"].to_pylist())


def test_copies_give_every_user_the_log_of_their_cluster(log, taxonomy):
    clustered = LogMicroaggregation(k=4).protect(classify(log, taxonomy), key=KEY)
    table = LogRelease(log, key=KEY, copies=True).table(clustered)
    logs: dict[str, list[str]] = {}
    for user, query in zip(table["user"].to_pylist(), table["query"].to_pylist(), strict=True):
        logs.setdefault(user, []).append(query)
    assert len(logs) == 30
    alike = [tuple(sorted(queries)) for queries in logs.values()]
    assert min(alike.count(one) for one in alike) >= 4
    assert len(table) == (np.bincount(clustered.cluster[log.users[clustered.lines]]) * clustered.sizes).sum()


def test_times_leave_as_days_or_not_at_all_and_clicks_only_on_request(taxonomy):
    users = ["a", "b"] * 3
    log = QueryLog.of(users, ["football"] * 6, times=["2026-01-02 03:04:05"] * 6, clicks=["http://x.example/me"] * 6)
    clustered = LogMicroaggregation(k=2).protect(classify(log, taxonomy), key=KEY)
    assert set(LogRelease(log, key=KEY).table(clustered)["day"].to_pylist()) == {"2026-01-02"}
    assert LogRelease(log, key=KEY, days=False).table(clustered).column_names == ["cluster", "size", "query"]
    assert set(LogRelease(log, key=KEY, clicks=True).table(clustered)["click"].to_pylist()) == {"x.example"}


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_the_gate_writes_the_log_and_what_may_be_told_of_it(ending, log, taxonomy, tmp_path):
    clustered = LogMicroaggregation(k=3).protect(classify(log, taxonomy), key=KEY)
    path = tmp_path / f"public.{ending}"
    manifest = LogRelease(log, key=KEY).write(clustered, path, told={"k": 3})
    assert manifest.for_release and manifest.records == len(clustered.lines)
    assert json.loads((tmp_path / f"{path.name}.manifest.json").read_text())["steps"][0]["parameters"] == {"k": 3}
    assert b"person-" not in path.read_bytes()
    with pytest.raises(Mistake, match="there already"):
        LogRelease(log, key=KEY).write(clustered, path, told={"k": 3})


def test_the_order_of_lines_says_nothing_of_the_file(log, taxonomy, tmp_path):
    clustered = LogMicroaggregation(k=3).protect(classify(log, taxonomy), key=KEY)
    LogRelease(log, key=KEY).write(clustered, tmp_path / "public.csv", told={})
    with (tmp_path / "public.csv").open() as file:
        written = [row["cluster"] for row in csv.DictReader(file)]
    assert written != sorted(written) and written != LogRelease(log, key=KEY).table(clustered)["cluster"].to_pylist()


def test_a_log_drawn_from_a_teaching_seed_is_not_for_release(log, taxonomy, tmp_path):
    key = ReleaseKey.taught(1)
    clustered = LogMicroaggregation(k=3).protect(classify(log, taxonomy), key=key)
    assert not LogRelease(log, key=key).write(clustered, tmp_path / "public.csv", told={}).for_release
