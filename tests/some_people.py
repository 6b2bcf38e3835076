"""A few records for tests of engines, and a model of them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from confide.engines import Coded, StoreFacts
from confide.engines.squares import square_shifts
from confide.model.design import Block, Design, Number
from confide.model.evidence import Step
from confide.model.request import Family

__all__ = ["model", "people"]


def people(n: int = 500, *, several: bool = False) -> Coded:
    draw = np.random.default_rng(3)
    unit = draw.integers(-(2**63), 2**63 - 1, n)
    unit = unit[draw.integers(0, max(n // 3, 1), n)] if several else unit
    columns = {
        "unit": pa.array(unit),
        "key": pa.array(draw.integers(-(2**31), 2**31 - 1, n).astype(np.int32)),
        "c0": pa.array(draw.integers(0, 30, n).astype(np.uint8)),
        "n1": pa.array(draw.integers(-(2**40), 2**40, n), mask=draw.random(n) < 0.1),
    }
    records = pa.table(columns)
    facts = StoreFacts("d", "", "mark", "", several, False, 0, {"class": "c0"}, {"value": "n1"})
    facts = replace(facts, values={"value": "n1"}, value_decimals={"value": 2})
    return Coded(replace(facts, shifts=square_shifts(records, facts.numbers)), records)


def model() -> Step:
    design = Design(Number("value"), (), ("class",), (Block((), (), 0, 1), Block((), ((0, (-1, *range(29))),), 1, 29)))
    return Step(design, Family.GAUSSIAN, beta=(0.1,) * 30)
