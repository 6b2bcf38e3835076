"""Classes made of stored ones count as if they were stored themselves, on every engine."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from confide.engines import Coded, Engine, StoreFacts
from confide.engines.derived.engine import DerivedEngine
from confide.engines.memory.engine import MemoryEngine
from confide.engines.squares import square_shifts
from confide.model.catalog.dataset import Derivation
from confide.model.catalog.derivation import table_of
from confide.model.design import Block, Design, Indicator, Number
from confide.model.evidence import Cells, Step, Tally
from confide.model.request import Family

SIZES = {"a": 4, "b": 3, "c": 2}
MADE = {
    "one": Derivation(("a",), (4,), (1, 0, 1, 2)),
    "two": Derivation(("a", "b"), (4, 3), (0, 0, 1, 0, 0, 1, 1, 1, 1, 2, 1, 2)),
}


def microdata(n: int = 300, *, several: bool) -> Coded:
    draw = np.random.default_rng(7)
    unit = draw.integers(-(2**62), 2**62, n)
    unit = np.sort(unit[draw.integers(0, max(n // 3, 1), n)] if several else unit)
    columns = {
        "unit": pa.array(unit),
        "key": pa.array(draw.integers(-(2**31), 2**31 - 1, n).astype(np.int32)),
        "weight": pa.array(draw.integers(50, 200, n)),
        **{f"c_{name}": pa.array(draw.integers(0, size, n).astype(np.uint8)) for name, size in SIZES.items()},
        "n_v": pa.array(draw.integers(-(2**20), 2**20, n), mask=draw.random(n) < 0.1),
    }
    facts = StoreFacts("d", "", "", "", several, True, 2, {name: f"c_{name}" for name in SIZES}, {"v": "n_v"})
    facts = replace(facts, values={"v": "n_v"}, value_decimals={"v": 3})
    records = pa.table(columns)
    return Coded(replace(facts, shifts=square_shifts(records, facts.numbers)), records)


def with_stored(coded: Coded) -> MemoryEngine:
    """The plain engine on records that have the derived classes as columns: what all is compared with."""
    records, stored = coded.records, dict(coded.facts.classes)
    for name, made in MADE.items():
        places = table_of(made)[tuple(coded.places(source) for source in made.sources)]
        records, stored[name] = records.append_column(f"d_{name}", pa.array(places.astype(np.uint8))), f"d_{name}"
    return MemoryEngine(Coded(replace(coded.facts, classes=stored), records))


def equal(one: Cells, other: Cells) -> None:
    for field in fields(Cells):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b, field.name


TALLIES = [
    Tally(("one",)),
    Tally(("two", "c"), weighted=True),
    Tally(("c", "one", "b"), of="v", top=3, weighted=True),
    Tally(("one", "two"), of="v", top=2, share=0.3),
    Tally(("two",), within=((("a", (0, 1)), ("c", (1,))), (("a", (3,)),)), complete=(Number("v"),)),
    Tally(("one",), within=((("a", (1, 3)),),)),
    Tally(("b",), of="v"),
]


@pytest.mark.parametrize("several", [False, True], ids=["one record a unit", "several"])
@pytest.mark.parametrize("tally", TALLIES, ids=range(len(TALLIES)))
def test_a_tally_is_that_of_stored_classes(engine_of: Callable[[Coded], Engine], tally: Tally, several: bool) -> None:
    coded = microdata(several=several)
    without = tuple(sorted(set(coded.units.tolist()))[:5])
    engine = DerivedEngine(engine_of(coded), MADE)
    equal(engine.tally(tally), with_stored(coded).tally(tally))
    equal(engine.tally(replace(tally, without=without)), with_stored(coded).tally(replace(tally, without=without)))


def test_nobody_is_in_no_cell(engine_of: Callable[[Coded], Engine]) -> None:
    coded = microdata(1, several=False)
    engine = DerivedEngine(engine_of(coded), MADE)
    nobody = Tally(("one", "c"), without=tuple(coded.units.tolist()))
    assert len(engine.tally(nobody).records) == 0
    assert engine.tally(Tally(("two",))).records.tolist() == [1]


ONE = Block((), ((0, (-1, 0, 1)),), 1, 2)
TWO = Block((), ((1, (0, -1, 1)),), 3, 2)
CROSSED = Block((), ((1, (0, -1, 1)), (2, (-1, 0))), 5, 2)
SLOPED = Block((0,), ((1, (0, -1, 1)),), 7, 2)
DESIGN = Design(
    Number("v"), (Number("v", scale=1000.0),), ("one", "two", "c"), (Block((), (), 0, 1), ONE, TWO, CROSSED, SLOPED)
)


@pytest.mark.parametrize("several", [False, True], ids=["one record a unit", "several"])
@pytest.mark.parametrize("response", [Number("v"), Indicator("one", (0, 2)), Indicator("c", (1,))])
def test_a_model_is_that_of_stored_classes(engine_of: Callable[[Coded], Engine], response: Any, several: bool) -> None:
    coded = microdata(several=several)
    family = Family.GAUSSIAN if isinstance(response, Number) else Family.BINOMIAL
    step = Step(replace(DESIGN, response=response), family, ((("a", (0, 1, 3)),),), tuple(coded.units.tolist()[:3]))
    engine, plain = DerivedEngine(engine_of(coded), MADE), with_stored(coded)
    for asked in (step, replace(step, beta=tuple(np.linspace(-0.2, 0.3, DESIGN.columns).tolist()))):
        close(engine.moments(asked), plain.moments(asked))
    inverse = np.linalg.pinv(plain.moments(asked).gram)
    close(engine.spread(asked, inverse), plain.spread(asked, inverse))
    low, high = -(2**63), 2**63 - 1
    close(engine.rows(asked, inverse, low=low, high=high), plain.rows(asked, inverse, low=low, high=high))


def close(one: Any, other: Any) -> None:
    """All sums agree but for the order in which they are added."""
    for field in fields(other):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if b is None:
            assert a is None, field.name
            continue
        parts = zip(a, b, strict=True) if isinstance(b, tuple) else [(a, b)]
        for left, right in parts:
            scale = np.abs(np.asarray(right, float)).max(initial=1.0)
            assert np.allclose(left, right, rtol=1e-9, atol=1e-9 * scale), field.name
