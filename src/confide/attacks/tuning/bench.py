"""Measures one variant of a policy after the other, on a copy of the site: the same attacks, the same honest questions."""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from confide.answering.shield import Shield
from confide.attacks.red_team import AttackProgress, RedTeam
from confide.attacks.runner import LocalField
from confide.attacks.truth.copies import copied, copy_base, copy_description, protect_copy
from confide.attacks.truth.truth import Truth, truth_of_site
from confide.attacks.tuning.trial import PolicyTrial
from confide.attacks.tuning.variants import varied
from confide.attacks.workload.asking import Questioner
from confide.attacks.workload.generator import Drawn, Generator
from confide.attacks.workload.measuring import Measuring
from confide.attacks.workload.roads import TrueAnswers, true_answers
from confide.attacks.workload.sizes import TrueSizes
from confide.attacks.workload.summary import Asked, Usefulness, median_error
from confide.engines.duckdb.store import read_store_facts
from confide.errors import Mistake
from confide.model.policy import Policy, write_policy
from confide.records.ceilings.ceiling import read_ceilings
from confide.records.keeping import write_kept
from confide.site.folder import Folder

__all__ = ["Bench", "TimeUp", "bench"]


class TimeUp(Exception):
    """There is no time left to measure a variant to its end."""


@dataclass(frozen=True)
class Bench:
    """A data set with all that is the same for every variant."""

    folder: Folder
    name: str
    truth: Truth
    true: TrueAnswers
    drawn: Drawn
    team: RedTeam
    until: float

    def check(self, policy: Policy) -> None:
        """Nothing if the policy can be put to use here; else a Mistake says what is missing or does not go together."""
        Shield(policy, self.folder.secret()).prepare()
        if policy.counts.mechanism == "safe" and not self.folder.base(self.name).exists():
            raise Mistake(
                f'{self.name!r} has no SAFE base, which counts.mechanism = "safe" needs.',
                suggestions=["Make one first: confide safe"],
            )

    def measure(self, policy: Policy, changes: Mapping[str, Any], progress: AttackProgress) -> PolicyTrial:
        """What becomes of the policy with some fields changed. Raises TimeUp."""
        variant = varied(policy, changes)
        with _prepared(self.folder, self.name, variant, self.truth) as site:
            asked = self._asked(site.path, variant)
            results = self._attacked(site.path, variant, progress)
            ceilings = read_ceilings(read_store_facts(site.store(self.name)))
        found = Usefulness.of(asked, dataset=self.name, policy="", source="", seed=None, sizes="", aside={})
        return PolicyTrial(
            changes=dict(changes),
            mark=variant.mark,
            results=results,
            asked=found.asked,
            answered=found.answered,
            error=median_error(asked),
            errors={error.of: error.median for error in found.errors},
            kinds={kind.kind: kind.share for kind in found.kinds},
            ceiling=max((c.lift for c in ceilings), default=None),
        )

    def _asked(self, site: Path, policy: Policy) -> list[Asked]:
        with copied(site, self.name, policy, truth=self.truth) as copy:
            measuring = Measuring(Questioner(copy), self.truth.dataset, self.true.under(policy))
            asked, stopped = measuring.all(self.drawn.requests, lambda asked, of: self._must_have_time())
        if stopped:
            raise Mistake(f"Not all questions could be asked. {stopped}")
        return asked

    def _attacked(self, site: Path, policy: Policy, progress: AttackProgress) -> tuple[Any, ...]:
        minutes = max(self.until - time.monotonic(), 0.0) / 60
        team = RedTeam(
            only=self.team.only, targets=self.team.targets, questions=self.team.questions, seed=self.team.seed,
            minutes=minutes,
        )  # fmt: skip
        report = team.attack(LocalField(site, self.name, policy, self.truth), progress=progress)
        self._must_have_time()
        return report.results

    def _must_have_time(self) -> None:
        if time.monotonic() > self.until:
            raise TimeUp


@contextmanager
def bench(site: Path, name: str, *, team: RedTeam, generator: Generator) -> Iterator[Bench]:
    """All that is needed to measure variants of a policy; a Mistake if the truth is not with the site."""
    folder = Folder(site)
    until = time.monotonic() + 60 * team.minutes
    truth = truth_of_site(site, name)
    with true_answers(truth, store=folder.store(name)) as true:
        yield Bench(folder, name, truth, true, generator.draw(truth.dataset, TrueSizes(true)), team, until)


@contextmanager
def _prepared(folder: Folder, name: str, policy: Policy, truth: Truth) -> Iterator[Folder]:
    """The site, or a copy with its records protected as the policy says: once, and not for every attack anew."""
    if read_store_facts(folder.store(name)).records == policy.records_mark:
        yield folder
        return
    with TemporaryDirectory(prefix="confide-") as place:
        target = Folder(Path(place))
        copy_description(folder, target, name)
        shutil.copy2(folder.path / "secret", target.path / "secret")
        (target.path / "policy.toml").write_text(write_policy(policy, preset="standard"), encoding="utf-8")
        for level in protect_copy(folder, target, truth, policy):
            write_kept(target.records(level.dataset.name), level.true, level.report)
        if folder.base(name).exists() and policy.counts.mechanism == "safe":
            copy_base(folder, target, name)
        yield target
