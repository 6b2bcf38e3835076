"""Totals and means from protected records: one sum, with the spread that it states and the digits that it supports."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from asking import Desk, python_regression, python_table
from confide.answering.cube import Cube
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.answering.tables.amounts import amounts
from confide.answering.tables.counts import Counts, Scales
from confide.arrays import Floats
from confide.engines.memory.engine import MemoryEngine
from confide.model.catalog.dataset import Kind, Variable
from confide.model.policy import PRESETS
from confide.model.release import Column
from confide.site.secret import Secret

SHARE = 0.15
UNITS = np.array([5, 40, 300, 2000])
POLICY = PRESETS["standard"]


def cells(contributions: Floats) -> Cube:
    """The aggregates of groups of `UNITS`, one after the other."""
    starts = np.cumsum([0, *UNITS[:-1]])
    whole = np.rint(contributions).astype(np.int64)
    total, square = (np.add.reduceat(part, starts) for part in (whole, whole**2))
    key = np.array([11, 22, 33, 44])
    return Cube(UNITS, UNITS, key, UNITS, total, total, square, np.maximum.reduceat(whole, starts)[:, None])


def released(contributions: Floats) -> dict[str, Column]:
    shield = Shield(POLICY, Secret(b"s" * 32))
    counts = Counts.draw(cells(contributions), shield, Scales(weight=0, total=0, shift=0, noise=SHARE))
    return amounts(Variable("income", "Income", Kind.NUMERIC), counts, shield)


def test_the_stated_spread_is_the_true_one() -> None:
    """Over 400 draws of the noise of skewed incomes; the tolerance of 10 % is 2.8 standard errors of a standard deviation."""
    rng = np.random.default_rng(20)
    incomes = rng.lognormal(10, 0.8, UNITS.sum())
    truth = np.add.reduceat(incomes, np.cumsum([0, *UNITS[:-1]]))
    errors: dict[str, list[Floats]] = {"total": [], "mean": []}
    stated: dict[str, list[Floats]] = {"total": [], "mean": []}
    for _ in range(400):
        columns = released(incomes * (1 + rng.normal(0, SHARE, len(incomes))))
        for name, expected in (("total", truth), ("mean", truth / UNITS)):
            errors[name].append(columns[name].values - expected)
            stated[name].append(columns[name].noise)
    for name in errors:
        true, said = (np.sqrt(np.mean(np.square(found), axis=0)) for found in (errors[name], stated[name]))
        assert said / true == pytest.approx(1, abs=0.1), name


def test_rounding_moves_no_total_or_mean_by_more_than_a_twentieth_of_its_error() -> None:
    incomes = np.random.default_rng(21).lognormal(10, 0.8, UNITS.sum())
    columns, cube = released(incomes), cells(incomes)
    assert cube.total is not None and cube.square is not None
    error = np.sqrt(cube.square)
    assert (np.abs(columns["total"].values - cube.total) <= error / 18).all()
    deviation = np.sqrt(cube.square - cube.total**2 / UNITS) / UNITS
    assert (np.abs(columns["mean"].values - cube.total / UNITS) <= deviation / 15).all()
    assert len({*map(str, columns["mean"].values)}) == 4, "each cell has digits of its own"


def test_a_mean_of_few_has_few_digits() -> None:
    """Incomes alike have no sampling error but for a coefficient of variation of a tenth and the noise of the count."""
    mean = released(np.full(UNITS.sum(), 54321.0))["mean"].values
    assert mean.tolist() == [54000, 54300, 54320, 54320]


@pytest.fixture
def desk(town: Any) -> Desk:
    """People whose incomes were changed once, under the policy that says so."""
    crowd = replace(town, policy=POLICY)
    coded = crowd.coded()
    engine = MemoryEngine(replace(coded, facts=replace(coded.facts, noise={"income": SHARE})))
    return Desk(Road(crowd.dataset, engine, Shield(POLICY, crowd.secret())))


def test_nothing_is_withheld_and_a_mean_lies_among_its_parts(desk: Desk) -> None:
    found = desk.consider(python_table("people", rows="town", columns="sex", measure=["total", "mean"], of="income"))
    total, mean = found.columns["total"], found.columns["mean"]
    assert "c" not in total.marks and "c" not in mean.marks
    assert total.values[2, 0] == 0 and mean.marks[2, 0] == "z", "nobody lives there"
    for parts, whole in ((mean.values[:-1], mean.values[-1]), (mean.values[:, :-1].T, mean.values[:, -1])):
        lying = np.isfinite(whole)
        assert (np.nanmin(parts[:, lying], axis=0) <= whole[lying]).all()
        assert (whole[lying] <= np.nanmax(parts[:, lying], axis=0)).all()


def test_a_table_and_a_regression_give_the_same_means(desk: Desk) -> None:
    """To the rounding of both: a twentieth of a standard error each, and the intercept's counts twice."""
    mean = desk.consider(python_table("people", rows="sex", measure="mean", of="income")).columns["mean"].values
    rows = desk.consider(python_regression("people", "income ~ sex")).grids["coefficients"].rows
    (_, first, error, *_), (other, more, *_) = rows
    here, there = (0, 1) if other == "sex=m" else (1, 0)
    assert abs(first - mean[here]) <= 0.1 * error
    assert abs(first + more - mean[there]) <= 0.15 * error


def test_notes_say_that_records_were_protected(desk: Desk) -> None:
    notes = " ".join(desk.consider(python_table("people", rows="sex", measure="mean", of="income")).notes)
    assert "protected records" in notes and "exchanged" in notes
    assert all(f"{spread:.0%}" in notes for spread in (POLICY.records.noise, POLICY.records.noise_exposed))
    model = " ".join(desk.consider(python_regression("people", "income ~ sex")).notes)
    assert "protected records" in model
