"""D4: keys that can be computed, since the secret can be guessed and the content of a record is its name."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.attacks.choosing import codes
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.reconstruction.known_keys import GuessedSecret, guesses
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.tables.perturbation.transitions import Transitions, transitions

__all__ = ["PredictableKeys"]

CELLS = 300
"""The noise of so many cells is undone."""

TESTED = 80
"""So many cells are enough to test a secret."""

SIGNIFICANT = 4.5
"""A secret is believed if it explains so many standard deviations more cells than secrets do on average."""


@dataclass(frozen=True)
class PredictableKeys:
    """Undo the noise of counts under a guessed secret.

    Where no column names the units, the content of a record does, and equal records are numbered: who knows the secret
    computes the key of every cell of the full cross of all variables, for every number of records that it may hold, and so
    the count that would be published. A wrong secret fails to explain about a third of the published counts; the right
    one explains them all, and then the true count is among the few that fit.

    Tried by reasoning alone, but for the last of three ways, which was carried out: the total of data sets whose units are
    numbered from 1 on is a single cell, which some number of units explains under any secret. Cells of one known person in
    data sets with named units need the name, which a register has and `Known` has not. Full crosses by content serve for
    data sets without unit, weight or numbers.
    """

    name: ClassVar = "predictable-keys"
    code: ClassVar = "D4"
    words: ClassVar = "noise that a guessed secret explains, undone"
    knows: ClassVar = "how keys are drawn, and some secrets that somebody may have typed in"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        named = book.unit is not None or book.weight is not None
        if named or any(v.codes is None or v.numeric for v in book.variables.values()):
            raise NotApplicable("Records have names, weights or numbers that the intruder does not know.")
        if len(book.variables) > policy.tables.dimensions:
            raise NotApplicable("No one table shows the cross of all variables.")
        if policy.counts.mechanism == "none":
            raise NotApplicable("There is no noise to undo.")
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        by = tuple(intruder.book.variables)
        table = intruder.table(*by)
        if table is None:
            return
        counts = values(table)
        cells = np.argwhere(counts > 0)[:CELLS]
        published = counts[tuple(cells.T)].astype(np.int64)
        rules = intruder.policy.counts
        matrix = transitions(D=rules.distance, V=rules.variance, js=rules.small, stay=rules.stay or None)
        secrets = [GuessedSecret(value) for value in guesses(intruder.book.name)]
        tests = [_fits(secret, cells[:TESTED], published[:TESTED], matrix) for secret in secrets]
        best = _believed(np.array([fits.any(axis=1).sum() for fits in tests]), len(cells[:TESTED]))
        true = np.full(len(cells), np.nan)
        if best is not None:
            true = _nearest(_fits(secrets[best], cells, published, matrix), published, matrix.D)
        yield Claims.of(true, facts=_facts(intruder.book, cells), guesses=published.astype(np.float64))


def _fits(secret: GuessedSecret, cells: Ints, published: Ints, matrix: Transitions) -> Bools:
    """Which true counts, from D below the published one to D above, this secret would publish as it was."""
    fits = np.zeros((len(cells), 2 * matrix.D + 1), bool)
    for at, (cell, count) in enumerate(zip(cells.tolist(), published.tolist(), strict=True)):
        units = np.arange(1, count + matrix.D + 1)
        shown = matrix.draw(units, secret.uniforms(units, secret.cells(cell, len(units)))) == count
        near = units >= count - matrix.D
        fits[at, units[near] - count + matrix.D] = shown[near]
    return fits


def _believed(explained: Ints, cells: int) -> int | None:
    """The secret that explains far more cells than the others; None if none does."""
    share = float(np.median(explained)) / max(cells, 1)
    spread = np.sqrt(max(cells * share * (1 - share), 1e-9))
    best = int(explained.argmax())
    return best if cells and explained[best] - cells * share > SIGNIFICANT * spread else None


def _nearest(fits: Bools, published: Ints, distance: int) -> Floats:
    """Of the true counts that fit, the nearest to the published one; NaN where none does."""
    far = np.where(fits, np.abs(np.arange(-distance, distance + 1)), np.inf)
    return np.where(fits.any(axis=1), published + far.argmin(axis=1) - distance, np.nan)


def _facts(book: Dataset, cells: Ints) -> tuple[SetFact, ...]:
    every = {name: codes(book, name) for name in book.variables}
    conditions = [{name: [every[name][p]] for name, p in zip(every, cell, strict=True)} for cell in cells.tolist()]
    return tuple(SetFact(universe(condition)) for condition in conditions)
