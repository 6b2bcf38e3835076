"""The demo site that the pages ask: small, and under a secret that is always the same, so that its answers are too."""

import shutil
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

import confide
from confide import demo
from confide.site.ingest import add

SECRET = "c0f1de" * 12
ROWS = {"people": 20_000, "firms": 20_000}
"""As `confide demo --rows 20000` makes them."""


def keep_secret(site: Path) -> None:
    """Put the known secret where a site will be made; making a site leaves a secret that is there alone."""
    site.mkdir(parents=True)
    (site / "secret").touch(0o600)
    (site / "secret").write_text(SECRET + "\n")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo site; never opened, only copied."""
    site = tmp_path_factory.mktemp("made") / "demo-site"
    keep_secret(site)
    for name, rows in ROWS.items():
        catalog = resources.files("confide.demo").joinpath(f"{name}.toml").read_text(encoding="utf-8")
        add(getattr(demo, name)(rows), site, name=name, catalog=catalog)
    return site


@pytest.fixture
def desktop(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a page's examples run: a copy of the demo site, and a place for a site of one's own."""
    shutil.copytree(made, tmp_path / "demo-site")
    keep_secret(tmp_path / "mysite")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("CONFIDE_TOKEN", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(confide.__file__).parents[1]))  # commands run the code that is tested
    return tmp_path


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).parents[2]


@pytest.fixture(scope="session")
def reference(root: Path) -> Callable[[str], str]:
    """The text of a page of the reference."""
    return lambda name: (root / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
