"""What a changed cell says: the state of a cell before and after, and the class that a series of states points to."""

import numpy as np
from numpy.typing import NDArray

from confide.arrays import Bools, Floats, Ints

__all__ = ["MOVED", "STATES", "cell_posterior", "cell_states", "class_posterior"]

STATES = 3
UNSEEN, SAME, MOVED = range(STATES)
"""A cell that is zero both times says little; one that stays the same, or moves, says more."""

ROUNDS = 30

START = np.array([[0.3, 0.68, 0.02], [0.3, 0.1, 0.6]])
"""How often each state is thought to be seen, the target out and in, before anything was."""


def cell_states(first: Floats, second: Floats) -> Ints:
    """The state of each cell in two tables; a cell that is marked in either is unseen."""
    seen = np.isfinite(first) & np.isfinite(second)
    moved = seen & (first != second)
    return np.where(moved, MOVED, np.where(seen & (first > 0), SAME, UNSEEN))


def class_posterior(states: Ints, inside: Bools, prior: Floats, *, start: Floats = START) -> Floats:
    """How likely each class is for each target, from what its cell did in each comparison.

    `states` has a row a target and a column a comparison (-1 where it was not made); `inside` says for each target,
    comparison and class whether a target of that class would have been in the part that was compared (the first axis may
    have length 1). How often a cell moves with and without its target in it is learnt along the way (expectation and
    maximisation) from `start`, which has a column a state, so that no knowledge of the noise is needed. `prior` may have a
    row a target.
    """
    made = states >= 0
    chance = start
    belief = np.broadcast_to(prior, (len(states), inside.shape[-1]))
    for _ in range(ROUNDS):
        belief = _believe(states, inside, prior, np.log(chance), made)
        chance = _chances(states, inside, belief, made, chance.shape[1])
    return belief


def _believe(states: Ints, inside: Bools, prior: Floats, chance: Floats, made: Bools) -> Floats:
    state = np.where(made, states, 0)
    ratio = np.where(made, chance[1][state] - chance[0][state], 0.0)
    log = np.log(np.maximum(prior, 1e-12)) + np.einsum("th,thk->tk", ratio, _whole(inside, states.shape))
    log -= log.max(axis=1, keepdims=True)
    likely = np.exp(log)
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


def _chances(states: Ints, inside: Bools, belief: Floats, made: Bools, size: int) -> Floats:
    """How often each state is seen when the target is out, and in; a little of everything is always possible."""
    within = np.einsum("tk,thk->th", belief, _whole(inside, states.shape))
    counts = np.empty((2, size))
    for state in range(size):
        here = made & (states == state)
        counts[1, state], counts[0, state] = within[here].sum(), (1 - within)[here].sum()
    counts += 0.5
    chance = counts / counts.sum(axis=1, keepdims=True)
    # A cell cannot move less often with its target in it: where it seems to, nothing is learnt.
    return np.tile(chance.mean(axis=0), (2, 1)) if chance[1, MOVED] < chance[0, MOVED] else np.asarray(chance)


def _whole(inside: Bools, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return np.broadcast_to(inside, (*shape, inside.shape[-1])).astype(np.float64)


def cell_posterior(counts: Floats, prior: Floats) -> Floats:
    """How likely each class is for each target, where a class has a cell of its own and all are looked at together.

    `counts[t, c, s]` says how often the cell of target t and class c was seen in state s. The cell of the target's class
    moves more often than the others; how much more often is learnt along the way. A cell that shows nothing shows nothing
    every time, if the target is the only one in it, so that counts once.
    """
    counts = np.concatenate([np.minimum(counts[..., :1], 1), counts[..., 1:]], axis=2)
    chance = np.array([[0.3, 0.68, 0.02], [0.3, 0.1, 0.6]])
    base = np.log(np.maximum(prior, 1e-12))
    belief = np.tile(prior, (len(counts), 1))
    for _ in range(ROUNDS):
        log = base + counts @ np.log(chance[1] / chance[0])
        belief = np.exp(log - log.max(axis=1, keepdims=True))
        belief /= belief.sum(axis=1, keepdims=True)
        chance = np.stack([np.einsum("tc,tcs->s", share, counts) for share in (1 - belief, belief)]) + 0.5
        chance /= chance.sum(axis=1, keepdims=True)
    return belief
