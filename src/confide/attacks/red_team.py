"""Attack a site: the whole run, from opening it to the report."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confide.attacks.codebook import read_codebook, read_public_policy
from confide.attacks.registry import attacks, chosen_attacks
from confide.attacks.report import AttackReport, Conditions, read_report, write_report
from confide.attacks.result import Result
from confide.attacks.runner import QUESTIONS, Battlefield, LocalField, RemoteField, Settings
from confide.attacks.suite import local_field, run_here, run_side_by_side
from confide.attacks.truth.truth import truth_elsewhere
from confide.client import open as open_site
from confide.errors import Mistake, nearest
from confide.model.policy import PRESETS, Policy, preset_policy
from confide.site.folder import Folder
from confide.site.policy_drafts import read_tried

__all__ = ["AttackProgress", "RedTeam", "attack_site", "named_policy", "open_field"]


class AttackProgress:
    """Is told what goes on; this one keeps silent."""

    def began(self, attacks: int) -> None:
        """So many attacks are to be carried out."""

    def asked(self, questions: int) -> None:
        """So many more questions were asked."""

    def ended(self, result: Result) -> None:
        """An attack came to its end."""


@dataclass(frozen=True, kw_only=True)
class RedTeam:
    """Which attacks are tried and how hard: the same seed gives the same results, unless the time runs out.

    `questions` is the most that one attack asks; a day's quota if it is not given. `json` is a file that the results are
    written to as they come: a run that was cut off goes on from there.
    """

    only: str = ""
    targets: int = 200
    questions: int | None = None
    minutes: float = 15.0
    seed: int = 1
    keys: tuple[str, ...] = ()
    secret: str = ""
    json: Path | None = None

    def attack(self, field: Battlefield, *, progress: AttackProgress | None = None) -> AttackReport:
        """The report on a data set of a site."""
        chosen = chosen_attacks(self.only)
        telling = progress or AttackProgress()
        report = self._begun(field)
        left = {name: attack for name, attack in chosen.items() if name not in report.finished}
        telling.began(len(left))
        settings = self._settings(field)
        # A few attacks need not wait for processes to start.
        if isinstance(field, LocalField) and len(left) > 2:
            results = run_side_by_side(left, field, settings, progress=telling.asked)
        else:
            results = run_here(left, field, settings, progress=telling.asked)
        for result in results:
            report = report.add(result)
            self._save(report)
            telling.ended(result)
        report = report.in_order(list(attacks()))
        self._save(report)
        return report

    def _save(self, report: AttackReport) -> None:
        if self.json is not None:
            write_report(report, self.json)

    def _settings(self, field: Battlefield) -> Settings:
        until = time.monotonic() + 60 * self.minutes
        few = self._most(field)
        return Settings(
            targets=self.targets, questions=few, seed=self.seed, keys=self.keys, secret=self.secret, until=until
        )

    def _most(self, field: Battlefield) -> int:
        return self.questions or field.policy.quota.per_day or QUESTIONS

    def _begun(self, field: Battlefield) -> AttackReport:
        """What an earlier run under the same conditions left, or nothing yet."""
        conditions = Conditions(
            dataset=field.name,
            policy=field.policy.title,
            mark=field.policy.mark,
            targets=self.targets,
            questions=self._most(field),
            seed=self.seed,
            keys=self.keys,
            secret=self.secret,
        )
        if self.json is not None and self.json.exists():
            earlier = read_report(self.json)
            if earlier.conditions != conditions:
                raise Mistake(
                    f"{self.json} holds a run under other conditions (data set, policy, targets, questions or seed).",
                    suggestions=["Name another file, or repeat the options of that run to go on with it."],
                )
            return earlier
        return AttackReport(conditions, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def attack_site(
    place: str | Path,
    dataset: str,
    *,
    policy: Policy | str | None = None,
    truth: Path | None = None,
    token: str | None = None,
    allow_open: bool = False,
    **how: Any,
) -> AttackReport:
    """Attack a data set of a site, under its policy or another (a preset, or a file): the report on every attack.

    `how` are the fields of `RedTeam`: as in `attack_site("mysite", "people", only="T18", targets=100)`. A site elsewhere
    needs the `truth`. Nothing is kept with the site.
    """
    chosen = named_policy(policy, site=place, dataset=dataset) if isinstance(policy, str) else policy
    with open_field(place, dataset, policy=chosen, truth=truth, token=token, allow_open=allow_open) as field:
        return RedTeam(**how).attack(field)


def named_policy(name: str, *, site: str | Path, dataset: str) -> Policy:
    """A policy by the name of a preset, or from a file, to try on a data set of a site."""
    if name in PRESETS:
        return preset_policy(name)
    try:
        return read_tried(Folder(Path(site)), Path(name), name=dataset)
    except (OSError, UnicodeDecodeError):
        hint = nearest(name, PRESETS) or [f"Presets: {', '.join(PRESETS)}."]
        raise Mistake(f"There is no preset and no file {name[:80]!r}.", suggestions=hint) from None


@contextmanager
def open_field(
    place: str | Path,
    dataset: str,
    *,
    policy: Policy | None = None,
    truth: Path | None = None,
    token: str | None = None,
    allow_open: bool = False,
) -> Iterator[Battlefield]:
    """A data set to be attacked: of a site on this machine, under its policy or another, or of one elsewhere."""
    if not str(place).startswith(("http://", "https://")):
        if truth is not None:
            raise Mistake("A site on this machine has the truth itself.", suggestions=["Leave --truth out."])
        yield _local(Path(place), dataset, policy, allow_open=allow_open)
        return
    if truth is None:
        raise Mistake(
            "Without the truth, attacks on a site elsewhere cannot be scored.",
            suggestions=["Give the data that the site was made of, or a copy of its folder: --truth people.parquet"],
        )
    with open_site(place, token=token) as site:
        told = site[dataset].codebook
        book = read_codebook(told)
        yield RemoteField(site, dataset, policy or read_public_policy(told), truth_elsewhere(truth, book))


def _local(site: Path, dataset: str, policy: Policy | None, *, allow_open: bool) -> LocalField:
    force = Folder(site).policy(dataset)
    chosen = policy or force
    if not chosen.protects and not allow_open:
        raise Mistake(
            f"The policy {chosen.name!r} protects nothing: every attack will succeed.",
            suggestions=["To see them do so, add --allow-open."],
        )
    return local_field(site.resolve(), dataset, chosen)
