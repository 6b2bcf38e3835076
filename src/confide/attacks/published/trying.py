"""Attacks on a published table, scored against the true one."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.published.attack import TableAttack
from confide.attacks.published.published_table import CellClaims, PublishedTable
from confide.attacks.published.registry import TABLE_ATTACKS
from confide.attacks.result import Result
from confide.errors import Mistake, nearest
from confide.tables.table.table import Table

__all__ = ["attack_table"]


def attack_table(
    original: Table,
    released: Table,
    *,
    base: float | None = None,
    to_nearest: bool = False,
    percent: float | None = None,
    only: Sequence[str] | None = None,
) -> list[Result]:
    """Try every attack on a table that is to be published, and say how many cells each is right about.

    The intruder sees the released table without its suppressed values, and knows how it was protected: the `base` it
    was rounded to (to the nearest multiple, with `to_nearest`), or the `percent` of their value by which sensitive cells
    were moved. The original is used for scoring, and for which cells are sensitive: those are the targets; without any,
    the suppressed cells, or else all.

    >>> from confide import tables
    >>> t = tables.Table.from_microdata({"sex": ["f", "m", "m", "m"]}, by=["sex"]).flag(tables.Threshold(2))
    >>> [found] = attack_table(t, t, only=["suppressed-cells"])
    >>> found.targets, found.claimed, found.right
    (1, 1, 1)
    """
    chosen = _chosen(only)
    if len(original) != len(released) or (original.places != released.places).any():
        raise Mistake(
            "The released table has other cells than the original.", suggestions=["Give the same table, protected."]
        )
    if base is not None and not base > 0:
        raise Mistake(f"The base of rounding must be above 0, not {base}.")
    if percent is not None and not 0 < percent < 100:
        raise Mistake(f"Sensitive cells are moved by more than 0 and less than 100 percent, not {percent}.")
    seen = PublishedTable(
        released.relations, np.where(released.suppressed, np.nan, released.value),
        released.lower_bound, released.upper_bound,
        original.is_count, _wanted(original, released), base or 0.0, to_nearest, (percent or 0.0) / 100,
    )  # fmt: skip
    return [_tried(attack, seen, original.value) for attack in chosen]


def _wanted(original: Table, released: Table) -> Bools:
    """The sensitive cells; where none is marked, those that were suppressed, or else all."""
    if original.primary.any():
        return original.primary
    return released.suppressed if released.suppressed.any() else np.ones(len(original), np.bool_)


def _chosen(only: Sequence[str] | None) -> list[TableAttack]:
    for name in only or ():
        if name not in TABLE_ATTACKS:
            hint = nearest(name, TABLE_ATTACKS) or [f"There are {', '.join(TABLE_ATTACKS)}."]
            raise Mistake(f"There is no attack {name!r} on a table.", suggestions=hint)
    return [attack for name, attack in TABLE_ATTACKS.items() if only is None or name in only]


def _tried(attack: TableAttack, seen: PublishedTable, truth: Floats) -> Result:
    about = Result(attack=attack.name, code=attack.code, words=attack.words)
    why = attack.unfit(seen)
    if why:
        return replace(about, applies=False, stopped=why)
    began = perf_counter()
    claims = attack.attack(seen)
    return replace(_scored(about, claims, truth, seen.wanted), notes=claims.notes, seconds=perf_counter() - began)


def _scored(about: Result, claims: CellClaims, truth: Floats, wanted: Bools) -> Result:
    value, true, reader = claims.value[wanted], truth[wanted], claims.reader[wanted]
    made = ~np.isnan(value)
    right = _near(value, true, claims.within)
    guesses = _near(np.where(np.isnan(reader), _one_guess(true, claims.within), reader), true, claims.within)
    size = max(1, len(true))
    return replace(
        about,
        targets=len(true),
        claimed=int(made.sum()),
        right=int(right.sum()),
        success=float(np.sum(np.where(made, right, guesses))) / size,
        guess=float(np.sum(guesses)) / size,
    )


def _near(claimed: Floats, true: Floats, within: float) -> Bools:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(claimed - true) <= within * np.abs(true) + 1e-6 * np.maximum(1.0, np.abs(true)))


def _one_guess(true: Floats, within: float) -> float:
    """The one value that is right of the most cells."""
    if not len(true):
        return np.nan
    return float(max(true, key=lambda value: int(_near(np.full(len(true), value), true, within).sum())))
