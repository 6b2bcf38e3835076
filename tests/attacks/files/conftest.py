"""Files to attack: firms with many skewed numbers, bodies whose measures go together, and people."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from confide.attacks.files.trying import attack_file
from confide.attacks.result import Result


def firms(rows: int, columns: int = 13, seed: int = 1) -> pd.DataFrame:
    """Three hidden sizes behind all columns, as in the balance sheets of the CASC project: skewed, and correlated."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, columns)) + 0.8 * rng.normal(size=(rows, columns))
    return pd.DataFrame({f"v{j}": np.round(np.exp(5 + 0.7 * hidden[:, j]), 2) for j in range(columns)})


def bodies(rows: int, columns: int = 6, seed: int = 1) -> pd.DataFrame:
    """Numbers that all follow one size, with a correlation of 0.9."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=rows)
    return pd.DataFrame({f"b{j}": 60 + 25 * size + rng.normal(0, 8, rows) for j in range(columns)})


def people(rows: int, seed: int = 1) -> pd.DataFrame:
    """Keys, an illness that half of them explain, and an income with cents."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice([f"t{i}" for i in range(12)], rows),
        }
    )
    likely = np.array(["flu", "gout", "none", "cough"])[(frame["age"] // 20 + (frame["sex"] == "f")) % 4]
    frame["ill"] = np.where(rng.random(rows) < 0.5, likely, rng.choice(["flu", "gout", "none", "cough"], rows))
    frame["income"] = np.round(np.exp(rng.normal(7, 0.8, rows)), 2)
    return frame


@pytest.fixture(scope="session")
def firms_of() -> Callable[..., pd.DataFrame]:
    return firms


@pytest.fixture(scope="session")
def bodies_of() -> Callable[..., pd.DataFrame]:
    return bodies


@pytest.fixture(scope="session")
def people_of() -> Callable[..., pd.DataFrame]:
    return people


@pytest.fixture(scope="session")
def tried() -> Callable[..., Result]:
    """One attack on a file."""

    def run(name: str, original: Any, released: Any, **more: Any) -> Result:
        [found] = attack_file(original, released, only=[name], **more)
        return found

    return run
