"""Sites to attack: the demo's data sets under a fixed secret."""

from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path

import pytest

from confide import demo
from confide.attacks.runner import LocalField
from confide.attacks.truth.truth import Truth, truth_of_site
from confide.model.policy import Policy, preset_policy
from confide.records.ingest import add

Field = Callable[..., LocalField]


@pytest.fixture(scope="session")
def demo_site(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A demo data set of so many rows as a site under a preset, whose secret is always the same."""

    @cache
    def make(rows: int, name: str, preset: str = "standard") -> Path:
        site = tmp_path_factory.mktemp("sites") / f"{name}{rows}"
        text = resources.files("confide.demo").joinpath(f"{name}.toml").read_text(encoding="utf-8")
        site.mkdir()
        (site / "secret").touch(0o600)
        (site / "secret").write_text("5e" * 32 + "\n", encoding="ascii")
        if preset != "standard":
            (site / "policy.toml").write_text(f'preset = "{preset}"\n', encoding="utf-8")
        add(getattr(demo, name)(rows), site, name=name, catalog=text)
        return site

    return make


@pytest.fixture(scope="session")
def field(demo_site: Callable[..., Path]) -> Field:
    """`field("tablebuilder", rows=20_000, name="people")`: what an attack is carried out on; also with a policy."""
    read: Callable[[Path, str], Truth] = cache(truth_of_site)

    def make(policy: str | Policy, *, rows: int = 20_000, name: str = "people") -> LocalField:
        chosen = preset_policy(policy) if isinstance(policy, str) else policy
        site = demo_site(rows, name)
        return LocalField(site, name, chosen, read(site, name))

    return make
