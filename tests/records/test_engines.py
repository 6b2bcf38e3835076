"""Protected records, with columns of their own for transformed numbers, give the same on every engine."""

from collections.abc import Callable

import numpy as np
import pytest

from confide.engines import Coded, Engine
from confide.engines.memory.engine import MemoryEngine
from confide.model.design import Block, Design, Number
from confide.model.evidence import Step, Tally
from confide.model.formula import Transform
from confide.model.request import Family
from protecting import Protection, people


@pytest.fixture(scope="module")
def protected() -> Coded:
    return Protection(people(800, seed=1)).protected


def model(response: Number, *predictors: Number) -> Step:
    """A linear model of numbers."""
    blocks = (Block((), (), 0, 1), *(Block((at,), (), at + 1, 1) for at in range(len(predictors))))
    return Step(Design(response, predictors, (), blocks), Family.GAUSSIAN)


@pytest.mark.parametrize("how", [transform for transform in Transform if transform])
def test_models_of_transformed_numbers_use_the_column_of_the_form(
    engine_of: Callable[[Coded], Engine], protected: Coded, how: Transform
) -> None:
    label = f"{how}(income)"
    column = protected.facts.forms[label]
    assert protected.facts.value(Number("income", how)) == column != protected.facts.values["income"]
    step = model(Number("income", how), Number("age"), Number("tax"))
    engine, plain = engine_of(protected), MemoryEngine(protected)
    mine, reference = engine.moments(step), plain.moments(step)
    np.testing.assert_allclose(mine.gram, reference.gram, rtol=1e-9)
    assert (mine.records, mine.units) == (reference.records, reference.units)
    form = protected.records[column].to_numpy().astype(float) / 10.0 ** protected.facts.value_decimals[label]
    with np.errstate(divide="ignore"):
        values = {"log": np.log, "sqrt": np.sqrt, "square": np.square}[str(how)](form)
    there = np.isfinite(values)
    assert mine.records == there.sum()
    assert reference.response == pytest.approx(values[there].sum(), rel=1e-9)


@pytest.mark.parametrize("by", [(), ("sex",), ("town", "job"), ("age", "ill", "mood")])
def test_tallies_of_protected_records_are_those_of_the_plain_engine(
    engine_of: Callable[[Coded], Engine], protected: Coded, by: tuple[str, ...]
) -> None:
    for of in (None, "income", "tax"):
        tally = Tally(by=by, of=of)
        mine, reference = engine_of(protected).tally(tally), MemoryEngine(protected).tally(tally)
        for name in vars(reference):
            one, two = getattr(mine, name), getattr(reference, name)
            assert np.array_equal(one, two) if isinstance(two, np.ndarray) else one == two, name


def test_facts_survive_the_store(engine_of: Callable[[Coded], Engine], protected: Coded) -> None:
    assert engine_of(protected).facts == protected.facts
    assert protected.facts.ceiling and protected.facts.noise and protected.facts.forms and protected.facts.roles
