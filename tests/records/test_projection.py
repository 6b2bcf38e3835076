"""The compiled loops of balancing give what their plain twins give."""

from typing import Any

import numpy as np
import pytest

from confide.records.noise.balance import _Covers, _inverses
from confide.records.noise.projection import SUMS, displace, grams, project

SIZE, CLASSES = 2100, [2, 3, 40]


def plain_grams(terms: Any, ease: Any, spread: Any, cell: Any, cells: int) -> Any:
    one, two = terms.T
    shares = [term * spread**2 for term in (one, two)]
    parts = [ease * one * one, ease * one * two, ease * two * two]
    parts += [part for share in shares for part in (share, share**2)]
    return np.column_stack([np.bincount(cell, part, cells) for part in parts])


def summed(given: Any, covers: _Covers) -> Any:
    """The sums over all cells of covers, added up in two parts."""
    sums = covers.zeros(SUMS)
    for some in slice(0, 11), slice(11, SIZE):
        own = given["places"][:, some].copy()
        terms, ease, spread = (given[name][some] for name in ("terms", "ease", "spread"))
        grams(sums, terms, ease, spread, own, covers.variables, covers.sizes)
    return sums


def projected(given: Any, covers: _Covers, inverse: Any, excess: Any) -> Any:
    left = given["residual"].copy()
    sums = np.ascontiguousarray(summed(given, covers)[:, :3])
    laid = covers.variables, covers.sizes, covers.tables, covers.cells
    project(left, given["offset"], given["terms"], given["ease"], given["places"], *laid, sums, inverse, excess)
    return left


def cells_of(covers: _Covers, places: Any) -> list[Any]:
    """The cell of each record in every table, by the cells of its cover."""
    found, begun = [], 0
    for cover, _ in covers.tables:
        own = [places[name].astype(int) for name in covers.variables[cover]]
        sizes = covers.sizes[cover]
        cell = np.ravel_multi_index(own, sizes)
        found.append(covers.cells[begun : (begun := begun + sizes.prod())][cell])
    return found


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
    classes = [rng.integers(0, size, SIZE) for size in CLASSES]
    return {
        "places": np.array([*classes, np.zeros(SIZE)], np.uint16),
        "spread": rng.choice([0.15, 0.5], SIZE),
        "terms": np.column_stack([rng.uniform(0.5, 2, SIZE), rng.lognormal(7, 0.8, SIZE)]),
        "ease": rng.uniform(0.1, 1, SIZE),
        "residual": rng.normal(0, 0.2, SIZE),
        "offset": rng.normal(0, 1, SIZE),
    }


@pytest.mark.parametrize("most", [0, 8, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_the_compiled_loops_agree_with_their_twins(seed: int, most: int) -> None:
    """Whether each table has its own pass, or those of a cover share one."""
    given, covers = drawn(seed), _Covers.of(CLASSES, 3, most=most)
    assert len(covers.variables) == {0: 6, 8: 3, 1000: 1}[most] and len(covers.tables) == 6
    cells, sums = cells_of(covers, given["places"]), covers.parts_of(summed(given, covers))
    sizes = covers.tables[:, 1]
    plain = [plain_grams(given["terms"], given["ease"], given["spread"], *of) for of in zip(cells, sizes, strict=True)]
    np.testing.assert_allclose(sums, np.concatenate(plain), rtol=1e-12)
    some = _inverses(sums)
    assert (some[:, 1] != 0).any() and (some == 0).all(axis=1).any(), "groups of both kinds"
    excess = np.random.default_rng(seed).normal(0, [5, 5000], (len(some), 2))
    starts = np.cumsum(sizes)[:-1]
    expected = plain_project(given, cells, np.split(some, starts), np.split(excess, starts))
    got = projected(given, covers, some, excess)
    assert np.abs(got - given["residual"]).max() > 0.01
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("most", [0, 6])
def test_a_table_of_large_groups_is_cleared_of_both_sums(most: int) -> None:
    """The last one, which is by both variables where each table is looked at alone, and by one of them where they share a cover."""
    given = drawn(4)
    given["places"] = given["places"][[0, 1, 3]]
    covers = _Covers.of(CLASSES[:2], 2, most=most)
    some = _inverses(covers.parts_of(summed(given, covers)))
    left = projected(given, covers, some, np.zeros((len(some), 2)))
    cell = cells_of(covers, given["places"])[-1]
    for term, offset in zip(given["terms"].T, (0.0, given["offset"]), strict=True):
        was, now = (np.abs(np.bincount(cell, offset + term * part)).max() for part in (given["residual"], left))
        assert now < 1e-9 * was


@pytest.mark.parametrize("most", [0, 16])
def test_displaced_is_what_sums_have_beside_the_means_there_were(most: int) -> None:
    rng = np.random.default_rng(5)
    was, now = (np.array([*rng.integers(0, 4, (2, SIZE)), np.zeros(SIZE)], np.uint16) for _ in range(2))
    columns = rng.uniform(0.5, 2, (SIZE, 4))
    covers, expected = _Covers.of([4, 4], 2, most=most), []
    for old, new, size in zip(cells_of(covers, was), cells_of(covers, now), covers.tables[:, 1], strict=True):
        n, m, s, t = (np.bincount(old, column, size) for column in columns.T)
        p, q, u, v = (np.bincount(new, column, size) for column in columns.T)
        expected.append(np.column_stack([u - p * s / n, v - q * t / m]))
    sums, moved = covers.zeros(4), covers.zeros(4)
    for some in slice(0, 7), slice(7, SIZE):
        displace(sums, moved, columns[some], was[:, some].copy(), now[:, some].copy(), covers.variables, covers.sizes)
    sums, moved = covers.parts_of(sums), covers.parts_of(moved)
    found = moved[:, 2:] - moved[:, :2] * sums[:, 2:] / sums[:, :2]
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-9)
