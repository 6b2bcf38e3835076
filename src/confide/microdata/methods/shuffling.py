"""Shuffling: values of columns change places among all records, so that relations stay and links do not."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from confide.arrays import Floats, Ints
from confide.errors import Mistake
from confide.microdata.method import Method
from confide.microdata.methods.gaussian import complete, normals, root
from confide.microdata.methods.rank_swapping import ordered
from confide.microdata.records import Masked, Records
from confide.microdata.search.exchange import of_households
from confide.model.parameter import parameter

__all__ = ["Shuffling"]


@dataclass(frozen=True)
class Shuffling(Method):
    """Data shuffling (Muralidhar and Sarathy 2006): values are placed anew as the other columns let expect.

    Promise: a column has the same values as before. Where a value goes depends on the record's columns in `given`, on
    what the whole file says of how columns go together, and on chance; not on the values that the record had. Correlations
    of ranks among the masked columns, and with those in `given`, stay on average where the columns are joined as normal
    ones are (a normal copula).

    With Z the normal scores of ranks, and R their correlations, new scores are drawn from N(R_xg R_gg^-1 Z_g, R_xx -
    R_xg R_gg^-1 R_gx), and each value goes to the record whose new score has its rank. Categories must be ordered. Missing
    values stay missing; where a column of `given` is missing, its middle is taken. Correlations are of the records in
    which all columns are known.

    >>> import pyarrow as pa
    >>> frame = pa.table({"age": [20, 30, 40, 50, 60], "income": [4.0, 1.0, 2.0, 9.0, 5.0]})
    >>> Shuffling(given=["age"]).protect(frame, columns="income", teaching_seed=1).frame["income"].to_pylist()
    [9.0, 5.0, 1.0, 2.0, 4.0]
    """

    best_attack: ClassVar = "kept-order"
    draws: ClassVar = True
    mixes: ClassVar = True
    takes: ClassVar = frozenset({"numbers", "categories"})

    given: tuple[str, ...] = parameter((), "Columns that stay, and by which values are placed.")

    @property
    def reads(self) -> tuple[str, ...]:
        return self.given

    def _mask(self, records: Records) -> Masked:
        if both := [name for name in self.given if name in records.columns]:
            raise Mistake(f"Shuffling: {both[0]!r} is masked, so it cannot be given.")
        of_households(records, self.given)
        ranked = {name: _Ranked.of(ordered(name, records.array(name))) for name in (*self.given, *records.columns)}
        scores = np.column_stack([one.scores for one in ranked.values()])
        new = self._placed(records, scores)
        columns = {}
        for j, name in enumerate(records.columns):
            known = np.flatnonzero(~np.isnan(scores[:, len(self.given) + j]))
            source = np.arange(len(records))
            source[known[np.argsort(new[known, j])]] = ranked[name].order
            columns[name] = records.array(name).take(pa.array(source))
        return Masked(columns, {"complete": int(np.sum(complete(scores)))})

    def _placed(self, records: Records, scores: Floats) -> Floats:
        """New normal scores for the masked columns."""
        size = len(self.given)
        matrix = _correlations(scores)
        back = np.linalg.pinv(matrix[:size, :size], hermitian=True) @ matrix[:size, size:]
        rest = matrix[size:, size:] - matrix[size:, :size] @ back
        noise = normals(records, records.columns, len(records)) @ root(rest).matrix
        placed: Floats = np.nan_to_num(scores[:, :size]) @ back + noise
        return placed


class _Ranked(NamedTuple):
    """The places of known values, from the smallest; and normal quantiles of ranks, standardised, NaN for missing."""

    order: Ints
    scores: Floats

    @classmethod
    def of(cls, values: Floats) -> "_Ranked":
        """Equal values share the middle of their ranks."""
        scores = np.full(len(values), np.nan)
        order = np.argsort(values, kind="stable")[: len(values) - int(np.isnan(values).sum())]
        if len(order):
            starts = np.flatnonzero(np.r_[True, np.diff(values[order]) != 0])
            counts = np.diff(np.r_[starts, len(order)])
            quantiles = ndtri((starts + counts / 2) / len(order))
            quantiles -= np.average(quantiles, weights=counts)
            spread = np.sqrt(np.average(quantiles**2, weights=counts))
            scores[order] = np.repeat(quantiles / spread if spread > 0 else quantiles, counts)
        return cls(order, scores)


def _correlations(scores: Floats) -> Floats:
    """Of the complete records; no correlations, if there are not two."""
    known = scores[complete(scores)]
    if len(known) < 2:
        return np.eye(scores.shape[1])
    about = known - known.mean(axis=0)
    matrix: Floats = about.T @ about / len(known)
    spread = np.sqrt(np.diag(matrix))
    spread[spread == 0] = 1.0
    matrix /= np.outer(spread, spread)
    np.fill_diagonal(matrix, 1.0)
    return matrix
