"""Carries out attacks on a site and scores them. Targets come from the truth; the attack sees only what is known of them."""

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from confide.arrays import Ints
from confide.attacks.attack import Attack
from confide.attacks.claims import NOBODY, Claims, MemberTargets, NotApplicable, SetTargets
from confide.attacks.codebook import read_codebook
from confide.attacks.intruder import Intruder, Spent
from confide.attacks.result import Result
from confide.attacks.simulation import simulated
from confide.attacks.truth.copies import EVERYBODY, CopiedUnits, copied
from confide.attacks.truth.scoring import ClaimScore, score
from confide.attacks.truth.truth import Chosen, Truth
from confide.client import Site
from confide.model.policy import Policy

__all__ = ["Battlefield", "LocalField", "RemoteField", "Settings", "carry_out"]

SETTLED, FEWEST = 0.99, 100
"""An attack ends when this share of its claims has stayed the same while its questions doubled, to at least so many."""

QUESTIONS = 1000
"""So many questions an attack has where the policy sets no quota."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How hard to try: targets and questions an attack, the seed, and variables to use in place of the attack's own choice."""

    targets: int = 200
    questions: int = QUESTIONS
    seed: int = 1
    keys: tuple[str, ...] = ()
    secret: str = ""
    until: float = float("inf")
    """The time (of `time.monotonic`) after which nothing more is asked."""


@dataclass(frozen=True)
class LocalField:
    """A site of this machine, attacked as a copy under its own policy or another."""

    site: Path
    name: str
    policy: Policy
    truth: Truth

    @contextmanager
    def opened(self, units: CopiedUnits = EVERYBODY, *, suggestions: bool = False) -> Iterator[Site | None]:
        copy = copied(self.site, self.name, self.policy, truth=self.truth, units=units, suggestions=suggestions)
        with copy as site:
            yield site


@dataclass(frozen=True)
class RemoteField:
    """A site elsewhere, attacked as it is; it cannot be had without the targets."""

    site: Site
    name: str
    policy: Policy
    truth: Truth

    @contextmanager
    def opened(self, units: CopiedUnits = EVERYBODY, *, suggestions: bool = False) -> Iterator[Site | None]:
        yield self.site if units.all else None


Battlefield = LocalField | RemoteField

_Version = tuple[CopiedUnits | None, CopiedUnits | None]
"""The units that are asked about, and those of a version before."""


def carry_out(
    attack: Attack, field: Battlefield, settings: Settings, *, progress: Callable[[int], None] = lambda asked: None
) -> Result:
    """The result of one attack; the same for the same seed, site and settings, unless time runs out."""
    attack = _set(attack, settings)
    began = time.monotonic()
    about: dict[str, Any] = {"attack": attack.name, "code": attack.code, "words": attack.words}
    try:
        found = _Run(attack, field, settings, progress).result()
    except NotApplicable as reason:
        return Result(**about, stopped=str(reason), applies=False)
    return replace(Result(**about, **found), seconds=round(time.monotonic() - began, 1))


def _set(attack: Attack, settings: Settings) -> Attack:
    """The attack with the variables that the settings name, as far as it has a place for them."""
    own = {f.name for f in fields(attack)}
    given: dict[str, Any] = {"keys": settings.keys, "secret": settings.secret}
    return replace(attack, **{name: value for name, value in given.items() if value and name in own})


@dataclass(frozen=True)
class _Run:
    """One attack on one field: on the site, and on the site without the targets."""

    attack: Attack
    field: Battlefield
    settings: Settings
    progress: Callable[[int], None]

    def result(self) -> dict[str, Any]:
        truth, rng = self.field.truth, self._rng()
        wanted = self.attack.wants(truth.dataset, self.field.policy)
        chosen = None if isinstance(wanted, SetTargets) else truth.choose(wanted, self.settings.targets, rng)
        absent = chosen.units[~chosen.present] if isinstance(wanted, MemberTargets) and chosen else None
        without = chosen.units if chosen and not isinstance(wanted, MemberTargets) else None
        twin = None if without is None else CopiedUnits(without)
        versions = [(CopiedUnits(absent), twin), (twin, twin)]
        if chosen and self._update:
            versions = self._versions(chosen)
        with self._opened(versions) as ((site, before), (other, before_other)):
            if site is None:
                raise NotApplicable("It needs a site from which the targets can be left out: one on this machine.")
            here = self._fight(self._intruder(site, chosen, self._asking(before, chosen)))
            # Without the targets claims may never settle; as many questions as with them are enough.
            most, earlier = here.intruder.asked, self._asking(before_other, chosen)
            there = self._fight(self._intruder(other, chosen, earlier, most)) if other else None
        claims = here.claims or [(here.intruder.asked, _silence(chosen))]
        scores = [(asked, score(c, wanted, chosen, truth)) for asked, c in claims]
        others = score(there.claims[-1][1], wanted, chosen, truth).success if there and there.claims else None
        return {**_scored(scores), **here.told(), "others": others}

    @property
    def _update(self) -> str:
        """What the targets do between two versions of the data, for attacks on that: join or leave."""
        return str(getattr(self.attack, "update", ""))

    def _versions(self, chosen: Chosen) -> list[_Version]:
        """The data after an update and before it, with the targets and without them."""
        moved = self._moved(chosen)
        if self._update == "joins":
            former = CopiedUnits(moved)
            return [(CopiedUnits(joined=moved), former), (CopiedUnits(chosen.units, joined=moved), former)]
        without = CopiedUnits(chosen.units)
        return [(CopiedUnits(left=moved), EVERYBODY), (CopiedUnits(chosen.units, left=moved), without)]

    def _moved(self, chosen: Chosen) -> Ints:
        """Who joins or leaves between two versions: the targets, and at least as many others, which are what is learnt of the targets
        from who they are not; and as many as an update must have."""
        targets, others = np.unique(chosen.units), np.setdiff1d(self.field.truth.units, chosen.units)
        more = min(max(len(targets), self.field.policy.updates.least - len(targets)), len(others) // 2)
        return np.concatenate([targets, self._rng().choice(others, more, replace=False)])

    @contextmanager
    def _opened(self, versions: list[_Version]) -> Iterator[list[tuple[Site | None, Site | None]]]:
        """A site for each of some units, which is made once; None where there are none, or it cannot be had."""
        # Looking for suggestions takes most of the time of a refusal: of use only to who measures it.
        slow = getattr(self.attack, "measures_time", False)
        with ExitStack() as open_sites:
            sites: dict[CopiedUnits | None, Site | None] = {None: None}
            for units in chain(*versions):
                if units not in sites:
                    assert units is not None
                    sites[units] = open_sites.enter_context(self.field.opened(units, suggestions=slow))
            yield [(sites[now], sites[then]) for now, then in versions]

    def _asking(self, site: Site | None, chosen: Chosen | None) -> Intruder | None:
        return None if site is None else self._intruder(site, chosen)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.settings.seed, zlib.crc32(self.attack.name.encode())])

    def _intruder(
        self, site: Site, chosen: Chosen | None, before: Intruder | None = None, most: int = 10**9
    ) -> Intruder:
        book, policy, rng = read_codebook(site.codebook(self.field.name)), self.field.policy, self._rng()
        return Intruder(
            site=site,
            book=book,
            policy=policy,
            rng=rng,
            simulate=lambda records: simulated(book, policy, records, rng),
            questions=self.settings.questions,
            known=chosen.known if chosen else NOBODY,
            before=before,
            most=most,
            progress=self._tick,
        )

    def _tick(self, asked: int) -> None:
        self.progress(asked)
        if time.monotonic() > self.settings.until:
            raise Spent("The time ran out.")

    def _fight(self, intruder: Intruder) -> "_Fought":
        claims: list[tuple[int, Claims]] = []
        stopped = ""
        try:
            for claim in self.attack.run(intruder):
                claims.append((intruder.asked, claim))
                if _settled(claims):
                    break
        except Spent as spent:
            stopped = str(spent)
        return _Fought(claims, intruder, stopped)


def _settled(claims: list[tuple[int, Claims]]) -> bool:
    """Whether the claims are those of half as many questions ago: more questions would hardly change them."""
    asked, now = claims[-1]
    earlier = [claim for when, claim in claims if 2 * when <= asked]
    if asked < FEWEST or not now.made.any() or not earlier or len(earlier[-1].values) != len(now.values):
        return False
    then = earlier[-1]
    same = (then.made == now.made) & ((then.values == now.values) | ~now.made)
    return bool(same.mean() >= SETTLED)


@dataclass(frozen=True)
class _Fought:
    claims: list[tuple[int, Claims]]
    intruder: Intruder
    stopped: str

    def told(self) -> dict[str, Any]:
        refused = self.intruder.refused
        return {
            "questions": self.intruder.asked,
            "refusals": refused.total(),
            "rules": dict(refused.most_common()),
            "stopped": self.stopped,
            "notes": tuple(self._notes()),
        }

    def _notes(self) -> Iterator[str]:
        if not self.claims and not self.stopped:
            yield "Nothing could be claimed."
        if self.intruder.asked and self.intruder.refused.total() == self.intruder.asked:
            yield "Every question was refused."
        if self.intruder.mistakes:
            yield f"{self.intruder.mistakes} questions were not well formed."


def _silence(chosen: Chosen | None) -> Claims:
    """No claim about anybody."""
    size = chosen.known.size if chosen else 0
    return Claims(np.zeros(size), np.zeros(size, bool))


def _scored(scores: list[tuple[int, ClaimScore]]) -> dict[str, Any]:
    last = scores[-1][1]
    return {
        "targets": last.targets,
        "claimed": last.claimed,
        "right": last.right,
        "success": last.success,
        "guess": last.guess,
        "curve": tuple((asked, s.success) for asked, s in scores),
    }
