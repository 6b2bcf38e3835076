"""From the coefficients of shifted and scaled numbers to those of the numbers themselves."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from confide.arrays import Floats
from confide.model.design import Block, Design, Number

__all__ = ["original_units", "same_without"]


def original_units(design: Design) -> tuple[float, float, Floats]:
    """Shift and scale of the response, and the matrix that takes coefficients to those of numbers not shifted nor scaled.

    A product of shifted numbers is a sum of products of fewer of them, which the design has too.
    """
    back = np.eye(design.columns)
    for block in design.blocks:
        own = slice(block.offset, block.offset + block.width)
        unit = np.eye(block.width) / np.prod([design.numbers[at].scale for at in block.numbers])
        back[own, own] = unit
        for gone in _shifted(block, design):
            other = same_without(block, gone, design)
            back[other.offset : other.offset + other.width, own] += unit * np.prod(
                [-design.numbers[at].shift for at in gone]
            )
    if not isinstance(design.response, Number):
        return 0.0, 1.0, back
    return design.response.shift, design.response.scale, back


def same_without(block: Block, gone: tuple[int, ...], design: Design) -> Block:
    """The block with the same classes and without some of the numbers; the order of hierarchy sees that there is one."""
    left = tuple(at for at in block.numbers if at not in gone)
    found = [other for other in design.blocks if other.classes == block.classes and set(other.numbers) == set(left)]
    assert found, "a model lacks a part of its interactions"
    return found[0]


def _shifted(block: Block, design: Design) -> Iterator[tuple[int, ...]]:
    """Each choice of one or more shifted numbers of a block."""
    moved = [at for at in block.numbers if design.numbers[at].shift]
    for size in range(1, len(moved) + 1):
        yield from combinations(moved, size)
