"""What of an intruder's claims is true. The confidential file is here, and in no attack."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats, Ints
from confide.measures.pairs import Both, unpaired
from confide.measures.records import FileRecords
from confide.measures.risk import attribute_disclosure, interval_disclosure, probabilistic_linkage
from confide.measures.risk.holdout import area_under_curve
from confide.measures.transparency.claims import (
    FileClaims,
    IntervalClaims,
    Links,
    LookUps,
    MemberClaims,
    NameClaims,
    PlaceClaims,
    Rebuilt,
    UntouchedClaims,
    ValueClaims,
    WeighedLinks,
)

__all__ = ["ConfidentialFile", "FileScore", "score"]

WITHIN = 0.1
"""A number is disclosed by a claim that is off by no more than this share of it."""

TINY = 1e-12
"""Room for rounding where a number is 0 or must be met exactly."""

EXACT = 0.01
"""A masked number is undone by a claim that is off by no more than this share of it."""


@dataclass(frozen=True, eq=False)
class ConfidentialFile:
    """The confidential file beside the released one, whose categories are written in the same words.

    Row by row `pairs` has the truth of `released`; `rows` are those of the targets. `whole` is the file as it was, and
    `places` where in it each released record stood. `member` says which candidates are in the file, where that is asked.
    """

    whole: pa.Table
    pairs: pa.Table
    released: pa.Table
    rows: Ints
    places: Ints
    masked: tuple[str, ...] = ()
    member: Bools = field(default_factory=lambda: np.empty(0, np.bool_))

    @property
    def targets(self) -> pa.Table:
        return self.pairs.take(pa.array(self.rows))


@dataclass(frozen=True)
class FileScore:
    """Of so many targets so many claimed, so many of these right; and the share right by the best guess without the file."""

    targets: int
    claimed: int
    right: float
    guess: float
    notes: tuple[str, ...] = ()

    @property
    def success(self) -> float:
        """The share of all targets about whom the intruder is right in the end: by claim, or else by guess."""
        return (self.right + self.guess * (self.targets - self.claimed)) / self.targets if self.targets else 0.0


@singledispatch
def score(claims: FileClaims, truth: ConfidentialFile) -> FileScore:
    """Compare claims with the truth."""
    raise TypeError(f"Nobody can say whether {type(claims).__name__} are true.")


@score.register
def _(claims: Links, truth: ConfidentialFile) -> FileScore:
    made = claims.record >= 0
    right = int(np.sum(claims.record[made] == truth.rows[made]))
    return FileScore(len(made), int(made.sum()), right, 1 / truth.released.num_rows)


@score.register
def _(claims: WeighedLinks, truth: ConfidentialFile) -> FileScore:
    found = probabilistic_linkage(truth.pairs, truth.released, columns=claims.columns)
    size = len(found.probability)
    return FileScore(size, size, float(found.probability.sum()), found.guessing / 100)


@score.register
def _(claims: LookUps, truth: ConfidentialFile) -> FileScore:
    name = claims.confidential
    targets = claims.targets.append_column(name, truth.targets[name])
    found = attribute_disclosure(
        targets, truth.released, keys=claims.targets.column_names, confidential=name, within_percent=100 * WITHIN
    )
    known = found.correct[~np.isnan(found.correct)]
    return FileScore(len(known), len(known), float(known.sum()), _best_guess(truth, name))


@score.register
def _(claims: IntervalClaims, truth: ConfidentialFile) -> FileScore:
    found = interval_disclosure(truth.pairs, truth.released, columns=claims.columns, percent=[claims.percent])
    both = unpaired(truth.pairs, truth.released, claims.columns).columns
    known = [int(np.sum(~np.isnan(column.original) & ~np.isnan(column.released))) for column in both]
    guesses = [_best_window(column.original, claims.percent) for column in both]
    right = float(np.dot(np.nan_to_num(found.inside[:, 0]) / 100, known))
    return FileScore(sum(known), sum(known), right, float(np.dot(guesses, known)) / max(1, sum(known)))


def _best_window(values: Floats, percent: float) -> float:
    """The share of all values in the one interval of that many ranks that holds most."""
    values = np.sort(values[~np.isnan(values)])
    if not len(values):
        return 0.0
    ends = values[np.minimum(np.arange(len(values)) + 2 * int(percent / 100 * len(values)), len(values) - 1)]
    return float(np.max(np.searchsorted(values, ends, "right") - np.arange(len(values)))) / len(values)


@score.register
def _(claims: ValueClaims, truth: ConfidentialFile) -> FileScore:
    both = unpaired(truth.targets, pa.table({claims.column: claims.value}), [claims.column]).columns[0]
    right, known, made = _right(both, WITHIN)
    guess = _best_guess(truth, claims.column)
    return FileScore(int(known.sum()), int((known & made).sum()), int(right.sum()), guess)


def _right(both: Both, within: float) -> tuple[Bools, Bools, Bools]:
    """Which claims (the released side) are right, which truths are known, which claims are made."""
    if not both.numeric:
        known, made = both.original >= 0, both.released >= 0
        return known & made & (both.original == both.released), known, made
    known, made = ~np.isnan(both.original), ~np.isnan(both.released)
    with np.errstate(invalid="ignore"):
        right = np.abs(both.released - both.original) <= within * np.abs(both.original) + TINY
    return right & known & made, known, made


def _best_guess(truth: ConfidentialFile, name: str, within: float = WITHIN) -> float:
    """The share of targets right by the one guess for everybody that is right of most of the confidential file."""
    column = FileRecords.of(truth.pairs, [name]).columns[name]
    if column.kind == "numbers":
        values, wanted = column.numbers, column.numbers[truth.rows]
        values, wanted = values[~np.isnan(values)], wanted[~np.isnan(wanted)]
        if not len(values):
            return 0.0
        right = np.abs(wanted - _centre(values, within)) <= within * np.abs(wanted) + TINY
        return float(np.mean(right)) if len(wanted) else 0.0
    codes, wanted_codes = column.coded[0], column.coded[0][truth.rows]
    if not (codes >= 0).any():
        return 0.0
    hits = wanted_codes[wanted_codes >= 0] == np.bincount(codes[codes >= 0]).argmax()
    return float(np.mean(hits)) if len(hits) else 0.0


def _centre(values: Floats, within: float) -> float:
    """The guess that is within that share of the most values: right of x if x (1 - w) <= guess <= x (1 + w)."""
    ends = np.sort(np.stack([values * (1 - within), values * (1 + within)]), axis=0) + np.array([[-TINY], [TINY]])
    begins, stops = np.sort(ends[0]), np.sort(ends[1])
    over = np.arange(1, len(begins) + 1) - np.searchsorted(stops, begins, "left")
    return float(begins[int(over.argmax())])


@score.register
def _(claims: MemberClaims, truth: ConfidentialFile) -> FileScore:
    share = float(truth.member.mean())
    right = int(np.sum(claims.member == truth.member))
    auc, error = area_under_curve(claims.evidence[truth.member], claims.evidence[~truth.member])
    note = f"AUC {auc:.3f}, {(auc - 0.5) / error:.1f} standard errors from chance."
    return FileScore(len(truth.member), len(truth.member), right, max(share, 1 - share), (note,))


@score.register
def _(claims: Rebuilt, truth: ConfidentialFile) -> FileScore:
    everyone = replace(truth, rows=np.arange(truth.pairs.num_rows))
    parts = []
    for name, column in claims.columns.items():
        both = unpaired(truth.pairs, pa.table({name: column}), [name]).columns[0]
        right, known, made = _right(both, EXACT)
        guess = _best_guess(everyone, name, EXACT)
        parts.append(FileScore(int(known.sum()), int((known & made).sum()), int(right.sum()), guess))
    return _summed(parts)


def _summed(parts: Sequence[FileScore]) -> FileScore:
    targets, claimed, right = (sum(getattr(part, name) for part in parts) for name in ("targets", "claimed", "right"))
    return FileScore(targets, claimed, right, sum(part.guess * part.targets for part in parts) / max(1, targets))


@score.register
def _(claims: NameClaims, truth: ConfidentialFile) -> FileScore:
    """Targets are the names that the file had before and has no longer."""
    gone = _gone(truth)
    return FileScore(len(gone), len(claims.names), len(gone & set(claims.names)), 0.0)


def _gone(truth: ConfidentialFile) -> set[tuple[str, str]]:
    """Categories that no released record has, by column, and columns that were left out, as categories of nothing."""
    names = [name for name in truth.released.column_names if name in truth.whole.column_names]
    before, after = (FileRecords.of(frame, names).columns for frame in (truth.whole, truth.released))
    categories = [name for name in names if before[name].kind == after[name].kind == "categories"]
    found = {(name, label) for name in categories for label in set(before[name].labels) - set(after[name].labels)}
    return found | {("", name) for name in truth.whole.column_names if name not in names}


@score.register
def _(claims: PlaceClaims, truth: ConfidentialFile) -> FileScore:
    made = claims.place >= 0
    right = int(np.sum(claims.place[made] == truth.places[made]))
    return FileScore(len(made), int(made.sum()), right, 1 / truth.whole.num_rows)


@score.register
def _(claims: UntouchedClaims, truth: ConfidentialFile) -> FileScore:
    """Targets are the values of columns that were changed; the guess is that a value was left as it was."""
    parts = []
    for name, untouched in claims.untouched.items():
        right, known, made = _right(unpaired(truth.pairs, truth.released, [name]).columns[0], 0.0)
        there = known & made
        size, same = int(there.sum()), int((right & there).sum())
        parts.append(
            FileScore(size, int((untouched & there).sum()), int((untouched & right).sum()), same / max(1, size))
        )
    return _summed(parts)
