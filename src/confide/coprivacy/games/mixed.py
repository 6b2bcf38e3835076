"""Mixed Nash equilibria of two players, all of them, by the vertices of best-response polytopes.

A pair of vertices at which each strategy of either player is unplayed or a best response is an extreme equilibrium, and
all equilibria are convex hulls of such pairs (Avis, Rosenberg, Savani and von Stengel, Economic Theory 42, 2010).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from confide.arrays import Bools, Floats
from confide.coprivacy.games.game import Game
from confide.errors import Mistake

__all__ = ["NashSet", "mixed_equilibria"]

MOST = 200_000
"""Systems of equations that are solved to find vertices: ten strategies each. Larger games have solvers of their own."""
CLOSE = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class NashSet:
    """Equilibria of two players: any mixture of the rows of `first` with any mixture of the rows of `second`."""

    first: Floats
    second: Floats

    @property
    def continuum(self) -> bool:
        """Whether these are infinitely many equilibria and not one."""
        return len(self.first) > 1 or len(self.second) > 1

    def __repr__(self) -> str:
        kind = "continuum of equilibria between" if self.continuum else "equilibrium"
        return f"NashSet({kind} {_shown(self.first)} and {_shown(self.second)})"


def mixed_equilibria(game: Game) -> list[NashSet]:
    """The maximal sets of equilibria in which the two players' mixtures can be exchanged."""
    if game.players != 2:
        raise Mistake(
            f"Mixed equilibria are found for two players, not {game.players}.",
            suggestions=["Take nash() for pure ones, or correlated()."],
        )
    sizes = game.help.shape
    if comb(sum(sizes), min(sizes)) > MOST:
        raise Mistake(f"The game has {sizes[0]} and {sizes[1]} strategies: too many for all mixed equilibria.")
    paid = np.array([_from_1_to_2(own) for own in game.payoffs])
    first, played = _vertices(paid[1].T)
    second, answered = _vertices(paid[0])
    # Labels of the first player's vertices: own strategies unplayed, then the other's that are best; the other way for
    # the second. A pair is an equilibrium if every strategy of both is unplayed or best.
    answered = np.roll(answered, sizes[0], axis=1)
    pairs = np.asarray((played[:, None, :] | answered[None, :, :]).all(axis=2))
    return [NashSet(first=first[rows], second=second[columns]) for rows, columns in _maximal(pairs)]


def _from_1_to_2(own: Floats) -> Floats:
    """A player's payoffs in other units, which leaves equilibria as they are: positive, and of one size for rounding."""
    span = own.max() - own.min()
    return np.asarray((own - own.min()) / (span or 1.0) + 1.0)


def _vertices(paid: Floats) -> tuple[Floats, Bools]:
    """Vertices x of {x >= 0, paid x <= 1} but the origin, as mixtures, and which inequalities are equations at each."""
    rows, size = paid.shape
    left = np.vstack([-np.eye(size), paid])
    right = np.append(np.zeros(size), np.ones(rows))
    found: dict[bytes, tuple[Floats, Bools]] = {}
    for tight in combinations(range(size + rows), size):
        point = _point(left[list(tight)], right[list(tight)])
        if point is not None and point.sum() > CLOSE and (left @ point <= right + CLOSE).all():
            equal = np.abs(left @ point - right) <= CLOSE
            point[equal[:size]] = 0.0  # what is unplayed is so exactly
            mixture = point / point.sum()
            found[np.round(mixture, 9).tobytes()] = mixture, equal
    mixtures, labels = zip(*found.values(), strict=True)
    return np.array(mixtures), np.array(labels)


def _point(left: Floats, right: Floats) -> Floats | None:
    if abs(np.linalg.det(left)) <= 1e-12:
        return None
    return np.asarray(np.maximum(np.linalg.solve(left, right), 0.0) + 0.0)


def _maximal(pairs: Bools) -> Iterator[tuple[list[int], list[int]]]:
    """Rows and columns of the largest rectangles of marks: sets that no further row or column fits."""
    columns = [frozenset(np.flatnonzero(column).tolist()) for column in pairs.T]
    closed = {one for one in columns if one}
    fresh = set(closed)
    while fresh:
        fresh = {one & other for one in fresh for other in columns if one & other} - closed
        closed |= fresh
    for rows in sorted(closed, key=sorted):
        yield sorted(rows), [place for place, column in enumerate(columns) if rows <= column]


def _shown(mixtures: Floats) -> str:
    return ", ".join(f"({' '.join(f'{share:.3g}' for share in one)})" for one in mixtures)
