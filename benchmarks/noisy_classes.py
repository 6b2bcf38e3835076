"""How far off models of the classes of a confidential number are, beside those of true records: slopes over several secrets.

    python benchmarks/noisy_classes.py [--rows 10000 20000] [--secrets 4] [--only survival]

Asked of people of the demonstration under `standard`: ordered, multinomial and binomial models of classes of income, wages and taxes
over three universes; for comparison ordered ones of hours, which carry no noise, and linear ones of log(income); linear ones with
such classes among the predictors; and models of how many weeks they looked for work, invented beside. Differences are in standard
errors of the true model, `plain` as they were if nothing was put right; `inside` is the share of true slopes in the 95 % intervals.
"""

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from confide import demo
from confide.answering.regressions.judged import JudgedRegression
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.demo.texts import catalog_text
from confide.engines.columns.engine import ColumnsEngine
from confide.engines.columns.store import write_columns
from confide.model.catalog.toml import read_dataset
from confide.model.policy import PRESETS
from confide.model.request import RegressionRequest
from confide.records.protect import protect_records
from confide.site.coding.encode import encode
from confide.site.secret import Secret
from confide.spelling.python import read_arguments

CUT = "own = cut(income, 20000, 40000)"
MODELS = [
    ("ordered", "income ~ {who} + age + education", ""),
    ("ordered", "wages ~ {who} + education + region", ""),
    ("ordered", "taxes ~ {who} + age", ""),
    ("ordered", "own ~ {who} + age + education", CUT),
    ("multinomial", "own ~ {who} + age + education", CUT),
    ("binomial", "own=yes ~ {who} + age + education", "own = income >= 30000"),
    ("binomial", "own=yes ~ {who} + age", "own = wages >= 20000"),
    ("ordered", "hours ~ {who} + age + education", ""),
    ("gaussian", "log(income) ~ {who} + age + education", ""),
    ("gaussian", "hours ~ own + {who} + age", CUT),
    ("gaussian", "hours ~ own + {who}", "own = cut(wages, 20000, 40000)"),
    ("gaussian", "log(taxes) ~ own + {who}", "own = cut(income, 10000, 30000, 50000)"),
]
DURATIONS = [
    ("survival", "weeks ~ {who} + age + education", ""),
    ("survival", "weeks ~ {who} + region", ""),
    ("survival", "months ~ {who} + education", "months = cut(weeks, 13, 26, 52)"),
]
SPELLS = """
[variables.weeks]
kind = "numeric"
role = "confidential"
decimals = 0
minimum = 0
cutpoints = [1, 4, 8, 13, 26, 39, 52, 78]

[variables.search]
kind = "categorical"
role = "confidential"
[variables.search.codes]
found = "Found work"
looking = "Still looking"
"""
UNIVERSES: list[tuple[str, dict[str, list[str]]]] = [
    ("sex", {"employment": ["employed"]}),
    ("sex", {"age_group": ["20-29", "30-39", "40-49", "50-59"]}),
    ("marital", {"sex": ["female"], "age_group": ["30-39", "40-49", "50-59"]}),
]


Slope = tuple[float, float, float, float, float]
"""As told, its error, the same of true records, and what noise would have left."""


def searching(people: pa.Table) -> pa.Table:
    """The same with how many weeks people looked for work, and whether they found any while seen."""
    rng, sex, age = np.random.default_rng(7), people["sex"].to_numpy(), people["age"].to_numpy()
    ready = 0.4 * (sex == "male") - 0.02 * (age - 40) + 0.3 * (people["education"].to_numpy() == "none")
    weeks, seen = 30 * rng.weibull(1.2, len(ready)) * np.exp(-ready / 1.2), rng.uniform(20, 104, len(ready))
    lasted = np.maximum(np.ceil(np.minimum(weeks, seen)), 1).astype(np.int64)
    found = pa.array(np.where(weeks <= seen, "found", "looking"))
    return people.append_column("weeks", pa.array(lasted)).append_column("search", found)


def roads(rows: int, secret: Secret, folder: Path, *, durations: bool) -> Iterator[Road]:
    """Of true records, and of those that a site answers from."""
    text, people = catalog_text("people"), demo.people(rows)
    if durations:
        text, people = text + SPELLS, searching(people)
    dataset = read_dataset(text, name="people", read_file=str)
    true = encode(dataset, people, secret=secret)
    for name in ("open", "standard"):
        path = folder / f"{name}.columns"
        write_columns(protect_records(true, dataset, PRESETS[name], secret)[0], path)
        yield Road(dataset, ColumnsEngine(path), Shield(PRESETS[name], secret))


def fitted(road: Road, request: RegressionRequest) -> JudgedRegression | None:
    considered = road.consider(road.admit(request))
    return None if considered.reasons else considered.protected


def slopes(model: JudgedRegression) -> dict[Any, tuple[float, float, float]]:
    """Estimate, error and what noise would have left of it, by class of the response and label."""
    several = getattr(model, "predictors", None)
    places = several.places if several else [(0, at) for at in range(model.columns)]
    response = model.explained.places if several and several.family == "multinomial" else ()  # type: ignore[attr-defined]
    names = [((response[0], response[k + 1]) if response else (), model.compiled.labels[at]) for k, at in places]
    found, kept = model.inference, [*[1.0] * model.levels_alone, *model.kept]
    rows = zip(names, found.estimates.tolist(), found.errors.tolist(), kept, strict=True)
    return {name: tuple(rest) for name, *rest in list(rows)[model.levels_alone :]}


def compared(rows: int, secrets: int, only: list[str]) -> dict[str, dict[Any, list[Slope]]]:
    """By kind of model, each slope that both give, under every secret."""
    found: dict[str, dict[Any, list[Slope]]] = defaultdict(lambda: defaultdict(list))
    for number in range(secrets):
        secret = Secret(sha256(f"secret {number}".encode()).digest())
        for durations, models in ((False, MODELS), (True, DURATIONS)):
            asked = [model for model in models if not only or model[0] in only]
            if asked:
                with tempfile.TemporaryDirectory() as folder:
                    true, told = roads(rows, secret, Path(folder), durations=durations)
                    add(found, asked, true, told)
    return found


def add(found: dict[str, dict[Any, list[Slope]]], models: list[tuple[str, str, str]], true: Road, told: Road) -> None:
    """Slopes of the true records and of the others."""
    for family, text, define in models:
        for who, where in UNIVERSES:
            words: dict[str, Any] = {"formula": text.format(who=who), "family": family, "where": where}
            words |= {"define": [define]} if define else {}
            words |= {"event": "search=found"} if family == "survival" else {}
            request = read_arguments(RegressionRequest, "people", words)
            exact, model = fitted(true, request), fitted(told, request)
            if exact is None or model is None:
                continue
            predictors = "own" in text.partition("~")[2]
            kind = "noisy classes" if model.noisy else "noisy predictors" if predictors else text.split()[0]
            kind, known = f"{family}, {kind}", slopes(exact)
            for name, (estimate, error, kept) in slopes(model).items():
                if name in known and (not predictors or "own=" in name[1]):
                    own = (estimate, error, *known[name][:2], kept)
                    found[kind][text, define, who, tuple(where), name].append(own)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000])
    parser.add_argument("--secrets", type=int, default=4)
    parser.add_argument("--only", nargs="*", default=[], help="families of models")
    asked = parser.parse_args()
    for rows in asked.rows:
        for kind, each in compared(rows, asked.secrets, asked.only).items():
            every = [np.array(one) for one in each.values()]
            told, error, true, sampling, kept = np.concatenate(every).T
            off, plain = (told - true) / sampling, (told * kept - true) / sampling
            bias = np.median([abs(((one[:, 0] - one[:, 2]) / one[:, 3]).mean()) for one in every])
            inside, wider = np.mean(abs(told - true) < 1.96 * error), np.median(error / sampling)
            print(f"{rows:,} {kind}: {len(every)} slopes; plain {said(plain)}, now {said(off)}; ", end="")
            print(f"bias {bias:.2f}; errors {wider:.2f} times; inside {inside:.0%}")


def said(off: Any) -> str:
    """Median, ninth decile and root mean square."""
    return f"{np.median(abs(off)):.2f} ({np.quantile(abs(off), 0.9):.1f}, {np.sqrt((off**2).mean()):.2f})"


if __name__ == "__main__":
    main()
