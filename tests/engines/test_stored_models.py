"""The sums of a linear model from stored tables are those of a scan and of the plain engine."""

from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from confide import demo
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.duckdb.store import write_store
from confide.engines.duckdb.stored import stored_moments
from confide.engines.memory.engine import MemoryEngine
from confide.model.catalog.toml import read_dataset
from confide.model.design import Block, Design, Indicator, Number
from confide.model.evidence import Step
from confide.model.formula import Transform
from confide.model.request import Family
from confide.site.coding.encode import encode
from confide.site.secret import Secret

NAMES = ("region", "education", "marital")
CATALOG = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")


RESPONSES = (
    Number("income", shift=10.0, scale=4.0),
    Number("income", Transform.SQUARE),
    Indicator("employment", (0, 2)),
)


@pytest.mark.parametrize("response", RESPONSES)
@pytest.mark.parametrize("numbers", [("", ""), ("square", "sqrt")])
@pytest.mark.parametrize("dropped", [0, 5])
def test_stored_sums_equal_scanned_ones(
    tmp_path: Path, response: Number | Indicator, numbers: tuple[str, str], dropped: int
) -> None:
    people = read_dataset(CATALOG, name="people", read_file=str)
    coded = encode(people, demo.people(3000), secret=Secret(b"x" * 32))
    blocks, at = [Block((), (), 0, 1)], 1
    for index, name in enumerate(NAMES):
        size = len(people.variables[name].codes or ())
        levels = (-1, *range(size - 2), -1)  # the first and the last class stand with the reference
        blocks.append(Block((), ((index, levels),), at, size - 2))
        at += size - 2
    blocks += [Block((0,), (), at, 1), Block((1,), (), at + 1, 1)]
    first, second = map(Transform, numbers)
    entering = (Number("age", first, shift=40.0, scale=2.0), Number("taxes", second))
    gone = tuple(coded.records["unit"].to_pylist()[:dropped])
    step = Step(Design(response, entering, NAMES, tuple(blocks)), Family.GAUSSIAN, without=gone)
    found = []
    for pairs_from in (0, 10**9):
        write_store(coded, tmp_path / f"{pairs_from}.duckdb", pairs_from=pairs_from)
        engine = DuckDBEngine(tmp_path / f"{pairs_from}.duckdb")
        assert bool(engine._pairs) == (pairs_from == 0)
        if engine._pairs:
            whole = replace(step, without=())
            assert stored_moments(whole, engine._products, engine._stored_tables), "no scan is needed"
        found.append(engine.moments(step))
        engine.close()
    plain = MemoryEngine(coded).moments(step)
    for each in found:
        for name, expected in vars(plain).items():
            size = float(np.abs(np.asarray(expected, dtype=float)).max())
            np.testing.assert_allclose(getattr(each, name), expected, rtol=1e-9, atol=1e-9 * max(size, 1.0))
