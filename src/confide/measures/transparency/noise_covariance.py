"""L9: noise that follows the covariances of the file is small in most directions."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from scipy.special import logsumexp

from confide.arrays import Floats, Ints
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import Links
from confide.measures.transparency.knowledge import Knowledge
from confide.measures.transparency.noise_model import NoiseModel
from confide.measures.transparency.windows import ComparedKeys, Windows, compared
from confide.microdata import AdditiveNoise, NonlinearNoise

__all__ = ["NoiseCovariance", "noise_unfit", "noisy_links"]

SOME = 1_000
"""So many records tell how densely the others lie."""


@dataclass(frozen=True)
class NoiseCovariance(FileAttack):
    """Linkage by the noise's own covariance matrix (after Fuller 1993): the likeliest record is the target's.

    Knows that noise was added, of which kind, and k. The scaling is undone, and distance is measured in units of the noise
    in each direction: correlated noise is small across the file's main direction, and there records are told apart.
    A record is weighed by how likely it would be as anybody's: one that lies alone is better evidence. Keys that were
    left as they are must agree. Tried on 1,000 records of 6 like columns with correlated noise of k = 0.2: standardised
    distance links 18 percent, this distance 41, weighed by the density of the released records 43, by that of the
    targets 50, which is used where the list is long enough to tell it.

    Noise with nonlinear transformation is looked at in normal scores, which the intruder has from the ranks of what was
    released, because distributions stay. Tried on 400 generated firms with 13 columns and k = 0.5: linkage by evidence
    finds 31 percent, this 84.
    """

    name: ClassVar = "noise-covariance"
    code: ClassVar = "L9"
    words: ClassVar = "Knows how the noise is spread, and measures distance in units of it."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        return noise_unfit(known, AdditiveNoise | NonlinearNoise)

    def attack(self, released: pa.Table, known: Knowledge) -> Links:
        keys, method = compared(released, known), known.method
        if isinstance(method, NonlinearNoise):
            keys = keys.in_scores(known.masked_keys)
            scores = keys.released[:, [keys.names.index(name) for name in known.masked_keys]]
            return noisy_links(NoiseModel.of_scores(scores, method, known.masked_keys), keys, known)
        assert isinstance(method, AdditiveNoise)
        return noisy_links(NoiseModel.of(released, method, known.masked_keys), keys, known)


def noise_unfit(known: Knowledge, kinds: Any) -> str:
    """Why the noise cannot be modelled."""
    if not isinstance(known.method, kinds):
        return "Against additive noise only."
    if known.by:
        return "Noise was drawn within strata."
    return "" if known.masked_keys else "No key has noise."


def noisy_links(model: NoiseModel, keys: ComparedKeys, known: Knowledge) -> Links:
    """The likeliest record of each target, of those that agree in the keys without noise."""
    masked = [keys.names.index(name) for name in known.masked_keys]
    columns = np.array([model.names.index(name) for name in known.masked_keys])
    windows = Windows.exact(keys)
    windows.low[:, masked], windows.high[:, masked] = -np.inf, np.inf
    weight = _weighed(model, keys.targets[:, masked], columns, known.rng())
    found = np.full(len(weight), -1, np.int64)
    for target in range(len(found)):
        rows = windows.inside(target)
        if len(rows):
            found[target] = rows[weight[target, rows].argmax()]
    return Links(found)


def _weighed(model: NoiseModel, targets: Floats, columns: Ints, rng: np.random.Generator) -> Floats:
    """log p(y | x) / p(y) of every target (row) and record."""
    far = model.distances(targets, columns)
    if 2 * len(targets) >= far.shape[1]:
        return np.asarray(-far / 2 - logsumexp(-far / 2, axis=0))
    some = rng.permutation(far.shape[1])[:SOME]
    # released records have noise themselves, so two of them are apart by twice its variance
    return np.asarray(-far / 2 - logsumexp(-model.distances(model.undone[np.ix_(some, columns)], columns) / 4, axis=0))
