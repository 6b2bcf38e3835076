"""Numbers drawn from cell keys: the same records give the same draw, for each purpose its own."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Floats, Ints
from confide.site.secret import Secret

__all__ = ["Draws", "fingerprint", "record_keys"]


def record_keys(names: list[bytes] | pa.Array, secret: Secret) -> tuple[Ints, NDArray[np.uint32]]:
    """The key of each named unit, and 32 bits of its own for its record."""
    draws = secret.digests("record", names)
    return draws[:, 0].view(np.int64).copy(), draws[:, 1].astype(np.uint32)


def fingerprint(records: Ints, units: Ints, key: Ints) -> list[bytes]:
    """What is known of each set of records, as bytes: its sizes and its key."""
    data = np.stack([np.ravel(records), np.ravel(units), np.ravel(key)], axis=1).astype("<i8").tobytes()
    return [data[i : i + 24] for i in range(0, len(data), 24)]


@dataclass(frozen=True)
class Draws:
    """Uniform numbers for cells. `publish` and `decide` never share a number: a refusal says nothing of the noise.

    With `by_unit` a draw does not depend on how many records units have, so that the same households draw the same whether
    they are counted or the people in them: two draws would tell more than one.
    """

    secret: Secret
    by_unit: bool = False

    def counts(self, records: Ints, units: Ints, key: Ints) -> tuple[Floats, Floats]:
        """Two uniform numbers a cell: one for the published count, one for the count that rules look at."""
        numbers = self._uniform("count", records, units, key)
        return numbers[:, 0].reshape(units.shape), numbers[:, 1].reshape(units.shape)

    def totals(self, variable: str, records: Ints, units: Ints, key: Ints, *, draws: int) -> Floats:
        """Uniform numbers for the total of a variable, cells by draws. Each variable has its own: ratios stay noisy."""
        blocks = [self._uniform(f"total {block} {variable}", records, units, key) for block in range(-(-draws // 4))]
        return np.concatenate(blocks, axis=1)[:, :draws]

    def _uniform(self, purpose: str, records: Ints, units: Ints, key: Ints) -> Floats:
        digests = self.secret.digests(purpose, fingerprint(units if self.by_unit else records, units, key))
        return (digests >> np.uint64(11)).astype(np.float64) * 2.0**-53
