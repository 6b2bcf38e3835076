"""L11: what the bytes of a file betray. Each trace is found where it was left, and not where it was removed."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.cli.attack_files import read_bytes
from confide.microdata import RankSwapping


def test_suppressed_categories_are_read_from_a_categorical_and_from_parquet(people_of, tried, tmp_path):
    original = people_of(300)
    released = original.assign(town=original["town"].astype("category"))
    released["town"] = released["town"].where(~released["town"].isin(["t3", "t7"]))
    found = tried("leftover-categories", original, released, keys="age")
    assert (found.targets, found.claimed, found.right) == (2, 2, 2)
    pq.write_table(pa.Table.from_pandas(released), tmp_path / "public.parquet")
    assert tried("leftover-categories", original, read_bytes(tmp_path / "public.parquet"), keys="age").right == 2
    clean = released.assign(town=released["town"].cat.remove_unused_categories())
    assert tried("leftover-categories", original, clean, keys="age").claimed == 0
    plain = tried("leftover-categories", original, released.astype({"town": str}), keys="age")
    assert not plain.applies


def test_a_parquet_dictionary_without_a_schema_still_lists_what_was_suppressed(people_of, tried, tmp_path):
    original = pa.Table.from_pandas(people_of(300), preserve_index=False)
    towns = original["town"].combine_chunks().dictionary_encode()
    gone = np.array([town == "t3" for town in original["town"].to_pylist()])
    masked = pa.DictionaryArray.from_arrays(pa.array(towns.indices.to_numpy(), mask=gone), towns.dictionary)
    released = original.set_column(original.column_names.index("town"), "town", masked)
    pq.write_table(released, tmp_path / "public.parquet", store_schema=False)
    found = tried("leftover-categories", original, read_bytes(tmp_path / "public.parquet"), keys="age")
    assert (found.claimed, found.right) == (1, 1)


def test_columns_that_were_left_out_are_named_in_the_metadata(people_of, tried):
    original = people_of(100)
    written = pa.Table.from_pandas(original, preserve_index=False)
    released = written.drop_columns(["ill"]).replace_schema_metadata({**written.schema.metadata, b"seed": b"7"})
    found = tried("metadata", original, released, keys="age")
    assert (found.targets, found.right) == (1, 1) and found.notes == ("The file has metadata: seed.",)
    clean = tried("metadata", original, released.replace_schema_metadata(None), keys="age")
    assert not clean.applies
    broken = released.replace_schema_metadata({b"pandas": b"not json"})
    assert tried("metadata", original, broken, keys="age").claimed == 0


def test_the_order_of_rows_links_everybody_however_much_was_changed(firms_of, tried):
    original = firms_of(800, 2)
    released = RankSwapping(p=60).protect(original, columns=["v0", "v1"], teaching_seed=3).frame
    found = tried("row-order", original, released, keys=["v0", "v1"])
    assert (found.claimed, found.right) == (800, 800)
    order = np.random.default_rng(1).permutation(800)
    named = original.assign(id=np.arange(800))
    moved = released.assign(id=np.arange(800)).iloc[order].reset_index(drop=True)
    assert tried("row-order", named, moved, keys=["v0", "v1"], identifier="id").claimed == 0


def test_an_index_that_was_kept_says_where_records_stood(people_of, tried):
    original = people_of(400).assign(id=np.arange(400))
    sample = original.iloc[np.random.default_rng(1).permutation(400)[:100]]
    about = {"keys": "age", "identifier": "id"}
    found = tried("kept-index", original, sample, **about)
    assert (found.targets, found.right) == (100, 100)
    slice_ = tried("kept-index", original, pa.Table.from_pandas(original.iloc[100:300]), **about)
    assert (slice_.targets, slice_.right) == (200, 200)
    assert not tried("kept-index", original, sample.reset_index(drop=True), **about).applies


def test_decimals_tell_which_numbers_were_left_alone(people_of, tried):
    original = people_of(300)
    rich = original["income"] > 2000
    noisy = original["income"] * np.exp(np.random.default_rng(1).normal(0, 0.1, 300))
    released = original.assign(income=np.where(rich, noisy, original["income"]))
    found = tried("decimals", original, released, keys="age", confidential="income")
    assert found.claimed == found.right == int((~rich).sum()) and found.guess == pytest.approx(float((~rich).mean()))
    rounded = released.assign(income=released["income"].round(2))
    assert tried("decimals", original, rounded, keys="age", confidential="income").claimed in (0, 300)


def test_a_record_alone_in_its_stratum_is_not_swapped(people_of, tried):
    original = people_of(300).assign(town=lambda f: f["town"] + f["age"].astype(str))
    method = RankSwapping(p=50)
    released = method.protect(original, columns="income", by="town", teaching_seed=3).frame
    about = {"keys": "age", "confidential": "income", "method": method}
    found = tried("lone-strata", original, released, by="town", **about)
    alone = int((original["town"].value_counts() == 1).sum())
    assert found.claimed == found.right == alone > 100
    coarse = method.protect(original, columns="income", by="sex", teaching_seed=3).frame
    assert tried("lone-strata", original, coarse, by="sex", **about).claimed == 0
    assert not tried("lone-strata", original, coarse, **about).applies
