"""Games of users of a social network who publish or hide what they know of themselves (Domingo-Ferrer 2011, sec. 5)."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from confide.arrays import Floats, Ints
from confide.coprivacy.games.game import Game, check_size
from confide.errors import Mistake

__all__ = ["privacy_functionality", "social_network"]


def social_network(*, sensitivities: ArrayLike, users: int, links: Sequence[tuple[int, int]] | None = None) -> Game:
    """The game in which each user hides or publishes each attribute, and is paid by PRF.

    `sensitivities` has a number for each attribute: it is hidden (H) or published to all (P), and payoffs are PRF2,
    expression (3). With `links` between users (from 0), it has a row an attribute and in it β_ik for users k = 1..ℓ links
    away: an attribute is hidden (H) or seen as far as so many links. Help is that two users or more publish something.

    >>> social_network(sensitivities=[1.0], users=2).payoffs[0]
    array([[0. , 1. ],
           [0. , 0.5]])
    """
    beta = _sensitivities(sensitivities)
    if users < 2:
        raise Mistake("A social network needs two users or more.")
    if links is None and beta.shape[1] > 1:
        raise Mistake("Sensitivities by distance need links=, which say who is how far from whom.")
    levels = np.array(list(product(range(beta.shape[1] + 1), repeat=len(beta))))
    check_size([len(levels)] * users)
    seen = levels[:, :, None] > np.arange(beta.shape[1])
    given = np.einsum("sik,ik->ks", seen, beta)  # what a user k + 1 links away gets from a user of strategy s
    apart = distances(users, links)
    payoffs = np.array([_payoff(user, given, apart) for user in range(users)])
    publishing = sum(_along(levels.any(axis=1).astype(int), user, users) for user in range(users))
    marks = "HP" if beta.shape[1] == 1 else "H" + "".join(map(str, range(1, beta.shape[1] + 1)))
    names = tuple("".join(marks[level] for level in one) for one in levels)
    return Game(payoffs=payoffs, strategies=(names,) * users, help=np.asarray(publishing) >= 2)


def privacy_functionality(
    visibility: ArrayLike, sensitivities: ArrayLike, *, links: Sequence[tuple[int, int]] | None = None
) -> Floats:
    """PRF of each user: what others' published attributes are worth to them, over one plus their own privacy risk.

    `visibility[i, j, k]` says how far user j's attribute i is seen by users at most k + 1 links away; without `links`
    everybody is one link from everybody, and with one distance this is PRF2.
    """
    seen, beta = np.asarray(visibility, float), _sensitivities(sensitivities)
    if seen.ndim != 3 or (seen.shape[0], seen.shape[2]) != beta.shape:
        raise Mistake("The visibility has a value for each attribute, user and distance, as the sensitivities have.")
    worth = np.einsum("ik,ijk->jk", beta, seen)
    apart = distances(seen.shape[1], links)
    reached = np.stack([apart == k + 1 for k in range(beta.shape[1])], axis=2)
    return np.asarray(np.einsum("jok,ok->j", reached, worth) / (1 + worth.sum(axis=1)))


def distances(users: int, links: Sequence[tuple[int, int]] | None) -> Ints:
    """How many links are between any two users; 0 to oneself and to whom nothing leads."""
    if links is None:
        return 1 - np.eye(users, dtype=np.int64)
    ends = np.array(links, np.int64).reshape(-1, 2)
    if ends.size and not (ends.min() >= 0 and ends.max() < users):
        raise Mistake(f"Links are between users 0 to {users - 1}.")
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(users, users)).tocsr()
    apart = shortest_path(graph, directed=False, unweighted=True)
    return np.where(np.isfinite(apart), apart, 0).astype(np.int64)


def _sensitivities(given: ArrayLike) -> Floats:
    beta = np.asarray(given, float)
    beta = beta[:, None] if beta.ndim == 1 else beta
    if beta.ndim != 2 or not beta.size or not (np.isfinite(beta) & (beta >= 0)).all():
        raise Mistake("Sensitivities are numbers from 0: one for each attribute, or for each attribute and distance.")
    return beta


def _payoff(user: int, given: Floats, apart: Ints) -> Floats:
    users = len(apart)
    got: Floats = np.zeros([given.shape[1]] * users)
    for other in range(users):
        if other != user and 0 < apart[user, other] <= len(given):
            got = got + _along(given[apart[user, other] - 1], other, users)
    return np.asarray(got / (1 + _along(given.sum(axis=0), user, users)))


def _along(values: Floats | Ints, user: int, users: int) -> Floats:
    """Values by the strategy of one user, to be spread over the strategies of all others."""
    return np.asarray(values.reshape([-1 if place == user else 1 for place in range(users)]), float)
