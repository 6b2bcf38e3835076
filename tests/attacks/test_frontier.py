"""The ways to protect tables that the frontier compares ours with are what they are said to be."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from confide.attacks.runner import LocalField
from confide.client import Site
from confide.errors import Refused
from confide.model.formula import read_formula
from confide.model.request import Measure, RegressionRequest, TableRequest

ROOT = Path(__file__).parents[2]
COUNTS = TableRequest("people", ("municipality",), ("age_group",))
MEANS = TableRequest("people", ("region",), ("sex",), measure=(Measure.MEAN, Measure.TOTAL), of="income")


@pytest.fixture(scope="module")
def frontier() -> ModuleType:
    spec = importlib.util.spec_from_file_location("frontier", ROOT / "benchmarks" / "frontier.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["frontier"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def people(field) -> LocalField:
    return field("open", rows=5_000)


@pytest.fixture(scope="module")
def true(people: LocalField) -> Iterator[Site]:
    with people.opened() as site:
        yield site


def counts(site: Site, request: TableRequest = COUNTS) -> np.ndarray:
    return site.ask(request).columns["count"].values


def test_laplace_noise_has_its_scale_and_margins_that_add(frontier: ModuleType, people: LocalField, true: Site) -> None:
    server = frontier.Server(true, frontier.Laplace(1.0, people.truth))
    noise = counts(server) - counts(true)
    large = counts(true)[:-1, :-1] > 8  # where nothing is cut off at zero
    # |noise| of Laplace with scale 1 has mean 1 and standard deviation 1; rounding moves the mean by less than 0.1.
    off = np.abs(noise[:-1, :-1][large])
    assert abs(off.mean() - 1) < 0.1 + 4 / np.sqrt(len(off))
    # A margin of n parts has n times the variance 2 of one.
    parts = len(noise) - 1
    assert 0.4 < (noise[-1, :-1] ** 2).mean() / (2 * parts) < 2.5


def test_the_same_question_has_the_same_answer_and_a_finer_one_has_other_noise(
    frontier: ModuleType, people: LocalField, true: Site
) -> None:
    server = frontier.Server(true, frontier.Laplace(1.0, people.truth))
    turned = TableRequest("people", ("age_group",), ("municipality",))
    assert (counts(server) == counts(server, turned).T).all()
    finer = TableRequest("people", ("municipality",), ("age_group", "sex"))
    assert (counts(server)[:-1, :-1] != counts(server, finer)[:-1, :-1, -1]).mean() > 0.5


def test_laplace_noise_of_totals_is_scaled_to_the_largest_contribution(
    frontier: ModuleType, people: LocalField, true: Site
) -> None:
    most = np.nanmax(np.abs(people.truth.numbers("income") * people.truth.weights))
    server = frontier.Server(true, frontier.Laplace(1.0, people.truth))
    off = np.abs(server.ask(MEANS).columns["total"].values - true.ask(MEANS).columns["total"].values)[:-1, :-1] / most
    # Ten or more numbers with mean 1 and standard deviation 1.
    assert off.size >= 10 and abs(off.mean() - 1) < 4 / np.sqrt(off.size)


def test_rounding_gives_multiples_of_five_and_no_mean_where_the_count_is_zero(
    frontier: ModuleType, people: LocalField, true: Site
) -> None:
    server = frontier.Server(true, frontier.rounding)
    rounded = counts(server)
    assert (rounded % 5 == 0).all() and np.abs(rounded - counts(true)).max() <= 2.5
    small = TableRequest("people", ("municipality",), ("age_group",), measure=(Measure.MEAN,), of="income")
    means = server.ask(small).columns["mean"]
    assert (means.marks[rounded == 0] != "").all() and (means.marks[rounded > 0] == "").mean() > 0.9


def test_a_server_of_tables_has_no_models(frontier: ModuleType, people: LocalField, true: Site) -> None:
    server = frontier.Server(true, frontier.rounding)
    with pytest.raises(Refused):
        server.ask(RegressionRequest("people", read_formula("income ~ sex")))
