"""The gate: what is refused, what is written, and what the manifest says."""

import json
import os
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from confide import ReleaseKey
from confide.cli.main import app
from confide.data import writing
from confide.errors import Fault, Mistake
from confide.microdata import (
    LocalSuppression,
    Manifest,
    Plan,
    RankSwapping,
    ReleaseGate,
    Rounding,
    Sampling,
    Shuffling,
    Synthesis,
)
from confide.microdata.release.reading_back import read_back
from confide.sources.source import read_source

ENDINGS = ["csv", "parquet", "arrow"]


def people(size: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "name": [f"Somebody Number {number}" for number in range(size)],
            "age": rng.integers(18, 90, size),
            "town": pd.Categorical(rng.choice(["Aa", "Bb", "Cc"], size), categories=["Zz", "Cc", "Bb", "Aa"]),
            "income": rng.lognormal(8, 1, size).round(2),
            "height": rng.normal(170, 10, size),
        }
    )


@pytest.fixture
def key(tmp_path: Path) -> ReleaseKey:
    (tmp_path / "private").mkdir()
    return ReleaseKey.kept(tmp_path / "private" / "k")


def swapped(frame: Any, key: ReleaseKey) -> Any:
    return RankSwapping(p=20).protect(frame, columns=["income", "height"], key=key)


def through(frame: pd.DataFrame, key: ReleaseKey, **about: Any) -> ReleaseGate:
    return ReleaseGate(frame, key=key, **{"identifiers": ["name"], **about})


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_same_key_repeats_a_release_byte_by_byte_and_another_does_not(
    tmp_path: Path, key: ReleaseKey, ending: str, kind: str
) -> None:
    table = pa.Table.from_pandas(people(), preserve_index=False)
    frame = {"pandas": people, "polars": lambda: pl.from_arrow(table), "pyarrow": lambda: table}[kind]()
    files = [tmp_path / f"{number}.{ending}" for number in range(3)]
    for file, drawn in zip(files, (key, key, ReleaseKey.kept(tmp_path / "private" / "other")), strict=True):
        [manifest] = through(frame, drawn).write(swapped(frame, drawn), file)
        assert manifest.for_release and manifest == Manifest.read(file)
    one, two, three = (file.read_bytes() for file in files)
    assert one == two != three


def test_what_goes_out_has_the_values_of_the_masked_file_in_another_order(tmp_path: Path, key: ReleaseKey) -> None:
    masked = swapped(people(), key)
    through(people(), key).write(masked, tmp_path / "public.parquet")
    after = pq.read_table(tmp_path / "public.parquet").to_pandas()
    before = masked.frame.drop(columns="name")
    assert list(after) == list(before) and not after["age"].equals(before["age"])
    order = ["age", "income", "height"]
    pd.testing.assert_frame_equal(
        after.sort_values(order, ignore_index=True).astype({"town": str}),
        before.sort_values(order, ignore_index=True).astype({"town": str}),
    )
    assert list(after["town"].cat.categories) == ["Aa", "Bb", "Cc"]


def test_ordered_categories_keep_their_order_and_lose_those_that_nobody_has(tmp_path: Path, key: ReleaseKey) -> None:
    levels = pd.Categorical(["low", "high"] * 10, categories=["none", "low", "mid", "high"], ordered=True)
    ReleaseGate(pd.DataFrame({"level": levels}), key=key).write(pd.DataFrame({"level": levels}), tmp_path / "out.arrow")
    after = pa.feather.read_table(tmp_path / "out.arrow")["level"]
    assert after.type.ordered and after.chunk(0).dictionary.to_pylist() == ["low", "high"]


def test_nothing_is_beneath_missing_values_and_nan_is_missing(tmp_path: Path, key: ReleaseKey) -> None:
    """An Arrow array may hide what it does not show: the true number stands in its buffer, and is marked as missing."""
    pay, gone = np.array([1.5, 77.25, np.nan, 4.0] * 3), np.array([False, True, False, False] * 3)
    masked = pa.table({"pay": pa.array(pay, mask=gone), "n": pa.array(np.arange(12) // 3, mask=gone)})
    true = np.float64(77.25).tobytes()
    assert true in masked["pay"].chunk(0).buffers()[1].to_pybytes()
    ReleaseGate(masked, key=key).write(masked, tmp_path / "out.arrow")
    assert true not in (tmp_path / "out.arrow").read_bytes()
    after = pa.feather.read_table(tmp_path / "out.arrow")["pay"]
    assert after.null_count == 6 and sorted(after.drop_null().to_pylist()) == [1.5] * 3 + [4.0] * 3


def test_decimals_are_those_of_the_data_and_zero_has_no_sign(tmp_path: Path, key: ReleaseKey) -> None:
    before = pa.table({"cents": [1.25, 3.0, 9.99], "whole": [1.0, 2.0, 3.0], "measured": [np.pi, np.e, 2**0.5]})
    masked = pa.table({name: [-0.001234567, 2.3456789, 7.654321] for name in before.column_names})
    ReleaseGate(before, key=key).write(masked, tmp_path / "out.csv")
    after = read_source(tmp_path / "out.csv").table
    assert sorted(after["cents"].to_pylist()) == ["0", "2.35", "7.65"]
    assert sorted(after["whole"].to_pylist()) == ["0", "2", "8"]
    assert sorted(after["measured"].to_pylist())[0] == "-0.001234567"


def test_versions_have_orders_and_manifests_of_their_own(tmp_path: Path, key: ReleaseKey) -> None:
    drawn = Synthesis(given=("age",), versions=2).protect(people(), columns=["income"], key=key)
    manifests = through(people(), key, keep=["height"]).write(drawn, tmp_path / "public.csv")
    assert [manifest.file for manifest in manifests] == ["public-1.csv", "public-2.csv"]
    one, two = (read_source(tmp_path / manifest.file).table["age"].to_pylist() for manifest in manifests)
    assert one != two and sorted(one) == sorted(two)


def test_the_manifest_tells_what_was_done_and_neither_the_key_nor_what_is_gone(tmp_path: Path, key: ReleaseKey) -> None:
    plan = Plan.parse(
        '[[step]]\nmethod = "global-recoding"\ncolumns = ["town"]\ncodes = { town = { Aa = "other", Bb = "other" } }\n'
        '[[step]]\nmethod = "rank-swapping"\ncolumns = ["income"]\np = 20\n'
    )
    [manifest] = through(people(), key).write(plan.protect(people(), key=key), tmp_path / "public.csv")
    text = (tmp_path / "public.csv.manifest.json").read_text()
    assert [step["method"] for step in json.loads(text)["steps"]] == ["global-recoding", "rank-swapping"]
    assert json.loads(text)["steps"][1]["parameters"] == {"p": 20}
    for secret in (key.value.hex(), "name", "Aa", "Somebody"):
        assert f'"{secret}' not in text
    assert manifest.key == key.name and manifest.records == 200
    manifest.check(tmp_path / "public.csv")


def test_a_manifest_that_does_not_match_is_a_mistake(tmp_path: Path, key: ReleaseKey) -> None:
    file = tmp_path / "public.csv"
    through(people(), key).write(swapped(people(), key), file)
    with file.open("a") as opened:
        opened.write("1,Aa,2,3\n")
    with pytest.raises(Mistake, match="not the file that its manifest describes.*same key"):
        Manifest.read(file).check(file)
    file.unlink()
    with pytest.raises(Mistake, match="There is no file"):
        Manifest.read(file).check(file)
    (tmp_path / "public.csv.manifest.json").write_text('{"file": 3}')
    with pytest.raises(Mistake, match="cannot be read"):
        Manifest.read(file)
    (tmp_path / "public.csv.manifest.json").unlink()
    file.touch()
    with pytest.raises(Mistake, match="has no manifest"):
        Manifest.read(file)


def test_an_existing_file_stays_unless_it_is_repeated_from_its_own_key(tmp_path: Path, key: ReleaseKey) -> None:
    file = tmp_path / "public.csv"
    through(people(), key).write(swapped(people(), key), file)
    before = file.read_bytes()
    with pytest.raises(Mistake, match="is there already.*replace"):
        through(people(), key).write(swapped(people(), key), file)
    other = ReleaseKey.kept(tmp_path / "private" / "other")
    with pytest.raises(Mistake, match="drawn from another key"):
        through(people(), other).write(swapped(people(), other), file, replace=True)
    assert file.read_bytes() == before
    through(people(), key).write(swapped(people(), key), file, replace=True)
    assert file.read_bytes() == before


@pytest.mark.parametrize("wrong", [KeyboardInterrupt, OSError("full")])
def test_an_interrupted_release_leaves_what_was_there(
    tmp_path: Path, key: ReleaseKey, monkeypatch: pytest.MonkeyPatch, wrong: Any
) -> None:
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    through(people(), key).write(swapped(people(), key), old)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    def half(frame: pa.Table, path: Path) -> None:
        path.write_bytes(b"age,town\n1,")
        raise wrong

    monkeypatch.setitem(writing.FRAMES, ".csv", half)
    for file in (old, new):
        with pytest.raises((KeyboardInterrupt, Mistake)):
            through(people(), key).write(swapped(people(), key), file, replace=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_what_is_drawn_from_a_teaching_seed_is_marked_and_refused_without_the_word(
    tmp_path: Path, key: ReleaseKey
) -> None:
    masked = RankSwapping().protect(people(), columns=["income"], teaching_seed=1)
    assert "not for release" in repr(masked)
    with pytest.raises(Mistake, match="not for release.*teaching seed"):
        through(people(), key).write(masked, tmp_path / "public.csv")
    [manifest] = through(people(), ReleaseKey.taught(1)).write(masked, tmp_path / "public.csv")
    assert not manifest.for_release and "teaching seed" in manifest.notes[0]
    with pytest.raises(Mistake, match="not for release.*teaching seed"):
        manifest.check(tmp_path / "public.csv")
    plain = Rounding(base=10).protect(people(), columns=["income"], teaching_seed=1)
    assert through(people(), key).write(plain, tmp_path / "plain.csv")[0].for_release


def test_a_column_of_its_own_for_everybody_is_taken_for_an_identifier(tmp_path: Path, key: ReleaseKey) -> None:
    masked = swapped(people(), key)
    with pytest.raises(Mistake, match="'name' has a value of its own for every record.*keep=..name"):
        ReleaseGate(people(), key=key).write(masked, tmp_path / "public.csv")
    with pytest.raises(Mistake, match="No column called 'nmae'. Did you mean 'name'"):
        ReleaseGate(people(), key=key, identifiers=["nmae"]).write(masked, tmp_path / "public.csv")
    ReleaseGate(people(), key=key, keep=["name"]).write(masked, tmp_path / "public.csv")
    assert "name" in read_source(tmp_path / "public.csv").table.column_names


@pytest.mark.parametrize(
    ("method", "about", "unmasked"),
    [
        (RankSwapping(), {"by": "area"}, 3),
        (Shuffling(), {"by": "area"}, 3),
        (RankSwapping(), {}, 0),
        (Rounding(), {"by": "area"}, 0),
        (Sampling(share=0.9), {"by": "area"}, 0),
    ],
)
def test_what_stays_as_it_is_alone_or_in_twos_is_counted(method: Any, about: Any, unmasked: int) -> None:
    frame = pa.table({"x": np.arange(10.0) ** 2, "area": list("aaaaaaabbc")})
    columns = ["x"] if method.takes else []
    released = method.protect(frame, columns=columns, **about, teaching_seed=1)
    assert released.steps[0].unmasked == unmasked == released.report.get("unmasked", 0)


def test_one_known_value_among_missing_ones_is_counted_too() -> None:
    frame = pa.table({"x": pa.array([1.0, None, float("nan"), None])})
    assert RankSwapping().protect(frame, columns="x", teaching_seed=1).steps[0].unmasked == 1


# ---- reading back


def written(table: pa.Table, tmp_path: Path, ending: str) -> Path:
    writing.FRAMES[f".{ending}"](table, tmp_path / f"file.{ending}")
    return tmp_path / f"file.{ending}"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_text_that_is_gone_and_stands_in_the_bytes_is_found(tmp_path: Path, ending: str) -> None:
    table = pa.table({"a": ["x", "Somebody Number 7"], "b": [1, 2]})
    file, gone = written(table, tmp_path, ending), pa.array(["Somebody Number 7"])
    with pytest.raises(Fault, match="'a' still lists what was taken out"):
        read_back(file, f".{ending}", table, {"a": gone})
    read_back(file, f".{ending}", table, {"a": pa.array(["Somebody Number 9"])})
    read_back(file, f".{ending}", table, {"dropped": gone})  # stands there as a value of another column


def test_what_is_written_into_a_file_beside_its_values_is_found(tmp_path: Path) -> None:
    table = pa.table({"b": [1, 2]})
    file = written(table.replace_schema_metadata({"made of": "Somebody Number 7"}), tmp_path, "parquet")
    with pytest.raises(Fault, match="it has metadata"):
        read_back(file, ".parquet", table, {})


@pytest.mark.parametrize(("ending", "place"), [("arrow", b"\xff\xff\xff\xff\0\0\0\0"), ("parquet", b"parquet-cpp")])
@pytest.mark.parametrize("word", ["king", "könig", "国王", "Somebody Number 7"])
def test_a_text_of_any_alphabet_beside_the_columns_is_found(
    tmp_path: Path, word: str, ending: str, place: bytes
) -> None:
    table = pa.table({"b": ["x", "y"]})
    file = written(table, tmp_path, ending)
    read_back(file, f".{ending}", table, {"dropped": pa.array([word])})
    raw, text = file.read_bytes(), word.encode()[:8]  # in the place of bytes that no reader needs
    file.write_bytes(raw.replace(place, text.ljust(len(place), b"\0")))
    with pytest.raises(Fault, match="its bytes hold what was taken out"):
        read_back(file, f".{ending}", table, {"dropped": pa.array([text.decode()])})


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
@pytest.mark.parametrize("word", ["k", "king", "国"])
def test_a_text_that_only_a_dictionary_lists_is_found(tmp_path: Path, word: str, ending: str) -> None:
    table = pa.table({"b": pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["x", word]))})
    with pytest.raises(Fault, match="'b' still lists what was taken out"):
        read_back(written(table, tmp_path, ending), f".{ending}", table, {"b": pa.array([word])})


def test_words_of_the_format_are_not_taken_for_texts_that_are_gone(tmp_path: Path) -> None:
    table = pa.table({"b": ["x", "y"], "parquet": [1, 2]})
    gone = {"dropped": pa.array(["parquet", "arrow", "version", "schema", "ARROW"])}
    for ending in ENDINGS:
        read_back(written(table, tmp_path, ending), f".{ending}", table, gone)


def test_text_of_an_arrow_column_that_no_record_has_is_found_and_long_columns_are_not_taken_for_it(
    tmp_path: Path,
) -> None:
    ends = pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes())
    for text, found in ((b"xy\0\0", False), (b"xyking", True)):
        column = pa.StringArray.from_buffers(2, ends, pa.py_buffer(text))
        table = pa.table({"b": pa.DictionaryArray.from_arrays(pa.array([0, 1]), column)})
        with pytest.raises(Fault, match="beside its texts") if found else nullcontext():
            read_back(written(table, tmp_path, "arrow"), ".arrow", table, {})
    long = pa.table({"b": pa.array([str(number) for number in range(200_000)])})
    read_back(written(long, tmp_path, "arrow"), ".arrow", long, {})


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_an_honest_release_raises_no_alarm(data: st.DataObject) -> None:
    texts = st.none() | st.text(st.sampled_from('kingü,"\n 国e1'), max_size=9)
    size = data.draw(st.integers(1, 12))
    rows = {name: data.draw(st.lists(texts, min_size=size, max_size=size)) for name in "ab"}
    left = {
        "a": pa.array(rows["a"], pa.string()),
        "b": pa.array(rows["b"], pa.string()).dictionary_encode(),
        "true": pa.array([True] * size),
        "n": pa.array(data.draw(st.lists(st.floats(allow_nan=False), min_size=size, max_size=size))),
    }
    there = {name: set(rows[name]) for name in "ab"}
    lost = data.draw(st.lists(st.text("kingü,国etru", min_size=1, max_size=9)))
    gone = {name: pa.array(sorted(set(lost) - there[name]), pa.string()) for name in "ab"}
    with TemporaryDirectory() as folder:
        for ending in ENDINGS:
            read_back(written(pa.table(left), Path(folder), ending), f".{ending}", pa.table(left), gone)


def test_other_values_than_were_to_be_written_are_found(tmp_path: Path) -> None:
    for ending in ENDINGS:
        file = written(pa.table({"b": [1, 2]}), tmp_path, ending)
        with pytest.raises(Fault, match="'b' has other values"):
            read_back(file, f".{ending}", pa.table({"b": [1, 3]}), {})
        with pytest.raises(Fault, match="other columns or records"):
            read_back(file, f".{ending}", pa.table({"b": [1]}), {})


def test_values_beneath_missing_ones_are_found(tmp_path: Path) -> None:
    for values in (np.array([1.0, 2.0]), np.array([3, 4])):
        table = pa.table({"b": pa.array(values, mask=np.array([True, False]))})
        with pytest.raises(Fault, match="beneath its missing values"):
            read_back(written(table, tmp_path, "arrow"), ".arrow", table, {})


def test_a_suppressed_text_is_gone_from_every_format(tmp_path: Path, key: ReleaseKey) -> None:
    jobs = np.array(["the one and only king", *np.resize(["baker", "smith"], 59)])
    original = pd.DataFrame({"job": jobs})
    masked = LocalSuppression(k=2).protect(original, columns=["job"])
    for ending in ENDINGS:
        ReleaseGate(original, key=key).write(masked, tmp_path / f"out.{ending}")
        assert b"only king" not in (tmp_path / f"out.{ending}").read_bytes()


# ---- the command


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    people().to_csv("survey.csv", index=False)

    def command(line: str) -> str:
        result = CliRunner().invoke(app, line.split())
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.output

    return command


MASK = "mask apply rank-swapping --columns income,height survey.csv"


def test_mask_ends_in_the_gate_and_its_key_is_beside_the_data(run: Any) -> None:
    said = run(f"{MASK} public.csv --identifiers name")
    assert "for the custodian only" in said and "public.csv" in said
    assert os.stat("survey.csv.key").st_mode & 0o777 == 0o600
    key = Path("survey.csv.key").read_text().split()[0]
    assert key not in said + Path("public.csv").read_text() + Path("public.csv.manifest.json").read_text()
    run(f"{MASK} again.csv --identifiers name")
    assert Path("public.csv").read_bytes() == Path("again.csv").read_bytes()
    assert "is what its manifest says" in run("release --verify public.csv")


def test_a_file_kept_as_it_is_is_released_later(run: Any) -> None:
    assert "Not for release" in run(f"{MASK} masked.csv --as-is")
    with pytest.raises(Mistake, match="not for release.*records in their order"):
        run("release --verify masked.csv")
    run("release masked.csv public.csv --original survey.csv --identifiers name")
    run("release --verify public.csv")
    assert Manifest.read("public.csv").steps[0].method == "rank-swapping"
    run(f"{MASK} taught.csv --as-is --teaching-seed 1")
    with pytest.raises(Mistake, match="teaching seed"):
        run("release taught.csv other.csv --original survey.csv --identifiers name")
    assert "Not for release" in run(
        "release taught.csv other.csv --original survey.csv --identifiers name --teaching-seed 1"
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("release survey.csv", "Say where the released file goes"),
        ("release survey.csv out.csv", "of which it was made"),
        ("release masked.csv survey.csv --original survey.csv", "would replace 'survey.csv'"),
        ("release --verify survey.csv out.csv", "name one file"),
        ("release --verify survey.csv", "has no manifest"),
        ("release --verify none.csv", "no file 'none.csv'"),
        (f"{MASK} survey.csv", "replace the confidential one"),
        (f"{MASK} out.csv --key open.key", "can be read by others. Run: chmod 600 open.key"),
        (f"{MASK} out.csv --key other.key", "other.key belongs to another release.*--key"),
    ],
)
def test_bad_input_is_a_mistake_and_nothing_is_written(run: Any, line: str, says: str) -> None:
    ReleaseKey.kept("open.key")
    Path("open.key").chmod(0o640)
    Path("other.csv").write_text("x\n1\n")
    ReleaseKey.kept("other.key", "other.csv")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    with pytest.raises(Mistake, match=says):
        run(line)
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_a_key_that_is_not_there_is_not_made_for_a_release_over_another(run: Any) -> None:
    run(f"{MASK} public.csv --identifiers name")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    for line in (f"{MASK} public.csv", "release survey.csv public.csv --original survey.csv"):
        with pytest.raises(Mistake, match="drawn from a key, and there is no key mistyped.key. Give its key"):
            run(f"{line} --identifiers name --replace --key mistyped.key")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    run(f"{MASK} public.csv --identifiers name --replace")


def test_roles_of_a_plan_name_identifiers(run: Any) -> None:
    Path("plan.toml").write_text(
        '[roles]\nidentifier = ["name"]\n[[step]]\nmethod = "rank-swapping"\ncolumns = ["income", "height"]\n'
    )
    run("mask plan.toml survey.csv public.csv")
    assert Path("public.csv").read_text().startswith("age,town,income,height\n")
