"""Sites without weights, under a policy whose rules on models are relaxed as far as they go."""

from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from confide import demo
from confide.attacks.runner import LocalField
from confide.attacks.truth.truth import truth_of_site
from confide.model.policy import Policy, preset_policy
from confide.records.ingest import add


@pytest.fixture(scope="session")
def lax() -> Policy:
    """`open` still has rules on models; this has none that can be switched off."""
    policy = preset_policy("open")
    off = {"units": 0, "units_per_column": 1, "dummy": 0, "interaction": 0, "leverage_units": 1}
    return replace(policy, models=replace(policy.models, **off, influence=1.0, r_squared=1.0, class_fit=0.0))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def unweighted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Policy], LocalField]:
    """People without weights: with them, a model in which one record has a column of its own has no robust errors."""
    site: Path = tmp_path_factory.mktemp("sites") / "unweighted"
    text = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    site.mkdir()
    (site / "secret").touch(0o600)
    (site / "secret").write_text("5e" * 32 + "\n", encoding="ascii")
    catalog = text.replace('weight = "weight"\n', "")
    add(demo.people(6000).drop_columns(["weight"]), site, name="people", catalog=catalog)
    truth = truth_of_site(site, "people")
    return lambda policy: LocalField(site, "people", policy, truth)
