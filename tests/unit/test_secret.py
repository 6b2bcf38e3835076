"""The secret: made once, for its owner's eyes, and a start without a sound one stops."""

import os
from pathlib import Path

import numpy as np
import pytest

from confide.errors import Mistake
from confide.site.draws import Draws
from confide.site.secret import Secret, create_secret, read_secret


def fails(path: Path, words: str) -> None:
    with pytest.raises(Mistake) as mistake:
        read_secret(path)
    assert words in str(mistake.value)


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_new_secret_is_long_and_for_its_owner_only(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        create_secret(tmp_path / "secret")
    finally:
        os.umask(old)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert len(read_secret(tmp_path / "secret").value) == 32


def test_two_secrets_differ_and_one_is_never_overwritten(tmp_path: Path) -> None:
    create_secret(tmp_path / "a")
    create_secret(tmp_path / "b")
    before = read_secret(tmp_path / "a")
    assert before != read_secret(tmp_path / "b")
    with pytest.raises(Mistake, match="already"):
        create_secret(tmp_path / "a")
    assert read_secret(tmp_path / "a") == before


def test_a_missing_secret_stops_the_start(tmp_path: Path) -> None:
    fails(tmp_path / "secret", "is missing")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o601, 0o777])
def test_a_secret_open_to_others_stops_the_start(tmp_path: Path, mode: int) -> None:
    fails(written(tmp_path / "secret", "ab" * 32, mode), "chmod 600")


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_secret_for_its_owner_is_read(tmp_path: Path, mode: int) -> None:
    assert read_secret(written(tmp_path / "secret", "ab" * 32 + "\n", mode)).value == b"\xab" * 32


@pytest.mark.parametrize("text", ["", "\n", "ab" * 31, "ab"])
def test_a_short_secret_stops_the_start(tmp_path: Path, text: str) -> None:
    fails(written(tmp_path / "secret", text), "too short")


@pytest.mark.parametrize("text", ["xy" * 32, "ab" * 31 + "a", "é" * 64])
def test_a_secret_that_is_not_hexadecimal_stops_the_start_and_is_not_quoted(tmp_path: Path, text: str) -> None:
    file = written(tmp_path / "secret", text)
    fails(file, "hexadecimal")
    with pytest.raises(Mistake) as mistake:
        read_secret(file)
    assert text[:8] not in str(mistake.value)


def test_a_folder_is_no_secret(tmp_path: Path) -> None:
    fails(tmp_path, "cannot be read")


def test_neither_repr_nor_str_nor_version_shows_it() -> None:
    secret = Secret(b"\xab" * 32)
    for text in (repr(secret), str(secret), f"{secret}", secret.version):
        assert "ab" * 4 not in text and "xab" not in text


def test_purposes_and_messages_give_unrelated_draws() -> None:
    secret, other = Secret(b"a" * 32), Secret(b"b" * 32)
    draws = {secret.digest("x", b"m"), secret.digest("y", b"m"), secret.digest("x", b"n"), other.digest("x", b"m")}
    assert len(draws) == 4
    assert secret.digest("x", b"m") == Secret(b"a" * 32).digest("x", b"m")


def test_many_draws_do_not_depend_on_one_another() -> None:
    secret = Secret(b"a" * 32)
    rows = secret.digests("x", [b"m", b"n"])
    assert rows.shape == (2, 4) and rows.dtype == np.uint64
    assert len(np.unique(rows)) == 8
    assert (rows[1] == secret.digests("x", [b"n"])[0]).all()
    assert not np.isin(secret.digests("y", [b"m", b"n"]), rows).any()
    assert not np.isin(Secret(b"b" * 32).digests("x", [b"m", b"n"]), rows).any()
    assert secret.digests("x", []).shape == (0, 4)


def test_a_purpose_and_a_message_do_not_run_together() -> None:
    secret = Secret(b"s" * 32)
    assert secret.digest("drop", b" rank") != secret.digest("drop rank", b"")


def test_totals_have_as_many_numbers_as_they_need_each_its_own_and_each_variables() -> None:
    one = np.array([1])
    first, second = (Draws(Secret(b"s" * 32)).totals(name, one, one, one, draws=10)[0] for name in ("income", "age"))
    assert len({*first.tolist(), *second.tolist()}) == 20
