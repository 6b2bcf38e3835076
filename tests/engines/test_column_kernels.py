"""Loops over columns that take eight doubles at a time give the bits of their plain twins, record after record."""

import numba
import numpy as np
import pytest

from confide.arrays import Floats
from confide.engines.columns import model_kernels as kernels
from confide.engines.columns.model_chunks import turn_lanes
from confide.engines.columns.reading import CHUNK
from confide.engines.columns.vectors import (
    EIGHT,
    add_eight,
    add_two,
    aligned,
    all_eight,
    by,
    eight,
    plus,
    put,
    total,
    turned,
)

JOINT, GROUPS, FOUND = 30, 3, 203


@numba.njit
def _each(numbers: Floats, to: Floats) -> None:
    one, two = eight(numbers, 0), eight(numbers, 8)
    put(to, 0, plus(one, two))
    put(to, 8, by(one, two))
    put(to, 16, all_eight(numbers[1]))
    add_eight(to, 24, one)
    add_two(to, 32, numbers[3], numbers[4])
    to[34] = total(one)


@numba.njit
def _turn(numbers: Floats, to: Floats) -> None:
    a, b, c, d = eight(numbers, 0), eight(numbers, 8), eight(numbers, 16), eight(numbers, 24)
    made = turned(a, b, c, d, eight(numbers, 32), eight(numbers, 40), eight(numbers, 48), eight(numbers, 56))
    put(to, 0, made[0])
    put(to, 8, made[3])
    put(to, 16, made[7])


def test_eight_doubles_are_added_and_multiplied_as_one_is() -> None:
    draw = np.random.default_rng(1)
    numbers, to = draw.normal(size=16) * 10.0 ** draw.integers(-9, 9, 16), np.full(35, 2.0)
    _each(numbers, to)
    one, two = numbers[:8], numbers[8:]
    assert np.array_equal(to[:8], one + two) and np.array_equal(to[8:16], one * two)
    assert np.array_equal(to[16:24], [numbers[1]] * 8) and np.array_equal(to[24:32], 2.0 + one)
    assert np.array_equal(to[32:34], 2.0 + numbers[3:5])
    a, b, c, d, e, f, g, h = one.tolist()
    assert to[34] == ((a + e) + (c + g)) + ((b + f) + (d + h))


def test_a_square_of_eight_is_turned() -> None:
    square, to = np.random.default_rng(2).normal(size=(8, 8)), np.empty((3, 8))
    _turn(square, to)
    assert np.array_equal(to, square.T[[0, 3, 7]])


@pytest.mark.parametrize("shape", [(1,), (5, 3), (200, 16)])
def test_aligned_zeros_begin_a_line_of_the_cache(shape: tuple[int, ...]) -> None:
    made = aligned(*shape)
    assert made.shape == shape and not made.any() and made.ctypes.data % 64 == 0 and made.flags.c_contiguous


@pytest.mark.parametrize("width", [8, 24])
def test_sums_of_a_chunk_have_the_bits_of_their_twin(width: int) -> None:
    draw = np.random.default_rng(width)
    columns, weight = draw.normal(size=(width + 2, CHUNK)), draw.random(CHUNK)
    joint = draw.integers(0, JOINT // GROUPS, (GROUPS, CHUNK), dtype=np.uint32)
    joint += np.arange(0, JOINT, JOINT // GROUPS, dtype=np.uint32)[:, None]
    order, lanes = draw.permutation(width + 2)[:width], aligned(CHUNK, width)
    turn_lanes(FOUND, order, columns, lanes)
    assert np.array_equal(lanes[:FOUND], columns[order, :FOUND].T)
    size = JOINT // GROUPS
    pairs = np.array([(0, 1, size, 0), (0, 2, size, size * size), (1, 2, size, 2 * size * size), (1, 2, size, 0)])
    pairs[:, 3] -= pairs[:, 0] * size * size + pairs[:, 1] * size
    rows, alone, dense, tables = aligned(JOINT, width), aligned(JOINT, 2), aligned(width + 1, width), np.zeros(300)
    for lane in range(0, width, EIGHT):
        kernels._add_lanes(FOUND, lane, lanes, weight, joint, rows, dense)
        for other in range(0, lane, EIGHT):
            kernels._add_square(FOUND, lane, other, lanes, weight, dense)
    kernels._add_alone(FOUND, joint, weight, alone)
    kernels._add_pairs(FOUND, pairs, joint, weight, tables)
    twins = np.zeros_like(rows), np.zeros_like(alone), np.zeros_like(dense), np.zeros_like(tables)
    for k in range(FOUND):
        for group in range(GROUPS):
            twins[0][joint[group, k]] += weight[k] * lanes[k]
            twins[1][joint[group, k]] += weight[k], 1.0
        for row in range(width):
            first = row // EIGHT * EIGHT
            twins[2][row, :first] += lanes[k, :first] * (weight[k] * lanes[k, row])
            twins[2][row, first : first + EIGHT] += weight[k] * lanes[k, first : first + EIGHT] * lanes[k, row]
        twins[2][width] += weight[k] * lanes[k]
        for own, second, times, at in pairs:
            twins[3][at + joint[own, k] * times + joint[second, k]] += weight[k]
    for found, twin in zip((rows, alone, dense), twins[:3], strict=True):
        assert np.array_equal(found, twin)
    np.testing.assert_allclose(tables, twins[3], rtol=1e-13)  # two pairs share a table here, one after the other


def test_leverages_are_those_of_the_inverse() -> None:
    draw = np.random.default_rng(5)
    lanes, joint = aligned(CHUNK, 16), draw.integers(0, JOINT, (GROUPS, CHUNK), dtype=np.uint32)
    lanes[:] = draw.normal(size=lanes.shape)
    cross, dense, to = aligned(JOINT, 16), aligned(16, 16), np.empty(CHUNK)
    cross[:], dense[:] = draw.normal(size=cross.shape), np.tril(draw.normal(size=dense.shape))
    kernels._leverages(FOUND, joint, lanes, cross, dense, to)
    x = lanes[:FOUND]
    expected = np.einsum("ka,ab,kb->k", x, dense, x) + (x * cross[joint[:, :FOUND]].sum(axis=0)).sum(axis=1)
    np.testing.assert_allclose(to[:FOUND], expected, rtol=1e-12)
