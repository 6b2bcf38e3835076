"""S3: numbers in what surrounds an answer: codebook, titles, notes, sizes and statistics."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from confide.attacks.choosing import codes, keys, number_secret
from confide.attacks.claims import Claims, NotApplicable, SetFact, SetTargets
from confide.attacks.intruder import Intruder, universe
from confide.model.catalog.dataset import Dataset
from confide.model.formula import Factor, Formula, write_formula
from confide.model.policy import Policy
from confide.model.universe import EVERYONE, Universe

__all__ = ["Metadata"]

MOST = 30
"""So many sets are asked about."""

COLUMNS = 2
"""Of the model that is asked for: an intercept and a slope."""


@dataclass(frozen=True)
class Metadata:
    """Find true counts that are told beside the protected ones.

    Every number in the codebook, and in the words and statistics around a table and a model of the same units, is compared
    with the protected count. One that lies as near as the noise may be, without being it, is claimed to be the true count.

    Tried: (1) every number of the codebook, words and statistics, with 1 or 2 added: 27 claims, none right, for codes,
    cutpoints and the protected n of a model lie near by chance. (2) Words, and degrees of freedom that do not follow from
    that n: kept; under `standard` nothing is left to claim.
    """

    name: ClassVar = "metadata"
    code: ClassVar = "S3"
    words: ClassVar = "numbers in what surrounds an answer: codebook, notes, sizes, statistics"
    knows: ClassVar = "nothing"

    def wants(self, book: Dataset, policy: Policy) -> SetTargets:
        if not keys(book):
            raise NotApplicable("No key may define a universe.")
        return SetTargets()

    def run(self, intruder: Intruder) -> Iterator[Claims]:
        codebook = intruder.site.codebook(intruder.book.name)
        # What is declared of a variable (codes, cutpoints, least and largest values) is no count, nor is a policy's limit.
        declared = ("policy", "variables")
        public = set(_numbers({name: part for name, part in codebook.items() if name not in declared}))
        facts, claims, guesses = [], [], []
        for where in _universes(intruder.book):
            table = intruder.table(keys(intruder.book)[-1].name, where=where)
            if table is None:
                continue
            shown = float(table.columns["count"].values.ravel()[-1])
            words = set(_numbers([table.title, table.scope, table.notes, table.policy, table.source]))
            told = words | self._statistics(intruder, where) | (set() if where else public)
            far = float(intruder.policy.counts.distance)
            near = sorted((n for n in told if 0 < abs(n - shown) <= far), key=lambda n: abs(n - shown))
            facts.append(SetFact(where))
            claims.append(near[0] if near else np.nan)
            guesses.append(shown)
        if facts:
            yield Claims.of(np.array(claims), facts=tuple(facts), guesses=np.array(guesses))

    def _statistics(self, intruder: Intruder, where: Universe) -> set[float]:
        """The numbers around a model over the same units."""
        try:
            response = number_secret(intruder.book)
        except NotApplicable:
            return set()
        others = [v.name for v in intruder.book.variables.values() if v.measurable and v.name != response]
        if not others:
            return set()
        formula = write_formula(Formula(Factor(response), ((Factor(others[0]),),)))
        model = intruder.regression(formula, where=where)
        if model is None:
            return set()
        shown = [row[1] for row in model.grids["statistics"].rows if row[0] == "n"]
        anova = model.grids["anova"]
        degrees = {n + COLUMNS for row in anova.rows[-1:] for n in _numbers(row[anova.columns.index("dof")])}
        # The n of a model has noise of its own: degrees of freedom tell something only if they do not follow from it.
        words = [model.title, model.scope, model.notes, model.source]
        return set(_numbers(words)) | (degrees - set(_numbers(shown)))


def _universes(book: Dataset) -> list[Universe]:
    """Everyone, and the single codes of the coarsest keys."""
    found = [EVERYONE]
    for key in reversed(keys(book)):
        found += [universe({key.name: [code]}) for code in codes(book, key.name)]
    return found[:MOST]


def _numbers(told: Any) -> Iterator[float]:
    """All whole numbers in nested public values, those in words among them."""
    if isinstance(told, str):
        yield from (float(digits.replace(",", "")) for digits in re.findall(r"\d[\d,]*", told))
    elif isinstance(told, bool) or told is None:
        return
    elif isinstance(told, int | float):
        yield from [float(told)] if float(told).is_integer() else []
    elif isinstance(told, Mapping):
        for value in told.values():
            yield from _numbers(value)
    elif isinstance(told, Sequence):
        for value in told:
            yield from _numbers(value)
