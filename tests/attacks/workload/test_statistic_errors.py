"""Errors of percentages, ratios, index numbers and standard errors, against sums that are made record by record."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asking import python_regression, python_table
from confide.attacks.truth.truth import Truth, truth_of_site
from confide.attacks.workload.errors import Deviations
from confide.attacks.workload.generator import Generator
from confide.attacks.workload.measuring import measure_site
from confide.attacks.workload.proportions import STATISTICS
from confide.attacks.workload.roads import TrueAnswers, true_answers
from confide.attacks.workload.statistic_errors import deviations
from confide.formats.views import as_asked
from confide.model.policy import PRESETS
from conftest import CATALOG, population

Make = Callable[..., Path]

SAMPLED = CATALOG.replace("[variables.id]", "[sampling]\n\n[variables.id]", 1)


@pytest.fixture(scope="module")
def truth(site: Path) -> Truth:
    return truth_of_site(site, "people")


@pytest.fixture(scope="module")
def true(truth: Truth) -> Iterator[TrueAnswers]:
    with true_answers(truth) as answers:
        yield answers


def errors_of(true: TrueAnswers, column: str, by: float, **words: Any) -> Deviations:
    """Of an answer in which one column of what is shown is larger by so much."""
    request = python_table("people", rows=["sex", "town"], **words)
    exact = true.ask(request)
    assert exact is not None
    shown = as_asked(exact, request)
    moved = replace(shown.columns[column], values=shown.columns[column].values + by)
    [(_, found)] = deviations(replace(shown, columns={column: moved}), exact, true.truth)
    return found


def test_a_percentage_errs_by_the_error_of_a_share(true: TrueAnswers, truth: Truth) -> None:
    found = errors_of(true, "count_percent", 1.0, percent="total")
    p = ((truth.places("sex") == 0) & (truth.places("town") == 0)).mean()
    assert found.ratio[0] == pytest.approx(0.01 / np.sqrt(p * (1 - p) / len(truth.units)), rel=0.02)
    assert found.relative[0] == pytest.approx(0.01 / p, rel=0.02)


def test_a_weighted_percentage_errs_by_effective_units(true: TrueAnswers, truth: Truth) -> None:
    found = errors_of(true, "weighted_count_percent", 1.0, percent="total", measure="weighted_count")
    w = truth.weights
    p = w[(truth.places("sex") == 0) & (truth.places("town") == 0)].sum() / w.sum()
    effective = w.sum() ** 2 / (w**2).sum()
    assert found.ratio[0] == pytest.approx(0.01 / np.sqrt(p * (1 - p) / effective), rel=0.02)


def test_a_ratio_errs_as_what_is_left_of_one_total_after_the_other(true: TrueAnswers, truth: Truth) -> None:
    found = errors_of(true, "ratio", 0.5, measure="ratio", of="income", over="age")
    here = (truth.places("sex") == 0) & (truth.places("town") == 0)
    y, x, w = (np.nan_to_num(v[here]) for v in (truth.numbers("income"), truth.numbers("age"), truth.weights))
    r = (w * y).sum() / (w * x).sum()
    error = np.sqrt((w**2 * (y - r * x) ** 2).sum()) / (w * x).sum()
    assert found.ratio[0] == pytest.approx(0.5 / error, rel=0.02)


def test_an_index_number_has_the_errors_of_both_counts(true: TrueAnswers, truth: Truth) -> None:
    found = errors_of(true, "count_index", 5.0, index="sex=f")
    town, women = truth.places("town") == 0, truth.places("sex") == 0
    n, a, b = len(town), (town & ~women).sum(), (town & women).sum()
    error = 100 * a / b * np.sqrt((1 - a / n) / a + (1 - b / n) / b)
    assert found.ratio[0] == pytest.approx(5 / error, rel=0.02)


def test_a_standard_error_is_measured_by_itself_and_models_by_their_own(make: Make) -> None:
    truth = truth_of_site(make(population(size=800, seed=4), catalog=SAMPLED), "people")
    with true_answers(truth) as true:
        request = python_table("people", rows="sex", measure="mean", of="income", error="se")
        exact = true.ask(request)
        assert exact is not None
        told = exact.columns["mean_se"]
        moved = {**exact.columns, "mean_se": replace(told, values=1.5 * told.values)}
        [(name, found)] = deviations(replace(exact, request=request, columns=moved), exact, truth)
        assert name == "standard errors" and found.ratio == pytest.approx(np.full(len(found.ratio), 0.5))
        for words, kind in (
            ({"formula": "income ~ age + sex", "errors": "design"}, "coefficients by design"),
            ({"formula": "trade ~ age", "family": "multinomial"}, "coefficients of classes"),
        ):
            model = true.ask(python_regression("people", words.pop("formula"), **words))
            [(name, same)] = deviations(model, model, truth)
            assert name == kind and len(same.ratio) and not same.ratio.any()


def test_statistics_are_measured_and_the_usual_kinds_stay_as_they_were(make: Make) -> None:
    site = make(population(size=2500, seed=4), catalog=SAMPLED)
    usual, more = (
        measure_site(site, "people", policy=PRESETS["standard"], generator=Generator(questions=15, statistics=number))
        for number in (0, 45)
    )
    asked = {share.kind for share in more.kinds}
    assert asked >= set(STATISTICS) and not more.mistakes
    assert [share for share in more.kinds if share.kind not in STATISTICS] == list(usual.kinds)
    measured = {error.of: error for error in more.errors}
    assert {of: measured[of] for of in measured if usual.error(of)} == {e.of: e for e in usual.errors}
    assert {"percentages", "ratios", "index numbers", "standard errors", "coefficients by design"} <= set(measured)
    assert more.margins == usual.margins
    # nothing of them is far off: it guards against errors in other units
    assert all(measured[of].median < 3 for of in measured)
