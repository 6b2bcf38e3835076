"""Hybrid data: between a file as it is and a synthetic one, with the same means and covariances."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.errors import Mistake
from confide.microdata.method import Method
from confide.microdata.methods.gaussian import complete, must_vary, normals, orthogonal, root
from confide.microdata.records import Masked, Records
from confide.model.parameter import parameter

__all__ = ["HybridData"]


@dataclass(frozen=True)
class HybridData(Method):
    """Hybrid data (Muralidhar and Sarathy 2008): numbers mixed with synthetic ones of the same means and covariances.

    Promise: with y = f + a r + sqrt(1 - a²) e, where f is the linear regression of the columns on those `given`, r what it
    leaves, a the `proximity`, and e drawn with the covariance matrix of r and uncorrelated with all columns in this very
    file: means, variances and covariances of the columns, also with those given, are the very same, and so is every linear
    regression among them. With a = 0 no value depends on the record's own but for f. Columns of whole numbers are
    rounded afterwards. Missing values stay missing; what is exact is so of the records in which all columns are known.
    References: Muralidhar and Sarathy (2008), hybrid data; Burridge (2003), for a = 0.

    >>> import pyarrow as pa
    >>> frame = pa.table({"pay": [1.0, 2.0, 3.0, 4.0, 5.0, 9.0], "tax": [0.1, 0.2, 0.2, 0.5, 0.6, 1.0]})
    >>> mixed = HybridData(proximity=0.5).protect(frame, columns=["pay", "tax"], teaching_seed=1).frame
    >>> [np.cov(file["pay"], file["tax"]).round(6).tolist() for file in (frame, mixed)]
    [[[8.0, 0.94], [0.94, 0.114667]], [[8.0, 0.94], [0.94, 0.114667]]]
    """

    best_attack: ClassVar = "kept-order"
    draws: ClassVar = True
    mixes: ClassVar = True

    proximity: float = parameter(0.5, "From 0, all synthetic, to nearly 1, nearly as it was.", low=0, below=1)
    given: tuple[str, ...] = parameter((), "Numbers that stay, and whose covariances with the columns stay.")

    @property
    def reads(self) -> tuple[str, ...]:
        return self.given

    def _mask(self, records: Records) -> Masked:
        for name in self.given:
            if name in records.columns:
                raise Mistake(f"HybridData: {name!r} is to be masked, so it cannot be given.")
        x, stay = records.numbers(), records.numbers(self.given)
        if np.isnan(stay).any():
            name = self.given[int(np.isnan(stay).any(axis=0).argmax())]
            raise Mistake(
                f"HybridData: {name!r} is missing in some records{records.where}, and what is given must be known.",
                suggestions=["Leave it out of given."],
            )
        whole = complete(x)
        if not np.isnan(x).all():
            x = self._mixed(records, x, stay, whole)
        return Masked(dict(zip(records.columns, x.T, strict=True)), {"complete": int(whole.sum())})

    def _mixed(self, records: Records, x: Floats, stay: Floats, whole: Bools) -> Floats:
        known = x[whole]
        must_vary("HybridData", records.columns, known, where=records.where)
        needed = 2 * x.shape[1] + stay.shape[1] + 1
        if len(known) < needed:
            raise Mistake(
                f"HybridData: {x.shape[1]} columns with {stay.shape[1]} given need {needed} complete records"
                f"{records.where}, and there are {len(known)}.",
                suggestions=["Mask fewer columns together, or take larger strata."],
            )
        mean, spread = known.mean(axis=0), known.std(axis=0, ddof=1)
        scores = (x - mean) / spread
        known_stay = stay[whole]
        centred = (stay - known_stay.mean(axis=0)) / (known_stay.std(axis=0) + (known_stay.std(axis=0) == 0))
        slope = np.linalg.lstsq(centred[whole], scores[whole], rcond=None)[0]
        fitted = centred @ slope
        rest = scores - fitted
        noise = normals(records, records.columns, len(records))
        noise[whole] = orthogonal(noise[whole], np.hstack([scores, centred])[whole])
        shape = rest[whole].T @ rest[whole] / (len(known) - 1)
        drawn = noise @ root(shape).matrix
        mixed: Floats = mean + spread * (fitted + self.proximity * rest + np.sqrt(1 - self.proximity**2) * drawn)
        return mixed
