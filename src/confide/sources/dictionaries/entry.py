"""What a codebook says of one variable, and of the data as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["DictionaryEntry", "StudyFacts"]


@dataclass(frozen=True)
class DictionaryEntry:
    """Its label, the labels of its codes, the codes that mean missing, and whom the question was asked of."""

    label: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    universe: str = ""


@dataclass(frozen=True)
class StudyFacts:
    """What the data are called, who made them and of what time they are."""

    title: str = ""
    source: str = ""
    period: str = ""
