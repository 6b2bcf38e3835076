"""Repeated games: what reciprocity can hold together when nobody enforces anything."""

from dataclasses import dataclass

import numpy as np

from confide.arrays import Floats
from confide.coprivacy.games.game import Game
from confide.errors import Mistake

__all__ = ["GRIM", "TIT_FOR_TAT", "Reciprocity"]


@dataclass(frozen=True)
class Reciprocity:
    """Publish to whoever publishes; who hides is hidden from until they have published for so many `rounds` (None: for ever).

    One round is tit-for-tat, for ever is the grim trigger. Anything between is a standing that is lost at once and won
    back slowly: a reputation. The article has no protocol for reputation; this one is ours.

    >>> from confide.coprivacy import GRIM, TIT_FOR_TAT, social_network
    >>> game = social_network(sensitivities=[1.0], users=2)
    >>> round(GRIM.gain(game, discount=0.5), 9), round(TIT_FOR_TAT.gain(game, discount=0.5), 9)
    (0.0, 0.166666667)
    """

    rounds: int | None

    def __post_init__(self) -> None:
        if self.rounds is not None and not 1 <= self.rounds <= 1000:
            raise Mistake("Reciprocity is restored after 1 to 1,000 rounds, or never (None).")

    def gain(self, game: Game, *, discount: float) -> float:
        """What the player who gains most gets more, a round, by the best other plan against this than by keeping to it.

        The second strategy of each player is publishing. Payoffs of later rounds count less by the `discount`; they are
        weighted to sum to one. No gain means that keeping to it is a Nash equilibrium.
        """
        if game.help.shape != (2, 2):
            raise Mistake("Reciprocity is between two players who hide or publish: two strategies each.")
        if not 0 <= discount < 1:
            raise Mistake(f"The discount must be a number from 0 and below 1, not {discount!r}.")
        paid = (game.payoffs[0], game.payoffs[1].T)
        return max(0.0, *((1 - discount) * self._best(own, discount) - float(own[1, 1]) for own in paid))

    def _best(self, own: Floats, discount: float) -> float:
        """The value of the best plan: policy iteration over how many rounds of publishing the other still waits for."""
        waits = 2 if self.rounds is None else self.rounds + 1
        state = np.arange(waits)
        back = state if self.rounds is None else np.maximum(state - 1, 0)
        following = np.stack([np.full(waits, waits - 1), back])  # after hiding, after publishing
        paid = np.stack([own[played, (state == 0).astype(int)] for played in (0, 1)])
        plan = np.ones(waits, np.int64)
        while True:
            moves = np.zeros((waits, waits))
            moves[state, following[plan, state]] = discount
            value = np.linalg.solve(np.eye(waits) - moves, paid[plan, state])
            each = paid + discount * value[following]
            better = np.where(each.max(axis=0) > each[plan, state] + 1e-12, each.argmax(axis=0), plan)
            if (better == plan).all():
                return float(value[0])
            plan = better


TIT_FOR_TAT = Reciprocity(1)
GRIM = Reciprocity(None)
