"""What an attack is: what it wants to know, and how it goes about it."""

from collections.abc import Iterator
from dataclasses import Field
from typing import Any, ClassVar, Protocol

from confide.attacks.claims import Claims, Wanted
from confide.attacks.intruder import Intruder
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["Attack"]


class Attack(Protocol):
    """One attack: a module with a frozen dataclass of its parameters.

    `knows` says in words what the intruder knows beforehand, beside the codebook, the policy and the code of Confide.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]
    code: ClassVar[str]
    """Its place in the catalogue, as in T17."""
    words: ClassVar[str]
    knows: ClassVar[str]

    def wants(self, book: Dataset, policy: Policy) -> Wanted:
        """What is to be found out, by public metadata alone; raises NotApplicable where there is nothing to try."""

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        """Ask, and claim again and again as more is learnt: the last claims count when the questions are used up."""
