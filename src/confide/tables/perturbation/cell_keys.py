"""Cell-key perturbation offline: the same units get the same change as from the server, or as from record keys of your own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.data.frame import Frame
from confide.data.hierarchy import Hierarchy
from confide.errors import Mistake
from confide.site.draws import Draws, record_keys
from confide.site.secret import Secret
from confide.tables.changed import Changed
from confide.tables.files.ptable import KEYS, KeyTable, PTable
from confide.tables.perturbation.total_noise import Ma, Thompson
from confide.tables.perturbation.transitions import Transitions
from confide.tables.table.build import cell_numbers
from confide.tables.table.spanning import HierarchyLike, places_of
from confide.tables.table.table import Table

__all__ = ["perturb"]


Moves = Transitions | PTable | KeyTable | Ma | Thompson
"""How values move: counts by a matrix or a perturbation table, totals by the noise of Ma or Thompson."""


def perturb(
    frame: Any,
    moves: Moves,
    *,
    by: Sequence[str],
    of: str | None = None,
    weight: str | None = None,
    hierarchies: Mapping[str, HierarchyLike] | None = None,
    unit: str | None = None,
    secret: Secret | None = None,
    key: str | None = None,
) -> Changed:
    """Give the table with every count, or every total `of` a column, changed by cell keys.

    With `unit` and the `secret` of a site (`confide.site.secret.read_secret`) cells change exactly as the server changes them:
    the key of a cell is the xor of the keys of its records. With `key`, a column of record keys, it is their sum: the
    fraction of it if keys are in [0, 1), as in R's cellKey; modulo 256 for a `KeyTable`, as at the ONS.

    Promise: the same units always get the same change, in whatever table. The table need not add up; `adjust` mends that.
    Reference: Fraser and Wooton (2006); Giessing and Höhne (2011), section 4.

    >>> from confide import tables
    >>> people = {"sex": list("ffffmmm"), "key": [0.11, 0.35, 0.2, 0.84, 0.9, 0.15, 0.4]}
    >>> perturb(people, tables.transitions(D=3, V=2.0, js=2), by=["sex"], key="key").table.value.tolist()
    [9.0, 3.0, 3.0]
    """
    source = Frame.read(frame)
    counting = not isinstance(moves, Ma | Thompson)
    if counting == (of is not None):
        raise Mistake(
            "Counts move by transitions or perturbation tables, totals by Ma or Thompson.",
            suggestions=["Give 'of' with Ma or Thompson, and only then."],
        )
    if (key is None) == (unit is None or secret is None) or (counting and weight is not None):
        raise Mistake(
            "Say where keys come from: 'unit' and 'secret', or 'key'. Counts have no weights.",
            suggestions=["Give one of the two, and a weight for totals only."],
        )
    if of is not None and weight is not None:
        # A unit contributes its weighted amount, as on a site.
        weighted = pa.array(source.numbers(of) * source.numbers(weight))
        source = Frame.of(source.replaced({of: weighted}))
    top = moves.draws + 1 if isinstance(moves, Ma | Thompson) else 1
    table = Table.from_microdata(source, by=by, of=of, hierarchies=hierarchies, top=top)
    if unit is not None and secret is not None:
        keyed = _SiteKeys.of(source, table, unit, secret)
        return Changed.to(keyed.moved(table, moves, of or ""), of=table)
    return Changed.to(_by_record_keys(source, table, moves, str(key)), of=table)


@dataclass(frozen=True, eq=False)
class _SiteKeys:
    """The keys of all cells of a table, as a site has them."""

    draws: Draws
    key: Ints

    @classmethod
    def of(cls, source: Frame, table: Table, unit: str, secret: Secret) -> "_SiteKeys":
        units = source.coded(unit)
        if len(units.codes) < len(source):
            raise Mistake(
                f"Some units in {unit!r} have several records; keys are drawn here for one record a unit.",
                suggestions=["Give record keys of your own with 'key'."],
            )
        _, keys = record_keys([units.codes[place].encode() for place in units.places.tolist()], secret)
        return cls(Draws(secret), _gathered(source, table, keys.view(np.int32).astype(np.int64), np.bitwise_xor))

    def moved(self, table: Table, moves: Moves, of: str) -> Floats:
        units = table.units
        if isinstance(moves, Ma | Thompson):
            uniforms = self.draws.totals(of, units, units, self.key, draws=moves.draws)
            noisy: Floats = table.value + moves.noise(table.value, units, table.contributions.top, uniforms)
            return noisy
        if isinstance(moves, KeyTable):
            raise Mistake(
                "A table by keys from 0 to 255 needs such record keys.", suggestions=["Give them with 'key'."]
            )
        matrix = moves.transitions() if isinstance(moves, PTable) else moves
        return matrix.draw(units, self.draws.counts(units, units, self.key)[0]).astype(np.float64)


def _by_record_keys(source: Frame, table: Table, moves: Moves, key: str) -> Floats:
    """Values moved by sums of record keys."""
    keys = source.numbers(key)
    if isinstance(moves, KeyTable):
        if ((keys < 0) | (keys >= KEYS) | (keys != np.rint(keys))).any():
            raise Mistake(f"Some record keys in {key!r} are no whole numbers from 0 to {KEYS - 1}.")
        sums = _gathered(source, table, keys.astype(np.int64), np.add)
        return moves.draw(table.units, sums % KEYS).astype(np.float64)
    if ((keys < 0) | (keys >= 1)).any():
        raise Mistake(f"Some record keys in {key!r} are not in [0, 1).", suggestions=["Divide them by their modulus."])
    # Whole parts of 2^52, so that the order of records cannot matter.
    sums = _gathered(source, table, np.floor(keys * 2.0**52).astype(np.int64), np.add)
    uniform: Floats = (sums & (2**52 - 1)).astype(np.float64) * 2.0**-52
    if isinstance(moves, Ma):
        noisy: Floats = table.value + moves.noise(table.value, table.units, table.contributions.top, uniform[:, None])
        return noisy
    if isinstance(moves, Thompson):
        raise Mistake("Thompson's noise needs several draws a cell.", suggestions=["Give 'unit' and 'secret', or Ma."])
    matrix = moves.transitions() if isinstance(moves, PTable) else moves
    return matrix.draw(table.units, uniform).astype(np.float64)


def _gathered(source: Frame, table: Table, keys: Ints, gather: np.ufunc) -> Ints:
    """The record keys gathered in every cell of the table: in inner cells first, then from parts in their totals."""
    columns = [source.coded(name) for name in table.variables]
    spans = list(zip(table.variables, columns, table.hierarchies, strict=True))
    places = np.column_stack([places_of(name, column.codes, tree)[column.places] for name, column, tree in spans])
    cells = np.zeros([len(tree.codes) for tree in table.hierarchies], dtype=np.int64)
    gather.at(cells.reshape(-1), cell_numbers(table.hierarchies, places), keys)
    for axis, tree in enumerate(table.hierarchies):
        _gather_up(np.moveaxis(cells, axis, 0), tree, gather)
    found: Ints = cells[tuple(table.places.T)]
    return found


def _gather_up(cells: Ints, tree: Hierarchy, gather: np.ufunc) -> None:
    # Parents stand before their parts, so from the last on every part is complete when it is added.
    for place in range(len(tree.codes) - 1, 0, -1):
        parent = tree.parents[place]
        if parent >= 0:
            cells[parent] = gather(cells[parent], cells[place])
