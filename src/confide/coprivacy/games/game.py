"""Finite games in which players protect their privacy: payoffs, dominant strategies, equilibria (Domingo-Ferrer 2011, sec. 2)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from confide.arrays import Bools, Floats
from confide.errors import Mistake

if TYPE_CHECKING:  # scipy is loaded by what needs it
    from confide.coprivacy.games.correlated import CorrelatedEquilibrium
    from confide.coprivacy.games.mixed import NashSet

__all__ = ["Game", "StrategyProfile", "check_size"]

StrategyProfile = tuple[str, ...]
"""The strategy of each player."""

MOST = 4_000_000
"""Payoffs that a game may have: 17 players of two strategies. Beyond that, nobody enumerates."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Game:
    """A game of finitely many players and strategies.

    `payoffs[i, s1, ..., sN]` is what player i gets if each plays the strategy of that number, `strategies` are their names,
    and `help` marks the profiles in which somebody helps another to preserve privacy: those that coprivacy asks for.

    >>> game = Game.of({("H", "H"): (0, 0), ("H", "P"): (1, 0), ("P", "H"): (0, 1), ("P", "P"): (0.5, 0.5)})
    >>> game.dominant(), game.dominant(strict=True)
    ([('H', 'H')], [])
    >>> game.nash()
    [('H', 'H'), ('H', 'P'), ('P', 'H')]
    """

    payoffs: Floats
    strategies: tuple[StrategyProfile, ...]
    help: Bools

    def __post_init__(self) -> None:
        sizes = tuple(len(names) for names in self.strategies)
        if not sizes or 0 in sizes or any(len(set(names)) < len(names) for names in self.strategies):
            raise Mistake("A game needs a player or more, and each player strategies with names of their own.")
        check_size(sizes)
        if self.payoffs.shape != (len(sizes), *sizes) or self.help.shape != sizes:
            raise Mistake(
                f"The payoffs of {len(sizes)} players with {sizes} strategies have the shape {(len(sizes), *sizes)}."
            )
        if not np.isfinite(self.payoffs).all():
            raise Mistake("A payoff is missing or is not a finite number.", suggestions=["Give every player's payoff."])

    @classmethod
    def of(cls, payoffs: Mapping[StrategyProfile, Sequence[float]], *, help: Iterable[StrategyProfile] = ()) -> "Game":
        """A game from the payoffs of each profile; `help` are the profiles in which somebody helps."""
        profiles = list(payoffs)
        if len({len(profile) for profile in profiles} | {len(paid) for paid in payoffs.values()}) != 1:
            raise Mistake("Every profile of a game needs a strategy and a payoff for each player.")
        names = [tuple(dict.fromkeys(column)) for column in zip(*profiles, strict=True)]
        check_size([len(some) for some in names])
        wanted = set(product(*names))
        if missing := next((one for one in product(*names) if one not in payoffs), None):
            raise Mistake(f"The payoffs of {', '.join(missing)} are missing.")
        if unknown := [one for one in help if tuple(one) not in wanted]:
            raise Mistake(f"There is no profile {', '.join(unknown[0])}.")
        shape, marked = [len(some) for some in names], {tuple(one) for one in help}
        paid = np.array([[float(u) for u in payoffs[one]] for one in product(*names)])
        helps = np.array([one in marked for one in product(*names)])
        return cls(payoffs=paid.T.reshape(len(shape), *shape), strategies=tuple(names), help=helps.reshape(shape))

    def __repr__(self) -> str:
        return f"Game({len(self.strategies)} players, {self.help.size:,} profiles)"

    @property
    def players(self) -> int:
        """How many play."""
        return len(self.strategies)

    @property
    def tolerance(self) -> float:
        """What payoffs may differ by and count as equal: rounding."""
        return 1e-9 * float(np.abs(self.payoffs).max())

    def profile(self, places: Iterable[int]) -> StrategyProfile:
        """The names of strategies from their numbers."""
        return tuple(names[place] for names, place in zip(self.strategies, places, strict=True))

    def dominant(self, *, strict: bool = False) -> list[StrategyProfile]:
        """The dominant strategy solutions: best for each player whatever the others play, expression (1); none, mostly.

        `strict` asks for strategies that are better than every other; such a solution is the only Nash equilibrium.
        """
        best = [self._dominant(player, strict) for player in range(self.players)]
        return [self.profile(places) for places in product(*best)]

    def _dominant(self, player: int, strict: bool) -> list[int]:
        own = np.moveaxis(self.payoffs[player], player, 0).reshape(len(self.strategies[player]), -1)
        ahead = [own[one] - np.delete(own, one, axis=0) for one in range(len(own))]
        if strict:
            return [one for one, more in enumerate(ahead) if (more > self.tolerance).all()]
        return [one for one, more in enumerate(ahead) if (more >= -self.tolerance).all()]

    def equilibria(self) -> Bools:
        """Mark the profiles that are pure Nash equilibria."""
        marks = np.ones(self.help.shape, bool)
        for player in range(self.players):
            own = self.payoffs[player]
            marks &= own >= own.max(axis=player, keepdims=True) - self.tolerance
        return marks

    def nash(self) -> list[StrategyProfile]:
        """All pure Nash equilibria: nobody gains by another strategy while the others keep theirs."""
        return [self.profile(places) for places in np.argwhere(self.equilibria())]

    def mixed(self) -> "list[NashSet]":
        """All mixed Nash equilibria of two players, as sets: points, or continua that are said to be so."""
        from confide.coprivacy.games.mixed import mixed_equilibria

        return mixed_equilibria(self)

    def correlated(self, *, objective: str = "welfare", epsilon: float = 0.0) -> "CorrelatedEquilibrium":
        """The best correlated equilibrium: by `welfare` (sum of payoffs), `fair` (the least payoff), or `help`.

        With `epsilon`, nobody gains more than that in expectation by leaving any one recommended strategy for another.
        """
        from confide.coprivacy.games.correlated import best_correlated

        return best_correlated(self, objective=objective, epsilon=epsilon)


def check_size(sizes: Sequence[int]) -> None:
    """Raise a Mistake for a game that has too many payoffs to be written down."""
    if len(sizes) * prod(sizes) > MOST:
        raise Mistake(
            f"The game has {prod(sizes):,} profiles of {len(sizes)} players: more than can be enumerated.",
            suggestions=["Take fewer players or strategies."],
        )
