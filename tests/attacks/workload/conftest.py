"""Small sites under a fixed secret, and the codebook of the demonstration people."""

from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pytest

import confide
from confide.model.catalog.dataset import Dataset
from confide.model.catalog.toml import read_dataset
from conftest import CATALOG, population

SECRET = "c0f1de" * 12
Make = Callable[..., Path]


def made(folder: Path, people: pa.Table, *, catalog: str = CATALOG, policy: str = "") -> Path:
    """A site of these people under the secret that is always the same."""
    folder.mkdir(parents=True)
    (folder / "secret").touch(0o600)
    (folder / "secret").write_text(SECRET + "\n")
    confide.add(people, folder, name="people", catalog=catalog, preset=None if policy else "drop-q")
    if policy:
        (folder / "policy.toml").write_text(policy)
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 people under `drop-q`; only read."""
    return made(tmp_path_factory.mktemp("workload") / "site", population(size=3000, seed=4))


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A function that makes a site of one's own."""
    return lambda people, **more: made(tmp_path / "own", people, **more)


@pytest.fixture(scope="session")
def people() -> Dataset:
    text = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    return read_dataset(text, name="people", read_file=str)
