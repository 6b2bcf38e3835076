"""L5 and L6: tables that were suppressed, rounded or adjusted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from confide import tables
from confide.attacks.published.registry import TABLE_ATTACKS
from confide.attacks.published.trying import attack_table
from confide.errors import Mistake


def counts(rows: int = 600, places: int = 30) -> tables.Table:
    rng = np.random.default_rng(1)
    frame = {
        "place": rng.integers(0, places, rows).astype(str),
        "sex": rng.choice(list("fm"), rows),
        "age": rng.choice(list("yo"), rows),
    }
    return tables.Table.from_microdata(pd.DataFrame(frame), by=list(frame))


def turnover() -> tables.Table:
    rng = np.random.default_rng(1)
    frame = {"activity": rng.integers(0, 8, 200).astype(str), "region": rng.integers(0, 6, 200).astype(str)}
    frame["value"] = np.round(np.exp(rng.normal(4, 1.2, 200)))
    table = tables.Table.from_microdata(pd.DataFrame(frame), by=["activity", "region"], of="value")
    table = table.flag(tables.PPercent(15))
    levels = np.where(table.primary, 0.15 * table.value, 0.0)
    return replace(table, lower_protection=levels, upper_protection=levels)


def test_suppressed_cells_are_computed_if_nothing_else_is_suppressed_and_not_from_an_audited_pattern():
    table = turnover()
    [weak] = attack_table(table, table, only=["suppressed-cells"])
    hidden = abs(table.relations.matrix[:, np.flatnonzero(table.suppressed)])
    plain = int(np.sum(hidden[hidden.sum(axis=1) == 1].sum(axis=0) > 0))  # alone suppressed among a total and its parts
    assert weak.targets == int(table.primary.sum()) and plain > 1
    assert weak.claimed == weak.right >= plain and weak.success > weak.guess
    [strong] = attack_table(table, tables.suppress(table).table, only=["suppressed-cells"])
    assert strong.claimed == 0 and strong.targets == weak.targets


def test_bounds_are_those_of_the_audit():
    """The attack starts from any table that fits, the audit from the true one."""
    table = tables.suppress(turnover()).table
    judged = tables.audit(table)
    seen = np.where(table.suppressed, np.nan, table.value)
    from confide.attacks.published.published_table import cell_bounds

    ends = cell_bounds(
        table.relations, np.where(np.isnan(seen), 0.0, seen), np.where(np.isnan(seen), np.inf, seen), whole=False
    )
    assert ends is not None
    assert np.allclose(ends[0], judged.lower, atol=1e-4) and np.allclose(ends[1], judged.upper, atol=1e-4)


def test_counts_rounded_one_by_one_are_undone_and_controlled_rounding_is_not():
    table = counts()
    nearest = replace(table, value=3 * np.rint(table.value / 3))
    [weak] = attack_table(table, nearest, base=3, to_nearest=True, only=["rounded-cells"])
    assert weak.claimed == weak.right > 0.25 * weak.targets and weak.lift > 0.1
    at_random = tables.round(table, base=3, method="random", teaching_seed=5).table
    [little] = attack_table(table, at_random, base=3, only=["rounded-cells"])
    assert little.claimed == little.right  # what is claimed is certain
    controlled = tables.round(table, base=5, teaching_seed=1).table
    [strong] = attack_table(table, controlled, base=5, only=["rounded-cells"])
    assert strong.claimed == 0


def test_cells_moved_just_as_far_as_needed_are_moved_back_by_their_decimals():
    table = turnover()
    [weak] = attack_table(
        table, tables.adjust(table, integer=False, teaching_seed=1).table, percent=15, only=["adjusted-cells"]
    )
    assert weak.success > 0.7 and weak.guess < 0.2
    rng = np.random.default_rng(2)
    levels = np.where(table.primary, table.value * rng.uniform(0.15, 0.8, len(table)), 0.0)
    moved = tables.adjust(replace(table, lower_protection=levels, upper_protection=levels), teaching_seed=1).table
    [strong] = attack_table(table, moved, percent=15, only=["adjusted-cells"])
    assert strong.success < weak.success - 0.4


def test_what_does_not_fit_is_said():
    table = counts(60, 4)
    for found in attack_table(table, table):
        assert not found.applies and found.stopped
    wrong = replace(table, value=table.value + 50)
    [found] = attack_table(table, wrong, base=3, only=["rounded-cells"])
    assert found.claimed == 0 and "No table that adds up" in found.notes[0]
    with pytest.raises(Mistake, match="other cells"):
        attack_table(table, counts(60, 5))
    with pytest.raises(Mistake, match="above 0"):
        attack_table(table, table, base=-1)
    with pytest.raises(Mistake, match="less than 100"):
        attack_table(table, table, percent=100)
    with pytest.raises(Mistake, match="Did you mean 'rounded-cells'"):
        attack_table(table, table, only=["rounded-cell"])
    assert {attack.code for attack in TABLE_ATTACKS.values()} == {"L5", "L6"}
