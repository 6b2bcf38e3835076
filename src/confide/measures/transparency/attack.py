"""What an attack on a file is."""

from abc import ABC, abstractmethod
from typing import ClassVar

import pyarrow as pa

from confide.measures.transparency.claims import FileClaims
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["FileAttack"]


class FileAttack(ABC):
    """One attack: a module with a frozen dataclass of its parameters. The confidential file is nowhere in it."""

    name: ClassVar[str]
    code: ClassVar[str]
    """Its place in the catalogue, as in L9."""
    words: ClassVar[str]
    of_members: ClassVar[bool] = False
    """Whether targets are candidates of whom half are in the file, whole records of whom are known."""
    seeks_record: ClassVar[bool] = True
    """Whether released records are taken for masked ones of somebody's: of new records there is none to be found."""

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        """Why there is nothing to try on this file; empty where there is."""
        return "" if known.keys else "The intruder knows no key."

    @abstractmethod
    def attack(self, released: pa.Table, known: Knowledge) -> FileClaims:
        """What the intruder claims, from what was released and what they know."""
