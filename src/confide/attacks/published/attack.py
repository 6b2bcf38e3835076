"""What an attack on a published table is."""

from abc import ABC, abstractmethod
from typing import ClassVar

from confide.attacks.published.published_table import CellClaims, PublishedTable

__all__ = ["TableAttack"]


class TableAttack(ABC):
    """One attack: a module with a frozen dataclass of its parameters. The true table is nowhere in it."""

    name: ClassVar[str]
    code: ClassVar[str]
    """Its place in the catalogue, as in L5."""
    words: ClassVar[str]

    @abstractmethod
    def unfit(self, table: PublishedTable) -> str:
        """Why there is nothing to try on this table; empty where there is."""

    @abstractmethod
    def attack(self, table: PublishedTable) -> CellClaims:
        """What the intruder claims of each cell."""
