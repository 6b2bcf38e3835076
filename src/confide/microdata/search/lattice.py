"""The best way to make several columns coarser together: a search over the levels of their hierarchies.

A node says how many levels each column climbs. What is required grows easier upwards, so a node that fails takes all below
it along; what is lost grows upwards, so a node that costs more than the best takes all above it along.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from confide.arrays import Floats

__all__ = ["BestNode", "Judged", "Node", "climbed", "search"]

Node = tuple[int, ...]


class Judged(NamedTuple):
    """What was found of a node: whether it will do, what it loses, and what every node above it loses at least."""

    suffices: bool
    loss: float
    least: float


@dataclass(frozen=True)
class BestNode:
    """The best node, what it loses, and how many nodes had to be looked at."""

    node: Node
    loss: float
    looked_at: int


def search(heights: Node, judge: Callable[[Node], Judged], *, monotone: bool) -> BestNode | None:
    """The node that suffices with the least loss, or None if there is none.

    `heights` are the levels of the columns. If `monotone`, whatever is above a node that suffices does so too. Paths are
    then searched by halves (Kohlmayer et al. 2012, Flash).
    """
    lattice = _Lattice(heights, judge)
    for node in lattice.nodes:
        if monotone:
            lattice.halve(lattice.path(node))
        lattice.look(node)
    return None if lattice.best is None else BestNode(lattice.best, lattice.loss, lattice.looked_at)


class _Lattice:
    """What is known of every node so far."""

    def __init__(self, heights: Node, judge: Callable[[Node], Judged]) -> None:
        self.heights, self.judge = heights, judge
        self.fails = np.zeros(heights, bool)
        self.seen = np.zeros(heights, bool)
        self.least = np.zeros(heights)
        self.best: Node | None = None
        self.loss, self.looked_at = np.inf, 0
        self.share = climbed(heights)
        order = np.argsort(self.share, axis=None, kind="stable")
        self.nodes = [
            tuple(int(level) for level in node) for node in zip(*np.unravel_index(order, heights), strict=True)
        ]

    def hopeless(self, node: Node) -> bool:
        return bool(self.fails[node] or self.seen[node] or self.least[node] >= self.loss)

    def look(self, node: Node) -> bool:
        """Judge a node, unless it is known to be of no use, and say whether it suffices."""
        if self.hopeless(node):
            return not self.fails[node]
        judged = self.judge(node)
        self.looked_at += 1
        self.seen[node] = True
        above = self.least[tuple(slice(level, None) for level in node)]
        np.maximum(above, judged.least, out=above)
        if judged.suffices and judged.loss < self.loss:
            self.best, self.loss = node, judged.loss
        return judged.suffices

    def path(self, node: Node) -> list[Node]:
        """From a node up to one that nothing better is above of, by the shortest steps."""
        path = []
        while not self.hopeless(node):
            path.append(node)
            above = [
                (*node[:j], level + 1, *node[j + 1 :]) for j, level in enumerate(node) if level + 1 < self.heights[j]
            ]
            above = [one for one in above if not self.hopeless(one)]
            if not above:
                break
            node = min(above, key=lambda one: float(self.share[one]))
        return path

    def halve(self, path: list[Node]) -> None:
        """Find the lowest node of a path that suffices; those below it fail, and all that is below them."""
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            if self.look(path[middle]):
                high = middle - 1
            else:
                self.fails[tuple(slice(0, level + 1) for level in path[middle])] = True
                low = middle + 1


def climbed(heights: Node) -> Floats:
    """How far each node is up, as the mean over the columns of the share of levels climbed.

    >>> climbed((3, 2)).tolist()
    [[0.0, 0.5], [0.25, 0.75], [0.5, 1.0]]
    """
    total = np.zeros(heights)
    for j, height in enumerate(heights):
        share = np.arange(height) / max(height - 1, 1)
        total += share.reshape([-1 if i == j else 1 for i in range(len(heights))])
    return total / len(heights)
