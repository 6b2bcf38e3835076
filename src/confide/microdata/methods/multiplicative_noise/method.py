"""Multiplicative noise: numbers are multiplied by noise that keeps signs, inequalities, means and covariances."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.errors import Mistake, nearest
from confide.microdata.method import Method
from confide.microdata.methods.gaussian import complete, must_vary, normals
from confide.microdata.methods.multiplicative_noise.chains import Chains
from confide.microdata.methods.multiplicative_noise.schemes import Scheme, distance, exactly
from confide.microdata.records import Masked, Records
from confide.model.parameter import parameter

__all__ = ["MultiplicativeNoise"]

ATTEMPTS = 10
"""How often noise is drawn anew where the exact covariances would make a value negative."""


class NoisePart(NamedTuple):
    """Records masked apart from the others: their places, the columns that are not kept at zero, and k."""

    code: int
    rows: Ints
    columns: Ints
    k: float
    where: str


@dataclass(frozen=True)
class MultiplicativeNoise(Method):
    """Multiplicative noise (Oganian 2011): numbers are multiplied by noise; what is positive or larger stays so.

    Promise: a column without negative values has none afterwards; every chain of inequalities that holds in the file
    holds in every record; zeros of the columns in `zeros` stay. Means and covariances stay
    on average, and with `exact` in this very file, wherever that leaves no value negative (the report says for how many
    zones; elsewhere the best of ten draws is taken). With m the means, E normal noise and s = sqrt(1 + k):
    positive, ((s - 1) m + x exp E) / s, for columns without negative values; z-scores, ((s - 1) m + x) exp(E) / s,
    for any, those with negative values being moved by their least value meanwhile. The variance that the noise adds,
    before all is scaled back, is k times that of the file.

    Zones have noise, means and covariances of their own; so have the patterns of zeros. Columns of whole numbers are
    rounded afterwards. Missing values stay missing; means and covariances are of the records in which all columns are
    known, and so is what is exact.

    Reference: Oganian (2011), formulas 7 to 9, 21, 23 and 27 as corrected, and section 5 for zones and zeros.

    >>> import pyarrow as pa
    >>> frame = pa.table({"gross": [900.0, 700.0, 3100.0, 5200.0, 2300.0], "tax": [0.0, 0.0, 450.0, 1300.0, 210.0]})
    >>> method = MultiplicativeNoise(chains=[["gross", "tax"]], zeros=["tax"])
    >>> after = method.protect(frame, columns=["gross", "tax"], teaching_seed=1).frame
    >>> after["gross"].to_numpy().round(), after["tax"].to_numpy().round()
    (array([ 880.,  700., 3884., 6666., 2149.]), array([   0.,    0.,  686., 1959.,  193.]))
    """

    best_attack: ClassVar = "noise-ratios"
    draws: ClassVar = True
    mixes: ClassVar = True

    k: float = parameter(0.15, "How much noise: the variance it adds, as a share of the file's.", above=0)
    scheme: str = parameter(
        "z-scores",
        "z-scores: for any numbers. positive: for numbers that are not negative.",
        among=("z-scores", "positive"),
    )
    chains: tuple[tuple[str, ...], ...] = parameter(
        (), "Inequalities to keep: columns from the largest to the smallest."
    )
    zeros: tuple[str, ...] = parameter((), "Columns whose zeros stay, as an indicator beside them says.")
    zones: Mapping[str, tuple[float, ...]] = parameter({}, "Beyond which values other zones begin, by column.")
    zone_k: tuple[float, ...] = parameter((), "k of each zone beyond the first.", above=0)
    exact: bool = parameter(False, "Means and covariances stay exactly, where no value becomes negative by it.")

    def _check(self) -> None:
        named = [name for chain in self.chains for name in chain]
        if len(set(named)) < len(named) or any(len(chain) < 2 for chain in self.chains):
            raise Mistake("MultiplicativeNoise: chains must each name two columns or more, and no column twice.")
        for chain in self.chains:
            kept = [name in self.zeros for name in chain]
            if kept != sorted(kept):
                raise Mistake(
                    f"MultiplicativeNoise: where {chain[kept.index(True)]!r} is zero, so are those below it in its chain.",
                    suggestions=["Name them in zeros too."],
                )
        for name, cuts in self.zones.items():
            if len(cuts) != len(self.zone_k) or list(cuts) != sorted(set(cuts)):
                raise Mistake(
                    f"MultiplicativeNoise: zones of {name!r} must increase, and be as many as zone_k, {len(self.zone_k)}."
                )
        if self.zone_k and not self.zones:
            raise Mistake("MultiplicativeNoise: zone_k says how much noise; zones must say where.")

    def _mask(self, records: Records) -> Masked:
        self._must_fit(records)
        x, chains = records.numbers(), Chains(records.columns, self.chains)
        chains.must_hold(x, where=records.where)
        after, facts, zones = x.copy(), [], []
        for part in self._parts(records, x):
            zones.append(part.rows)
            values = x[np.ix_(part.rows, part.columns)]
            if not np.isnan(values).all():
                noisy, fact = self._noisy(records, chains, part, x[part.rows])
                after[part.rows] = noisy
                facts.append(fact)
        return Masked(
            dict(zip(records.columns, after.T, strict=True)), _summed(facts), zones=tuple(zones) if self.exact else ()
        )

    def _combined(self, reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return _summed(reports)

    def _must_fit(self, records: Records) -> None:
        """Columns that are named are masked; those of a chain are rounded alike, or rounding would break it."""
        for name in [*self.zeros, *self.zones, *(name for chain in self.chains for name in chain)]:
            if name not in records.columns:
                raise Mistake(
                    f"MultiplicativeNoise: {name!r} is not among the columns to mask.",
                    suggestions=nearest(name, records.columns),
                )
        for chain in self.chains:
            kinds = {str(records.array(name).type) for name in chain}
            if len(kinds) > 1:
                raise Mistake(
                    f"MultiplicativeNoise: the columns of the chain {' >= '.join(chain)} hold {' and '.join(sorted(kinds))}.",
                    suggestions=["Make them one kind, so that they are rounded alike."],
                )

    def _parts(self, records: Records, x: Floats) -> Iterator[NoisePart]:
        """Records by zone (the farthest that a value reaches) and by which of the columns in `zeros` are zero."""
        zone = np.zeros(len(x), np.int64)
        for name, cuts in self.zones.items():
            values = np.nan_to_num(x[:, records.columns.index(name)], nan=-np.inf)
            zone = np.maximum(zone, np.searchsorted(cuts, values, side="left"))
        pattern = np.zeros(len(x), np.int64)
        places = [records.columns.index(name) for name in self.zeros]
        for bit, j in enumerate(places):
            if np.nanmin(x[:, j], initial=0.0) < 0:
                raise Mistake(
                    f"MultiplicativeNoise: {self.zeros[bit]!r} has negative values{records.where}: zeros do not fit."
                )
            pattern |= (x[:, j] == 0).astype(np.int64) << bit
        both = zone * 2 ** len(places) + pattern
        for code in np.unique(both):
            rows = np.flatnonzero(both == code)
            number = int(zone[rows[0]])
            zero = {j for bit, j in enumerate(places) if pattern[rows[0]] >> bit & 1}
            k = (self.k, *self.zone_k)[number]
            words = (f" of zone {number + 1}" if self.zones else "") + (" of a pattern of zeros" if places else "")
            yield NoisePart(
                int(code),
                rows,
                np.array([j for j in range(x.shape[1]) if j not in zero], int),
                k,
                words + records.where,
            )

    def _noisy(self, records: Records, chains: Chains, part: NoisePart, x: Floats) -> tuple[Floats, dict[str, Any]]:
        """The records of one part, masked, and the facts."""
        whole = complete(x)
        names = [records.columns[j] for j in part.columns]
        must_vary("MultiplicativeNoise", names, x[whole][:, part.columns], where=part.where)
        pieces = chains.parts(x)
        least = np.nanmin(pieces, axis=0)
        shift = np.where(least < 0, -least, 0.0)
        if self.scheme == "positive" and shift.any():
            raise Mistake(
                f"MultiplicativeNoise: {records.columns[int(np.argmax(shift > 0))]!r} has negative values{records.where}.",
                suggestions=["Use the scheme for any numbers, 'z-scores'."],
            )
        # a step of a chain that is zero throughout has nothing to multiply
        active = [int(j) for j in part.columns if pieces[whole, j].max() + shift[j] > 0]
        names, centre = [records.columns[j] for j in active], None
        if self.chains and not whole.all():
            centre = (chains.parts(np.where(np.isnan(x), np.nan, x[whole].mean(axis=0))) + shift)[:, active]
        values = pieces[:, active] + shift[active]
        scheme = Scheme.learnt(values[whole], k=part.k, scores=self.scheme == "z-scores", names=names)
        masked, exact = self._drawn(
            values,
            whole,
            shift[active] == 0,
            lambda attempt: scheme.masked(
                values, normals(records, names, len(x), str(part.code), str(attempt)), centre
            ),
        )
        pieces[:, active] = masked - shift[active]
        return chains.together(pieces), {"zones": 1, "exact": int(exact), "projection": scheme.moved}

    def _drawn(
        self, values: Floats, whole: Bools, bounded: Bools, draw: Callable[[int], Floats]
    ) -> tuple[Floats, bool]:
        """Masked values and whether they are exact: the first draw for which they can be, or else the best."""
        if not self.exact:
            return draw(0), False
        true, best, least = values[whole], draw(0), np.inf
        for attempt in range(ATTEMPTS):
            masked = draw(attempt)
            moved = exactly(masked[whole], true)
            if (moved[:, bounded] > 0).all() and distance(moved, true) < 1e-6:
                masked[whole] = moved
                return masked, True
            if (off := distance(masked[whole], true)) < least:
                best, least = masked, off
        return best, False


def _summed(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Zones are counted; of how far covariance matrices had to be moved, the farthest is told."""
    return {
        "zones": sum(fact["zones"] for fact in facts),
        "exact": sum(fact["exact"] for fact in facts),
        "projection": max((fact["projection"] for fact in facts), default=0.0),
    }
