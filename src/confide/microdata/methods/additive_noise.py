"""Additive noise: normal noise is added to numbers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.errors import Mistake
from confide.microdata.method import Method
from confide.microdata.methods.gaussian import complete, must_vary, normals, orthogonal, root
from confide.microdata.records import Masked, Records
from confide.model.parameter import parameter

__all__ = ["AdditiveNoise"]


@dataclass(frozen=True)
class AdditiveNoise(Method):
    """Additive noise (Kim 1986): normal noise is added to numbers, so that no exact value remains.

    Promise: means stay on average, and the covariance matrix is on average as follows, with S that of the file and e
    noise of covariance matrix k S (of its diagonal, if uncorrelated):

    - uncorrelated: x + e; variances times 1 + k, covariances as they were;
    - correlated: x + e; all times 1 + k, so correlations stay;
    - linear: c (x + e) + (1 - c) mean, c² = (n - 1) / (n (1 + k) - 1); squares and products about the true means stay
      (Kim 1986);
    - covariance-preserving: mean + (x - mean + e) / sqrt(1 + k); S itself (Oganian and Karr 2006).

    With `exact` this holds in this very file and not only on average. Columns of whole numbers are rounded afterwards.
    Signs, bounds and inequalities between columns are not kept: for those there is MultiplicativeNoise. Missing values
    stay missing; means and S are of the records in which all columns are known, and so is what is exact.

    References: Domingo-Ferrer (2007), additive noise; Kim (1986); Oganian (2011), formula 1.

    >>> import pyarrow as pa
    >>> frame = pa.table({"height": [150.0, 160.0, 170.0, 180.0, 190.0]})
    >>> after = AdditiveNoise(k=0.1, exact=True).protect(frame, columns="height", teaching_seed=1).frame["height"].to_numpy()
    >>> after.round(1)
    array([148.2, 161.3, 177.1, 173.9, 189.5])
    >>> (after.mean().round(6), after.var().round(6))
    (np.float64(170.0), np.float64(200.0))
    """

    best_attack: ClassVar = "noise-covariance"
    draws: ClassVar = True
    mixes: ClassVar = True

    k: float = parameter(0.15, "Variance of the noise, as a share of that of the column.", above=0)
    kind: str = parameter(
        "covariance-preserving",
        "uncorrelated; correlated: as the columns are; linear: then scaled back (Kim); covariance-preserving.",
        among=("uncorrelated", "correlated", "linear", "covariance-preserving"),
    )
    exact: bool = parameter(False, "What is promised of means and covariances holds exactly, not on average.")

    def _check(self) -> None:
        if self.exact and self.kind == "linear":
            raise Mistake(
                "AdditiveNoise: exact does not go with 'linear'. What it would give is 'covariance-preserving'."
            )

    def _mask(self, records: Records) -> Masked:
        x = records.numbers()
        whole = complete(x)
        if not np.isnan(x).all():
            x = self._noisy(records, x, whole)
        return Masked(dict(zip(records.columns, x.T, strict=True)), {"complete": int(whole.sum())})

    def _noisy(self, records: Records, x: Floats, whole: Bools) -> Floats:
        known = x[whole]
        must_vary("AdditiveNoise", records.columns, known, where=records.where)
        mean, spread = known.mean(axis=0), known.std(axis=0, ddof=1)
        scores = (x - mean) / spread
        noise = normals(records, records.columns, len(records))
        if self.exact:
            if len(known) <= 2 * len(mean):
                raise Mistake(
                    f"AdditiveNoise: exact needs more than {2 * len(mean)} complete records, twice the columns{records.where}.",
                    suggestions=["Mask fewer columns together, use larger strata, or leave out exact."],
                )
            noise[whole] = orthogonal(noise[whole], scores[whole])
        shape = np.eye(len(mean)) if self.kind == "uncorrelated" else scores[whole].T @ scores[whole] / (len(known) - 1)
        masked: Floats = mean + self._scale(len(known)) * (scores + noise @ root(self.k * shape).matrix) * spread
        return masked

    def _scale(self, n: int) -> float:
        if self.kind == "linear":
            return float(np.sqrt((n - 1) / (n * (1 + self.k) - 1)))
        return float(1 / np.sqrt(1 + self.k)) if self.kind == "covariance-preserving" else 1.0
