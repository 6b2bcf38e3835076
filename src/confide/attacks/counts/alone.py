"""What attacks share that want the confidential class of people who are alone on keys of a table."""

from dataclasses import dataclass
from typing import ClassVar

from confide.attacks.choosing import class_secret
from confide.attacks.claims import UnitTargets
from confide.attacks.counts.keys import table_keys
from confide.attacks.passing import within_rules
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["AloneOnKeys"]


@dataclass(frozen=True)
class AloneOnKeys:
    """Whom such an attack is about: by the keys and the confidential variable that are given, or by its own choice."""

    keys: tuple[str, ...] = ()
    secret: str = ""

    knows: ClassVar = "three keys of the target, and that nobody else has them"

    def wants(self, book: Dataset, policy: Policy) -> UnitTargets:
        wanted = UnitTargets(self.keys or table_keys(book), class_secret(book, self.secret))
        return within_rules(wanted, book, policy, given=self.keys)
