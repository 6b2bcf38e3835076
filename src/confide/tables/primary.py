"""Which cells of a table are primary, by rules and by hand, and what protection they need."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from confide.arrays import Bools, Ints
from confide.errors import Mistake, nearest
from confide.tables.sensitivity import Contributions, ProtectionLevels, SensitivityRule
from confide.tables.table.statuses import read_status
from confide.tables.table.table import Status, Table

__all__ = ["flagged", "marked", "waived"]


WEIGHTS = ("secret", "repeated")
PROTECTION = ("both", "upper", "sliding")


def flagged(table: Table, rules: Sequence[SensitivityRule], *, weights: str, protection: str) -> Table:
    """The table with the marks of the rules."""
    _among("weights", weights, WEIGHTS)
    _among("protection", protection, PROTECTION)
    if not rules:
        raise Mistake("There is no rule to mark cells by.", suggestions=["Give one, as in t.flag(Threshold(3))."])
    for rule in rules:
        if isinstance(rule, type) or not isinstance(rule, SensitivityRule):
            raise Mistake(f"{rule!r:.60} is no rule.", suggestions=["Give one, as in t.flag(Threshold(3))."])
        cells = _contributions(table, rule, weights)
        marks = rule.marks(cells) & np.isin(table.status, (Status.SAFE, Status.PRIMARY, Status.SECONDARY))
        if table.contributions.exempt is not None:
            marks &= ~table.contributions.exempt
        levels = rule.levels(cells, counts=table.is_count)
        # Nobody takes a cell to be below its bound, so no rule asks for that.
        levels = replace(levels, lower=np.minimum(levels.lower, table.value - table.lower_bound))
        table = _protected(table, marks, _placed(levels, protection))
    return table


def _contributions(table: Table, rule: SensitivityRule, weights: str) -> Contributions:
    """What the rule reads; a `Mistake` where the table does not say it."""
    cells = table.contributions
    if (cells.units < 0).any():
        raise Mistake(
            "The table does not say how many contributors its cells have.",
            suggestions=["Name the column that does: frequency='n'."],
        )
    unknown = np.flatnonzero(np.isnan(cells.total))
    if rule.needs and len(unknown):
        raise Mistake(
            f"{type(rule).__name__} compares contributors with the sum of their absolute values, which the negative cell "
            f"{table.name(int(unknown[0]))} does not tell.",
            suggestions=["Make the table from microdata, or name the column of these sums: absolute='sum'."],
        )
    if len(unknown):
        cells = replace(cells, total=np.abs(table.value))
    return cells.repeated(rule.needs) if weights == "repeated" and rule.needs else cells


def _placed(levels: ProtectionLevels, protection: str) -> ProtectionLevels:
    nothing = np.zeros_like(levels.upper)
    if protection == "upper":
        return ProtectionLevels(nothing, levels.upper, nothing)
    return levels if protection == "both" else ProtectionLevels(nothing, nothing, levels.lower + levels.upper)


def _protected(table: Table, marks: Bools, levels: ProtectionLevels) -> Table:
    """The table with these cells primary, protected as far as asked here or before."""
    needed: dict[str, Any] = {
        f"{side}_protection": np.where(marks, np.maximum(getattr(table, f"{side}_protection"), level), 0.0)
        + np.where(marks, 0.0, getattr(table, f"{side}_protection"))
        for side, level in vars(levels).items()
    }
    return replace(table, status=np.where(marks, Status.PRIMARY, table.status).astype(np.int8), **needed)


def marked(table: Table, cells: Ints, status: Status | str, *, range: float) -> Table:
    """The table in which these cells have that status."""
    status = read_status(status) if isinstance(status, str) else status
    if not 0 <= range < float("inf"):
        raise Mistake("The range of a marked cell is a percentage of its value. Give 0 or more.")
    here = np.zeros(len(table), dtype=bool)
    try:
        here[np.asarray(cells) if len(cells) else []] = True
    except IndexError:
        raise Mistake(
            f"Cells are marked by their numbers, from 0 to {len(table) - 1}.", suggestions=["t.find(...) gives them."]
        ) from None
    if status == Status.PUBLISHED:
        here &= table.status != Status.EMPTY
    if status != Status.PRIMARY:
        clean = {f"{side}_protection": np.zeros(len(table)) for side in ("lower", "upper", "sliding")}
        none: dict[str, Any] = {name: np.where(here, nothing, getattr(table, name)) for name, nothing in clean.items()}
        return replace(table, status=np.where(here, status, table.status).astype(np.int8), **none)
    return _protected(table, here, ProtectionLevels.symmetric(range / 100 * np.abs(table.value)))


def waived(table: Table, holders: Sequence[str | int]) -> Table:
    """The table with the contributors reordered, so that every rule protects those who did not agree to be shown."""
    cells = table.contributions
    if cells.holders is None:
        raise Mistake("The table does not say who its contributors are.", suggestions=["Make it from microdata."])
    if table.primary.any():
        raise Mistake(
            "Rules have already marked cells.", suggestions=["Waive first, then flag: t.waive(...).flag(...)."]
        )
    if cells.names is None:
        numbers = np.array(holders, dtype=np.int64)
    else:
        known = {name: number for number, name in enumerate(cells.names)}
        other = [str(holder) for holder in holders if str(holder) not in known]
        if other:
            raise Mistake(f"There is no contributor {other[0]!r}.", suggestions=nearest(other[0], known))
        numbers = np.array([known[str(holder)] for holder in holders])
    return replace(table, contributions=cells.waived(np.isin(cells.holders, numbers)))


def _among(name: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        hint = nearest(given, known) or [f"It may be {', '.join(known)}."]
        raise Mistake(f"There is no {name} {given!r}.", suggestions=hint)
