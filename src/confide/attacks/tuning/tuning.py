"""Tune a policy: measure its variants, map risk against utility, and recommend one."""

import json as json_module
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from confide.attacks.red_team import AttackProgress, RedTeam
from confide.attacks.registry import chosen_attacks
from confide.attacks.tuning.bench import Bench, TimeUp, bench
from confide.attacks.tuning.trial import PolicyTrial
from confide.attacks.tuning.variants import around, read_values, single_changes, varied
from confide.attacks.workload.generator import Generator
from confide.data.replacing import replacing
from confide.data.risk_utility import RiskUtilityMap
from confide.errors import Mistake
from confide.model.policy import Policy
from confide.site.folder import Folder

__all__ = ["STRONGEST", "TuneProgress", "Tuning", "TuningConditions", "read_tuning", "tune", "write_tuning"]

STRONGEST = (
    "passing-cross,passing-numbers,class-of-number,changed-cells,boxes,subset-totals,missing-levels,withheld-totals"
)
"""What is tried if nobody says what: the strongest on counts, on numbers and on sets."""

Changes = Mapping[str, Any]
"""A variant of a policy: fields, and what they are to be."""

_CLASS = "confide tune"
_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class TuningConditions:
    """What decides the figures: under the same conditions a variant need not be measured again."""

    dataset: str
    data: str
    policy: str
    mark: str
    """The fingerprint of the policy that is varied."""
    attacks: tuple[str, ...]
    targets: int
    questions: int
    workload: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The variants that were measured, on a map of risk and utility; `present` is the policy in force."""

    conditions: TuningConditions
    present: Policy
    when: str
    trials: tuple[PolicyTrial, ...] = ()
    left: int = 0
    """So many variants could not be measured in the time."""

    @property
    def limit(self) -> float:
        """The most lift that the policy allows."""
        return self.present.red_team.limit

    @cached_property
    def frontier(self) -> tuple[PolicyTrial, ...]:
        """The variants of which none has less risk and answers as much, or more, by increasing risk."""
        risk, utility = (np.array([getattr(t, name) for t in self.trials], float) for name in ("risk", "share"))
        unbeaten = np.flatnonzero(RiskUtilityMap(risk, utility).unbeaten()) if self.trials else ()
        return tuple(sorted((self.trials[place] for place in unbeaten), key=lambda trial: trial.risk))

    @cached_property
    def recommended(self) -> PolicyTrial | None:
        """Of those within the limit the one that answers most, then errs least; if there is none, the least risky."""
        found = min(self.trials, key=lambda trial: trial.rank(self.limit), default=None)
        return None if found is None or np.isnan(found.risk) else found

    @property
    def now(self) -> PolicyTrial | None:
        """The policy as it is."""
        return next((trial for trial in self.trials if not trial.changes), None)

    @property
    def policy(self) -> Policy | None:
        """The recommended policy, as the next version of the present one; the present one itself if it is the best."""
        if self.recommended is None:
            return None
        if not self.recommended.changes:
            return self.present
        return replace(varied(self.present, self.recommended.changes), version=self.present.version + 1)

    def to_json(self) -> dict[str, Any]:
        """Plain values: the conditions and every variant with its figures; true numbers, for the custodian."""
        about = {"class": _CLASS, "version": _VERSION, "when": self.when, "limit": self.limit}
        chosen = self.recommended and dict(self.recommended.changes)
        front = [dict(trial.changes) for trial in self.frontier]
        trials = [trial.to_json() for trial in self.trials]
        map = {"trials": trials, "frontier": front, "recommended": chosen}
        return {**about, "conditions": asdict(self.conditions), **map}


class TuneProgress(AttackProgress):
    """Is told what goes on; this one keeps silent."""

    def variants(self, number: int) -> None:
        """So many variants are to be measured."""

    def measured(self, trial: PolicyTrial) -> None:
        """A variant was measured."""


def tune(
    site: str | Path,
    dataset: str,
    *,
    tries: Sequence[str] = (),
    attacks: str = STRONGEST,
    targets: int = 100,
    questions: int = 400,
    workload: int = 100,
    minutes: float = 60.0,
    seed: int = 1,
    json: str | Path | None = None,
    progress: TuneProgress | None = None,
) -> Tuning:
    """Vary the policy of a data set, one field at a time and the two best changes together, and measure every variant.

    Each is attacked by a few attacks and asked what honest analysts ask, on a copy of the site with its records protected
    anew. `tries` are as in `["tables.mean_cell=2,4,8"]`; without them a few fields in use are halved, or doubled. `json` is
    a file that figures are written to as they come: a run that was cut off goes on from there. Nothing is kept with the site.
    """
    policy, place = Folder(Path(site)).policy(dataset), Path(site).resolve()
    tried = [read_values(text) for text in tries]
    queue = single_changes(policy, tried or around(policy))
    team = RedTeam(
        only=",".join(chosen_attacks(attacks)), targets=targets, questions=questions, minutes=minutes, seed=seed
    )
    with bench(place, dataset, team=team, generator=Generator(questions=workload, seed=seed)) as measuring:
        conditions = TuningConditions(
            dataset=dataset, data=measuring.truth.coded.facts.data, policy=policy.title, mark=policy.mark,
            attacks=tuple(chosen_attacks(attacks)), targets=targets, questions=questions, workload=workload, seed=seed,
        )  # fmt: skip
        file = None if json is None else Path(json)
        run = _TuningRun(measuring, policy, file, progress or TuneProgress())
        begun = _begun(conditions, policy, file)
        write_tuning(begun, file)  # who cannot write there learns it now, and not after an hour
        # What nobody asked for may turn out to be impossible.
        found = run.all(begun, run.possible(queue) if not tried else run.checked(queue))
    _must_be_measured(found)
    return found


@dataclass(frozen=True)
class _TuningRun:
    """Measures what has not been measured yet, and writes it down as it comes."""

    bench: Bench
    policy: Policy
    file: Path | None
    progress: TuneProgress

    def checked(self, queue: Sequence[Changes]) -> Sequence[Changes]:
        """The same, or a Mistake if one of them cannot be put to use."""
        for changes in queue:
            self.bench.check(varied(self.policy, changes))
        return queue

    def possible(self, queue: Sequence[Changes]) -> list[Changes]:
        """Those that can be put to use."""
        found: list[Changes] = []
        for changes in queue:
            with suppress(Mistake):
                found += self.checked([changes])
        return found

    def all(self, found: Tuning, queue: Sequence[Changes]) -> Tuning:
        """With every variant, and the two best changes together if there are two fields; as many as the time allows."""
        paired = len({field for changes in queue for field in changes}) > 1
        self.progress.variants(len(queue) + paired - len(_known(found, queue)))
        for number, changes in enumerate(queue):
            if (more := self._with(found, changes)) is None:
                return replace(found, left=len(queue) - number + paired)
            found = more
        for changes in self.possible([_best_pair(found)] if paired else []):
            return self._with(found, changes) or replace(found, left=1)
        return found

    def _with(self, found: Tuning, changes: Changes) -> Tuning | None:
        """With one more variant; None if there was no time for it."""
        if _known(found, [changes]):
            return found
        try:
            trial = self.bench.measure(self.policy, changes, self.progress)
        except TimeUp:
            return None
        found = replace(found, trials=(*found.trials, trial))
        write_tuning(found, self.file)
        self.progress.measured(trial)
        return found


def _known(found: Tuning, queue: Sequence[Changes]) -> list[PolicyTrial]:
    marks = {varied(found.present, changes).mark for changes in queue}
    return [trial for trial in found.trials if trial.mark in marks]


def _best_pair(found: Tuning) -> dict[str, Any]:
    """The two best changes of one field each, together."""
    single = sorted((t for t in found.trials if len(t.changes) == 1), key=lambda t: t.rank(found.limit))
    fields = list(dict.fromkeys(next(iter(trial.changes)) for trial in single))[:2]
    best = [next(trial for trial in single if field in trial.changes) for field in fields]
    return {field: value for trial in best for field, value in trial.changes.items()}


def _must_be_measured(found: Tuning) -> None:
    if found.trials and not any(trial.worst or trial.broken for trial in found.trials):
        raise Mistake(
            f"None of these attacks can be tried on {found.conditions.dataset!r}.",
            suggestions=["Name others with --attacks; confide attack --list has them all."],
        )


def _begun(conditions: TuningConditions, policy: Policy, file: Path | None) -> Tuning:
    """What an earlier run under the same conditions left, or nothing yet."""
    if file is None or not file.exists():
        return Tuning(conditions=conditions, present=policy, when=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    earlier = read_tuning(file, policy)
    if earlier.conditions != conditions:
        raise Mistake(
            f"{file} holds a run under other conditions (data, policy, attacks, targets, questions, workload or seed).",
            suggestions=["Name another file, or repeat the options of that run to go on with it."],
        )
    return earlier


def write_tuning(found: Tuning, file: Path | None) -> None:
    """Write the figures so far, whole or not at all; nowhere if no file is named."""
    if file is None:
        return
    try:
        with replacing(file) as partial:
            text = json_module.dumps(found.to_json(), ensure_ascii=False, indent=1, allow_nan=False)
            partial.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise Mistake(f"{file} cannot be written ({error.strerror}).") from None


def read_tuning(file: Path, policy: Policy) -> Tuning:
    """What was written about variants of this policy; a Mistake if the file is something else."""
    try:
        raw = json_module.loads(file.read_text(encoding="utf-8"))
        if raw["class"] != _CLASS or raw["version"] != _VERSION:
            raise ValueError
        conditions = TuningConditions(**{**raw["conditions"], "attacks": tuple(raw["conditions"]["attacks"])})
        trials = tuple(PolicyTrial.from_json(trial) for trial in raw["trials"])
        return Tuning(conditions=conditions, present=policy, when=str(raw["when"]), trials=trials)
    except (OSError, ValueError, KeyError, TypeError):
        raise Mistake(
            f"{file} is not what confide tune wrote.", suggestions=["Name another file; this one stays as it is."]
        ) from None
