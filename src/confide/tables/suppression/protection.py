"""Protection against several attackers: for each demand the witnesses that outsiders and insiders cannot all rule out."""

from dataclasses import replace

import numpy as np

from confide.arrays import Bools, Floats
from confide.tables.suppression.problem import Demand
from confide.tables.suppression.witness import TINY, Finder, Room, Witness

__all__ = ["OUTSIDER", "Protection"]


OUTSIDER = -1
"""The attacker who knows no more than what is published; insiders go by their number."""


class Protection:
    """Finds, for a demand, a witness for everyone it must hold against.

    An outsider knows what is published. An insider knows their own cells besides; a witness that contradicts these does
    not count with them. They must be kept from the demand as far as what they know of the cell itself allows, unless they
    know it exactly. Each attacker is alone: those who pool their knowledge are one holding and must be given as one.
    """

    def __init__(self, finder: Finder) -> None:
        self.finder = finder
        self._values = finder.problem.values
        insiders = finder.problem.insiders
        who = np.repeat(np.arange(len(insiders)), np.diff(insiders.starts))
        order = np.lexsort((-insiders.least, insiders.cells))
        self._number, self._least, self._most = who[order], insiders.least[order], insiders.most[order]
        self._starts = np.searchsorted(insiders.cells[order], np.arange(len(self._values) + 1))
        # What the best informed know of each cell: witnesses that these cannot rule out, nobody can.
        self._strictest = np.full(len(self._values), -np.inf), np.full(len(self._values), np.inf)
        np.maximum.at(self._strictest[0], insiders.cells, insiders.least)
        np.minimum.at(self._strictest[1], insiders.cells, insiders.most)

    def prying(self, witness: Witness, demand: Demand) -> list[int]:
        """The insiders who can rule the witness out and must be kept from the demand."""
        return sorted(self.kept_from(demand, self.ruling_out(witness, TINY * demand.amount)))

    def ruling_out(self, witness: Witness, tiny: float) -> set[int]:
        """The insiders who know better than a witness, by more than that."""
        least, most = (end[witness.cells] for end in self._strictest)
        values = self._values[witness.cells] + witness.moves
        off = np.flatnonzero((values < least - tiny) | (values > most + tiny))
        found: set[int] = set()
        for cell, value in zip(witness.cells[off].tolist(), values[off].tolist(), strict=True):
            part = slice(self._starts[cell], self._starts[cell + 1])
            wrong = (self._least[part] > value + tiny) | (self._most[part] < value - tiny)
            found.update(self._number[part][wrong].tolist())
        return found

    def kept_from(self, demand: Demand, insiders: set[int]) -> set[int]:
        """Those of some insiders who must be kept from a demand: all who do not know the cell itself well enough."""
        knowing = insiders.intersection(self.knowing(demand.cell)) if insiders else ()
        return insiders.difference(who for who in knowing if self.asked(demand, who).amount <= TINY * demand.amount)

    def knowing(self, cell: int) -> list[int]:
        """The insiders who know something of a cell."""
        found: list[int] = self._number[self._starts[cell] : self._starts[cell + 1]].tolist()
        return found

    def asked(self, demand: Demand, attacker: int) -> Demand:
        """The demand as far as the attacker's knowledge of its cell allows."""
        if attacker == OUTSIDER:
            return demand
        insider = self.finder.problem.insiders[attacker]
        at = int(np.searchsorted(insider.cells, demand.cell))
        if at == len(insider.cells) or insider.cells[at] != demand.cell:
            return demand
        value, least, most = float(self._values[demand.cell]), float(insider.least[at]), float(insider.most[at])
        room = {1: most - value, -1: value - least, 0: most - least}[demand.side]
        return replace(demand, amount=min(demand.amount, room))

    def room(self, *attackers: int) -> Room:
        """How far each cell may lie above and below its value for those who know what all of these know."""
        up, down = (room.copy() if attackers else room for room in self.finder.room)
        for number in attackers:
            if number != OUTSIDER:
                insider = self.finder.problem.insiders[number]
                cells, values = insider.cells, self._values[insider.cells]
                up[cells] = np.minimum(up[cells], insider.most - values)
                down[cells] = np.minimum(down[cells], values - insider.least)
        return up, down

    def serve(self, demand: Demand, price: Floats, barred: Bools, *, dear: float = np.inf) -> list[Witness] | None:
        """Witnesses for all attackers, as cheap as they come, or None if there is an attacker for whom there is none.

        None too if they are `dear`.
        """
        found = self._keep(demand, self.room(), price, barred, dear)
        if found is None:
            return None
        prying = sorted({number for witness in found for number in self.prying(witness, demand)})
        if not prying:
            return found
        price = price.copy()
        price[np.concatenate([witness.cells for witness in found])] = TINY
        # A table that none of them can rule out is enough for all; the others had no objection to the first.
        ignorant = [number for number in prying if self.asked(demand, number) == demand]
        common = self._keep(demand, self.room(*ignorant), price, barred, dear)
        found += common or []
        for number in prying if common is None else sorted(set(prying) - set(ignorant)):
            more = self._keep(self.asked(demand, number), self.room(number), price, barred, dear)
            if more is None:
                return None
            found += more
        return found

    def undoing(self, demand: Demand, price: Floats, barred: Bools) -> list[int]:
        """The attackers from whom a demand is not kept; the outsider alone if they are one of them."""
        found = self._keep(demand, self.room(), price, barred, np.inf)
        if found is None:
            return [OUTSIDER]
        # Whoever cannot rule out what an outsider cannot is kept from it too.
        prying = sorted({number for witness in found for number in self.prying(witness, demand)})
        return [
            number
            for number in prying
            if self._keep(self.asked(demand, number), self.room(number), price, barred, np.inf) is None
        ]

    def _keep(self, demand: Demand, room: Room, price: Floats, barred: Bools, dear: float) -> list[Witness] | None:
        """The witness, or on two sides the two, that keep a demand from attackers who know this room."""
        sides = [demand.side] if demand.side else [1, -1]
        tried = [self.finder.find(replace(demand, side=side), price, barred, room=room, dear=dear) for side in sides]
        found = [witness for witness in tried if witness is not None]
        if found:
            return [min(found, key=lambda witness: float(price[witness.cells].sum()))]
        return None if demand.side or dear < np.inf else self._on_both_sides(demand, room, price, barred)

    def _on_both_sides(self, demand: Demand, room: Room, price: Floats, barred: Bools) -> list[Witness] | None:
        """As far up as possible, and down by the rest."""
        up = self.finder.farthest(replace(demand, side=1), price, barred, room=room)
        reached = 0.0 if up is None else float(up.moves[up.cells == demand.cell].sum())
        rest = replace(demand, side=-1, amount=demand.amount - reached)
        if up is None or reached <= 0 or rest.amount <= TINY * demand.amount:
            return None if up is None or reached <= 0 else [up]
        down = self.finder.find(rest, price, barred, room=room)
        return None if down is None else [up, down]
