"""C1: out of a SAFE base by asking for more than it has; what it has, where there is no way out."""

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

    A base has plain counts by some variables. If one more measure, or one more variable, led to counts of the records
    themselves, by cell keys, the attack by changed cells would work as without a base.

    Tried (20,000 people, cell keys with a base over all variables of the attack, when the base could be left): (1) changed
    cells in the base: 38 %, with 33 % by guessing. (2) A variable outside the base, as the confidential one often is: 100 %.
    (3) Weighted counts beside the counts, whatever the base has: 100 % of 60 after 181 questions. Now `counts.base` refuses
    (2), and (3) too where the records are not protected; so the intruder asks for weighted counts, and failing these
    for counts in the base.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""

    name: ClassVar = "base-left-behind"
    code: ClassVar = "C1"
    words: ClassVar = (
        "a second measure, if there is one, leads out of the protected base; then changed cells as without one"
    )
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        if policy.counts.mechanism != "safe":
            raise NotApplicable("No count is read from a SAFE base under this policy.")
        wanted = UnitTargets(three_keys(book, self.keys), class_secret(book, self.secret))
        return within_rules(wanted, book, policy, given=self.keys)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        wanted = self.wants(intruder.book, intruder.policy).met(intruder.known)
        more = ("count", "weighted_count")
        out = intruder.table(wanted.secret, measure=more) is not None
        yield from read_classes(intruder, wanted, measure=more if out else ("count",))
