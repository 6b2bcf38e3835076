"""Eight doubles at a time in compiled loops: read, written, added, multiplied.

For sums whose order is fixed, the compiler makes nothing wide by itself where the eight belong to one record. Each of the
eight is added and multiplied as one double is, and nothing is fused, so they have the same bits on every machine, whatever
the width of its registers. Nothing is tested: places must be in the array.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.datamodel.registry import register_default
from numba.extending import intrinsic

from confide.arrays import Floats

__all__ = ["EIGHT", "add_eight", "add_two", "aligned", "all_eight", "by", "eight", "plus", "put", "total", "turned"]

EIGHT = 8

INDEX = ir.IntType(32)


class Vector(types.Type):
    """Numba's type of so many doubles."""

    def __init__(self, lanes: int) -> None:
        super().__init__(name=f"vector{lanes}")
        self.lanes = lanes


@register_default(Vector)
class VectorModel(PrimitiveModel):
    """Kept in a register of the processor, or in several."""

    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.DoubleType(), kind.lanes))  # type: ignore[no-untyped-call]  # numba has no types


VECTOR = Vector(EIGHT)


def aligned(*shape: int) -> Floats:
    """Zeros that begin where a line of the cache does: eight doubles across two lines cost up to twice as much (measured)."""
    size = int(np.prod(shape))
    room = np.zeros(size + EIGHT)
    first = -room.ctypes.data % (8 * EIGHT) // 8
    return room[first : first + size].reshape(shape)


def _operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """What loops call, from what says of which types it is and writes its instructions."""
    return cast(Callable[..., Any], intrinsic(function))


def _place(context: Any, builder: Any, lanes: int, kind: Any, array: Any, at: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), ir.VectorType(ir.DoubleType(), lanes).as_pointer())


def _shuffled(builder: Any, one: Any, two: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(one, two, ir.Constant(ir.VectorType(INDEX, len(lanes)), lanes))


@_operation
def eight(typing: Any, array: Any, at: Any) -> Any:
    """The eight doubles of an array from a place on, counted through all of its rows."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load(_place(context, builder, EIGHT, signature.args[0], *given), align=8)

    return VECTOR(array, types.uintp), generate


@_operation
def put(typing: Any, array: Any, at: Any, vector: Any) -> Any:
    """Write eight doubles into an array."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.store(given[2], _place(context, builder, EIGHT, signature.args[0], *given[:2]), align=8)
        return context.get_dummy_value()

    return types.none(array, types.uintp, VECTOR), generate


@_operation
def add_eight(typing: Any, array: Any, at: Any, vector: Any) -> Any:
    """Add eight doubles to those of an array from a place on."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = _place(context, builder, EIGHT, signature.args[0], *given[:2])
        builder.store(builder.fadd(builder.load(place, align=8), given[2]), place, align=8)
        return context.get_dummy_value()

    return types.none(array, types.uintp, VECTOR), generate


@_operation
def add_two(typing: Any, array: Any, at: Any, one: Any, two: Any) -> Any:
    """Add two doubles to those of an array from a place on."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = _place(context, builder, 2, signature.args[0], *given[:2])
        pair = ir.Constant(ir.VectorType(ir.DoubleType(), 2), ir.Undefined)
        for lane in (0, 1):
            pair = builder.insert_element(pair, given[2 + lane], INDEX(lane))
        builder.store(builder.fadd(builder.load(place, align=8), pair), place, align=8)
        return context.get_dummy_value()

    return types.none(array, types.uintp, types.float64, types.float64), generate


@_operation
def plus(typing: Any, one: Any, two: Any) -> Any:
    """Each of the eight plus the other's."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fadd(*given)

    return VECTOR(VECTOR, VECTOR), generate


@_operation
def by(typing: Any, one: Any, two: Any) -> Any:
    """Each of the eight times the other's."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fmul(*given)

    return VECTOR(VECTOR, VECTOR), generate


@_operation
def all_eight(typing: Any, number: Any) -> Any:
    """Eight times the same number."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        none = ir.Constant(ir.VectorType(ir.DoubleType(), EIGHT), ir.Undefined)
        return _shuffled(builder, builder.insert_element(none, given[0], INDEX(0)), none, [0] * EIGHT)

    return VECTOR(types.float64), generate


@_operation
def total(typing: Any, vector: Any) -> Any:
    """The sum of the eight: of every second one first, as in `((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7))`."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        [found] = given
        for half in (4, 2, 1):
            low, high = list(range(half)), list(range(half, 2 * half))
            found = builder.fadd(_shuffled(builder, found, found, low), _shuffled(builder, found, found, high))
        return builder.extract_element(found, INDEX(0))

    return types.float64(VECTOR), generate


@_operation
def turned(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    """The columns of a square of eight rows."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        rows = list(given)
        for half in (1, 2, 4):  # squares of so many change places with those beside them
            keep = [lane if not lane & half else lane - half + EIGHT for lane in range(EIGHT)]
            for low in (row for row in range(EIGHT) if not row & half):
                one, two = rows[low], rows[low + half]
                rows[low] = _shuffled(builder, one, two, keep)
                rows[low + half] = _shuffled(builder, one, two, [lane + half for lane in keep])
        return context.make_tuple(builder, signature.return_type, rows)

    return types.UniTuple(VECTOR, EIGHT)(*[VECTOR] * EIGHT), generate  # type: ignore[no-untyped-call]
