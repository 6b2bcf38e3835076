"""What an honest analyst gets of the demonstration site: shares answered, errors, and universes that are refused.

    python benchmarks/workload.py [--rows 20000 100000] [--questions 300] [--statistics 0] [--seed 1] [--policy census-mas]
                                  [--data people firms] [--sampled]

The questions are those of `confide workload`, and `--statistics` so many more for percentages, ratios, index numbers and models of
several classes; with `--sampled`, which declares that units were drawn by themselves, for standard errors too. Every data set has its
own policy, unless a preset is named. Universes are then asked by themselves, with a table by one coarse variable: three conditions,
at least 1 % of the units, apart by whether a variable among them has a rare class (one with less than 1 % of the units).
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from confide import demo
from confide.answering.opening import open_roads
from confide.attacks.truth.truth import Truth, truth_of_site
from confide.attacks.workload.generator import Generator
from confide.attacks.workload.measuring import measure_site
from confide.attacks.workload.proportions import Proportions
from confide.attacks.workload.report import text_of
from confide.attacks.workload.roads import OffRecord, true_answers
from confide.attacks.workload.sizes import TrueSizes
from confide.demo.texts import catalog_text, policy_text
from confide.model.policy import Policy, preset_policy
from confide.model.request import TableRequest
from confide.model.universe import Piece, Universe
from confide.records.ingest import add
from confide.site.folder import Folder

SECRET = "c0f1de" * 12
UNIVERSES = 300
RARE = 0.01


def made(folder: Path, name: str, rows: int, *, sampled: bool = False) -> Path:
    """A site with one generated data set, under a secret that is always the same."""
    folder.mkdir()
    (folder / "secret").touch(0o600)
    (folder / "secret").write_text(SECRET + "\n")
    text = catalog_text(name)
    text = text.replace("[variables.", "[sampling]\n\n[variables.", 1) if sampled else text
    add(getattr(demo, name)(rows), folder, name=name, catalog=text, policy=policy_text(name))
    return folder


def universes(truth: Truth, sizes: TrueSizes, seed: int) -> Iterator[TableRequest]:
    """Counts by one variable, over three conditions."""
    proportions = Proportions(kind={"counts": 1.0, "totals": 0, "means": 0, "models": 0, "correlations": 0},
                              by={1: 1.0}, conditions={3: 1.0}, weighted={"plain": 1.0})  # fmt: skip
    generator = Generator(questions=UNIVERSES, seed=seed, proportions=proportions)
    for request in generator.draw(truth.dataset, sizes).requests:
        if isinstance(request, TableRequest) and len(request.where.variables) == 3:
            yield request


def rare(truth: Truth, sizes: TrueSizes, where: Universe) -> bool:
    """Whether a variable of the universe has a class with few units, but some."""
    for name in where.variables:
        codes = truth.dataset.variable(name).codes or ()
        shares = (sizes.share(Universe((Piece.of({name: [code.code]}),))) for code in codes)
        if any(0 < share < RARE for share in shares):
            return True
    return False


def print_universes(site: Path, name: str, policy: Policy, seed: int) -> None:
    truth, folder = truth_of_site(site, name), Folder(site)
    with true_answers(truth, store=folder.store(name)) as true, open_roads(folder, policy, allow_open=True) as roads:
        sizes, asker = TrueSizes(true), OffRecord(roads[name])
        found: dict[bool, list[bool]] = {True: [], False: []}
        for request in universes(truth, sizes, seed):
            rules = asker.ask(request).rules
            found[rare(truth, sizes, request.where)].append(any(rule.startswith("universe.") for rule in rules))
    for with_rare, words in ((True, "with a rare-class variable"), (False, "of variables without rare classes")):
        refused = found[with_rare]
        print(f"three-variable universes {words}: {sum(refused)} of {len(refused)} refused")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--statistics", type=int, default=0)
    parser.add_argument("--sampled", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", help="A preset for all, instead of the policy that each data set has.")
    parser.add_argument("--data", nargs="+", default=["people", "firms"])
    asked = parser.parse_args()
    for name in asked.data:
        for rows in asked.rows:
            with tempfile.TemporaryDirectory() as folder:
                site = made(Path(folder) / "site", name, rows, sampled=asked.sampled)
                policy = preset_policy(asked.policy) if asked.policy else Folder(site).policy(name)
                began = time.perf_counter()
                generator = Generator(questions=asked.questions, statistics=asked.statistics, seed=asked.seed)
                found = measure_site(site, name, policy=policy, generator=generator)
                print(f"\n{rows:,} records, {time.perf_counter() - began:.0f} s\n{text_of(found)}", end="")
                print_universes(site, name, policy, asked.seed)


if __name__ == "__main__":
    main()
