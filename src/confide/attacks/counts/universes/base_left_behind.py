"""C1: out of a SAFE base by asking for more than it has, and then as if there were none."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from confide.attacks.choosing import class_secret
from confide.attacks.claims import Claims, NotApplicable, UnitTargets
from confide.attacks.counts.keys import three_keys
from confide.attacks.counts.universes.changed_cells import read_classes
from confide.attacks.intruder import Intruder
from confide.attacks.passing import within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["BaseLeftBehind"]


@dataclass(frozen=True)
class BaseLeftBehind:
    """Read the confidential class of people who are alone on three keys, though counts are read from a SAFE base.

    A base has plain counts by some variables. Whoever asks for one more measure, or names one more variable, gets counts of
    the records themselves, by cell keys; the attack by changed cells then works as without a base.

    Tried (20,000 people, `standard` with a base over all variables of the attack): (1) changed cells in the base: 38 %, with
    33 % by guessing: the base holds. (2) A variable outside the base, as the confidential one often is, needs no trick:
    changed cells have 100 %. (3) Weighted counts beside the counts, whatever the base has: 100 % of 60 after 181 questions.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "base-left-behind"
    code: ClassVar = "C1"
    words: ClassVar = "a second measure leads out of the protected base; then changed cells as without one"
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        if policy.counts.mechanism != "safe":
            raise NotApplicable("No count is read from a SAFE base under this policy.")
        wanted = UnitTargets(three_keys(book, self.keys), class_secret(book, self.secret))
        return within_rules(wanted, book, policy, given=self.keys)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        yield from read_classes(intruder, wanted, measure=("count", "weighted_count"))
