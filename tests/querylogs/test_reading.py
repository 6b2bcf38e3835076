"""Reading logs: formats, presets, and what is broken."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide import Mistake
from confide.querylogs import PRESETS, LogColumns, QueryLog, read_log

CSV = 'user,query\nann,"tea, green"\nbob,\nann,Tea  Pot\n'
JSON = '{"user": "ann", "query": "tea, green"}\n{"user": "bob"}\n\n{"user": "ann", "query": "tea pot"}\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.csv", CSV),
        ("log.tsv", "user\tquery\nann\ttea, green\nbob\t\nann\ttea pot\n"),
        ("log.jsonl", JSON),
        ("log.csv.gz", CSV),
    ],
)
def test_a_log_is_the_same_in_every_format(name, text, tmp_path):
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    log = read_log(tmp_path / name).log
    assert log.texts.to_pylist() == ["tea, green", "tea pot"] and log.names.to_pylist() == ["ann"]
    assert (log.empty, log.left) == (1, 1)


def test_a_parquet_file_is_a_log(tmp_path):
    pq.write_table(pa.table({"who": [7, 8, None], "what": ["a", "b", "c"]}), tmp_path / "log.parquet")
    read = read_log(tmp_path / "log.parquet", LogColumns(user="who", query="what"), skip_bad=True)
    assert read.log.names.to_pylist() == ["7", "8"] and read.bad == 1


def test_the_aol_log_is_read_with_its_quotes_days_and_clicked_sites(tmp_path):
    (tmp_path / "aol.txt").write_text(
        "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
        '142\t"rent a car\t2006-03-01 07:17:12\t1\thttp://www.Cars.example/a?b\n'
        "142\tweather\t2006-03-02 08:00:00\t\t\n"
    )
    log = read_log(tmp_path / "aol.txt", PRESETS["aol"]).log
    assert log.texts.to_pylist() == ['"rent a car', "weather"] and log.days.to_pylist() == ["2006-03-01", "2006-03-02"]
    assert log.clicks.to_pylist() == ["www.cars.example", ""]


def test_the_queries_of_user_behavior_insights_are_read(tmp_path):
    (tmp_path / "ubi.jsonl").write_text(
        '{"client_id": "c1", "user_query": "Lamp", "timestamp": "2025-02-03T04:05:06Z", "query_attributes": {"a": 1}}\n'
        '{"client_id": "c2", "user_query": "lamp", "timestamp": 1738555506000}\n'
    )
    log = read_log(tmp_path / "ubi.jsonl", PRESETS["ubi"]).log
    assert log.texts.to_pylist() == ["lamp"] and log.days.to_pylist() == ["2025-02-03"] * 2


@pytest.mark.parametrize(
    ("name", "columns", "line"),
    [
        ("log.csv", LogColumns(), b"eve,secret,word\n"),
        ("log.csv", LogColumns(), b'eve,"secret\n'),
        ("log.csv", LogColumns(), b"eve,secret \xff\n"),
        ("log.csv", LogColumns(), b",secret\n"),
        ("log.csv", LogColumns(), b"eve,sec\0ret\n"),
        ("log.jsonl", LogColumns(), b'{"user": "eve", "query": "secret"\n'),
        ("log.jsonl", LogColumns(), b'["eve", "secret"]\n'),
        ("log.jsonl", LogColumns(), b'{"user": "eve", "query": {"secret": 1}}\n'),
        ("log.jsonl", LogColumns(), b'{"query": "secret"}\n'),
        ("log.jsonl", LogColumns(time="time"), b'{"user": "eve", "query": "secret", "time": "soon"}\n'),
    ],
)
def test_broken_lines_are_counted_and_refused_and_never_quoted(name, columns, line, tmp_path):
    (tmp_path / name).write_bytes((JSON if "json" in name else CSV).encode() + line)
    with pytest.raises(Mistake, match="1 of 4 lines of log.* are broken") as caught:
        read_log(tmp_path / name, columns)
    assert "secret" not in str(caught.value) and "eve" not in str(caught.value)
    read = read_log(tmp_path / name, columns, skip_bad=True)
    assert read.bad == 1 and read.log.names.to_pylist() == ["ann"]


def test_another_encoding_is_read_when_it_is_named(tmp_path):
    for encoding in ("latin-1", "utf-16"):
        (tmp_path / "log.csv").write_bytes("user,query\nann,café\n".encode(encoding))
        with pytest.raises(Mistake):
            read_log(tmp_path / "log.csv")
        assert read_log(tmp_path / "log.csv", encoding=encoding).log.texts.to_pylist() == ["café"]


@pytest.mark.parametrize(
    ("content", "options", "complaint"),
    [
        (b"", {}, "empty"),
        (b"user,query\n", {}, "no lines"),
        (b"usr,query\na,b\n", {}, "no column 'user'. Did you mean 'usr'"),
        (b"user,query\na,b\n", {"encoding": "klingon"}, "no encoding 'klingon'"),
        (b"user,query\na,b\n", {"encoding": "hex"}, "no encoding 'hex'"),
    ],
)
def test_a_file_that_is_no_log_is_a_mistake(content, options, complaint, tmp_path):
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises(Mistake, match=complaint):
        read_log(tmp_path / "log.csv", **options)


def test_a_file_that_is_not_there_or_not_whole_is_a_mistake(tmp_path):
    with pytest.raises(Mistake, match="There is no file"):
        read_log(tmp_path / "nothing.csv")
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(CSV.encode() * 99)[:-20])
    with pytest.raises(Mistake, match="cannot be read to its end"):
        read_log(tmp_path / "log.csv.gz")


def test_a_log_without_a_single_query_is_a_mistake():
    with pytest.raises(Mistake, match="asks nothing"):
        QueryLog.of(["a", "b"], ["", None])
