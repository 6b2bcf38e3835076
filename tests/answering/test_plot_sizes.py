"""The number of plotted points is the protected number of units, so it tells no more than the answer says anyway."""

from typing import Any

import numpy as np
import pytest

from asking import python_regression


@pytest.mark.parametrize("preset", ["tablebuilder", "drop-q"])
def test_a_plot_has_as_many_points_as_the_protected_number_of_units(town: Any, preset: str) -> None:
    """Over 8 secrets: always the published n, which is not always the true one."""
    apart = 0
    for secret in range(8):
        desk = town.preset(preset).desk(secret)
        answer = desk.consider(python_regression("people", "income ~ age"), diagnostics=True)
        published = dict(answer.grids["statistics"].rows)["n"]
        sizes = {len(grid.rows) for name, grid in answer.grids.items() if name.startswith("plot")}
        assert sizes == {published}
        apart += published != answer.model.fitted.fitted.moments.units
    assert apart >= 3


def test_the_bounds_of_a_logistic_plot_are_those_of_the_protected_number_of_units(town: Any) -> None:
    """A bound is 2 sqrt(v / m) for a group of m units: m times the number of groups is the published n, not the true one."""
    told, true = [], []
    for secret in range(6):
        desk = town.preset("tablebuilder").desk(secret)
        answer = desk.consider(python_regression("people", "ill=yes ~ age", family="binomial"), diagnostics=True)
        [grid] = [grid for name, grid in answer.grids.items() if name.endswith("fitted")]
        bound, chance = np.array([row[2] for row in grid.rows]), 0.25
        share = np.mean(answer.model.fitted.fitted.moments.response / answer.model.fitted.fitted.moments.weight)
        turned = chance + (1 - 2 * chance) * share
        found = np.sum(4 * turned * (1 - turned) / (1 - 2 * chance) ** 2 / bound**2)
        published = dict(answer.grids["statistics"].rows)["n"]
        told.append(found / published)
        true.append(found / answer.model.fitted.fitted.moments.units)
    assert np.std(told) < np.std(true), (told, true)
