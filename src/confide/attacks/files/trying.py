"""Attacks on a released file: each tried on the same targets, and scored."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from confide.attacks.files.registry import FILE_ATTACKS
from confide.attacks.result import Result
from confide.errors import Mistake, nearest
from confide.measures.records import listed
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import LookUps, ValueClaims
from confide.measures.transparency.registry import AWARE
from confide.measures.transparency.scoring import score
from confide.measures.transparency.strata import claimed_by_strata, unfit_by_strata
from confide.measures.transparency.trial import FileTrial, MaskedHow
from confide.microdata import Method

__all__ = ["attack_file"]

NEW = "The file has new records: nobody's is among them, so none can be found."
"""Why attacks that look for a record of somebody's do not apply to a file of new ones."""


def attack_file(
    original: Any,
    released: Any,
    *,
    keys: str | Sequence[str],
    confidential: str | Sequence[str] = (),
    method: Method | None = None,
    by: str | Sequence[str] = (),
    identifier: str | None = None,
    holdout: Any = None,
    seed: int = 0,
    only: Sequence[str] | None = None,
) -> list[Result]:
    """Try every attack on a file that is to be released, and say how many targets each is right about.

    The intruder knows the `keys` of the targets, all of the released file, and how it was masked (`method`, and the strata
    `by`), but neither the seed nor the original, which is used for scoring alone. Records belong together row by row, or
    by an `identifier`. `holdout` are records that the file was not made from, for the membership attack; without them
    the method is tried on half of the file.

    >>> from confide import demo
    >>> from confide.microdata import Rounding
    >>> people = demo.people(300)
    >>> released = Rounding(base=10).protect(people, columns="income").frame
    >>> [found] = attack_file(people, released, keys=["age", "income"], only=["distance-linkage"])
    >>> found.attack, found.targets, found.right > 250
    ('distance-linkage', 300, True)
    """
    named = [listed(names, "columns") if names else () for names in (confidential, by)]
    paired = method is None or not method.makes_new_records
    how = MaskedHow(listed(keys, "keys"), named[0], method, named[1], identifier, paired)
    twice = [name for name in how.keys if name in how.confidential]
    if twice:
        raise Mistake(f"Column {twice[0]!r} is a key, so it cannot be confidential.")
    chosen = _chosen(only)
    trial = FileTrial.of(original, released, how, seed=seed)
    return [
        _tried(attack, _candidates(trial, holdout) if attack.of_members else trial)
        if paired or not attack.seeks_record
        else Result(attack=attack.name, code=attack.code, words=attack.words, applies=False, stopped=NEW)
        for attack in chosen
    ]


def _chosen(only: Sequence[str] | None) -> list[FileAttack]:
    for name in only or ():
        if name not in FILE_ATTACKS:
            hint = nearest(name, FILE_ATTACKS) or [f"There are {', '.join(FILE_ATTACKS)}."]
            raise Mistake(f"There is no attack {name!r} on a file.", suggestions=hint)
    return [attack for name, attack in FILE_ATTACKS.items() if only is None or name in only]


def _candidates(trial: FileTrial, holdout: Any) -> FileTrial | None:
    try:
        return trial.of_members(holdout)
    except Mistake:
        if holdout is not None:  # it is the holdout that does not fit
            raise
        return None


def _tried(attack: FileAttack, trial: FileTrial | None) -> Result:
    about = Result(attack=attack.name, code=attack.code, words=attack.words)
    if trial is None:
        return replace(
            about, applies=False, stopped="There is no holdout, and half of the file cannot be masked as the whole was."
        )
    seen, aware = (trial.seen, trial.known), attack.name in AWARE
    why = unfit_by_strata(attack, *seen) if aware else attack.unfit(*seen)
    if why:
        return replace(about, applies=False, stopped=why)
    began = perf_counter()
    claims = claimed_by_strata(attack, *seen) if aware else attack.attack(*seen)
    found = score(claims, trial.truth)
    others = _others(attack, trial) if isinstance(claims, LookUps | ValueClaims) else None
    return replace(
        about,
        targets=found.targets,
        claimed=found.claimed,
        right=round(found.right),
        success=found.success,
        guess=found.guess,
        others=others,
        notes=(*claims.notes, *found.notes),
        seconds=perf_counter() - began,
    )


def _others(attack: FileAttack, trial: FileTrial) -> float | None:
    """What is learnt in the same way from a file without the targets, which is statistics; None if there can be no such file."""
    try:
        thinner = trial.without_targets()
    except Mistake:  # too few records are left for the method
        return None
    return score(attack.attack(thinner.seen, thinner.known), thinner.truth).success
