"""From stored columns to what the kernels read: the design laid out, and batches of records with numbers transformed."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Floats, Ints
from confide.engines import CLUSTER, StoreFacts
from confide.engines.sums.kernels import Batch, Layout
from confide.errors import Fault
from confide.model.design import Block, Category, Design, Duration, Indicator, Number
from confide.model.evidence import Step
from confide.model.formula import Transform

__all__ = ["columns_of", "entering", "lay_out", "read_batch"]


def columns_of(step: Step, facts: StoreFacts) -> list[str]:
    """The stored columns a model needs, each once."""
    design = step.design
    names = ["unit", "key", *(["weight"] if facts.weighted else [])]
    names += [facts.classes[name] for name in design.classes]
    names += [_value(number, facts) for number in design.numbers]
    response = design.response
    names.append(_value(response, facts) if isinstance(response, Number) else facts.classes[response.variable])
    names += [facts.classes[response.event]] if isinstance(response, Duration) else []
    names += [facts.classes[CLUSTER]] if step.clusters else []
    return list(dict.fromkeys(names))


def _value(number: Number, facts: StoreFacts) -> str:
    if number.variable not in facts.values:
        raise Fault(f"The store of {facts.dataset!r} was written before models were possible. Ingest the data again.")
    return facts.value(number)


def lay_out(design: Design) -> Layout:
    """The design as small arrays."""
    blocks = design.blocks
    maps = [levels for block in blocks for levels in _strided(block)]
    sizes = {at: len(levels) for block in blocks for at, levels in block.classes}
    return Layout(
        columns=design.columns,
        offset=_ints(block.offset for block in blocks),
        number_at=_ends(len(block.numbers) for block in blocks),
        number=_ints(at for block in blocks for at in block.numbers),
        class_at=_ends(len(block.classes) for block in blocks),
        classes=_ints(at for block in blocks for at, _ in block.classes),
        levels_at=_ends(len(levels) for levels in maps),
        levels=np.concatenate([np.empty(0, np.int32), *maps]),
        sizes=_ints(sizes[at] for at in range(len(design.classes))),
    )


def _strided(block: Block) -> list[NDArray[np.int32]]:
    """For each class of a block, each place's step in columns, or -1 at the reference."""
    widths = [max(levels) + 1 for _, levels in block.classes]
    strides = [prod(widths[i + 1 :]) for i in range(len(widths))]
    arrays = [np.array(levels, np.int32) for _, levels in block.classes]
    return [np.where(a < 0, -1, a * s).astype(np.int32) for a, s in zip(arrays, strides, strict=True)]


def _ints(numbers: Any) -> Ints:
    return np.fromiter(numbers, np.int64)


def _ends(lengths: Any) -> Ints:
    return np.cumsum(np.fromiter((0, *lengths), np.int64))


def read_batch(columns: Mapping[str, NDArray[Any]], step: Step, facts: StoreFacts, sizes: Ints) -> Batch:
    """Records as the kernels read them. `columns` are as stored, floats with NaN where something is missing."""
    design = step.design
    records = len(columns["unit"])
    numbers = np.empty((len(design.numbers), records))
    for row, number in zip(numbers, design.numbers, strict=True):
        np.subtract(entering(number, columns, facts), number.shift, out=row)
        row /= number.scale
    classes = np.empty((len(design.classes), records), np.uint16)
    for places, name, size in zip(classes, design.classes, sizes, strict=True):
        places[:] = columns[facts.classes[name]]
        if records and places.max() >= size:
            raise Fault(f"The design has fewer places of {name!r} than the data.")
    response = _response(design, columns, facts)
    wanted = np.isfinite(response)
    for row in numbers:
        wanted &= np.isfinite(row)
    if step.without:
        wanted &= ~np.isin(columns["unit"], np.array(step.without, np.int64))
    weight = columns["weight"] / 10.0**facts.weight_decimals if facts.weighted else np.ones(records)
    unit, key = np.array(columns["unit"], np.int64), np.array(columns["key"], np.int32)
    return Batch(unit, key, weight, response, numbers, classes, wanted, _clusters(step, columns, facts))


def _clusters(step: Step, columns: Mapping[str, NDArray[Any]], facts: StoreFacts) -> NDArray[np.uint16]:
    """The place of each record's sampling unit, if scores are by these."""
    if not step.clusters:
        return np.empty(0, np.uint16)
    places = np.array(columns[facts.classes[CLUSTER]], np.uint16)
    if len(places) and places.max() >= step.clusters:
        raise Fault("There are fewer sampling units by the description of the store than in the data.")
    return places


def entering(number: Number, columns: Mapping[str, NDArray[Any]], facts: StoreFacts) -> Floats:
    """The transformed values of a variable, before shift and scale; NaN or infinite where there is none."""
    stored, decimals = columns[facts.value(number)], facts.scale(number)
    value: Floats = stored / 10.0**decimals if decimals else stored.astype(np.float64, copy=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        match number.transform:
            case Transform.NONE:
                return value
            case Transform.LOG:
                return np.log(value)
            case Transform.SQRT:
                return np.sqrt(value)
            case Transform.SQUARE:
                return value * value


def _response(design: Design, columns: Mapping[str, NDArray[Any]], facts: StoreFacts) -> Floats:
    response = design.response
    if isinstance(response, Indicator):
        return np.isin(columns[facts.classes[response.variable]], response.places).astype(np.float64)
    if isinstance(response, Category | Duration):
        levels = np.array(response.levels, np.float64)
        found: Floats = np.where(levels < 0, np.nan, levels)[columns[facts.classes[response.variable]]]
        if isinstance(response, Duration):
            found = 2 * found + np.isin(columns[facts.classes[response.event]], response.places)
        return found
    return (entering(response, columns, facts) - response.shift) / response.scale
