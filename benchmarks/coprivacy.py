"""Coprivacy: what simulated search by peers hides and does not, games, and how long they take.

    python benchmarks/coprivacy.py [--quick]

Peers' interests are Zipf over 50 topics, each in an order of their own; 200 queries each, at most 5 peers asked. Means over
seeds, with their spread; beside them the figures of the prototype that the project started from. How its database linked peers is
not written down; ours takes the peer under whose interests what somebody submitted is likeliest. Seconds are of the processor.
"""

import argparse
import resource
import time
from collections.abc import Callable, Sequence

import numpy as np

from confide.coprivacy import GRIM, TIT_FOR_TAT, SearchSimulation, SimulatedSearch, incentive, social_network

PROTOTYPE = {
    10: {
        "submitted": 5.23,
        "asked": 4.4,
        "forwarding": 1.00,
        "delta": 0.43,
        "linked": 1.00,
        "printed": 0.84,
        "uniform": 0.13,
    },
    100: {
        "submitted": 5.54,
        "asked": 4.4,
        "forwarding": 1.00,
        "delta": 0.59,
        "linked": 0.75,
        "printed": 0.60,
        "uniform": 0.01,
    },
}


def mean(runs: Sequence[SimulatedSearch], what: Callable[[SimulatedSearch], float | None]) -> str:
    values = [value for run in runs if (value := what(run)) is not None]
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}" if values else "–"


def figures(peers: int, seeds: int) -> None:
    print(f"{peers} peers, {seeds} seeds; prototype: {PROTOTYPE[peers]}")
    for rule in ("coprivate", "printed", "uniform", "direct", "decoys"):
        runs = [SearchSimulation(peers=peers, rule=rule).run(np.random.default_rng(seed)) for seed in range(seeds)]
        print(f"  {rule:9}  H(Y) {mean(runs, lambda r: r.submitted)}  H(X) {mean(runs, lambda r: r.asked)}"
              f"  forwarding {mean(runs, lambda r: r.forwarding)}  δ {mean(runs, lambda r: r.delta and r.delta.share)}"
              f"  peers asked {mean(runs, lambda r: r.peers_asked)}  linked {mean(runs, lambda r: r.linked)}", flush=True)  # fmt: skip


def speed() -> None:
    simulation = SearchSimulation(peers=1000, queries=100)
    SearchSimulation(peers=3, queries=3).run(np.random.default_rng(1))  # compiled before
    begun = time.process_time()
    result = simulation.run(np.random.default_rng(1))
    taken = time.process_time() - begun
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"1,000 peers, 100 queries each: {taken:.1f} s, {most:.2f} GB at most; {result}")


def games() -> None:
    for users in (2, 3, 5, 10, 14):
        begun = time.process_time()
        game = social_network(sensitivities=[1.0], users=users)
        equilibria, best = len(game.nash()), game.correlated()
        all_publish = np.zeros(game.help.shape)
        all_publish[(1,) * users] = 1
        print(f"  {users} users: {equilibria} pure equilibria, correlated welfare {best.welfare:.3f}, all publishing "
              f"{float((game.payoffs * all_publish).sum()):.3f} for ε {incentive(game, all_publish):.3f}; "
              f"{time.process_time() - begun:.2f} s")  # fmt: skip
    game = social_network(sensitivities=[1.0], users=2)
    for discount in (0.3, 0.5, 0.9):
        gains = [protocol.gain(game, discount=discount) for protocol in (GRIM, TIT_FOR_TAT)]
        print(f"  discount {discount}: leaving grim gains {gains[0]:.4f}, tit-for-tat {gains[1]:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer seeds")
    seeds = 5 if parser.parse_args().quick else 30
    figures(10, seeds)
    figures(100, seeds)
    speed()
    print("social networks, one attribute of sensitivity 1")
    games()


if __name__ == "__main__":
    main()
