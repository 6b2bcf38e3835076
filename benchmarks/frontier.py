"""The frontier: what intruders learn and what honest analysts get, under our presets and under other ways to protect tables.

    python benchmarks/frontier.py                              people of 20,000
    python benchmarks/frontier.py --data people firms --rows 20000 100000 --record
                                                  writes docs/explanation/frontier.json, of which the table in
                                                  docs/explanation/limits.md is made; what is there of other data stays
                                                  (then: CONFIDE_UPDATE_DOCS=1 pytest tests/docs -k limits)

The same attacks and the same honest questions for all. `laplace`: noise with scale 1/ε on the counts of each table, margins the
sums of their parts; of totals scaled to the largest contribution in the file; means are noisy totals over noisy counts.
`rounding`: counts to the nearest 5, totals moved by the same share, means as they are where the rounded count is not 0. Both
answer every table, on the true records, and no model; the noise of a question is always the same. Intruders know its variance.
The secret of the sites is fixed, so that the figures can be had again.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from confide import demo
from confide.answering.service import make_base
from confide.attacks.claims import NotApplicable, SetTargets
from confide.attacks.registry import attacks, chosen_attacks
from confide.attacks.result import Result
from confide.attacks.runner import LocalField, Settings
from confide.attacks.suite import run_here, run_side_by_side
from confide.attacks.truth.copies import EVERYBODY, CopiedUnits, copied
from confide.attacks.truth.truth import Truth, truth_of_site
from confide.attacks.workload.asking import Questioner
from confide.attacks.workload.generator import Drawn, Generator
from confide.attacks.workload.measuring import Measuring
from confide.attacks.workload.roads import TrueAnswers, true_answers
from confide.attacks.workload.sizes import TrueSizes
from confide.attacks.workload.summary import Usefulness
from confide.client import Site
from confide.demo.texts import catalog_text, policy_text
from confide.errors import Reason, Refused
from confide.model.policy import PRESETS, CountRules, Policy, read_policy
from confide.model.release import Release
from confide.model.request import Measure, TableRequest
from confide.records.ingest import add
from confide.site.folder import Folder

RECORD = Path(__file__).parents[1] / "docs" / "explanation" / "frontier.json"

ATTACKS = (
    "tracker,partitions,missing-levels,zeros,before-after,changed-cells,secret-in-universe,random-universes,lp-reconstruction,"
    "membership,saturated,boxes,logistic-counts,rival,subset-totals,withheld-totals,passing-cross,passing-numbers,class-of-number"
)
"""The strongest on each way, of those on units and of those on sets."""

BASES = {"people": ("region", "age_group", "sex", "marital", "education", "employment", "income")}
"""The variables of the SAFE base: the main ones, coarse. Firms have none: SAFE counts records, and a holding has several."""

WAYS = ("standard", "demo", "drop-q", "census-mas", "tablebuilder", "safe", "laplace 1", "laplace 0.1", "rounding")

SECRET = "c0" * 32

MEASURES = {"count", "weighted_count", "total", "mean"}

Change = Callable[[TableRequest, Release], Release]


@dataclass
class Server:
    """A site without protection whose tables are changed on their way; other questions are refused."""

    site: Site
    change: Change

    def codebook(self, name: str) -> Any:
        return self.site.codebook(name)

    def ask(self, request: Any, *, diagnostics: bool = False) -> Any:
        if not isinstance(request, TableRequest):
            raise Refused([Reason("models.none", "This server has tables only.")], policy="tables only")
        if not {str(measure) for measure in request.measure} <= MEASURES:
            raise Refused(
                [Reason("measures.none", "This server has counts, totals and means only.")], policy="tables only"
            )
        return _asked_for(request, self.change(request, self.site.ask(_whole(request))))


def _whole(request: TableRequest) -> TableRequest:
    """The same table with everything that its numbers are made of."""
    sums = (Measure.COUNT, Measure.WEIGHTED_COUNT, *((Measure.TOTAL, Measure.MEAN) if request.of else ()))
    return replace(request, measure=sums)


def _asked_for(request: TableRequest, release: Release) -> Release:
    columns = {str(measure): release.columns[str(measure)] for measure in request.measure}
    return replace(release, request=request, columns=columns)


def _with(release: Release, **values: np.ndarray) -> Release:
    """The table with other numbers; where one is not finite it is withheld."""
    columns = dict(release.columns)
    for name, numbers in values.items():
        there = np.isfinite(numbers) & (columns[name].marks == "")
        columns[name] = replace(
            columns[name],
            values=np.where(there, numbers, np.nan),
            marks=np.where(there, "", np.where(columns[name].marks == "", "x", columns[name].marks)),
            noise=np.where(there, 0.0, np.nan),
        )
    return replace(release, columns=columns)


@dataclass(frozen=True)
class Laplace:
    """Noise on the parts of a table, drawn from the question; margins have the sum of the noise of their parts."""

    epsilon: float
    truth: Truth

    def __call__(self, request: TableRequest, release: Release) -> Release:
        noise = _Noise(np.random.default_rng(_seed(request)), request.by, release.shape, self.epsilon)
        weight = float(self.truth.weights.max())
        true = {name: np.nan_to_num(column.values) for name, column in release.columns.items()}
        counts = np.maximum(np.rint(true["count"] + noise.draw(1.0)), 0.0)
        weighted = np.maximum(true["weighted_count"] + noise.draw(weight), 0.0)
        if request.of is None:
            return _with(release, count=counts, weighted_count=weighted)
        most = float(np.nanmax(np.abs(self.truth.numbers(request.of) * self.truth.weights)))
        totals = true["total"] + noise.draw(most)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.where(weighted > 0, totals / weighted, np.nan)
        return _with(release, count=counts, weighted_count=weighted, total=totals, mean=means)


@dataclass(frozen=True)
class _Noise:
    """Draws the noise of a table, the same for each cell however the table is turned."""

    rng: np.random.Generator
    by: tuple[str, ...]
    shape: tuple[int, ...]
    epsilon: float

    def draw(self, most: float) -> np.ndarray:
        order = np.argsort(self.by)
        noise = self.rng.laplace(0.0, most / self.epsilon, tuple(self.shape[axis] - 1 for axis in order))
        noise = noise.transpose(np.argsort(order))
        for axis in range(noise.ndim):
            noise = np.concatenate([noise, noise.sum(axis=axis, keepdims=True)], axis=axis)
        return noise


def _seed(request: TableRequest) -> int:
    """The same for the same table over the same universe, however it is turned and whatever measure it is asked for."""
    asked = repr((request.dataset, sorted(request.by), request.where, request.of))
    return int.from_bytes(hashlib.sha256((SECRET + asked).encode()).digest()[:8], "big")


def rounding(request: TableRequest, release: Release) -> Release:
    """Counts to the nearest 5; what is summed over the same units moves by the same share."""
    counts = np.nan_to_num(release.columns["count"].values)
    rounded = 5.0 * np.rint(counts / 5)
    share = rounded / np.maximum(counts, 1.0)
    moved = {
        name: release.columns[name].values * share for name in ("weighted_count", "total") if name in release.columns
    }
    means = {"mean": np.where(rounded > 0, release.columns["mean"].values, np.nan)} if request.of else {}
    return _with(release, count=rounded, **moved, **means)


@dataclass(frozen=True)
class ChangedField:
    """A site without protection behind such a server; `policy` is what intruders take for its policy."""

    site: Path
    name: str
    policy: Policy
    truth: Truth
    change: Change

    @contextmanager
    def opened(self, units: CopiedUnits = EVERYBODY, *, suggestions: bool = False) -> Iterator[Any]:
        with copied(self.site, self.name, PRESETS["open"], truth=self.truth, units=units) as site:
            yield Server(site, self.change)


def noisy(variance: float, *, name: str) -> Policy:
    """A policy like that of a server whose counts have noise of this variance, for intruders to reckon with."""
    rules = CountRules(distance=min(30, max(3, round(3 * variance**0.5))), variance=min(variance, 30.0), small=0)
    return replace(PRESETS["open"], name=name, counts=rules)


@dataclass(frozen=True)
class Ground:
    """One data set as two sites, one with protected records and one with the true ones, and what is asked of them."""

    name: str
    rows: int
    folder: Path
    truth: Truth
    true: TrueAnswers
    drawn: Drawn
    options: argparse.Namespace

    def fields(self) -> dict[str, Any]:
        """Every way to protect, by name."""
        own = policy_text(self.name)
        policies = {name: PRESETS[name] for name in ("standard", "drop-q", "census-mas", "tablebuilder")}
        policies |= {"demo": read_policy(own, site=PRESETS["standard"])} if own else {}
        safe = replace(PRESETS["tablebuilder"], name="safe", counts=CountRules(mechanism="safe"))
        policies |= {"safe": safe} if self.name in BASES else {}
        found: dict[str, Any] = {name: self._local(policy) for name, policy in policies.items()}
        for epsilon in (1.0, 0.1):
            told = noisy(2 / epsilon**2, name=f"laplace {epsilon:g}")
            found[told.name] = ChangedField(self._plain, self.name, told, self.truth, Laplace(epsilon, self.truth))
        found["rounding"] = ChangedField(self._plain, self.name, noisy(2.0, name="rounding"), self.truth, rounding)
        return found

    @property
    def _plain(self) -> Path:
        return self.folder / "plain"

    def _local(self, policy: Policy) -> LocalField:
        place = self.folder / "protected" if policy.records.changes else self._plain
        return LocalField(place, self.name, policy, self.truth)

    def measured(self, name: str, field: Any) -> dict[str, Any]:
        began = time.monotonic()
        found = self._useful(field)
        results = self._attacked(field)
        units, sets = _lifts(results, field)
        print(f"{self.name} {self.rows:,} {name}: {time.monotonic() - began:.0f} s", flush=True)
        for result in results:
            lift = f"{100 * result.lift:+6.1f}" if result.applies and result.targets else "     –"
            print(f"    {result.code:<4} {result.attack:<22} {lift}  {result.stopped}", flush=True)
        return {
            "data": self.name, "rows": self.rows, "policy": name,
            "targets": self.options.targets, "questions": self.options.questions, "workload": found.asked,
            "units": units, "sets": sets,
            "lifts": {r.attack: round(r.lift, 4) for r in results if r.applies and r.targets},
            "answered": {"all": found.answered / found.asked} | {kind.kind: kind.share for kind in found.kinds},
            "errors": {error.of: round(error.median, 3) for error in found.errors},
        }  # fmt: skip

    def _useful(self, field: Any) -> Usefulness:
        with field.opened() as site:
            measuring = Measuring(Questioner(site), self.truth.dataset, self.true.under(field.policy))
            asked, _ = measuring.all(self.drawn.requests)
        return Usefulness.of(asked, dataset=self.name, policy="", source="", seed=None, sizes="", aside={})

    def _attacked(self, field: Any) -> list[Result]:
        settings = Settings(targets=self.options.targets, questions=self.options.questions)
        chosen = chosen_attacks(self.options.attacks)
        run = run_side_by_side if isinstance(field, LocalField) and len(chosen) > 2 else run_here
        results = {result.attack: result for result in run(chosen, field, settings, progress=lambda asked: None)}
        return [results[name] for name in chosen]


def _lifts(results: list[Result], field: Any) -> tuple[dict[str, float], dict[str, float]]:
    """The worst and the mean lift of attacks on units, and of those on sets; below 0 nothing is learnt."""
    lifts: dict[bool, dict[str, float]] = {False: {}, True: {}}
    for result in results:
        if result.applies and result.targets:
            lifts[_on_sets(result.attack, field)][result.attack] = max(result.lift, 0.0)
    return _summary(lifts[False]), _summary(lifts[True])


def _on_sets(name: str, field: Any) -> bool:
    try:
        return isinstance(attacks()[name].wants(field.truth.dataset, field.policy), SetTargets)
    except NotApplicable:
        return False


def _summary(lifts: Mapping[str, float]) -> Any:
    if not lifts:
        return None
    worst = max(lifts, key=lambda name: lifts[name])
    return {"worst": round(lifts[worst], 4), "attack": worst, "mean": round(float(np.mean(list(lifts.values()))), 4)}


@contextmanager
def ground(name: str, rows: int, options: argparse.Namespace) -> Iterator[Ground]:
    with TemporaryDirectory() as made:
        folder = Path(made)
        for place, policy in (("protected", "standard"), ("plain", "drop-q")):
            site = folder / place
            site.mkdir()
            (site / "secret").touch(0o600)
            (site / "secret").write_text(SECRET + "\n", encoding="ascii")
            (site / "policy.toml").write_text(f'preset = "{policy}"\n', encoding="utf-8")
            add(getattr(demo, name)(rows), site, name=name, catalog=catalog_text(name))
        if name in BASES:
            make_base(folder / "plain", name, by=BASES[name], time_limit=60.0)
        truth = truth_of_site(folder / "plain", name)
        with true_answers(truth, store=Folder(folder / "plain").store(name)) as true:
            drawn = Generator(questions=options.workload, seed=1).draw(truth.dataset, TrueSizes(true))
            yield Ground(name, rows, folder, truth, true, drawn, options)


def record(found: list[dict[str, Any]]) -> None:
    """Write the figures; those of other data and ways stay."""
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
    new = {(one["data"], one["rows"], one["policy"]) for one in found}
    kept = [one for one in known if (one["data"], one["rows"], one["policy"]) not in new]
    ordered = sorted([*kept, *found], key=lambda one: (one["data"] != "people", one["rows"], WAYS.index(one["policy"])))
    RECORD.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", nargs="+", default=["people"], choices=["people", "firms"])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000])
    parser.add_argument("--attacks", default=ATTACKS, help="By name or number, with commas.")
    parser.add_argument("--only", nargs="+", default=WAYS, choices=WAYS, help="Ways to protect.")
    parser.add_argument("--targets", type=int, default=60)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--workload", type=int, default=150)
    parser.add_argument("--record", action="store_true", help="Write what the documentation shows.")
    options = parser.parse_args()
    for name, rows in product(options.data, options.rows):
        began = time.monotonic()
        with ground(name, rows, options) as here:
            ways = {way: field for way, field in here.fields().items() if way in options.only}
            found = []
            for way, field in ways.items():
                found.append(here.measured(way, field))
                if options.record:
                    record(found)
        print(f"{name}, {rows:,} rows: {(time.monotonic() - began) / 60:.1f} minutes", flush=True)
        print(json.dumps([{k: v for k, v in one.items() if k != "lifts"} for one in found], indent=1), flush=True)


if __name__ == "__main__":
    main()
