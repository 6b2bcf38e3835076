"""What a run of the red team found: kept as JSON, taken up again, compared with earlier runs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from confide.attacks.result import Result
from confide.data.replacing import replacing
from confide.errors import Mistake

__all__ = ["AttackReport", "Conditions", "read_report", "write_report"]

_CLASS = "confide red team"
_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What decides the outcome of a run: the same conditions give the same results, on the same data."""

    dataset: str
    policy: str
    mark: str
    """The fingerprint of the policy."""
    targets: int
    questions: int
    seed: int
    keys: tuple[str, ...] = ()
    secret: str = ""


@dataclass(frozen=True)
class AttackReport:
    """The results of a run so far; `when` it began, as UTC."""

    conditions: Conditions
    when: str
    results: tuple[Result, ...] = ()

    def add(self, result: Result) -> "AttackReport":
        """With one more result, in place of an earlier one of the same attack."""
        return replace(self, results=(*(r for r in self.results if r.attack != result.attack), result))

    @property
    def finished(self) -> dict[str, Result]:
        """The attacks that were carried to their end, or do not apply: these need not be run again."""
        return {r.attack: r for r in self.results if not (r.stopped and r.applies)}

    def above(self, limit: float) -> list[Result]:
        """The attacks whose lift is above a limit, the worst first."""
        return sorted((r for r in self.results if r.applies and r.lift > limit), key=lambda r: -r.lift)

    def in_order(self, names: Sequence[str]) -> "AttackReport":
        """With the results in the order of a list of attacks."""
        place = {name: number for number, name in enumerate(names)}
        return replace(self, results=tuple(sorted(self.results, key=lambda r: place.get(r.attack, len(place)))))

    def to_json(self) -> dict[str, Any]:
        """Plain values: the conditions, and for each attack its score."""
        scored = [
            {**r.as_dict(), "claim_rate": r.claim_rate, "precision": r.precision, "lift": r.lift} for r in self.results
        ]
        about = {"class": _CLASS, "version": _VERSION, "when": self.when}
        return {**about, "conditions": asdict(self.conditions), "results": scored}


def write_report(report: AttackReport, path: Path) -> None:
    """Write a report whole or not at all."""
    try:
        with replacing(path) as partial:
            partial.write_text(json.dumps(report.to_json(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise Mistake(f"{path} cannot be written ({error.strerror}).") from None


def read_report(path: Path) -> AttackReport:
    """The report that was written; a Mistake if the file is something else."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["class"] != _CLASS or raw["version"] != _VERSION:
            raise ValueError
        conditions = {**raw["conditions"], "keys": tuple(raw["conditions"]["keys"])}
        results = tuple(_result(entry) for entry in raw["results"])
        return AttackReport(Conditions(**conditions), str(raw["when"]), results)
    except FileNotFoundError:
        raise Mistake(f"There is no file {str(path)!r}.") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise Mistake(
            f"{path} is not a report of the red team.", suggestions=["Name another file; this one stays as it is."]
        ) from None


def _result(entry: Mapping[str, Any]) -> Result:
    computed = ("claim_rate", "precision", "lift")
    return Result.from_dict({name: value for name, value in entry.items() if name not in computed})
