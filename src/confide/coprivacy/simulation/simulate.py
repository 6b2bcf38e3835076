"""Simulated keyword search by peers: what entropies look like, and what a database that knows interests still finds."""

from dataclasses import dataclass
from math import log2

import numpy as np

from confide.arrays import Floats, Ints
from confide.coprivacy.games.coprivate import CoprivacyShare
from confide.coprivacy.search.rule import entropy
from confide.coprivacy.simulation.kernel import COPRIVATE, PRINTED, Small, play
from confide.errors import Mistake
from confide.model.parameter import Parameters, parameter

__all__ = ["RULES", "SearchSimulation", "SimulatedSearch"]

RULES = ("coprivate", "printed", "uniform", "direct", "decoys")
MOST = 200_000_000
"""Counts of who forwarded what to whom, two bytes each: 400 MB."""


@dataclass(frozen=True, kw_only=True)
class SimulatedSearch:
    """What became of a simulated search, by means over peers.

    `asked` is the entropy H(X) of peers' own queries and `submitted` that of what the database saw them submit, H(Y), of
    `largest`. `forwarding` is how even a peer spreads one query over others: the entropy of F over the largest for so
    many. `delta` is the share of queries that a peer submits for another because it is best for both: δ. `peers_asked` is
    how many peers see a query that is forwarded. `linked` is the share of peers whom a database that knows everybody's
    interests finds from what they submitted.
    """

    asked: float
    submitted: float
    largest: float
    linked: float
    forwarding: float | None = None
    delta: CoprivacyShare | None = None
    peers_asked: float | None = None


@dataclass(frozen=True, kw_only=True)
class SearchSimulation(Parameters):
    """Peers with interests of their own, drawn at random, who ask a database by one rule.

    A peer's topics have chances 1 / rank^exponent (Zipf) in an order of their own. Rules: `coprivate` is section 4 with
    expression (2) over one's own forwarding, `printed` is (2) as it stands, `uniform` has every query submitted by a peer
    drawn at random, oneself among them, `direct` asks for oneself, and `decoys` too, with invented queries between.
    """

    peers: int = parameter(100, "How many peers there are.", low=2)
    topics: int = parameter(50, "How many different queries there are.", low=2)
    queries: int = parameter(200, "How many queries each peer asks.", low=1, high=30_000)
    attempts: int = parameter(5, "How many peers are asked for help at most.", low=1)
    exponent: float = parameter(1.0, "How unequal a peer's interests are: Zipf's exponent.", low=0, high=10)
    rule: str = parameter("coprivate", "Who submits a query.", among=RULES)
    decoys: int = parameter(1, "With the rule decoys: how many invented queries each true one has.", low=1)

    def _check(self) -> None:
        if self.peers**2 * self.topics > MOST:
            raise Mistake("So many peers with so many topics do not fit.", suggestions=["Take fewer of either."])

    def run(self, random: np.random.Generator) -> SimulatedSearch:
        """Play it once."""
        interests = self._interests(random)
        queries = np.array([random.choice(self.topics, self.queries, p=one) for one in interests])
        own = _counts(queries, self.topics)
        if self.rule in ("coprivate", "printed"):
            return self._played(interests, queries, random)
        if self.rule == "uniform":
            by = random.integers(self.peers, size=queries.shape)
            forwarded = np.zeros((self.peers, self.topics, self.peers), np.int16)
            np.add.at(forwarded, (np.arange(self.peers)[:, None], queries, by), 1)
            return self._result(interests, own, np.asarray(forwarded.sum(axis=0).T, np.int64), forwarded=forwarded)
        seen = own.copy()
        if self.rule == "decoys":
            seen += _counts(random.integers(self.topics, size=(self.peers, self.queries * self.decoys)), self.topics)
        return self._result(interests, own, seen)

    def _interests(self, random: np.random.Generator) -> Floats:
        chances = np.arange(1, self.topics + 1) ** -self.exponent
        return random.permuted(np.tile(chances / chances.sum(), (self.peers, 1)), axis=1)

    def _played(self, interests: Floats, queries: Ints, random: np.random.Generator) -> SimulatedSearch:
        order = random.permuted(np.tile(np.arange(self.peers), (self.queries, 1)), axis=1)
        rule = COPRIVATE if self.rule == "coprivate" else PRINTED
        seen, forwarded, became = play(queries, order, self.topics, self.attempts, rule, random)
        delta = CoprivacyShare.of(int((became > 0).sum()), became.size)
        asked = float(np.abs(became[became != 0]).mean()) if became.any() else None
        own = _counts(queries, self.topics)
        return self._result(interests, own, seen, forwarded=forwarded, delta=delta, asked=asked)

    def _result(
        self,
        interests: Floats,
        own: Ints,
        seen: Ints,
        *,
        forwarded: Small | None = None,
        delta: CoprivacyShare | None = None,
        asked: float | None = None,
    ) -> SimulatedSearch:
        return SimulatedSearch(
            asked=float(np.mean([entropy(one) for one in own.tolist()])),
            submitted=float(np.mean([entropy(one) for one in seen.tolist()])),
            largest=log2(self.topics),
            linked=linked(seen, interests),
            forwarding=None if forwarded is None else evenness(forwarded, others=self.peers - (self.rule != "uniform")),
            delta=delta,
            peers_asked=asked,
        )


def linked(seen: Ints, interests: Floats) -> float:
    """The share of peers whose submitted queries are likeliest under their own interests, of all peers'."""
    likelihood = seen @ np.log(interests).T
    return float((likelihood.argmax(axis=1) == np.arange(len(seen))).mean())


def evenness(forwarded: Small, *, others: int) -> float | None:
    """The mean, over peers and queries that were forwarded more than once, of entropy over the largest for so many."""
    counts = forwarded.reshape(-1, forwarded.shape[2])
    counts = counts[counts.sum(axis=1) > 1]
    shares = [entropy(one[one > 0].tolist()) / _largest(int(one.sum()), others) for one in counts] if others > 1 else []
    return float(np.mean(shares)) if shares else None


def _largest(number: int, others: int) -> float:
    """The entropy of so many forwardings to so many peers, as even as whole numbers are."""
    each, more = divmod(number, others)
    return entropy([each + 1] * more + [each] * (others - more))


def _counts(queries: Ints, topics: int) -> Ints:
    return np.array([np.bincount(one, minlength=topics) for one in queries])
