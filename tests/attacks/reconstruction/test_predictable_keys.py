"""D4: a secret that somebody typed in, and one that was drawn."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from confide.attacks.reconstruction.known_keys import GuessedSecret
from confide.attacks.reconstruction.predictable_keys import PredictableKeys
from confide.attacks.result import Result
from confide.attacks.runner import LocalField, Settings, carry_out
from confide.attacks.truth.truth import truth_of_site
from confide.model.policy import PRESETS
from confide.records.ingest import add
from confide.site.draws import Draws, record_keys
from confide.site.secret import Secret

Attacked = Callable[[str], Result]


@pytest.fixture
def attacked(tmp_path: Path) -> Attacked:
    """The result on 1,200 records of three variables, without names, under a secret."""

    def attack(secret: str) -> Result:
        rng = np.random.default_rng(5)
        sizes = {"area": 10, "trade": 6, "answer": 3}
        columns = {name: [f"{name[0]}{i}" for i in rng.integers(size, size=1_200)] for name, size in sizes.items()}
        (tmp_path / "secret").touch(0o600)
        (tmp_path / "secret").write_text(secret + "\n", encoding="ascii")
        lists = {name: ", ".join(f'{name[0]}{i} = "{i}"' for i in range(size)) for name, size in sizes.items()}
        catalog = "".join(f'[variables.{name}]\nkind = "categorical"\ncodes = {{ {lists[name]} }}\n' for name in sizes)
        add(pa.table(columns), tmp_path, name="survey", catalog='title = "Survey"\n' + catalog)
        field = LocalField(tmp_path, "survey", PRESETS["tablebuilder"], truth_of_site(tmp_path, "survey"))
        return carry_out(PredictableKeys(), field, Settings())

    return attack


def test_noise_under_a_guessable_secret_is_undone(attacked: Attacked) -> None:
    result = attacked("00" * 32)
    assert result.claimed > 0.95 * result.targets
    assert result.lift > 0.15


def test_a_drawn_secret_is_not_guessed(attacked: Attacked) -> None:
    result = attacked(hashlib.sha256(b"drawn for this test").hexdigest())
    assert result.claimed == 0
    assert result.lift == 0


def test_named_units_are_left_alone(field: Callable[..., LocalField]) -> None:
    assert not carry_out(PredictableKeys(), field("tablebuilder"), replace(Settings(), targets=5)).applies


def test_the_intruder_draws_as_the_site_does() -> None:
    secret, content = Secret(b"k" * 32), (3, 0, 2)
    name = np.array(content, np.int64).tobytes()
    record = record_keys([name, name + b"\0" + b"1"], secret)[1].view(np.int32)
    keys = np.array([record[0], record[0] ^ record[1]], np.int64)
    units = np.array([1, 2])
    guessed = GuessedSecret(b"k" * 32)
    assert (guessed.cells(content, 2) == keys).all()
    assert (guessed.uniforms(units, keys) == Draws(secret).counts(units, units, keys)[0]).all()
