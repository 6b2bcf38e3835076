"""The red team at the demo site: what every attack achieves, under every preset.

    python benchmarks/red_team.py                 the default suite under `standard`, timed
    python benchmarks/red_team.py --record        every preset too; writes docs/explanation/red-team.json, of which
                                                  the tables in docs/explanation/limits.md are made
                                                  (then: CONFIDE_UPDATE_DOCS=1 pytest tests/docs -k limits)

The secret of the sites is fixed, so that the figures can be had again.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from confide import demo
from confide.attacks.red_team import AttackProgress, RedTeam, open_field
from confide.attacks.result import Result
from confide.attacks.showing import rows
from confide.demo.texts import catalog_text, policy_text
from confide.model.policy import PRESETS
from confide.records.ingest import add

RECORD = Path(__file__).parents[1] / "docs" / "explanation" / "red-team.json"

SUITE = (("people", 100_000), ("firms", 20_000), ("firms", 100_000))
FEWER = {"targets": 60, "questions": 400}
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


def site(folder: Path, name: str, rows: int) -> Path:
    """A demo data set as a site with a secret that is always the same."""
    place = folder / f"{name}{rows}"
    place.mkdir()
    (place / "secret").touch(0o600)
    (place / "secret").write_text("c0" * 32 + "\n", encoding="ascii")
    add(getattr(demo, name)(rows), place, name=name, catalog=catalog_text(name), policy=policy_text(name))
    return place


def attacked(folder: Path, name: str, rows: int, preset: str, **how: Any) -> list[dict[str, object]]:
    """The results of the suite on one data set under one preset."""
    began = time.monotonic()
    print(f"{name}, {rows:,} rows, {preset}", flush=True)
    place = folder / f"{name}{rows}"
    place = place if place.exists() else site(folder, name, rows)
    # under the default every data set has its own policy
    policy = None if preset == "standard" else PRESETS[preset]
    with open_field(place, name, policy=policy, allow_open=True) as field:
        report = RedTeam(**how).attack(field, progress=Told())
    taken = time.monotonic() - began
    asked = sum(result.questions for result in report.results)
    print(f"    {taken:.0f} s, {asked:,} questions on the site and about as many without the targets", flush=True)
    about = {"data": name, "rows": rows, "policy": preset}
    return [{**about, **{key: asdict(result)[key] for key in KEPT}} for result in report.results]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--record", action="store_true", help="Try every preset, and write what the documentation shows."
    )
    parser.add_argument("--only", default="", help="Attacks by name or number, with commas.")
    options = parser.parse_args()
    began = time.monotonic()
    with TemporaryDirectory() as made:
        folder = Path(made)
        found = [one for name, rows in SUITE for one in attacked(folder, name, rows, "standard", only=options.only)]
        print(f"The default suite: {(time.monotonic() - began) / 60:.1f} minutes (limit 15)", flush=True)
        if options.record:
            found += attacked(folder, "people", 20_000, "standard", only=options.only)
            for preset in PRESETS:
                if preset != "standard":
                    for name in ("people", "firms"):
                        found += attacked(folder, name, 20_000, preset, only=options.only, **FEWER)
            RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(f"Written to {RECORD.name}.")


if __name__ == "__main__":
    main()
