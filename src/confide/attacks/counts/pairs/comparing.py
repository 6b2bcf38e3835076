"""Pairs of tables that differ by one bin of a key: what the cell of each target gains when its bin is in the universe."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import codes
from confide.attacks.intruder import Intruder, values

__all__ = ["ComparedCells", "Pairs"]


@dataclass(frozen=True, eq=False)
class ComparedCells:
    """The cells of each target with its bin and without it; NaN where either table was refused."""

    with_bin: Floats
    without: Floats

    @property
    def gained(self) -> Floats:
        return np.asarray(self.with_bin - self.without)


@dataclass(frozen=True)
class Pairs:
    """Tables by `shown` (and `secret`, if it is given) over some bins of `hidden`, with and without the bin of each target."""

    intruder: Intruder
    hidden: str
    shown: tuple[str, ...]
    secret: str = ""

    @property
    def bins(self) -> Ints:
        """The bins in which there are targets: so many questions a comparison costs, and one."""
        return np.unique(self.intruder.known.places[self.hidden])

    def everyone(self) -> Bools:
        """All bins."""
        return np.ones(len(codes(self.intruder.book, self.hidden)), bool)

    def half(self) -> Bools:
        """A random half of the bins."""
        return np.asarray(self.intruder.rng.random(len(self.everyone())) < 0.5)

    def series(self) -> Iterator[Bools]:
        """Everyone first, then a random half of the bins again and again, while there are questions."""
        yield self.everyone()
        while self.intruder.left > len(self.bins):
            yield self.half()

    def compare(self, base: Bools, where: Mapping[str, Sequence[str]] | None = None) -> ComparedCells:
        """The cells of the targets over these bins, and over them with the bin of the target put in or left out."""
        known = self.intruder.known
        whole = self._cells(base, where or {})
        found = ComparedCells(np.full(whole.shape, np.nan), np.full(whole.shape, np.nan))
        if np.isfinite(whole).any():
            for bin in self.bins:
                changed = base.copy()
                changed[bin] = ~changed[bin]
                here = known.places[self.hidden] == bin
                other = self._cells(changed, where or {})
                inside, outside = (whole, other) if base[bin] else (other, whole)
                found.with_bin[here], found.without[here] = inside[here], outside[here]
        return found

    def _cells(self, bins: Bools, where: Mapping[str, Sequence[str]]) -> Floats:
        """The cell of every target, with an axis of classes if the secret is in the table."""
        book, known = self.intruder.book, self.intruder.known
        by = (*self.shown, self.secret) if self.secret else self.shown
        inside = [code for code, there in zip(codes(book, self.hidden), bins, strict=True) if there]
        condition = {} if bins.all() else {self.hidden: inside}
        table = self.intruder.table(*by, where={**where, **condition}) if inside else None
        if table is None:
            return np.full((known.size, *([len(codes(book, self.secret))] if self.secret else [])), np.nan)
        return values(table)[tuple(known.places[key] for key in self.shown)]
