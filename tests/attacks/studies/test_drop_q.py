"""Differencing and padding against the closed forms of Drop q, and padding against drops as a site makes them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import python_table
from confide.answering.mechanisms.dropq.risk import (
    apparent_probability,
    disclosure_probability,
    padding_probability,
)
from confide.attacks.studies import EXPECTED, StudyResult
from confide.attacks.studies.lucero import DifferencingStudy
from confide.attacks.studies.padding import PaddingStudy

UNIFORM = [0.25] * 4


def test_what_is_expected_of_drop_q_is_what_its_formulas_say() -> None:
    said = EXPECTED["differencing"]
    for k, figure in said["disclosed correctly, by k"].values.items():
        assert disclosure_probability(UNIFORM, k=int(k)) == pytest.approx(figure, abs=5e-5)
        apparent, correct = apparent_probability(UNIFORM, k=int(k))
        assert said["disclosed apparently, by k"].values[k] == pytest.approx(apparent, abs=5e-5)
        assert said["apparent ones that are correct, by k"].values[k] == pytest.approx(correct, abs=5e-4)
    for size, figure in EXPECTED["padding"]["plain: disclosed, by size of pad / n"].values.items():
        assert padding_probability(UNIFORM, n=978, pad=978 * int(size), k=5) == pytest.approx(figure, abs=5e-4)


@pytest.mark.parametrize("shares", [(0.45, 0.35, 0.15, 0.05), (0.85, 0.10, 0.03, 0.02)])
def test_differencing_of_skewed_tables_discloses_as_formula_5_says(shares: tuple[float, ...]) -> None:
    """The article: simulated and computed probabilities agree to two decimals at n = 978. The target is in the rarest cell.

    4 standard errors of 200,000 pairs are at most .0025; drawing without replacement and rounded shares move it a little more.
    """
    result = replace(DifferencingStudy(), shares=shares, averaged=(1,)).run()
    for k in range(3, 8):
        apparent, correct = apparent_probability(shares, k=k)
        assert result["disclosed correctly, by k"][str(k)] == pytest.approx(apparent * correct, abs=0.005)
        assert result["disclosed apparently, by k"][str(k)] == pytest.approx(apparent, abs=0.005)
        assert result["apparent ones that are correct, by k"][str(k)] == pytest.approx(correct, abs=0.05)


def test_pads_help_against_plain_drops_and_not_against_drops_by_piece(result_of: Callable[[str], StudyResult]) -> None:
    plain = result_of("padding")["plain: secrets read, by pads"]
    piece = result_of("padding")["by piece: secrets read, by pads"]
    assert plain["1"] < plain["10"] < plain["40"]
    assert piece["1"] == piece["10"] == piece["40"] < plain["1"]


def ill_women_of_a1(desk: Any, target: bool, pad: list[dict[str, Any]]) -> int:
    """Those whom the table counts, with the one woman of 60 and more or without her."""
    piece = {"sex": "f", "town": "a1"} | ({} if target else {"age": ["0-19", "20-39", "40-59"]})
    table = desk.consider(python_table("people", rows="ill", columns="town", where=[piece, *pad]))
    return int(table.columns["count"].values[1, 0])


def test_under_drops_as_a_site_makes_them_every_pad_shows_one_difference(town: Any) -> None:
    """Drop q alone, twelve secrets, four pads; under some secret the difference is not the woman's secret."""
    people = town.people.slice(0, 400)
    women = (people["sex"].to_numpy() == "f") & (people["town"].to_numpy() == "a1")
    age = people["age"].to_numpy() % 60
    age[np.flatnonzero(women)[0]] = 70.0
    place = people.schema.get_field_index("age")
    ruled = town.of(people.set_column(place, "age", pa.array(age))).under(
        universe={"gamma": 0, "gamma_star": 0, "marginals": False, "complement": False, "remainder": 0},
        tables={"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False},
        counts={"mechanism": "none"},
        drop={"k": PaddingStudy().k},
    )
    pads: list[list[dict[str, Any]]] = [
        [{"town": "b1"}],
        [{"town": "b2"}],
        [{"county": "B"}],
        [{"town": "b1", "sex": "m"}],
    ]
    seen = set()
    for secret in range(12):
        desk = ruled.desk(secret)
        shown = {ill_women_of_a1(desk, True, pad) - ill_women_of_a1(desk, False, pad) for pad in pads}
        assert len(shown) == 1
        seen |= shown
    assert len(seen) > 2, "the drops differ from secret to secret, and hide whether she is ill"
