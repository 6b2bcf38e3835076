"""The demo site that the pages ask: small, and under a secret that is always the same, so that its answers are too.

Under another secret numbers differ, and nothing else may: `under` is the same place with another.
"""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

import confide
from confide import demo
from confide.demo.texts import catalog_text, policy_text
from confide.records.ingest import add

SECRET = "c0f1de" * 12
ROWS = {"people": 20_000, "firms": 20_000}
"""As `confide demo --rows 20000` makes them."""


OWN = ("mysite", "jobsite")
"""What sites of one's own are called on the pages."""


def keep_secret(site: Path, secret: str = SECRET) -> None:
    """Put the known secret where a site will be made; making a site leaves a secret that is there alone."""
    site.mkdir(parents=True)
    (site / "secret").touch(0o600)
    (site / "secret").write_text(secret + "\n")


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The demo site under a secret; never opened, only copied."""

    @cache
    def site_of(secret: str) -> Path:
        site = tmp_path_factory.mktemp("made") / "demo-site"
        keep_secret(site, secret)
        for name in ROWS:
            add(generated(name), site, name=name, catalog=catalog_text(name), policy=policy_text(name))
        return site

    return site_of


@cache
def generated(name: str) -> pa.Table:
    return getattr(demo, name)(ROWS[name])


@pytest.fixture
def under(make: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Where a page's examples run: a copy of the demo site, and a place for a site of one's own, under a secret."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("CONFIDE_TOKEN", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(confide.__file__).parents[1]))  # commands run the code that is tested

    def place(secret: str) -> Path:
        folder = tmp_path / secret[:8]
        folder.mkdir()
        shutil.copytree(make(secret), folder / "demo-site")
        for own in OWN:
            keep_secret(folder / own, secret)
        monkeypatch.chdir(folder)
        return folder

    return place


@pytest.fixture
def desktop(under: Callable[[str], Path]) -> Path:
    """The same under the secret that is always the same."""
    return under(SECRET)


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).parents[2]


@pytest.fixture(scope="session")
def reference(root: Path) -> Callable[[str], str]:
    """The text of a page of the reference."""
    return lambda name: (root / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
