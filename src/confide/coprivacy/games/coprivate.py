"""Coprivacy (Domingo-Ferrer 2011, sec. 3): is it best for a player to help another to preserve privacy?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from confide.coprivacy.games.correlated import best_correlated
from confide.coprivacy.games.game import Game, check_size
from confide.coprivacy.games.mixed import mixed_equilibria
from confide.errors import Mistake, nearest

__all__ = ["KINDS", "CoprivacyShare", "combined", "coprivacy_share", "help_probability", "is_coprivate", "request_game"]

KINDS = ("pure", "mixed", "correlated")


def request_game(
    *,
    direct: float,
    helped: Sequence[float],
    refused: Sequence[float],
    helping: Sequence[float],
    refusing: Sequence[float],
) -> Game:
    """The game of Definition 1: P1 asks the system or one of the peers P2..PN, who processes the request or refuses.

    `direct` is what P1 gets from the system, which always processes and so is no player with a choice; `helped` and
    `refused` are what she gets if she asks a peer, a number for each; `helping` and `refusing` are what that peer gets.
    A peer who is not asked gets what refusing gives. Help is that the peer who is asked processes the request.

    >>> is_coprivate(request_game(direct=0, helped=[1], refused=[-1], helping=[0.5], refusing=[0]))
    True
    >>> is_coprivate(request_game(direct=1, helped=[0], refused=[0], helping=[1], refusing=[0]), kind="mixed")
    False
    """
    peers = len(helped)
    if peers == 0 or {len(refused), len(helping), len(refusing)} != {peers}:
        raise Mistake("A request game needs a peer or more, and for each what is got if they help and if they refuse.")
    sizes = (peers + 1, *[2] * peers)
    check_size(sizes)
    payoffs, help = np.empty((peers + 1, *sizes)), np.zeros(sizes, bool)
    payoffs[0] = direct
    for peer in range(peers):
        payoffs[peer + 1] = refusing[peer]
        asked = [slice(None)] * (peers + 1)
        asked[0], asked[peer + 1] = slice(peer + 1, peer + 2), slice(0, 1)
        place = tuple(asked)
        payoffs[0, peer + 1] = refused[peer]
        payoffs[0][place], payoffs[peer + 1][place], help[place] = helped[peer], helping[peer], True
    names = ("system", *(f"peer {number}" for number in range(2, peers + 2)))
    return Game(payoffs=payoffs, strategies=(names, *[("process", "refuse")] * peers), help=help)


def help_probability(game: Game, *, kind: str = "pure", epsilon: float = 0.0) -> float:
    """How likely help is in the equilibrium of this kind in which it is likeliest.

    `kind` is `pure`, `mixed` (two players) or `correlated`; for the last, `epsilon` is what players may gain by leaving
    a recommendation.
    """
    if kind not in KINDS:
        raise Mistake(
            f"There is no coprivacy called {kind!r}.",
            suggestions=nearest(kind, KINDS) or [f"There are {', '.join(KINDS)}."],
        )
    if not game.help.any():
        raise Mistake("The game does not say which profiles are help.", suggestions=["Mark them with help=."])
    if kind == "correlated":
        return best_correlated(game, objective="help", epsilon=epsilon).help
    if epsilon:
        raise Mistake("epsilon is for correlated coprivacy alone.")
    if kind == "pure":
        return float((game.equilibria() & game.help).any())
    # The chance of help is linear in the mixture of either player, so its largest value is at an extreme equilibrium.
    return max(float((one.first @ game.help @ one.second.T).max()) for one in mixed_equilibria(game))


def is_coprivate(game: Game, *, kind: str = "pure", epsilon: float = 0.0) -> bool:
    """Whether some equilibrium of this kind has help (Definition 1; mixed and correlated coprivacy: with any chance).

    That every finite game has a mixed equilibrium, as the paper says, does not make it mixedly coprivate: the equilibrium
    may have no help in it.
    """
    return help_probability(game, kind=kind, epsilon=epsilon) > 1e-7  # what HiGHS takes for zero


def combined(*weighted: tuple[float, Game]) -> Game:
    """The game of general coprivacy: payoffs that are weighted sums of privacy, functionality, security.

    The games have the same strategies; help is what the first of them marks.
    """
    if not weighted or any(game.strategies != weighted[0][1].strategies for _, game in weighted):
        raise Mistake("Games that are combined must have the same players and strategies.")
    first = weighted[0][1]
    payoffs = np.sum([weight * game.payoffs for weight, game in weighted], axis=0)
    return Game(payoffs=payoffs, strategies=first.strategies, help=first.help)


@dataclass(frozen=True)
class CoprivacyShare:
    """In how many of the games that were drawn there is coprivacy: δ of Definition 2, with its 95 % interval (Wilson)."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, found: int, drawn: int) -> "CoprivacyShare":
        """From how many of how many."""
        z = 1.959963984540054
        share = found / drawn
        middle = (share + z * z / (2 * drawn)) / (1 + z * z / drawn)
        half = z / (1 + z * z / drawn) * (share * (1 - share) / drawn + z * z / (4 * drawn * drawn)) ** 0.5
        return cls(share, max(0.0, middle - half), min(1.0, middle + half))


def coprivacy_share(
    draw: Callable[[np.random.Generator], Game], random: np.random.Generator, *, samples: int = 1000, kind: str = "pure"
) -> CoprivacyShare:
    """Estimate δ: the probability that a game drawn at random is coprivate (Definition 2)."""
    if samples < 1:
        raise Mistake("Draw one game or more.")
    return CoprivacyShare.of(sum(is_coprivate(draw(random), kind=kind) for _ in range(samples)), samples)
