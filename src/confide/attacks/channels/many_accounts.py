"""S4: as many questions as several accounts have, for the strongest attack on a class."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from confide.attacks.claims import Claims, UnitTargets
from confide.attacks.counts.universes.secret_in_universe import SecretInUniverse
from confide.attacks.intruder import Intruder
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["ManyAccounts"]


@dataclass(frozen=True)
class ManyAccounts:
    """Ask with several accounts what the quota allows one: answers are the same for everybody, so they add up.

    Tried: the accounts share one attack and split its questions. Other ways of sharing were not tried.
    """

    keys: tuple[str, ...] = ()
    secret: str = ""
    accounts: int = 5

    name: ClassVar = "many-accounts"
    code: ClassVar = "S4"
    words: ClassVar = "the secret in the universe, with the questions of five accounts"
    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        return self._alone.wants(book, policy)

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        # `questions` is what one account may ask; the intruder goes on with the next account where it ends.
        intruder.questions *= self.accounts
        yield from self._alone.run(intruder)

    @property
    def _alone(self) -> SecretInUniverse:
        return SecretInUniverse(self.keys, self.secret)
