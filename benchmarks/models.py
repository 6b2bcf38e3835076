"""How much one step of a model costs: ratios to a plain scan of the same columns, and to statsmodels.

    python benchmarks/models.py [--rows 10000000] [--repeat 5] [--site FOLDER]

Every figure is the median of `repeat` runs. The model has 20 predictors and about 100 columns. "scan" is DuckDB's own
sum over each of its columns in one query on the same store; statsmodels gets a million rows, ready as a matrix. Sums of
linear models of the whole file are stored with it; those at a beta or in a universe are streamed from the records, and
it is the streamed ones that statsmodels is compared with.
"""

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path

import numpy as np
import statsmodels.api as sm

import confide
from confide import demo
from confide.engines.duckdb.engine import DuckDBEngine
from confide.engines.sums.batches import columns_of
from confide.model.design import Block, Design, Indicator, Number
from confide.model.evidence import Step
from confide.model.formula import Transform
from confide.model.request import Family
from confide.site.folder import Folder
from tables import beside

CLASSES = ("region", "age_group", "sex", "marital", "country_of_birth", "children", "education", "employment")
CLASSES += ("occupation_major", "industry", "hours", "wages", "taxes")
NUMBERS = (
    Number("age", shift=40, scale=20),
    Number("age", Transform.SQUARE, shift=2000, scale=1500),
    Number("children", shift=1, scale=1),
    Number("children", Transform.SQUARE, shift=1, scale=2),
    Number("wages", shift=2e4, scale=2e4),
    Number("wages", Transform.SQRT, shift=100, scale=100),
    Number("taxes", Transform.SQRT, shift=50, scale=50),
)
STATSMODELS_ROWS = 1_000_000


PLAIN_CLASSES = (*CLASSES, "county", "occupation_sub", "age")
PLAIN_NUMBERS = (*(number for number in NUMBERS if not number.transform), Number("taxes", scale=1e4))


def design(
    sizes: Mapping[str, int],
    response: Number | Indicator,
    *,
    classes: tuple[str, ...] = CLASSES,
    numbers: tuple[Number, ...] = NUMBERS,
) -> Design:
    """An intercept, every class but the commonest (the first), and the numbers."""
    blocks, at = [Block((), (), 0, 1)], 1
    for index, name in enumerate(classes):
        size = sizes[name]
        blocks.append(Block((), ((index, tuple(range(-1, size - 1))),), at, size - 1))
        at += size - 1
    for index in range(len(numbers)):
        blocks.append(Block((index,), (), at, 1))
        at += 1
    return Design(response, numbers, classes, tuple(blocks))


def median(run: Callable[[], object], repeat: int) -> float:
    run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def scan(path: Path, engine: DuckDBEngine, model: Design, repeat: int) -> float:
    names = columns_of(Step(model, Family.GAUSSIAN), engine.facts)
    sums = ", ".join(f"sum({column})" for column in names if column not in ("unit", "key"))
    with beside(path) as raw:
        return median(lambda: raw.execute(f"SELECT count(*), {sums} FROM records").fetchall(), repeat)


def dense(engine: DuckDBEngine, model: Design) -> tuple[np.ndarray, np.ndarray]:
    """The design matrix of the first million records, as statsmodels wants it."""
    high = int(-(2**63) + 2**64 * min(1.0, STATSMODELS_ROWS / engine._rows)) - 1
    step = Step(model, Family.GAUSSIAN, beta=(0.0,) * model.columns)
    rows = engine.rows(step, np.zeros((model.columns, model.columns)), low=-(2**63), high=high)
    x = np.zeros((len(rows.unit), model.columns))
    x[:, 0] = 1
    for block in model.blocks[1:]:
        if block.numbers:
            number = NUMBERS[block.numbers[0]]
            x[:, block.offset] = (rows.numbers[:, block.numbers[0]] - number.shift) / number.scale
        else:
            place = rows.classes[:, block.classes[0][0]]
            here = np.flatnonzero(place > 0)
            x[here, block.offset + place[here] - 1] = 1
    return x, rows.response


def report(name: str, ours: float, theirs: float, limit: float | None) -> None:
    ratio = ours / theirs
    verdict = "" if limit is None else f"limit {limit}  {'ok' if ratio <= limit else 'ABOVE'}"
    print(f"{name:<66} {ours * 1e3:8.1f} ms {theirs * 1e3:9.1f} ms   ratio {ratio:7.3f}   {verdict}")


def measure(path: Path, repeat: int) -> None:
    engine = DuckDBEngine(path)
    income = design(engine._sizes, Number("income", scale=1e4))
    poor = design(engine._sizes, Indicator("income", (0, 1, 2)))
    print(f"{engine._rows:,} rows, {len(income.blocks) - 1} predictors, {income.columns} columns")
    plain_model = design(engine._sizes, Number("income", scale=1e4), classes=PLAIN_CLASSES, numbers=PLAIN_NUMBERS)
    words = f"linear, {len(plain_model.blocks) - 1} plain predictors, {plain_model.columns} columns: moments / scan"
    ours = median(lambda: engine.moments(Step(plain_model, Family.GAUSSIAN)), repeat)
    report(words, ours, scan(path, engine, plain_model, repeat), 4.0)
    for name, model, family, limit in (
        ("linear with transformations", income, Family.GAUSSIAN, 4.0),
        ("logistic", poor, Family.BINOMIAL, None),
    ):
        plain = scan(path, engine, model, repeat)
        first = median(lambda m=model, f=family: engine.moments(Step(m, f)), repeat)
        report(f"{name}: moments at the start / scan", first, plain, limit)
        beta = (0.01,) * model.columns
        streamed = median(lambda m=model, f=family, b=beta: engine.moments(Step(m, f, beta=b)), repeat)
        report(f"{name}: moments at beta / scan", streamed, plain, None)
        step = Step(model, family, beta=beta)
        inverse = np.linalg.pinv(engine.moments(step).gram)
        spread = median(lambda s=step, i=inverse: engine.spread(s, i), repeat)
        report(f"{name}: spread / scan", spread, plain, None)
        x, y = dense(engine, model)
        share = len(y) / engine._rows
        if family is Family.GAUSSIAN:
            theirs = median(lambda x=x, y=y: sm.WLS(y, x, weights=np.ones(len(y))).fit(), 1)
            report(f"{name}: fit / statsmodels WLS, {len(y):,} rows", streamed * share, theirs, 1.0)
        else:
            start = time.perf_counter()
            fit = sm.GLM(y, x, family=sm.families.Binomial()).fit(maxiter=3)
            theirs = (time.perf_counter() - start) / fit.fit_history["iteration"]
            report(f"{name}: step / statsmodels GLM step, {len(y):,} rows", streamed * share, theirs, 1.0)
        del x, y
    engine.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--site", type=Path, help="a site with the demonstration people, instead of making one")
    given = parser.parse_args()
    warnings.filterwarnings(
        "ignore", message="The design matrix is rank-deficient"
    )  # "not applicable" is in many lists
    with tempfile.TemporaryDirectory() as folder:
        site = given.site or Path(folder) / "site"
        if given.site is None:
            catalog = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
            confide.add(demo.people(given.rows), site, name="people", catalog='engine = "duckdb"\n' + catalog)
        measure(Folder(site).store("people"), given.repeat)


if __name__ == "__main__":
    main()
