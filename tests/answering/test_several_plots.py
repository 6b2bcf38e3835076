"""Residual plots of models of several classes and of durations show what a model misses, by the turned outcomes of a yes or no."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import Desk, python_regression
from confide.answering.diagnostics.diagnose import _first_of_units
from confide.answering.diagnostics.several import several_outcomes, several_rows
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.engines.columns.engine import ColumnsEngine
from confide.engines.columns.store import write_columns
from several_people import EXACT, POLICY, TRADES, WORDS, ask, people

SIZE = 6000
EVERY_KEY = (-(2**63), 2**63 - 1)


def bent(kind: str) -> pa.Table:
    """People whose trade, or how long they have it, depends on how far their age is from 50: a straight line in age misses it."""
    rng = np.random.default_rng(2)
    at, ages = rng.integers(0, len(people()), SIZE), rng.integers(0, 100, SIZE).astype(float)
    bend = ((ages - 50) / 25) ** 2
    changed = {"id": np.arange(SIZE).astype(str), "age": ages}
    if kind == "survival":
        ends, seen = rng.geometric(1 / (1 + np.exp(1.8 - 0.8 * bend))), rng.integers(1, 4, SIZE)
        trade, changed["ill"] = np.minimum(ends, seen) - 1, np.where(ends <= seen, "yes", "no")
    else:
        trade = np.digitize(bend + rng.logistic(size=SIZE), [0.5, 2.2])
    columns = {name: people()[name].take(at) for name in people().column_names}
    return pa.table(columns | changed | {"trade": np.array(TRADES)[trade]})


@pytest.fixture(scope="module")
def large(town: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("plots")

    @cache
    def desk(kind: str) -> Desk:
        here = replace(town.of(bent(kind)), catalog=town.catalog.replace('weight = "w"', ""))
        path = folder / f"{kind}.columns"
        write_columns(here.coded(), path)
        return Desk(Road(here.dataset, ColumnsEngine(path), Shield(POLICY, here.secret(0))))

    return desk


def plots(desk: Desk, formula: str, kind: str) -> dict[str, Any]:
    answer = desk.consider(python_regression("people", formula, **WORDS[kind]), diagnostics=True)
    assert not answer.reasons, answer.reasons
    found = {name.removeprefix("plot: "): grid for name, grid in answer.grids.items() if name.startswith("plot: ")}
    assert set(found) == set(answer.release.charts)
    assert all(grid.columns == ("x", "residual", "bound") for grid in found.values())
    return {name: np.array(grid.rows) for name, grid in found.items()}


@pytest.mark.parametrize("kind", list(WORDS))
def test_a_bend_that_the_model_misses_is_seen_and_one_that_it_has_is_not(large: Any, kind: str) -> None:
    names = ["age"] if kind == "survival" else [f"{code}: age" for code in TRADES]
    outside = []
    for formula in ("trade ~ age", "trade ~ age + square(age)"):
        found = plots(large(kind), formula, kind)
        shown = np.concatenate([found[name] for name in names])
        outside.append(np.mean(np.abs(shown[:, 1]) > shown[:, 2]))
    by_chance = 0.05 + 4 * np.sqrt(0.05 * 0.95 / len(shown))
    missed, had = outside
    assert missed > by_chance >= had, "one in twenty, and four standard errors of that"


@pytest.mark.parametrize("kind", list(WORDS))
def test_fitted_shares_are_those_of_the_model_on_every_engine(town: Any, engine_of: Any, kind: str) -> None:
    """Their means are those of the effects, which other sums give; of durations that of what happened."""
    here = replace(town.of(people()), catalog=town.catalog.replace('weight = "w"', ""))
    desk = Desk(Road(here.dataset, engine_of(here.coded()), Shield(EXACT, here.secret(0))))
    model = ask(desk, "trade ~ age + sex + log(income)", **WORDS[kind]).model
    rows, by_predictor = several_rows(model, *EVERY_KEY)
    first = _first_of_units(rows)
    assert len(first) == len(rows.unit) == len(people()) - people()["income"].null_count
    outcomes = list(several_outcomes(model, rows, by_predictor))
    if kind == "survival":
        [one] = outcomes
        assert one.name == "ill=yes" and one.fitted.mean() == pytest.approx(one.happened.mean(), abs=0.02)
        return
    means, _ = model.shares(model.constraint @ model.fitted.fitted.beta)
    assert [one.code for one in outcomes] == TRADES == [one.name.removeprefix("trade=") for one in outcomes]
    for (level, _), one in zip(model.shared, outcomes, strict=True):
        assert one.fitted.mean() == pytest.approx(means[level], abs=1e-9)
        assert one.fitted.mean() == pytest.approx(one.happened.mean(), abs=0.03)


def test_the_chance_of_durations_is_right_where_people_are_seen_no_longer_by_chance(town: Any) -> None:
    """Hazards that depend on sex, being seen that does not: the mean chance by sex is the share it happened to."""
    rng, size = np.random.default_rng(6), 4000
    table = people().take(pa.array(rng.integers(0, len(people()), size)))
    men = np.array(table["sex"].to_pylist()) == "m"
    ends, seen = rng.geometric(np.where(men, 0.5, 0.25)), rng.integers(1, 4, size)
    changed = {
        "id": np.arange(size).astype(str),
        "trade": np.array(TRADES)[np.minimum(ends, seen) - 1],
        "ill": np.where(ends <= seen, "yes", "no"),
    }
    columns = {name: table[name] for name in table.column_names} | changed
    here = replace(town.of(pa.table(columns)), policy=EXACT, catalog=town.catalog.replace('weight = "w"', ""))
    model = ask(here.desk(), "trade ~ sex", **WORDS["survival"]).model
    rows, hazards = several_rows(model, *EVERY_KEY)
    [one] = several_outcomes(model, rows, hazards)
    for sex in np.unique(rows.classes[:, 0]):
        own = rows.classes[:, 0] == sex
        error = np.sqrt(0.25 / own.sum())
        assert one.fitted[own].mean() == pytest.approx(one.happened[own].mean(), abs=4 * error)
    assert np.ptp(one.fitted) > 0.15


@pytest.mark.parametrize("kind", ["multinomial", "ordered"])
def test_outcomes_are_turned_as_those_of_a_yes_or_no_so_that_no_plot_reads_them_anew(large: Any, kind: str) -> None:
    """The same groups of the same turned outcomes: their means differ by what the models differ, and not by draws."""
    several = plots(large(kind), "trade ~ age", kind)
    for code in TRADES:
        alone = large(kind).consider(
            python_regression("people", f"trade={code} ~ age", family="binomial"), diagnostics=True
        )
        grid = np.array(alone.grids["plot: age"].rows)
        ours = several[f"{code}: age"]
        assert np.array_equal(ours[:, 0], grid[:, 0])
        apart = np.diff(ours[:, 1] - grid[:, 1])
        drawn = float(np.sqrt(2) * grid[0, 2] / 2)
        assert np.std(apart) < 0.5 * drawn, "draws of their own would be as far apart as two errors of a group"


def test_whether_it_happened_is_turned_as_for_a_yes_or_no(large: Any) -> None:
    kind = "survival"
    ours = plots(large(kind), "trade ~ age", "survival")["age"]
    alone = large(kind).consider(python_regression("people", "ill=yes ~ age", family="binomial"), diagnostics=True)
    grid = np.array(alone.grids["plot: age"].rows)
    assert np.array_equal(ours[:, 0], grid[:, 0])
    assert np.std(np.diff(ours[:, 1] - grid[:, 1])) < 0.5 * np.sqrt(2) * grid[0, 2] / 2
