"""Files to measure: people of any number, masked lightly, and a table of a published guide."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest


def people(rows: int, seed: int = 1) -> pd.DataFrame:
    """Numbers and categories that hang together, some of them missing."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    income = np.round(np.exp(7 + 0.01 * age + rng.normal(0, 0.6, rows)), 2)
    wealth = np.round(income * rng.lognormal(0, 0.5, rows), 2)
    sex = rng.choice(["f", "m"], rows)
    region = rng.choice(["north", "south", "east", "west"], rows, p=[0.5, 0.3, 0.15, 0.05])
    frame = pd.DataFrame({"age": age, "sex": sex, "region": region, "income": income, "wealth": wealth})
    frame.loc[rng.random(rows) < 0.05, "wealth"] = np.nan
    frame.loc[rng.random(rows) < 0.05, "region"] = None
    frame["weight"] = rng.uniform(1, 50, rows)
    return frame


def lightly_masked(frame: pd.DataFrame, seed: int = 2, noise: float = 0.2) -> pd.DataFrame:
    """Noise on numbers, some categories changed, some suppressed."""
    rng = np.random.default_rng(seed)
    masked = frame.copy()
    for name in ("income", "wealth"):
        masked[name] = masked[name] * np.exp(rng.normal(0, noise, len(frame)))
    masked["age"] = masked["age"] + rng.integers(-3, 4, len(frame))
    masked.loc[rng.random(len(frame)) < 0.1, "region"] = "south"
    masked.loc[rng.random(len(frame)) < 0.05, "sex"] = None
    return masked


@pytest.fixture(scope="session")
def people_of() -> Callable[..., pd.DataFrame]:
    return people


@pytest.fixture(scope="session")
def masked_of() -> Callable[..., pd.DataFrame]:
    return lightly_masked


@pytest.fixture(scope="session")
def guide() -> pd.DataFrame:
    """The ten records of the IHSN's guide "Statistical Disclosure Control for Microdata" (Benschop et al.), chapter 4."""
    return pd.DataFrame(
        {
            "residence": ["urban"] * 4 + ["rural"] + ["urban"] * 5,
            "gender": list("fffmfmfmff"),
            "education": ["si", "si", "pi", "sc", "sc", "sc", "pc", "ps", "si", "si"],
            "labour": ["e", "e", "n", "e", "u", "e", "n", "u", "n", "n"],
            "health": ["yes", "yes", "yes", "yes", "yes", "no", "no", "yes", "no", "yes"],
            "weight": [180.0, 180, 215, 76, 186, 76, 180, 215, 186, 76],
        }
    )
