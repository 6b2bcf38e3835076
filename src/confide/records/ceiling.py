"""What an intruder would be right about who had reconstructed the whole protected file: a ceiling for any number of questions.

Everything is answered from the protected records, so no attack can do better than the best use of those records themselves.
The uses are tried on the site's own data, on all who are exposed, with everything known but the draws: the record found under
somebody's keys is taken at its word, or all those alike but for one key (which may have been exchanged) are asked what is
commonest; a number is taken as it stands, times a factor, or drawn towards what is usual, whatever does best.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats, Ints
from confide.engines import Coded, StoreFacts
from confide.model.catalog.dataset import Dataset, Role
from confide.records.exposure import Exposed, Exposure, UnitCells, confidential_numbers

__all__ = ["WITHIN", "Ceiling", "best_guess", "ceiling_note", "find_ceilings", "read_ceilings"]

WITHIN = 0.1
"""A number is disclosed by a claim that is off by no more than this share of it."""

TOLD_FROM = 30
"""A ceiling of fewer units is told to the custodian alone: it would say something of the draws of those few."""

MOST_CROSSES = 20
"""So many crosses, those that expose most units, stand for all of them."""


@dataclass(frozen=True)
class Ceiling:
    """How often a perfect reconstruction is `right` about a variable of those exposed on up to `keys` keys; how often the one
    best `guess` is, and what the true records of `others` would tell. Of a number, right means within ten per cent."""

    variable: str
    keys: int
    number: bool
    exposed: int
    right: float
    guess: float
    others: float


def read_ceilings(facts: StoreFacts) -> list[Ceiling]:
    """What a store says of its ceilings."""
    return [Ceiling(**one) for one in facts.ceiling]


def ceiling_note(ceilings: Sequence[Ceiling]) -> str:
    """One sentence for everybody: the ceiling that is furthest above what could be guessed, of classes and of numbers.

    >>> ceiling_note([Ceiling("income", 2, False, 500, 0.31, 0.27, 0.3)])[-60:]
    "the class of 'income' in 31% of cases (30% by a good guess)."
    >>> ceiling_note([Ceiling("income", 2, False, 3, 1.0, 0.27, 0.3)])
    ''
    """
    said = []
    for number, what in ((False, "the class of {}"), (True, "{} to within 10 %")):
        some = [c for c in ceilings if c.number is number and c.exposed >= TOLD_FROM]
        if some:
            worst = max(some, key=lambda c: c.right - max(c.guess, c.others))
            told = max(worst.guess, worst.others)
            said.append(
                f"{what.format(repr(worst.variable))} in {worst.right:.0%} of cases ({told:.0%} by a good guess)"
            )
    if not said:
        return ""
    return (
        f"Even who had all protected records would know of a person who is exposed by their keys {', and '.join(said)}."
    )


def find_ceilings(true: Coded, protected: Coded, dataset: Dataset, exposure: Exposure) -> list[Ceiling]:
    """For every confidential variable: of those alone on two keys, and of all who are exposed."""
    found: list[Ceiling] = []
    most = max((len(one.cross.traits) for one in exposure.found), default=0)
    secrets = [v.name for v in dataset.variables.values() if v.classifies and v.role is Role.CONFIDENTIAL]
    for keys in sorted({min(2, most), most} - {0}):
        crosses = [one for one in exposure.found if len(one.cross.traits) <= keys]
        found += [_class_ceiling(true, protected, dataset, name, crosses, keys) for name in secrets if crosses]
    for variable in confidential_numbers(dataset):
        rows = np.flatnonzero(exposure.numbers[variable.name] & (np.nan_to_num(true.numbers(variable.name)) > 0))
        if len(rows):
            found.append(
                _number_ceiling(
                    true.numbers(variable.name)[rows], protected.numbers(variable.name)[rows], variable.name
                )
            )
    return found


def _class_ceiling(
    true: Coded, protected: Coded, dataset: Dataset, name: str, crosses: Sequence[Exposed], keys: int
) -> Ceiling:
    known, seen = UnitCells(true, dataset), UnitCells(protected, dataset)
    secret, shown = true.places(name), protected.places(name)
    classes = int(max(secret.max(initial=0), shown.max(initial=0))) + 1
    right: dict[str, int] = {}
    targets: list[Ints] = []
    others = 0
    for one in sorted(crosses, key=lambda one: -len(one.rows))[:MOST_CROSSES]:
        targets.append(secret[one.rows])
        names = one.cross.names
        uses = {"record": names} | {f"but {i}": names[:i] + names[i + 1 :] for i in range(len(names))}
        claims = {use: _commonest(seen.of(by), known.of(by)[one.rows], shown, classes) for use, by in uses.items()}
        # of the keys but one, the intruder is given the best
        scores = {use: int((claim == secret[one.rows]).sum()) for use, claim in claims.items()}
        right["record"] = right.get("record", 0) + scores.pop("record")
        right["alike"] = right.get("alike", 0) + max(scores.values())
        del uses["record"]
        told = [
            _commonest(known.of(by), known.of(by)[one.rows], secret, classes, own=secret[one.rows])
            for by in uses.values()
        ]
        others += max(int((claim == secret[one.rows]).sum()) for claim in told)
    truth = np.concatenate(targets)
    guess = float(np.bincount(truth).max() / len(truth))
    return Ceiling(name, keys, False, len(truth), max(right.values()) / len(truth), guess, others / len(truth))


def _commonest(cell: Ints, wanted: Ints, shown: Ints, classes: int, own: Ints | None = None) -> Ints:
    """The commonest class among the records of each wanted cell, without one of class `own`; of an empty cell, among all."""
    size = int(max(cell.max(initial=0), wanted.max(initial=0))) + 1
    table = np.bincount(cell * classes + shown, minlength=size * classes).reshape(size, classes)[wanted]
    if own is not None:
        table[np.arange(len(own)), own] -= 1
    return np.where(table.any(axis=1), table.argmax(axis=1), int(np.bincount(shown).argmax()))


def _number_ceiling(true: Floats, shown: Floats, name: str) -> Ceiling:
    """The best of many estimators that know the law of the noise: the number itself, or drawn towards the usual one."""
    there = shown > 0
    logs, usual = np.log(np.where(there, shown, 1.0)), float(np.median(np.log(true)))
    right = 0.0
    for weight in np.linspace(0.4, 1.0, 13):
        for shift in np.linspace(-0.3, 0.3, 25):
            claim = np.exp(weight * logs + (1 - weight) * usual + shift)
            right = max(right, float((np.abs(claim - true) <= WITHIN * true)[there].sum() / len(true)))
    guess = best_guess(true)
    guessed = float((np.abs(guess - true) <= WITHIN * true).mean())
    return Ceiling(name, 0, True, len(true), right, guessed, guessed)


def best_guess(values: Floats) -> float:
    """The one claim that is within ten per cent most often."""
    ordered = np.sort(values)
    # A claim c is right of t if |c - t| <= t/10, that is from c/1.1 to c/0.9; try every c that just reaches a value.
    claims = ordered * (1 + WITHIN)
    reached = np.searchsorted(ordered, claims / (1 - WITHIN), "right") - np.searchsorted(ordered, ordered, "left")
    return float(claims[reached.argmax()])
