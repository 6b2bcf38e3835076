"""What a codebook says of one variable."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["DictionaryEntry"]


@dataclass(frozen=True)
class DictionaryEntry:
    """Its label, the labels of its codes, the codes that mean missing, and whom the question was asked of."""

    label: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    universe: str = ""
