"""The key of a release: made once, for its owner's eyes, and what is drawn for one purpose tells nothing of another."""

import os
from pathlib import Path

import numpy as np
import pytest

from confide import ReleaseKey
from confide.data.release_key import chosen_key
from confide.errors import Mistake


def test_a_key_is_made_on_first_use_with_128_bits_for_its_owner_only(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        key = ReleaseKey.kept(tmp_path / "k")
    finally:
        os.umask(old)
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600
    assert len(key.value) == 16 and not key.teaching
    assert ReleaseKey.kept(tmp_path / "k") == key != ReleaseKey.kept(tmp_path / "other")


def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    ReleaseKey.kept(tmp_path / "k")
    (tmp_path / "k").chmod(0o644)
    with pytest.raises(Mistake, match=f"can be read by others. Run: chmod 600 {tmp_path / 'k'}"):
        ReleaseKey.kept(tmp_path / "k")


@pytest.mark.parametrize(("text", "says"), [("", "too short"), ("abcd", "too short"), ("xyz", "not hexadecimal")])
def test_a_key_that_is_none_is_not_used_and_not_quoted(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "k").touch(0o600)
    (tmp_path / "k").write_text(text)
    with pytest.raises(Mistake, match=says):
        ReleaseKey.kept(tmp_path / "k")
    assert (tmp_path / "k").read_text() == text


def test_the_key_of_other_data_is_a_mistake_and_stays(tmp_path: Path) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("x\n1\n")
    other.write_text("x\n2\n")
    key = ReleaseKey.kept(tmp_path / "k", one)
    assert ReleaseKey.kept(tmp_path / "k", one) == key == ReleaseKey.kept(tmp_path / "k")
    with pytest.raises(Mistake, match="another release: it was made for other data.*key="):
        ReleaseKey.kept(tmp_path / "k", other)
    assert ReleaseKey.kept(tmp_path / "k", one) == key


def test_a_key_is_never_shown() -> None:
    key = ReleaseKey(b"\xab" * 16)
    for text in (repr(key), str(key), key.name, str(key.number("x"))):
        assert "abab" not in text and "xab" not in text


def test_purposes_have_streams_of_their_own() -> None:
    key = ReleaseKey(bytes(16))
    streams = [key.generator(*words).random(4).tolist() for words in (("a",), ("b",), ("a", "b"), ("ab",), (("a",),))]
    assert len({*map(tuple, streams)}) == 5
    assert key.generator("a").random() == ReleaseKey(bytes(16)).generator("a").random()
    assert key.generator("a").random() != ReleaseKey(b"1" * 16).generator("a").random()


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_teaching_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(Mistake, match="whole number from 0"):
        ReleaseKey.taught(seed)  # type: ignore[arg-type]


def test_what_is_under_a_teaching_seed_is_marked_too() -> None:
    taught = ReleaseKey.taught(10**200)
    assert taught.teaching and taught.under("x").teaching
    assert ReleaseKey.taught(7) == ReleaseKey.taught(np.int64(7))
    assert ReleaseKey.taught(1).number("x") != ReleaseKey.taught(2).number("x")


def test_there_is_a_key_or_a_teaching_seed_and_never_a_default() -> None:
    with pytest.raises(Mistake, match="Rounding draws at random, from a secret key.*ReleaseKey.kept"):
        chosen_key("Rounding", None, None)
    with pytest.raises(Mistake, match="not both"):
        chosen_key("Rounding", ReleaseKey.taught(1), 1)
    with pytest.raises(Mistake, match="must be a ReleaseKey, not int"):
        chosen_key("Rounding", 1, None)  # type: ignore[arg-type]
