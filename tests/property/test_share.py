"""Contributions that no rule needs exactly change no decision: bounded ones withhold the same totals as exact ones."""

from dataclasses import replace

import numpy as np
import pytest

from confide.answering.cube import Cube
from confide.answering.mechanisms.magnitudes import Magnitudes
from confide.model.policy import TotalRules
from confide.site.draws import Draws
from confide.site.secret import Secret

RULES = [
    TotalRules(),
    TotalRules(dominance_n=3, dominance_k=75.0, p_percent=30.0, beta=0.1),
    TotalRules(mechanism="none", p_percent=5.0),
    TotalRules(p_percent=0.0, dominance_k=100.0),
    TotalRules(mechanism="thompson"),
]


@pytest.mark.parametrize("rules", RULES)
def test_bounded_contributions_withhold_the_same_totals(rules: TotalRules) -> None:
    rng = np.random.default_rng(7)
    magnitudes = Magnitudes(rules)
    cells, width = 4000, magnitudes.contributors
    values = np.sort(rng.pareto(rng.uniform(0.5, 3, (cells, 1)), (cells, 12)) * 1000 + 1, axis=1)[:, ::-1].astype(
        np.int64
    )
    units = rng.integers(1, 13, cells)
    values = np.where(np.arange(12) < units[:, None], values, 0)
    size, top = values.sum(axis=1), values[:, :width]
    key = rng.integers(-(2**31), 2**31, cells)
    exact = Cube(units, units, key, units, size, size, (values**2).sum(axis=1), top)
    matters = top[:, 0] > magnitudes.share * size
    bounded = replace(exact, top=np.where(matters[:, None], top, top[:, :1]))
    draws = Draws(Secret(b"s" * 32))
    found = [magnitudes.protect(cube, "turnover", draws, units=units, scale=0) for cube in (exact, bounded)]
    np.testing.assert_array_equal(found[0].withheld, found[1].withheld)
    np.testing.assert_array_equal(found[0].values, found[1].values)
    assert found[0].withheld.any() and not found[0].withheld.all()
    assert rules.mechanism == "thompson" or (~matters).any()
