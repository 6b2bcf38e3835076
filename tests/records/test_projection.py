"""The compiled loops of balancing give what their plain twins give."""

from typing import Any

import numpy as np
import pytest

from confide.records.noise.balance import _inverses, _tables
from confide.records.noise.projection import SUMS, displace, grams, project

SIZE = 2100


def plain_grams(terms: Any, ease: Any, spread: Any, cell: Any, cells: int) -> Any:
    one, two = terms.T
    shares = [term * spread**2 for term in (one, two)]
    parts = [ease * one * one, ease * one * two, ease * two * two]
    parts += [part for share in shares for part in (share, share**2)]
    return np.column_stack([np.bincount(cell, part, cells) for part in parts])


def summed(given: Any, places: Any, tables: Any) -> Any:
    """The sums of all cells, added up in two parts."""
    sums = np.zeros(((tables[:, 2] * tables[:, 3]).sum(), SUMS))
    for some in slice(0, 11), slice(11, SIZE):
        grams(sums, given["terms"][some], given["ease"][some], given["spread"][some], places[:, some].copy(), tables)
    return sums


def plain_project(given: Any, cells: list[Any], inverses: list[Any], excess: list[Any]) -> Any:
    residual, offset, terms, ease = (given[name] for name in ("residual", "offset", "terms", "ease"))
    for cell, inverse, more in zip(cells, inverses, excess, strict=True):
        first = more[:, 0] + np.bincount(cell, terms[:, 0] * residual, len(inverse))
        second = more[:, 1] + np.bincount(cell, offset + terms[:, 1] * residual, len(inverse))
        a, b, c = inverse.T
        pull = np.column_stack([a * first + b * second, b * first + c * second])[cell]
        residual = residual - ease * (terms * pull).sum(axis=1)
    return residual


def drawn(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    sizes = (2, 3, 40)
    classes = [rng.integers(0, size, SIZE) for size in sizes]
    return {
        "classes": classes,
        "places": np.array([*classes, np.zeros(SIZE)], np.uint16),
        "spread": rng.choice([0.15, 0.5], SIZE),
        "terms": np.column_stack([rng.uniform(0.5, 2, SIZE), rng.lognormal(7, 0.8, SIZE)]),
        "ease": rng.uniform(0.1, 1, SIZE),
        "residual": rng.normal(0, 0.2, SIZE),
        "offset": rng.normal(0, 1, SIZE),
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_compiled_loops_agree_with_their_twins(seed: int) -> None:
    given = drawn(seed)
    tables = _tables(given["classes"], 3)
    cells = [given["places"][a].astype(int) * width + given["places"][b] for a, b, _, width in tables]
    inverses = []
    for table, cell in zip(tables, cells, strict=True):
        sums = summed(given, given["places"], table[None])
        plain = plain_grams(given["terms"], given["ease"], given["spread"], cell, len(sums))
        np.testing.assert_allclose(sums, plain, rtol=1e-12)
        inverses.append(_inverses(sums))
    some = np.concatenate(inverses)
    assert (some[:, 1] != 0).any() and (some == 0).all(axis=1).any(), "groups of both kinds"
    excess = [np.random.default_rng(seed).normal(0, [5, 5000], (len(one), 2)) for one in inverses]
    expected = plain_project(given, cells, inverses, excess)
    got = given["residual"].copy()
    project(got, given["offset"], given["terms"], given["ease"], given["places"], tables, some, np.concatenate(excess))
    assert np.abs(got - given["residual"]).max() > 0.01
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_a_table_of_large_groups_is_cleared_of_both_sums() -> None:
    given = drawn(4)
    tables = _tables(given["classes"][:2], 2)
    places = given["places"][[0, 1, 3]]
    inverses = [_inverses(summed(given, places, table[None])) for table in tables]
    left = given["residual"].copy()
    some = np.concatenate(inverses)
    project(left, given["offset"], given["terms"], given["ease"], places, tables, some, np.zeros((len(some), 2)))
    cell = given["classes"][0] * 3 + given["classes"][1]
    for term, offset in zip(given["terms"].T, (0.0, given["offset"]), strict=True):
        was, now = (np.abs(np.bincount(cell, offset + term * part)).max() for part in (given["residual"], left))
        assert now < 1e-9 * was


def test_displaced_is_what_sums_have_beside_the_means_there_were() -> None:
    rng = np.random.default_rng(5)
    was, now = (np.array([*rng.integers(0, 4, (2, SIZE)), np.zeros(SIZE)], np.uint16) for _ in range(2))
    columns = rng.uniform(0.5, 2, (SIZE, 4))
    tables = _tables([was[0], was[1]], 2)
    expected = []
    for a, b, first, second in tables:
        old, new = (places[a].astype(int) * second + places[b] for places in (was, now))
        n, m, s, t = (np.bincount(old, column, first * second) for column in columns.T)
        p, q, u, v = (np.bincount(new, column, first * second) for column in columns.T)
        expected.append(np.column_stack([u - p * s / n, v - q * t / m]))
    sums, moved = np.zeros((2, sum(map(len, expected)), 4))
    for some in slice(0, 7), slice(7, SIZE):
        displace(sums, moved, columns[some], was[:, some].copy(), now[:, some].copy(), tables)
    found = moved[:, 2:] - moved[:, :2] * sums[:, 2:] / sums[:, :2]
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-9)
