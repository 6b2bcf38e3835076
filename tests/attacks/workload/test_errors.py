"""Errors in units of the sampling error, against sums that are made record by record."""

from pathlib import Path

import numpy as np
import pytest

from asking import python_correlation, python_regression, python_table
from confide.attacks.truth.truth import Truth, truth_of_site
from confide.attacks.workload.errors import CellSums, Deviations, deviations
from confide.attacks.workload.roads import TrueAnswers, true_answers
from confide.model.release import Column, Release


@pytest.fixture(scope="module")
def truth(site: Path) -> Truth:
    return truth_of_site(site, "people")


@pytest.fixture(scope="module")
def true(truth: Truth) -> TrueAnswers:
    with true_answers(truth) as answers:
        yield answers


def moved(release: Release, measure: str, by: float) -> Release:
    """The same table with every number a little larger."""
    old = release.columns[measure]
    new = Column(old.name, old.label, old.decimals, old.values + by, old.marks, old.noise)
    return Release(**{**vars(release), "columns": {measure: new}})


def errors_of(true: TrueAnswers, measure: str, by: float = 10.0, **more: object) -> dict[str, Deviations]:
    exact = true.ask(python_table("people", rows=["sex", "town"], measure=measure, **more))
    return dict(deviations(moved(exact, measure, by), exact, true.truth))


def test_a_count_errs_in_units_of_the_root_of_npq(true: TrueAnswers, truth: Truth) -> None:
    where = (truth.places("sex") == 0) & (truth.places("town") == 0)
    n, p = len(where), where.mean()
    found = errors_of(true, "count")["counts"]
    assert found.ratio[0] == pytest.approx(10 / np.sqrt(n * p * (1 - p)))
    assert found.relative[0] == pytest.approx(10 / (n * p))
    assert len(found.ratio) == 2 * 4 + 2 + 4, "empty cells and the whole have no sampling error"


def test_a_share_is_of_the_row_and_binomial(true: TrueAnswers, truth: Truth) -> None:
    row = truth.places("sex") == 0
    n, p = row.sum(), (truth.places("town")[row] == 0).mean()
    found = errors_of(true, "count")["shares"]
    assert found.ratio[0] == pytest.approx(abs((n * p + 10) / (n + 10) - p) / np.sqrt(p * (1 - p) / n))


def test_a_mean_errs_in_units_of_its_deviation_over_the_root_of_effective_records(
    true: TrueAnswers, truth: Truth
) -> None:
    here = (truth.places("sex") == 1) & (truth.places("town") == 3) & np.isfinite(truth.numbers("income"))
    x, w = truth.numbers("income")[here], truth.weights[here]
    mean = np.average(x, weights=w)
    spread = np.average((x - mean) ** 2, weights=w) * len(x) / (len(x) - 1)
    error = np.sqrt(spread / (w.sum() ** 2 / (w**2).sum()))
    sums = CellSums.of(python_table("people", rows=["sex", "town"], measure="mean", of="income"), truth)
    place = truth.dataset.variable("town").place("b1")
    assert place == 3 and sums.error_of_mean()[1, 3] == pytest.approx(error, rel=1e-9)
    assert errors_of(true, "mean", of="income")["means"].ratio.max() > 0


def test_a_quantile_is_that_of_the_records_and_errs_by_the_error_of_its_share(truth: Truth) -> None:
    sums = CellSums.of(python_table("people", rows=["sex", "town"], measure="median", of="income"), truth)
    values, errors = sums.quantiles(0.25)
    there = np.isfinite(truth.numbers("income"))
    for place, here in {
        (1, 3): (truth.places("sex") == 1) & (truth.places("town") == 3) & there,
        (0, -1): (truth.places("sex") == 0) & there,
        (-1, -1): there,
    }.items():
        x, w = truth.numbers("income")[here], truth.weights[here]
        order = np.argsort(x)
        shares = 0.25 + np.array([-1, 0, 1]) * np.sqrt(0.25 * 0.75 * (w**2).sum()) / w.sum()
        low, exact, high = x[order][np.searchsorted(np.cumsum(w[order]), shares * w.sum())]
        assert values[place] == exact and errors[place] == (high - low) / 2
    empty = truth.dataset.variable("sex").place("x")
    assert np.isnan(values[empty]).all()


def test_a_total_errs_as_a_sum_over_all_records_of_the_universe(true: TrueAnswers, truth: Truth) -> None:
    z = (
        np.nan_to_num(truth.numbers("income"))
        * truth.weights
        * (truth.places("sex") == 0)
        * (truth.places("town") == 0)
    )
    found = errors_of(true, "total", of="income")["totals"]
    assert found.ratio[0] == pytest.approx(10 / (np.sqrt(len(z)) * z.std()), rel=1e-6)


def test_true_tables_are_the_sums_of_the_records(true: TrueAnswers, truth: Truth) -> None:
    """So that the places of records and the codes of a release are in one order."""
    request = python_table("people", rows=["age", "town"], where={"sex": "f"}, measure=["count", "mean"], of="income")
    exact, sums = true.ask(request), CellSums.of(request, truth)
    assert np.array_equal(sums.add(np.ones(len(sums.weights))), exact.columns["count"].values)
    there = np.isfinite(sums.values) * sums.weights
    with np.errstate(invalid="ignore"):
        means = sums.add(sums.amounts) / sums.add(there)
    assert np.allclose(means, exact.columns["mean"].values, atol=0.0051, rtol=0, equal_nan=True), "to two decimals"


def test_coefficients_err_in_units_of_their_standard_errors(true: TrueAnswers) -> None:
    exact = true.ask(python_regression("people", "income ~ age + sex + town"))
    [(name, found)] = deviations(exact, exact, true.truth)
    assert name == "coefficients" and len(found.ratio) == 5 and not found.ratio.any()
    other = true.ask(python_regression("people", "income ~ age + sex + town", where={"ill": "no"}))
    [(_, apart)] = deviations(other, exact, true.truth)
    grids = [one.grids["coefficients"].rows for one in (other, exact)]
    ages = [next(row for row in rows if row[0] == "age") for rows in grids]
    assert apart.ratio[0] == pytest.approx(abs(ages[0][1] - ages[1][1]) / ages[1][2])


def test_terms_of_a_variable_with_another_reference_are_not_compared(true: TrueAnswers) -> None:
    exact = true.ask(python_regression("people", "income ~ age + sex + town"))
    less = true.ask(python_regression("people", "income ~ age + sex + town", where={"county": "A"}))
    [(_, found)] = deviations(less, exact, true.truth)
    assert len(found.ratio) == 2, "age and sex; the towns differ"


def test_correlations_of_two_variables_are_compared_once(true: TrueAnswers) -> None:
    exact = true.ask(python_correlation("people", ["age", "income", "sex"]))
    [(name, found)] = deviations(exact, exact, true.truth)
    assert name == "correlations" and not found.ratio.any()
    assert len(found.ratio) == 1 + 2 * 2, "age with income, both with each sex, and no sex with the other"
