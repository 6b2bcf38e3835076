"""Models on every engine: DuckDB, columns, PostgreSQL, Spark and their compiled kernels say what the plain reference says."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import astuple, replace
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm

from confide.engines import Coded, Engine, StoreFacts
from confide.engines.columns.engine import ColumnsEngine
from confide.engines.columns.store import write_columns
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.duckdb.store import write_store
from confide.engines.memory.engine import MemoryEngine
from confide.engines.postgres.engine import PostgresEngine
from confide.engines.postgres.store import write_postgres
from confide.engines.spark.engine import SparkEngine
from confide.engines.spark.store import write_spark
from confide.engines.sums import grouped, several_kernels
from confide.engines.sums import kernels as compiled
from confide.engines.sums.batches import lay_out
from confide.engines.sums.stream import SEVERAL, several_plan
from confide.errors import Fault
from confide.model.catalog.toml import read_dataset
from confide.model.design import Block, Category, Design, Duration, Indicator, Number, Response
from confide.model.evidence import Moments, Step
from confide.model.formula import Transform
from confide.model.request import Family
from confide.site.coding.encode import encode
from confide.site.secret import Secret
from spark_cluster import Cluster

WHOLE = {"low": -(2**63), "high": 2**63 - 1}
A, B, C = (0, (-1, 0, 1)), (1, (0, -1, 1, 2)), (2, (-1, 0))
"""Three classes of 3, 4 and 2 places, each with a reference."""

NUMBERS = (
    Number("x", shift=2.0, scale=3.0),
    Number("t", Transform.LOG),
    Number("x", Transform.SQUARE, scale=10.0),
    Number("t", Transform.SQRT, shift=0.5),
)


def design(*terms: tuple[tuple[int, ...], tuple[tuple[int, tuple[int, ...]], ...]], response: object = None) -> Design:
    blocks, at = [Block((), (), 0, 1)], 1
    for numbers, classes in terms:
        width = int(np.prod([max(levels) + 1 for _, levels in classes], dtype=int))
        blocks.append(Block(numbers, classes, at, width))
        at += width
    return Design(response or Number("y", scale=2.0), NUMBERS, ("a", "b", "c"), tuple(blocks))  # type: ignore[arg-type]


MAIN = (((0,), ()), ((1,), ()), ((), (A,)), ((), (B,)), ((), (C,)))
DESIGNS = {
    "main effects": design(*MAIN),
    "class by number": design(*MAIN, ((0,), (A,))),
    "class by class": design(*MAIN, ((), (A, B))),
    "number by number": design(*MAIN, ((0, 2), ())),
    "three numbers": design(*MAIN, ((0, 1, 3), ())),
    "three classes": design(*MAIN, ((), (A, B, C))),
    "two classes and a number": design(*MAIN, ((3,), (B, A))),
}


def people(seed: int, n: int = 400, *, several: bool = False, weighted: bool = True) -> Coded:
    draw = np.random.default_rng(seed)
    unit = draw.integers(-(2**63), 2**63 - 1, n)
    unit = unit[draw.integers(0, max(n // 3, 1), n)] if several else unit
    hidden = draw.random((3, n)) < 0.05
    facts = StoreFacts(
        *("d", "", "mark", "", several, weighted, 2 if weighted else 0),
        classes={"a": "c0", "b": "c1", "c": "c2"},
        numbers={},
        values={"x": "x3", "t": "x4", "y": "x5"},
        value_decimals={"x": 1, "t": 0, "y": 2},
    )
    columns = {
        "unit": pa.array(unit),
        "key": pa.array(draw.integers(-(2**31), 2**31 - 1, n).astype(np.int32)),
        **({"weight": pa.array(draw.integers(0, 500, n))} if weighted else {}),
        "c0": pa.array(draw.integers(0, 3, n).astype(np.uint8)),
        "c1": pa.array(draw.integers(0, 4, n).astype(np.uint16)),
        "c2": pa.array(draw.integers(0, 2, n).astype(np.uint8)),
        "x3": pa.array(draw.integers(-50, 50, n).astype(np.int32), mask=hidden[0]),
        "x4": pa.array(draw.integers(0, 30, n), mask=hidden[1]),
        "x5": pa.array(draw.integers(0, 900, n).astype(np.int32), mask=hidden[2]),
    }
    return Coded(facts, pa.table(columns))


@contextmanager
def duck(coded: Coded, folder: Path) -> Iterator[DuckDBEngine]:
    write_store(coded, folder / "s.duckdb")
    engine = DuckDBEngine(folder / "s.duckdb")
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def columns(coded: Coded, folder: Path) -> Iterator[ColumnsEngine]:
    write_columns(coded, folder / "s.columns")
    engine = ColumnsEngine(folder / "s.columns")
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def spark(coded: Coded, folder: Path, cluster: Cluster) -> Iterator[SparkEngine]:
    write_spark(coded, folder / "s.spark", str(cluster.storage))
    engine = SparkEngine(folder / "s.spark", cluster.cluster)
    try:
        yield engine
    finally:
        engine.close()


Opened = Callable[[Coded, Path], AbstractContextManager[Engine]]


@pytest.fixture(params=["duckdb", "columns", "postgres", "spark"])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Opens coded records on an engine that is compared with the plain reference."""
    if request.param in ("duckdb", "columns"):
        return {"duckdb": duck, "columns": columns}[request.param]
    if request.param == "spark":
        return partial(spark, cluster=request.getfixturevalue("spark"))
    database = request.getfixturevalue("postgres").database

    @contextmanager
    def postgres(coded: Coded, folder: Path) -> Iterator[PostgresEngine]:
        write_postgres(coded, folder / "s.postgres", database)
        engine = PostgresEngine(folder / "s.postgres", database)
        try:
            yield engine
        finally:
            engine.close()

    return postgres


def same(one: object, other: object) -> None:
    """Equal to 1e-10, relative to the largest entry of each field."""
    assert type(one) is type(other)
    for mine, yours in zip(astuple(one), astuple(other), strict=True):  # type: ignore[call-overload]
        pairs = zip(mine, yours, strict=True) if isinstance(mine, tuple) else [(mine, yours)]
        for a, b in pairs:
            if a is None or b is None:
                assert a is b
                continue
            size = max(np.abs(b).max(initial=0), 1.0) if np.ndim(b) else max(abs(b), 1.0)
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * size)


ONE = [family for family in Family if not family.several]
"""Families with one linear predictor of a record."""

RESPONSES: dict[Family, Response] = {
    Family.BINOMIAL: Indicator("b", (1, 3)),
    Family.MULTINOMIAL: Category("b", (1, 0, -1, 2)),
    Family.ORDERED: Category("b", (0, 1, 2, 3)),
    Family.SURVIVAL: Duration("b", (0, 1, -1, 2), "c", (1,)),
}


def calibration(model: Design) -> tuple[tuple[float, ...], ...]:
    """Some rows, that count a record between half and twice."""
    assert isinstance(model.response, Category | Duration)
    rows = np.random.default_rng(9).normal(size=(model.response.outcomes, model.columns)) * 0.01
    return tuple(map(tuple, rows.tolist()))


def agree(opened: Opened, coded: Coded, step: Step, folder: Path) -> None:
    plain = MemoryEngine(coded)
    p = step.design.columns * step.design.predictors
    root = np.random.default_rng(7).normal(size=(p, p))
    inverse = root @ root.T
    at = replace(step, beta=tuple(np.random.default_rng(8).normal(size=p) * 0.3))
    with opened(coded, folder) as engine:
        for asked in (step, at):
            same(engine.moments(asked), plain.moments(asked))
        same(engine.spread(at, inverse), plain.spread(at, inverse))
        for bounds in () if step.family.several else (WHOLE, {"low": 0, "high": 2**62}):
            same(engine.rows(at, inverse, **bounds), plain.rows(at, inverse, **bounds))


@pytest.mark.parametrize("family", list(Family))
@pytest.mark.parametrize("model", DESIGNS.values(), ids=list(DESIGNS))
def test_every_engine_agrees_with_the_reference_on_every_kind_of_term(
    opened: Opened, model: Design, family: Family, tmp_path: Path
) -> None:
    model = replace(model, response=RESPONSES.get(family, model.response))
    step = Step(model, family, calibration=calibration(model) if family.several else ())
    agree(opened, people(1), step, tmp_path)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_engine_agrees_with_several_records_a_unit_weights_and_a_universe(
    opened: Opened, seed: int, weighted: bool, several: bool, tmp_path: Path
) -> None:
    coded = people(seed, several=several, weighted=weighted)
    within = ((("a", (0, 1)), ("c", (1,))), (("a", (2,)),))
    without = tuple(coded.records["unit"].to_pylist()[:5])
    model = DESIGNS["two classes and a number"]
    ordered = replace(model, response=RESPONSES[Family.ORDERED])
    agree(opened, coded, Step(model, Family.GAUSSIAN, within, without), tmp_path)
    agree(opened, coded, Step(ordered, Family.ORDERED, within, without, calibration=calibration(ordered)), tmp_path)


def test_a_unit_counts_once_however_many_records_it_has(tmp_path: Path) -> None:
    coded = people(4, several=True)
    moments = MemoryEngine(coded).moments(Step(DESIGNS["main effects"], Family.GAUSSIAN))
    assert moments.units < moments.records
    assert moments.support[0] == moments.units


@pytest.mark.parametrize("records", [0, 1])
def test_no_record_and_one_record(opened: Opened, records: int, tmp_path: Path) -> None:
    coded = people(5, 40)
    units = [r["unit"] for r in coded.records.to_pylist() if None not in r.values() and r["x4"]]
    step = Step(DESIGNS["class by number"], Family.POISSON, (), tuple(set(coded.records["unit"].to_pylist())))
    step = replace(step, without=tuple(set(step.without) - set(units[:records])))
    agree(opened, coded, step, tmp_path)
    with opened(coded, tmp_path) as engine:
        moments = engine.moments(step)
    assert moments.records == moments.units == records
    assert records or not any(np.any(field) for field in astuple(moments))


def test_nothing_at_all_in_the_universe_gives_zeros(opened: Opened, tmp_path: Path) -> None:
    step = Step(DESIGNS["main effects"], Family.BINOMIAL, ((("a", (99,)),),))
    with opened(people(6), tmp_path) as engine:
        assert not any(np.any(field) for field in astuple(engine.moments(step)))
        rows = engine.rows(replace(step, beta=(0.0,) * 9), np.eye(9), **WHOLE)
    assert rows.unit.shape == (0,) and rows.numbers.shape == (0, 4) and rows.classes.shape == (0, 3)


def test_records_whose_logarithm_or_root_is_not_defined_are_left_out(opened: Opened, tmp_path: Path) -> None:
    coded = people(9, weighted=False)
    table = coded.records
    known = [r for r in table.to_pylist() if None not in r.values()]
    asked = {
        Transform.LOG: sum(r["x3"] > 0 for r in known),
        Transform.SQRT: sum(r["x3"] >= 0 for r in known),
        Transform.NONE: len(known),
    }
    with opened(coded, tmp_path) as engine:
        for transform, count in asked.items():
            numbers = (Number("x", transform), Number("t"))
            model = Design(Number("y"), numbers, (), (Block((), (), 0, 1), Block((0,), (), 1, 1)))
            assert engine.moments(Step(model, Family.GAUSSIAN)).records == count


@pytest.mark.parametrize(("name", "several"), [("class by number", True), ("main effects", False)])
def test_the_same_question_gives_the_same_bits(opened: Opened, name: str, several: bool, tmp_path: Path) -> None:
    """Also where the universe is written in another way, so that batches end elsewhere."""
    coded = people(10, 300_000, several=several)
    ways = [(), ((("a", (0, 1, 2)),),), ((("a", (0,)),), (("a", (1,)),), (("a", (2,)),))]
    with opened(coded, tmp_path) as engine:
        found = []
        for way in (*ways, *ways):
            step = Step(DESIGNS[name], Family.POISSON, way, beta=(0.1,) * DESIGNS[name].columns)
            moments, spread = engine.moments(step), engine.spread(step, np.eye(len(step.beta)))
            found.append([np.asarray(f).tobytes() for f in (*astuple(moments), *astuple(spread)[:4], *spread.fits)])
    assert all(bits == found[0] for bits in found)


def test_compiled_kernels_say_what_their_python_text_says(tmp_path: Path) -> None:
    model = DESIGNS["two classes and a number"]
    layout, beta = lay_out(model), np.full(model.columns, 0.1)
    with duck(people(11, several=True), tmp_path) as engine:
        read = list(engine._batches(Step(model, Family.POISSON), layout))
    batches = [batch._replace(cluster=batch.classes[1].copy()) for batch in read]  # sampling units as good as any
    for half in (0, 1):
        for name in ("add_moments", "add_spread"):
            extra = () if name == "add_moments" else (np.eye(model.columns),)
            one, other = (
                compiled.moment_sums(layout.columns) if name == "add_moments" else compiled.spread_sums(layout, 4)
                for _ in range(2)
            )
            kernel: Callable[..., None] = getattr(compiled, name)
            for batch in batches:
                kernel(half, compiled.POISSON, layout, batch, beta, *extra, one)
                kernel.py_func(half, compiled.POISSON, layout, batch, beta, *extra, other)  # type: ignore[attr-defined]
            for mine, yours in zip(one, other, strict=True):
                np.testing.assert_allclose(mine, yours, rtol=1e-12)


@pytest.mark.parametrize("family", [Family.MULTINOMIAL, Family.ORDERED, Family.SURVIVAL])
def test_kernels_with_several_predictors_say_what_their_python_text_says(family: Family, tmp_path: Path) -> None:
    model = replace(DESIGNS["two classes and a number"], response=RESPONSES[family])
    beta = (0.1,) * model.columns * model.predictors
    step, layout = Step(model, family, beta=beta, calibration=calibration(model)), lay_out(model)
    plan = several_plan(step)
    with duck(people(11, several=True), tmp_path) as engine:
        read = list(engine._batches(step, layout))
    batches = [batch._replace(cluster=batch.classes[1].copy()) for batch in read]  # sampling units as good as any
    for half in (0, 1):
        for kernel, sums, extra in (
            (several_kernels.add_several, [compiled.moment_sums(len(beta)) for _ in range(2)], ()),
            (
                several_kernels.add_several_spread,
                [several_kernels.several_spread_sums(layout, plan, 4) for _ in range(2)],
                (np.eye(len(beta)),),
            ),
        ):
            for batch in batches:
                kernel(half, SEVERAL[family], layout, batch, plan, *extra, sums[0])
                kernel.py_func(half, SEVERAL[family], layout, batch, plan, *extra, sums[1])
            for mine, yours in zip(*sums, strict=True):
                np.testing.assert_allclose(mine, yours, rtol=1e-12, atol=1e-14)


def test_a_record_that_counts_twice_is_two_units_with_its_score() -> None:
    """So robust errors are those of the counts that records are calibrated to, and do not tell by how much these were changed."""
    model = replace(DESIGNS["main effects"], response=RESPONSES[Family.ORDERED])
    engine, width = MemoryEngine(people(13, 150)), model.columns * model.predictors
    beta = np.zeros((model.predictors, model.columns))
    beta[:, 0] = -1.0, 0.0, 1.0
    once = Step(model, Family.ORDERED, beta=tuple(beta.ravel().tolist()))
    twice = replace(once, calibration=((1.0, *[0.0] * (model.columns - 1)),) * 4)
    meats = [engine.spread(step, np.eye(width)).meat for step in (once, twice)]
    np.testing.assert_allclose(meats[1], 2 * meats[0], rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("family", [Family.MULTINOMIAL, Family.ORDERED, Family.SURVIVAL])
def test_several_predictors_have_the_derivatives_of_the_likelihood(family: Family) -> None:
    """The score beside gram @ beta is minus half the slope of the deviance, by differences."""
    model = replace(DESIGNS["main effects"], response=RESPONSES[family])
    engine, width = MemoryEngine(people(12, 150)), model.columns * model.predictors
    start = np.random.default_rng(3).normal(size=(model.predictors, model.columns)) * 0.02
    start[:, 0] += np.linspace(-1, 1, model.predictors)
    ask = Step(model, family, calibration=calibration(model))

    def at(beta: np.ndarray) -> Moments:
        return engine.moments(replace(ask, beta=tuple(beta.tolist())))

    here = at(start.ravel())
    slopes = [(at(start.ravel() + e).deviance - at(start.ravel() - e).deviance) / 2e-5 for e in 1e-5 * np.eye(width)]
    np.testing.assert_allclose(here.score - here.gram @ start.ravel(), -0.5 * np.array(slopes), rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize("family", ONE)
def test_repeated_steps_reach_the_fit_of_statsmodels(opened: Opened, family: Family, tmp_path: Path) -> None:
    response = Indicator("b", (1, 3)) if family is Family.BINOMIAL else Number("y")
    sex = (1, C[1])
    model = design(((0,), ()), ((), (A,)), ((), (sex,)), ((0,), (sex,)), response=response)
    model = replace(model, numbers=NUMBERS[:1], classes=("a", "c"))
    coded = people(12, weighted=False)
    with opened(coded, tmp_path) as engine:
        beta: tuple[float, ...] = ()
        for _ in range(25):
            found = engine.moments(Step(model, family, beta=beta))
            beta = tuple(np.linalg.lstsq(found.gram, found.score)[0])
        final = engine.moments(Step(model, family, beta=beta))
    reference = MemoryEngine(coded)._model(Step(model, family))
    families = {Family.GAUSSIAN: "Gaussian", Family.BINOMIAL: "Binomial", Family.POISSON: "Poisson"}
    fit = sm.GLM(reference.y, reference.x, family=getattr(sm.families, families[family])()).fit(tol=1e-14)
    np.testing.assert_allclose(beta, fit.params, rtol=1e-6, atol=1e-8)
    assert final.deviance == pytest.approx(fit.deviance, rel=1e-9)


@pytest.mark.parametrize("family", ONE)
@pytest.mark.parametrize("largest", [1, 7, 10_000])
def test_joined_classes_give_the_sums_of_single_ones(
    opened: Opened, largest: int, family: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped, "LARGEST_GROUP", largest)
    response = Indicator("b", (1, 3)) if family is Family.BINOMIAL else Number("y")
    model = design(((), (A,)), ((0,), ()), ((), (B,)), ((1, 2), ()), ((), (C,)), response=response)
    agree(opened, people(15), Step(model, family), tmp_path)
    assert grouped.group(DESIGNS["class by number"]) is grouped.group(DESIGNS["class by class"]) is None


EVERY_PRODUCT = [(numbers, ()) for size in (1, 2, 3, 4) for numbers in combinations(range(len(NUMBERS)), size)]
ABSORBED = (1, (0, -1, -1, 1))


@pytest.mark.parametrize("family", ONE)
@pytest.mark.parametrize(("numbers", "classes"), [(7, True), (15, True), (24, True), (8, False), (0, True)])
@pytest.mark.parametrize("largest", [1, 100])
def test_columns_take_numbers_eight_at_a_time(
    numbers: int, classes: bool, largest: int, family: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the working response they are 8, 16, 25 and 9, or this is alone; each class is a group, or all are one."""
    monkeypatch.setattr(grouped, "LARGEST_GROUP", largest)
    terms = (*EVERY_PRODUCT, *EVERY_PRODUCT)[:numbers]
    if classes:
        model = design(*terms, ((), (A,)), ((), (ABSORBED,)), ((), (C,)), response=RESPONSES.get(family))
    else:
        model = replace(design(*terms, response=RESPONSES.get(family)), classes=())
    agree(columns, people(21, 5000), Step(model, family), tmp_path)


@pytest.mark.parametrize("weight", ["", 'weight = "w"\n'])
def test_plain_values_are_stored_beside_weighted_contributions(weight: str) -> None:
    catalog = f"title = 'T'\n{weight}[variables.y]\nkind = 'numeric'\ndecimals = 1\nmissing = ['']\n"
    table = pa.table({"y": [1.5, None, -2.0], "w": [2, 3, 0]})
    found = encode(read_dataset(catalog, name="d", read_file=str), table, secret=Secret(b"s" * 32))
    column = found.records[found.facts.values["y"]]
    assert found.facts.value_decimals == {"y": 1}
    assert sorted(column.drop_null().to_pylist()) == [-20, 15] and column.null_count == 1
    assert (found.facts.values == found.facts.numbers) == (not weight)
    assert not weight or column.type == pa.int32()


def test_a_store_without_values_asks_to_be_ingested_again(opened: Opened, tmp_path: Path) -> None:
    coded = people(13)
    old = Coded(replace(coded.facts, values={}, value_decimals={}), coded.records)
    with opened(old, tmp_path) as engine, pytest.raises(Fault, match="Ingest the data again"):
        engine.moments(Step(DESIGNS["main effects"], Family.GAUSSIAN))


def test_a_design_with_too_few_places_is_a_fault_and_reads_no_other_memory(opened: Opened, tmp_path: Path) -> None:
    short = design(((), ((0, (-1, 0)),)), ((), (B,)), ((), (C,)))
    with opened(people(14), tmp_path) as engine, pytest.raises(Fault, match="fewer places"):
        engine.moments(Step(short, Family.GAUSSIAN))


def test_all_engines_keep_the_whole_protocol() -> None:
    engines: list[type[Engine]] = [DuckDBEngine, ColumnsEngine, PostgresEngine, SparkEngine, MemoryEngine]
    names = {name for name in vars(Engine) if not name.startswith("_")}
    assert all(names - {"facts"} <= set(dir(engine)) for engine in engines)
