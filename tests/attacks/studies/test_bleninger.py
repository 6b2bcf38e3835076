"""The regressions of Bleninger, Drechsler and Ronning (2011), and what a site does where it is asked for the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import python_regression
from confide.attacks.studies import EXPECTED, StudyResult
from confide.attacks.studies.bleninger import dummy, outlier
from confide.attacks.studies.establishments import Establishments, establishments
from confide.errors import Mistake

Run = Callable[[str], StudyResult]

SAID = EXPECTED["firm-regressions"]
UNIQUE = [what for what in SAID if what.endswith(": unique")]
KNOWLEDGE = ["approximate size", "+ state", "+ legal form", "+ branch"]


def least_squares(design: list[np.ndarray], y: np.ndarray) -> np.ndarray:
    matrix = np.column_stack([np.ones(len(y)), *design])
    return matrix @ np.linalg.lstsq(matrix, y, rcond=None)[0]


@pytest.fixture(scope="module")
def few() -> Establishments:
    return establishments(400, seed=3)


def test_sums_over_sizes_give_the_fit_of_the_artificial_outlier(few: Establishments) -> None:
    told = outlier(few.size, few.turnover, known=few.size, eps=0.01)
    for target in range(0, 400, 7):
        z = 1 / (abs(few.size - few.size[target]) + 0.01)
        assert told[target] == pytest.approx(least_squares([z], few.turnover)[target], rel=1e-8)


def test_sums_over_neighbours_give_the_fit_of_the_strategic_dummy(few: Establishments) -> None:
    alike, told = dummy(few.size, (few.state, few.form), few.turnover, width=0.3)
    for target in range(0, 400, 7):
        near = abs(few.size - few.size[target]) <= 0.3 * few.size[target]
        chosen = near & (few.state == few.state[target]) & (few.form == few.form[target])
        assert alike[target] == chosen.sum()
        assert told[target] == pytest.approx(least_squares([chosen * 1.0], few.turnover)[target], rel=1e-8)


@pytest.mark.parametrize("what", UNIQUE)
def test_shares_of_unique_establishments_come_near_the_printed_ones(what: str, result_of: Run) -> None:
    """The population was chosen to come near them, so .05 guards it and confirms nothing."""
    given = result_of("firm-regressions")[what]
    assert {case: given[case] for case in SAID[what].values} == pytest.approx(dict(SAID[what].values), abs=0.05)


@pytest.mark.parametrize(
    ("what", "cases"),
    [
        ("Table 1: size: mean error if unique", ("all", "top 50 %", "top 25 %", "top 10 %", "top 1 %")),
        ("Table 2: size and state: mean error if unique", ("top 10 %", "top 1 %")),
    ],
)
def test_errors_of_unique_establishments_are_of_the_printed_size(
    what: str, cases: tuple[str, ...], result_of: Run
) -> None:
    """Nothing was chosen to meet these: within a factor of 3.

    Not so the first three of Table 2 (.035, .036, .006; ours .0018, .0018, .0008). Multiplying size and state, which the article
    may have done, does not explain it; establishments with next to no turnover might.
    """
    for case in cases:
        ratio = result_of("firm-regressions")[what][case] / SAID[what].values[case]
        assert 1 / 3 < ratio < 3, (case, ratio)


def test_larger_establishments_are_easier_to_find(result_of: Run) -> None:
    for what in UNIQUE:
        shares = list(result_of("firm-regressions")[what].values())
        assert shares == sorted(shares)
    for what in ("Table 1: size: mean error", "Table 2: size and state: mean error", "Table 3: + branch: mean error"):
        errors = list(result_of("firm-regressions")[what].values())
        assert errors == sorted(errors, reverse=True)


def test_whatever_else_is_known_makes_more_unique_and_errors_smaller(result_of: Run) -> None:
    result = result_of("firm-regressions")
    for case in result["Table 1: size: unique"]:
        unique, errors = ([result[f"Table 3: {w}: {x}"][case] for w in KNOWLEDGE] for x in ("unique", "mean error"))
        assert unique == sorted(unique) and errors == sorted(errors, reverse=True)


def test_the_outlier_needs_the_exact_size_and_the_dummy_does_not(result_of: Run) -> None:
    result = result_of("firm-regressions")
    near = "size: within 10 % if unique"
    assert min(result[f"Table 1: exact {near}"].values()) > 0.99
    assert max(result[f"Table 1: approximate {near}"].values()) < 0.1
    assert result["Table 3: + branch: unique"]["top 1 %"] > 0.9


# What a site does

CATALOG = """
title = "Establishments"
unit = "id"

[variables.id]
role = "identifier"

[variables.size]
kind = "numeric"
minimum = 1
cutpoints = [20, 250]

[variables.turnover]
kind = "numeric"
role = "confidential"
minimum = 0
"""


def codes(name: str, number: int) -> str:
    return f"\n[variables.{name}]\n[variables.{name}.codes]\n" + "".join(
        f'c{i} = "{name} {i}"\n' for i in range(number)
    )


@pytest.fixture(scope="module")
def panel(town: Any) -> Any:
    """Three thousand of the establishments, as a data set of a site; the secret is one of those that tests know."""
    firms = establishments(3_000, seed=1)
    classes = {name: np.char.add("c", getattr(firms, name).astype(str)) for name in ("state", "form", "branch")}
    table = pa.table(
        {
            "id": np.arange(3_000).astype(str),
            "size": firms.size.astype(float),
            "turnover": firms.turnover.round(),
            **classes,
        }
    )
    catalog = CATALOG + codes("state", 16) + codes("form", 6) + codes("branch", 40)
    return replace(town, catalog=catalog, people=table)


def ask(panel: Any, formula: str) -> Any:
    return panel.desk().consider(python_regression("people", formula))


def leverage(x: np.ndarray) -> np.ndarray:
    return 1 / len(x) + (x - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()


@pytest.mark.parametrize(
    "formula",
    [
        "turnover ~ 1/(abs(size - 1234) + 0.0001)",
        "turnover ~ inverse(size)",
        "turnover ~ (size=1234)",
        "turnover ~ size=1234",
        "turnover ~ I(size > 1200)",
        "turnover ~ id",
    ],
)
def test_neither_outlier_nor_dummy_can_be_written(panel: Any, formula: str) -> None:
    with pytest.raises(Mistake):
        ask(panel, formula)


def rules(answer: Any) -> list[str]:
    return [reason.rule for reason in answer.reasons]


@pytest.mark.parametrize(
    ("formula", "opened"),
    [
        ("log(turnover) ~ size", {"leverage_units": 1}),
        ("turnover ~ size", {"leverage_units": 1, "influence": 1.0}),
        ("turnover ~ size^2", {"leverage_units": 1, "influence": 1.0}),
    ],
)
def test_an_establishment_that_is_an_outlier_by_itself_is_refused_for_it(panel: Any, formula: str, opened: Any) -> None:
    """Least squares would lean on the largest. With the bounds on leverage, and on influence, open it is answered."""
    size = panel.people["size"].to_numpy() ** (2 if "^2" in formula else 1)
    assert leverage(size).max() > 1 / panel.policy.models.leverage_units
    assert rules(ask(panel, formula)) == ["models.unfit"]
    assert rules(ask(panel.under(models=opened), formula)) == []


def test_a_dummy_of_three_attributes_is_refused(panel: Any) -> None:
    assert rules(ask(panel, "turnover ~ state*form*branch")) == ["models.saturated"]


def test_a_dummy_of_two_attributes_that_few_have_is_refused_whatever_stands_beside_it(panel: Any) -> None:
    """State by legal form has single establishments: as a table, and in a model with a covariate or another class too."""
    cells = np.unique(np.char.add(*(panel.people[name].to_numpy() for name in ("state", "form"))), return_counts=True)[
        1
    ]
    assert (cells == 1).any(), "there were single ones to be shown"
    assert rules(ask(panel, "log(turnover) ~ state*form + log(size)")) == ["models.saturated"]
    assert rules(ask(panel, "log(turnover) ~ state*form + branch + log(size)")) == ["models.implied"]
