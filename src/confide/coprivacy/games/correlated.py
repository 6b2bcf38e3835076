"""Correlated equilibria by linear programs (HiGHS): what a mediator whom nobody need obey can achieve."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

from confide.arrays import Floats, Ints
from confide.coprivacy.games.game import Game, StrategyProfile
from confide.errors import Mistake, nearest

__all__ = ["OBJECTIVES", "CorrelatedEquilibrium", "best_correlated", "incentive"]

OBJECTIVES = ("welfare", "fair", "help")


@dataclass(frozen=True, eq=False, kw_only=True)
class CorrelatedEquilibrium:
    """Chances of profiles, from which a mediator draws one and tells each player their own strategy of it."""

    game: Game
    probabilities: Floats

    @property
    def chances(self) -> dict[StrategyProfile, float]:
        """The profiles that are drawn at all, with their chances."""
        places = np.argwhere(self.probabilities > 1e-9)
        return {self.game.profile(place): float(self.probabilities[tuple(place)]) for place in places}

    @property
    def values(self) -> Floats:
        """What each player gets in expectation."""
        return np.asarray((self.game.payoffs * self.probabilities).reshape(self.game.players, -1).sum(axis=1))

    @property
    def welfare(self) -> float:
        """What all get together."""
        return float(self.values.sum())

    @property
    def help(self) -> float:
        """How likely it is that somebody helps another."""
        return float(self.probabilities[self.game.help].sum())


def best_correlated(game: Game, *, objective: str, epsilon: float) -> CorrelatedEquilibrium:
    """The ε-correlated equilibrium that is best by an objective; the fairest, with as much welfare as that allows."""
    if objective not in OBJECTIVES:
        raise Mistake(
            f"There is no objective {objective!r}.",
            suggestions=nearest(objective, OBJECTIVES) or [f"There are {', '.join(OBJECTIVES)}."],
        )
    if not 0 <= epsilon < np.inf:
        raise Mistake(f"epsilon must be a number from 0, not {epsilon!r}.")
    # HiGHS takes 1e-7 for nothing, whatever the payoffs are: so they are made as large as one.
    unit = float(np.abs(game.payoffs).max()) or 1.0
    scaled = replace(game, payoffs=game.payoffs / unit)
    chances = _best(scaled, objective, epsilon / unit)
    return CorrelatedEquilibrium(game=game, probabilities=chances.reshape(game.help.shape))


def _best(game: Game, objective: str, epsilon: float) -> Floats:
    own = game.payoffs.reshape(game.players, -1)
    if objective == "help":
        return _solved(game, game.help.ravel().astype(float), epsilon)
    least = _least_payoff(game, own, epsilon) - game.tolerance if objective == "fair" else None
    return _solved(game, own.sum(axis=0), epsilon, least=least)


def incentive(game: Game, probabilities: Floats) -> float:
    """The least ε for which these chances are an ε-correlated equilibrium.

    It is the largest expected gain that any player has from always playing one strategy where another is recommended.
    """
    return float(max(0.0, (_gains(game) @ probabilities.ravel()).max(initial=0.0)))


def _gains(game: Game) -> coo_array:
    """What a player gains by a strategy in the place of the recommended one: a row for each such pair, a column a profile."""
    places = np.arange(game.help.size).reshape(game.help.shape)
    rows = [
        _gain(game, player, told, played, places)
        for player, names in enumerate(game.strategies)
        for told in range(len(names))
        for played in range(len(names))
        if told != played
    ]
    return vstack(rows) if rows else coo_array((0, game.help.size))


def _gain(game: Game, player: int, told: int, played: int, places: Ints) -> coo_array:
    own = game.payoffs[player]
    gain = (own.take(played, axis=player) - own.take(told, axis=player)).ravel()
    columns = places.take(told, axis=player).ravel()
    return coo_array((gain, (np.zeros(len(columns), np.int64), columns)), shape=(1, places.size))


def _solved(game: Game, goal: Floats, epsilon: float, least: float | None = None) -> Floats:
    left = _gains(game)
    limits = np.full(left.shape[0], epsilon)
    if least is not None:
        own = game.payoffs.reshape(game.players, -1)
        left, limits = vstack([left, coo_array(-own)]), np.append(limits, np.full(game.players, -least))
    found = linprog(-goal, left, limits, np.ones((1, len(goal))), [1.0], bounds=(0, None), method="highs")
    chances = np.maximum(found.x, 0.0)  # every game has a correlated equilibrium, so there is a solution
    return np.asarray(chances / chances.sum())


def _least_payoff(game: Game, own: Floats, epsilon: float) -> float:
    """The most that everybody can be given at least: one variable more, which no player's payoff may fall below."""
    gains = _gains(game)
    shares = np.hstack([-own, np.ones((len(own), 1))])
    left = vstack([coo_array((gains.data, gains.coords), shape=(gains.shape[0], own.shape[1] + 1)), coo_array(shares)])
    limits = np.append(np.full(gains.shape[0], epsilon), np.zeros(len(own)))
    goal = np.append(np.zeros(own.shape[1]), -1.0)
    sums = np.append(np.ones(own.shape[1]), 0.0)[None, :]
    bounds = [*[(0, None)] * own.shape[1], (None, None)]
    return float(-linprog(goal, left, limits, sums, [1.0], bounds=bounds, method="highs").fun)
