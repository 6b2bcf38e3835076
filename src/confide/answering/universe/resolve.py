"""A universe in terms of stored classes, the same whatever words described it.

`resolve` brings the conditions of one hierarchy to one level and the union of pieces to disjoint boxes that depend only on
which cells of the implicit table are selected. `parts` splits a box into what the Universe Gamma rule tests and Drop q
samples: one part for each combination of classes of the truly categorical variables, bins of cutpoint variables combined.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.evidence import Box
from confide.model.universe import Condition, Piece, Universe

__all__ = ["Resolved", "fold", "intersections", "parts", "remainders", "resolve"]

Places = frozenset[int]
Allowed = Mapping[str, Places]


@dataclass(frozen=True)
class Resolved:
    """`variables` span the implicit table; `pieces` are as asked; `boxes` are disjoint, canonical, and empty for everyone."""

    variables: tuple[str, ...]
    pieces: tuple[Box, ...]
    boxes: tuple[Box, ...]


def resolve(universe: Universe, dataset: Dataset) -> Resolved:
    """The universe as boxes of stored classes."""
    if not universe:
        return Resolved((), ((),), ())
    levels = _levels(universe, dataset)
    variables = tuple(sorted(set(levels.values())))
    sizes = {name: _size(dataset, name) for name in variables}
    pieces = [_piece(piece, levels, dataset) for piece in universe.pieces]
    boxes = _decompose(tuple(pieces), variables, sizes)
    return Resolved(variables, tuple(_box(piece) for piece in pieces), () if boxes == ((),) else boxes)


def parts(box: Box, dataset: Dataset) -> list[Box]:
    """The box by classes of its categorical variables. Codes that fill a coarser class count as that class."""
    choices: list[list[tuple[str, tuple[int, ...]]]] = []
    for name, places in box:
        variable = dataset.variables[name]
        groups = [places] if variable.binned else fold(variable, frozenset(places), dataset)
        choices.append([(name, group) for group in groups])
    return [tuple(choice) for choice in itertools.product(*choices)]


def fold(variable: Variable, places: Places, dataset: Dataset, *, idle: Places = frozenset()) -> list[tuple[int, ...]]:
    """The places in groups: the largest classes of the hierarchy that are wholly inside, then single codes.

    Places that are `idle`, since nobody is there, may be lacking from a whole class.
    """
    groups: list[tuple[int, ...]] = []
    left = set(places)
    for level in dataset.chain(variable.name)[:0:-1]:
        lifted = dataset.lift(variable.name, level.name)
        below: dict[int, set[int]] = {}
        for place, up in enumerate(lifted):
            below.setdefault(up, set()).add(place)
        for children in below.values():
            if children & left and children <= left | idle:
                groups.append(tuple(sorted(children & left)))
                left -= children
    return sorted(groups + [(place,) for place in left])


def intersections(pieces: Sequence[Box]) -> list[Box]:
    """Every intersection of two or more pieces that the declared codes do not rule out."""
    found = []
    for size in range(2, len(pieces) + 1):
        for some in itertools.combinations(pieces, size):
            allowed: dict[str, Places] = {}
            for name, places in itertools.chain.from_iterable(some):
                allowed[name] = allowed.get(name, frozenset(places)) & frozenset(places)
            if all(allowed.values()):
                found.append(_box(allowed))
    return found


def remainders(piece: Box, dataset: Dataset) -> list[Box]:
    """What one condition alone keeps out: sets by which a universe with that condition changed would differ.

    For a cutpoint variable every single bin; for a categorical one the codes left out of all, and of each coarser class
    that is chosen in part. The other conditions hold, class by class.
    """
    found = []
    for name, places in piece:
        variable, rest = dataset.variables[name], tuple(c for c in piece if c[0] != name)
        whole = frozenset(range(_size(dataset, name)))
        if variable.binned:
            sets = [frozenset([place]) for place in whole] if set(places) != whole else []
        else:
            levels = [dataset.lift(name, level.name) for level in dataset.chain(name)[1:]]
            classes = [frozenset(p for p in whole if up[p] == c) for up in levels for c in sorted(set(up))]
            chosen = frozenset(places)
            sets = [part - chosen for part in (whole, *classes) if part & chosen and part - chosen]
        found += [tuple(sorted([*part, (name, tuple(sorted(s)))])) for part in parts(rest, dataset) for s in sets]
    return found


def _size(dataset: Dataset, name: str) -> int:
    codes = dataset.variables[name].codes
    assert codes is not None
    return len(codes)


def _box(allowed: Allowed) -> Box:
    return tuple((name, tuple(sorted(places))) for name, places in sorted(allowed.items()))


def _levels(universe: Universe, dataset: Dataset) -> dict[str, str]:
    """For each variable named, the finest level of its hierarchy that the universe names."""
    finest: dict[str, str] = {}
    for name in universe.variables:
        root = dataset.root(name)
        if root not in finest or len(dataset.chain(name)) > len(dataset.chain(finest[root])):
            finest[root] = name
    levels = {name: finest[dataset.root(name)] for name in universe.variables}
    for name, level in levels.items():
        if name not in [v.name for v in dataset.chain(level)]:
            raise Mistake(
                f"{name!r} and {level!r} are different breakdowns of one hierarchy. Use one of them in 'where'."
            )
    return levels


def _piece(piece: Piece, levels: Mapping[str, str], dataset: Dataset) -> Allowed:
    allowed: dict[str, Places] = {}
    for condition in piece.conditions:
        level = levels[condition.variable]
        places = _condition(condition, level, dataset)
        allowed[level] = allowed.get(level, places) & places
        if not allowed[level]:
            raise Mistake(
                f"No code of {level!r} satisfies the conditions of one piece, so the universe would be empty."
            )
    return allowed


def _condition(condition: Condition, level: str, dataset: Dataset) -> Places:
    variable = dataset.variables[condition.variable]
    codes = [leaf for code in condition.codes for leaf in variable.nodes.get(code, (code,))]
    wanted = {variable.place(code) for code in codes}
    lifted = dataset.lift(level, condition.variable)
    return frozenset(place for place, up in enumerate(lifted) if up in wanted)


def _decompose(pieces: tuple[Allowed, ...], variables: Sequence[str], sizes: Mapping[str, int]) -> tuple[Box, ...]:
    """Disjoint boxes that cover the union. Codes of the first variable that leave the same rest are taken together,
    and a variable whose every code leaves the same rest disappears: so the result depends on the set of cells alone."""
    if not pieces:
        return ()
    if not variables or any(not piece for piece in pieces):
        return ((),)
    first, rest = variables[0], variables[1:]
    active: dict[tuple[int, ...], list[int]] = {}
    for place in range(sizes[first]):
        holds = tuple(i for i, piece in enumerate(pieces) if first not in piece or place in piece[first])
        active.setdefault(holds, []).append(place)
    merged: dict[tuple[Box, ...], list[int]] = {}
    for holds, places in active.items():
        remaining = tuple({n: p for n, p in pieces[i].items() if n != first} for i in holds)
        merged.setdefault(_decompose(remaining, rest, sizes), []).extend(places)
    boxes = []
    for residual, places in merged.items():
        condition: Box = () if len(places) == sizes[first] else ((first, tuple(sorted(places))),)
        boxes += [condition + box for box in residual]
    return tuple(sorted(boxes))
