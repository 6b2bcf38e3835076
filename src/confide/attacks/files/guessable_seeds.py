"""L10: a seed that can be guessed is no secret, and what was drawn with it can be drawn again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from scipy.stats import f

from confide.arrays import Bools, Floats
from confide.data.release_key import ReleaseKey
from confide.measures.records import FileRecords
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import Rebuilt
from confide.measures.transparency.knowledge import Knowledge
from confide.microdata import AdditiveNoise, RankSwapping
from confide.microdata.methods.gaussian import normals
from confide.microdata.records import Records
from confide.microdata.search.exchange import pairs_near

__all__ = ["GuessableSeeds"]

FOUND = 0.5
"""The right seed gives back this share of the targets' keys, or more; a wrong one hardly any."""

CHANCE = 1e-9
"""The noise of the right seed explains more of a column than chance would with this probability (F test); a wrong one of
a thousand does so once in a million files."""

ROUNDS, CLOSE = 200, 1e-9
"""So many rounds at the most to undo noise, until the file drawn again is so near in standard deviations. Of files of 100 to
2,000 records, k from 0.1 to 1, 6 to 22 were needed, and with `exact` up to 159 for k = 3."""

SOME = 2_000
"""A seed is recognised by so many records: noise is drawn record by record, so these are drawn alike whatever follows."""

Undone = Mapping[str, Floats]


@dataclass(frozen=True)
class GuessableSeeds(FileAttack):
    """Guessing the seed: the draws of seed 0, 1, 2 and so on are made again, until one fits, and then undone.

    Knows the method, its parameters and the code, and nothing of the seed. Rank swapping is undone exactly where values
    are distinct, whatever the order of the records; a seed fits if the keys of the targets come together again. Additive
    noise is undone by looking for the file that this seed makes into the released one, which needs the records in their
    order; a seed fits if its noise explains the released numbers. Regressing the file on the noise drawn again and taking
    the rest undid 7 percent of skewed numbers to within 1 percent, where looking for the file undid all.
    """

    name: ClassVar = "guessable-seeds"
    code: ClassVar = "L10"
    words: ClassVar = "Draws again what was drawn, from seed 0 on, and undoes it."

    seeds: int = 1_000

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        if not isinstance(known.method, RankSwapping | AdditiveNoise):
            return "Against rank swapping and additive noise only."
        if known.by:
            return "The file was masked by strata."
        if not _columns(released, known):
            return "No number was masked."
        if isinstance(known.method, RankSwapping) and len(_recognisable(known, released)) < 2:
            return "A seed is recognised by two keys that belong together; one of them must be swapped."
        return ""

    def attack(self, released: pa.Table, known: Knowledge) -> Rebuilt:
        swapped = isinstance(known.method, RankSwapping)
        undo, fits = _swapping(released, known) if swapped else _noise(released, known)
        for seed in range(self.seeds):
            if fits(seed):
                columns = {name: pa.array(x, mask=np.isnan(x)) for name, x in undo(seed).items()}
                return Rebuilt(columns, (f"The seed is {seed}.",))
        none = {name: pa.nulls(released.num_rows, pa.float64()) for name in _columns(released, known)}
        return Rebuilt(none, (f"None of the seeds below {self.seeds:,} fits.",))


def _columns(released: pa.Table, known: Knowledge) -> tuple[str, ...]:
    columns = FileRecords.of(released, known.masked).columns if known.masked else {}
    return tuple(name for name, column in columns.items() if column.kind == "numbers")


def _recognisable(known: Knowledge, released: pa.Table) -> tuple[str, ...]:
    """Keys that are numbers, swapped ones first; none if no key was swapped."""
    numbers = FileRecords.of(released, known.keys).columns
    names = sorted(
        (name for name in known.keys if numbers[name].kind == "numbers"), key=lambda n: n not in known.masked
    )
    return tuple(names) if names and names[0] in known.masked else ()


def _swapping(released: pa.Table, known: Knowledge) -> tuple[Callable[[int], Undone], Callable[[int], bool]]:
    assert isinstance(known.method, RankSwapping)
    method, p, columns = known.method, known.method.p, FileRecords.of(released, released.column_names).columns
    masked = _columns(released, known)
    tell = _recognisable(known, released)[:2]
    targets = FileRecords.of(known.targets, tell).columns
    wanted = np.column_stack([targets[name].numbers for name in tell])

    def undo(seed: int, names: tuple[str, ...] = masked) -> Undone:
        records = Records(released, masked, key=method.drawing(ReleaseKey.taught(seed)))
        return {name: _unswapped(columns[name].numbers, p, records.rng(name)) for name in names}

    def fits(seed: int) -> bool:
        again = undo(seed, tuple(name for name in tell if name in masked))
        there = np.column_stack([again.get(name, columns[name].numbers) for name in tell])
        return float(np.mean(_among(wanted, there))) >= FOUND

    return undo, fits


def _unswapped(released: Floats, p: float, rng: np.random.Generator) -> Floats:
    """A swapped column as it was; NaN where equal values leave it open which of them went where."""
    known = np.flatnonzero(~np.isnan(released))
    rng.permutation(len(known))  # drawn, and of no consequence where values are distinct
    partner = pairs_near(len(known), max(1, int(p * len(known) / 100)), rng)
    order = known[np.argsort(released[known], kind="stable")]
    values = released[order]
    before = values[partner]
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.empty(0, np.int64)
    run = np.cumsum(np.append(True, values[1:] != values[:-1])) - 1 if len(values) else np.empty(0, np.int64)
    same = (
        np.minimum.reduceat(before, starts) == np.maximum.reduceat(before, starts) if len(values) else np.empty(0, bool)
    )
    found = np.full(len(released), np.nan)
    found[order] = np.where(same[run], before, np.nan)
    return found


def _among(wanted: Floats, there: Floats) -> Bools:
    """Which pairs stand among others; as complex numbers, because those sort fast."""
    one, other = (side[:, 0] + 1j * side[:, 1] for side in (wanted, there))
    return np.asarray(np.isin(one, other))


def _noise(released: pa.Table, known: Knowledge) -> tuple[Callable[[int], Undone], Callable[[int], bool]]:
    assert isinstance(known.method, AdditiveNoise)
    masked, method = _columns(released, known), known.method
    columns = FileRecords.of(released, masked).columns
    y = np.column_stack([columns[name].numbers for name in masked])
    first = y[:, 0] - np.nanmean(y[:, 0])
    first = first[:SOME]
    there = ~np.isnan(first)

    def fits(seed: int) -> bool:
        records = Records(released, masked, key=method.drawing(ReleaseKey.taught(seed)))
        noise = normals(records, masked, len(first))[there]
        noise -= noise.mean(axis=0)
        free = len(noise) - noise.shape[1] - 1
        left = first[there] - noise @ np.linalg.lstsq(noise, first[there], rcond=None)[0]
        rest = float(left @ left)
        explained = (float(first[there] @ first[there]) - rest) / noise.shape[1]
        return free > 0 and rest > 0 and float(f.sf(explained / (rest / free), noise.shape[1], free)) < CHANCE

    return lambda seed: dict(zip(masked, _less_noise(y, method, masked, seed).T, strict=True)), fits


def _less_noise(y: Floats, method: AdditiveNoise, names: tuple[str, ...], seed: int) -> Floats:
    """The file of which this seed makes y: noise depends on it by means and covariances only, so a few rounds find it.

    Where they do not, nothing is known: NaN.
    """
    slope = np.sqrt(1 + method.k) if method.kind in ("linear", "covariance-preserving") else 1.0
    # exact noise is made orthogonal to the file, which overshoots: whole steps end in circles from k = 1 on
    step = slope / (1 + method.k) if method.exact else slope
    x, enough = y.copy(), CLOSE * np.nanstd(y, axis=0)
    for _ in range(ROUNDS):
        columns = zip(names, x.T, strict=True)
        frame = pa.table({name: pa.array(column, mask=np.isnan(column)) for name, column in columns})
        again = FileRecords.of(method.protect(frame, columns=names, teaching_seed=seed), names).columns
        apart = y - np.column_stack([again[name].numbers for name in names])
        x = x + step * apart
        if np.all(np.nanmax(np.abs(apart), axis=0) <= enough):
            return x
    return np.full_like(y, np.nan)
