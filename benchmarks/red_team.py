"""The red team at the demo site and on real files: what every attack achieves under the default policies.

    python benchmarks/red_team.py                 people of 20,000, timed
    python benchmarks/red_team.py --record        every part below; writes docs/explanation/red-team.json, of which
                                                  the tables in docs/explanation/limits.md are made
                                                  (then: CONFIDE_UPDATE_DOCS=1 pytest tests/docs -k limits)
    python benchmarks/red_team.py --record --data eusilc,massachusetts      these alone
    python benchmarks/red_team.py --record --data eusilc --only T14,T14c    these attacks alone
    python benchmarks/red_team.py --presets       the other presets too, with fewer targets and questions

What is finished is kept in a folder for temporary files, result by result: a run that was cut off goes on where it was, and
`--afresh` forgets it. What the record has of other parts and attacks stays. Secrets are fixed, so that the figures can be had again.
EU-SILC and the Massachusetts extract are read from ../shared/data, under the catalog that `confide init` drafts.
"""

import argparse
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from confide import demo
from confide.attacks.red_team import AttackProgress, RedTeam, open_field
from confide.attacks.registry import attacks
from confide.attacks.result import Result
from confide.attacks.showing import rows
from confide.demo.texts import catalog_text, policy_text
from confide.model.policy import PRESETS
from confide.records.ingest import add

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "explanation" / "red-team.json"
DATA = ROOT.parent / "shared" / "data"
FILES = {"eusilc": "eusilc_laeken.csv.gz", "massachusetts": "acs2019_nist_ma.csv.gz"}
BEGUN = Path(gettempdir()) / "confide-red-team"

TARGETS, QUESTIONS, MANY = 100, 1_000, 5_000
FEWER_TARGETS, FEWER_QUESTIONS = 60, 400
"""Under the presets that are there for comparison."""

KEPT = ("attack", "code", "words", "targets", "claimed", "right", "success", "guess", "others", "questions", "refusals",
        "seconds", "stopped", "applies")  # fmt: skip


class Told(AttackProgress):
    """Prints each result as it comes."""

    def ended(self, result: Result) -> None:
        for line in rows([result]):
            print("   ", *(f"{text:>8}" if place > 1 else f"{text:<22}" for place, text in enumerate(line)), flush=True)
        if result.stopped:
            print("   ", result.code, result.attack, result.stopped, flush=True)


@dataclass(frozen=True)
class Part:
    """One data set under one policy; `run` tells apart what was measured otherwise than the main table."""

    data: str
    rows: int = 0
    policy: str = "standard"
    run: str = ""
    secret: str = "c0"
    targets: int = TARGETS
    questions: int = QUESTIONS

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.data, str(self.rows or ""), self.policy, self.run.replace(" ", "-"))))

    @property
    def missing(self) -> bool:
        return self.data in FILES and not (DATA / FILES[self.data]).exists()

    def site(self, folder: Path) -> Path:
        """The data set as a site with a secret that is always the same."""
        place = folder / self.name
        place.mkdir()
        (place / "secret").touch(0o600)
        (place / "secret").write_text(32 * self.secret + "\n", encoding="ascii")
        if self.data in FILES:
            add(DATA / FILES[self.data], place, name=self.data)
        else:
            text, own = catalog_text(self.data), policy_text(self.data)
            add(getattr(demo, self.data)(self.rows), place, name=self.data, catalog=text, policy=own)
        return place

    def attacked(self, only: str) -> list[dict[str, Any]]:
        """The results, those of an earlier run that was cut off among them."""
        began, kept = time.monotonic(), BEGUN / f"{self.name}.json"
        BEGUN.mkdir(exist_ok=True)
        team = RedTeam(only=only, targets=self.targets, questions=self.questions, minutes=60, json=kept)
        # under the default every data set has its own policy
        policy = None if self.policy == "standard" else PRESETS[self.policy]
        with (
            TemporaryDirectory() as made,
            open_field(self.site(Path(made)), self.data, policy=policy, allow_open=True) as field,
        ):
            report, size = team.attack(field, progress=Told()), len(field.truth.units)
        print(f"    {(time.monotonic() - began) / 60:.1f} minutes", flush=True)
        about = {"data": self.data, "rows": self.rows or size, "policy": self.policy, "run": self.run}
        return [{**about, **{key: asdict(result)[key] for key in KEPT}} for result in report.results]


FIRST = Part("people", 20_000)
DEFAULT = (
    FIRST,
    Part("people", 20_000, run="another secret", secret="5e"),
    Part("people", 100_000),
    Part("firms", 20_000),
    Part("firms", 100_000),
    Part("eusilc", run="real data"),
    Part("massachusetts", run="real data"),
)
OTHERS = tuple(
    Part(data, 20_000, policy=preset, targets=FEWER_TARGETS, questions=FEWER_QUESTIONS)
    for preset in PRESETS
    if preset != "standard"
    for data in ("people", "firms")
)


def measured(parts: tuple[Part, ...], only: str) -> Iterator[dict[str, Any]]:
    """The results of some parts; then with more questions those attacks on the first that used all they had."""
    hungry: list[str] = []
    for part in parts:
        if part.missing:
            print(
                f"{part.name}: there is no {FILES[part.data]} in {DATA.parent.name}/{DATA.name}; left out.", flush=True
            )
            continue
        print(part.name, flush=True)
        found = part.attacked(only)
        yield from found
        if part is FIRST:
            hungry = [one["attack"] for one in found if one["questions"] >= 0.9 * part.questions]
    more = Part("people", 20_000, run=f"{MANY:,} questions", questions=MANY)
    if len(parts) > 1 and hungry:
        print(more.name, flush=True)
        yield from more.attacked(",".join(hungry))


def record(found: list[dict[str, Any]]) -> None:
    """Write the figures; what is there of other parts, and of attacks that were not carried out now, stays."""
    order = {name: number for number, name in enumerate(attacks())}

    def part(one: dict[str, Any]) -> tuple[Any, ...]:
        return one["data"], one["rows"], one["policy"], one.get("run", "")

    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
    figures = {(part(one), one["attack"]): one for one in [*known, *found]}
    places = {place: number for number, place in enumerate(dict.fromkeys(place for place, _ in figures))}
    told = sorted(figures.values(), key=lambda one: (places[part(one)], order.get(one["attack"], len(order))))
    RECORD.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(f"Written to {RECORD.name}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="Every part, and write what the documentation shows.")
    parser.add_argument("--presets", action="store_true", help="The other presets too.")
    parser.add_argument("--only", default="", help="Attacks by name or number, with commas.")
    parser.add_argument("--data", default="", help="Data sets by name, with commas.")
    parser.add_argument("--afresh", action="store_true", help="Forget what an earlier run has finished.")
    options = parser.parse_args()
    if options.afresh:
        shutil.rmtree(BEGUN, ignore_errors=True)
    began = time.monotonic()
    parts = (DEFAULT if options.record else (FIRST,)) + (OTHERS if options.presets else ())
    named = set(filter(None, options.data.split(",")))
    if unknown := named - {part.data for part in parts}:
        parser.error(
            f"there is no data set {', '.join(sorted(unknown))} here; with --record there are people, firms, {', '.join(FILES)}"
        )
    found = list(measured(tuple(part for part in parts if not named or part.data in named), options.only))
    print(f"{(time.monotonic() - began) / 60:.1f} minutes", flush=True)
    if options.record:
        record(found)


if __name__ == "__main__":
    main()
