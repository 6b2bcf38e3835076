"""Each trace that a masked file leaves is found before the gate, and in no format after it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from confide import ReleaseKey
from confide.cli.attack_files import read_bytes
from confide.errors import Mistake
from confide.microdata import AdditiveNoise, LocalSuppression, MultiplicativeNoise, RankSwapping, ReleaseGate, Shuffling

ENDINGS = ["csv", "parquet", "arrow"]


@pytest.fixture
def leave(tmp_path):
    """Writes a masked file through the gate or as it is, and reads all that its bytes carry."""

    def write(original, masked, ending, *, gate=True, **about):
        file = tmp_path / f"{'public' if gate else 'as-is'}.{ending}"
        release = ReleaseGate(original, key=ReleaseKey.taught(1), **about)
        release.write(masked, file) if gate else release.keep_as_is(masked, file)
        return read_bytes(file)

    return write


def with_ids(frame: pd.DataFrame) -> pd.DataFrame:
    """An identifier, kept here alone so that the attack can be scored."""
    return frame.assign(id=np.arange(len(frame)))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("method", [RankSwapping(p=15), Shuffling()], ids=lambda method: method.word())
def test_the_order_of_rows_gives_back_a_sorted_column_before_the_gate_and_nobody_after(
    firms_of, tried, leave, method, ending
):
    original = with_ids(firms_of(600, 2).sort_values("v0", ignore_index=True))
    masked = method.protect(original, columns=["v0", "v1"], teaching_seed=3)
    about = {"keys": ["v0", "v1"], "identifier": "id"}
    before = leave(original, masked, ending, gate=False)
    restored = np.sort(before["v0"].to_numpy()) == original["v0"].to_numpy()
    assert restored.all() and (np.diff(before["id"].to_numpy()) == 1).all()
    if method == RankSwapping(p=15):  # shuffling leaves no key from which the order could be seen to be kept
        assert tried("row-order", original, before, **about).right == 600
    after = leave(original, masked, ending, keep=["id"])
    assert tried("row-order", original, after, **about).claimed == 0
    assert np.mean(after["id"].to_numpy() == np.arange(600)) < 0.02


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_suppressed_categories_stand_in_dictionaries_before_the_gate_and_nowhere_after(
    people_of, tried, leave, tmp_path, ending
):
    jobs = ["king", *np.resize(["baker", "smith"], 299)]
    original = people_of(300).assign(job=pd.Categorical(jobs))
    masked = LocalSuppression(k=2).protect(original, columns=["job"])
    about = {"keys": "age"}
    found = tried("leftover-categories", original, leave(original, masked, ending, gate=False), **about)
    assert (found.claimed, found.right) == (1, 1)
    after = leave(original, masked, ending)
    assert tried("leftover-categories", original, after, **about).claimed == 0
    assert b"king" not in (tmp_path / f"public.{ending}").read_bytes()
    assert after["job"].null_count >= 1


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_names_and_index_in_the_metadata_are_gone_after_the_gate(people_of, tried, leave, ending):
    original = people_of(200).assign(id=np.arange(200))
    sample = pa.Table.from_pandas(original.iloc[50:150].drop(columns="ill"), preserve_index=True)
    sample = sample.replace_schema_metadata(pa.Table.from_pandas(original.iloc[50:150]).schema.metadata)
    about = {"keys": "age", "identifier": "id"}
    assert tried("metadata", original, sample, **about).right == 1
    assert tried("kept-index", original, sample, **about).right == 100
    after = leave(original, sample, ending, keep=["id"])
    assert not tried("metadata", original, after, **about).applies
    assert not tried("kept-index", original, after, **about).applies
    assert not after.schema.metadata and after.column_names == ["age", "sex", "town", "income", "id"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_decimals_tell_which_numbers_are_true_before_the_gate_and_none_after(people_of, tried, leave, ending):
    original = people_of(300).assign(id=np.arange(300))
    noisy = AdditiveNoise(k=0.1).protect(original, columns="income", teaching_seed=3).frame["income"]
    masked = original.assign(income=np.where(original["income"] > 2000, noisy, original["income"]))
    about = {"keys": "age", "confidential": "income", "identifier": "id"}
    assert tried("decimals", original, masked, **about).precision == 1
    after = leave(original, masked, ending, keep=["id"])
    assert not tried("decimals", original, after, **about).applies


def test_strata_of_one_are_refused_and_nothing_is_written(people_of, tried, leave, tmp_path):
    original = people_of(300).assign(town=lambda f: f["town"] + f["age"].astype(str))
    method = RankSwapping(p=50)
    masked = method.protect(original, columns="income", by="town", teaching_seed=3)
    about = {"keys": "age", "confidential": "income", "method": method, "by": "town"}
    assert tried("lone-strata", original, masked.frame, **about).right > 100
    with pytest.raises(Mistake, match="rank-swapping left values as they are.*alone or in twos.*coarser strata"):
        leave(original, masked, "csv")
    assert not list(tmp_path.iterdir())


def test_zones_of_two_that_exact_noise_gives_back_are_refused(leave, tmp_path):
    pay = np.r_[np.random.default_rng(1).lognormal(7, 0.5, 50), 90_000.0, 70_000.0]
    original = pd.DataFrame({"pay": pay})
    method = MultiplicativeNoise(exact=True, zones={"pay": [50_000.0]}, zone_k=[0.1])
    masked = method.protect(original, columns="pay", teaching_seed=3)
    assert sorted(masked.frame["pay"][-2:]) == pytest.approx([70_000.0, 90_000.0])
    assert masked.report["unmasked"] == 2
    with pytest.raises(Mistake, match="left values as they are"):
        leave(original, masked, "csv")
    plain = MultiplicativeNoise(zones={"pay": [50_000.0]}, zone_k=[0.1]).protect(
        original, columns="pay", teaching_seed=3
    )
    assert leave(original, plain, "csv").num_rows == 52
    assert len(list(tmp_path.iterdir())) == 2


def test_a_key_is_found_by_no_list_of_seeds(firms_of, tried, tmp_path: Path):
    original, method = firms_of(500, 3), RankSwapping(p=15)
    about = {"keys": ["v0", "v1"], "confidential": "v2", "method": method}
    guessed = method.protect(original, columns=list(original), teaching_seed=1).frame
    assert tried("guessable-seeds", original, guessed, **about).right > 1400
    drawn = method.protect(original, columns=list(original), key=ReleaseKey.kept(tmp_path / "k")).frame
    assert tried("guessable-seeds", original, drawn, **about).claimed == 0
