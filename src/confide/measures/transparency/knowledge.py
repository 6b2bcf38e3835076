"""What an intruder holds beside a released file."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from confide.arrays import Ints
from confide.microdata import Method

__all__ = ["Knowledge"]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The keys of the targets, in no order, and how the file was masked: everything but the data and the seed.

    `targets` has one row a target and one column a key, recoded as the released file is. `places` says where each stood
    in the list that the file was drawn from, which somebody who knows the list may know. `masked` are the columns
    that `method` changed, stratum by stratum where there is `by`. Ties are broken by `seed`.
    """

    targets: pa.Table
    confidential: tuple[str, ...] = ()
    method: Method | None = None
    masked: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    places: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    seed: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.targets.column_names)

    @property
    def masked_keys(self) -> tuple[str, ...]:
        """The keys that the method changed: what the intruder can compare with what became of it."""
        return tuple(name for name in self.keys if name in self.masked)

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)
