"""What lies near a refused question of any kind: a coarser universe, coarser forms of a variable, one change or two.

Found from public metadata alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, TypeVar

from confide.answering.analysis import Near
from confide.model.admission.cross import present_places
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.request import Measure, Request, TableRequest
from confide.model.universe import EVERYONE, Condition, Piece, Universe

__all__ = [
    "BEFORE_TABLES",
    "coarser_classes",
    "coarser_forms",
    "mean_tables",
    "near_universes",
    "one_or_two",
    "with_tables",
    "without_classes",
    "without_missing",
]

Q = TypeVar("Q", bound=Request[Any])
Moves = Callable[[Q, Dataset], Iterable[Near[Q]]]

BEFORE_TABLES = 8
"""So many nearby models come before tables of means, which most often pass where a few units carry every model."""


def one_or_two(request: Q, dataset: Dataset, moves: Moves[Q]) -> Iterator[Near[Q]]:
    """Over wider bins; then what one change leads to, everyone last, and then two; each once, in the order of the changes.

    What one change brings in no second takes out: where that leads there is a change that does so at once, and says it plainly.
    """
    yield from _wider_bins(request, dataset)
    seen, firsts = {request}, list[Near[Q]]()
    for near in (*moves(request, dataset), *_everyone(request)):
        if near.request not in seen:
            seen.add(near.request)
            firsts.append(near)
            yield near
    for first in firsts:
        brought = _named(first.request) - _named(request)
        for second in moves(first.request, dataset):
            if second.request not in seen and brought <= _named(second.request):
                seen.add(second.request)
                yield Near(f"{first.words}, and {second.words}", second.request)


def _named(request: Request[Any]) -> set[str]:
    return {*request.names, *request.where.variables}


def with_tables(near: Iterator[Near[Q]], tables: Iterable[Near[TableRequest]]) -> Iterator[Near[Any]]:
    """Nearby models, a few tables after the nearest of them."""
    return chain(islice(near, BEFORE_TABLES), tables, near)


def mean_tables(request: Q, numbers: Sequence[str], dataset: Dataset) -> Iterator[Near[TableRequest]]:
    """The means of numbers by a variable that the question names, over its universe: the first of each that there is."""
    names = (*request.names, *request.where.variables)
    classes = [name for name in names if dataset.variables[name].classifies and name not in numbers]
    for number in numbers:
        for name in classes[:1]:
            asked = TableRequest(request.dataset, rows=(name,), measure=(Measure.MEAN,), of=number, where=request.where)
            yield Near(f"the mean of {number!r} by {name!r}, as a table", asked)


def coarser_forms(name: str, dataset: Dataset) -> list[str]:
    """The variable at coarser levels, or its number and recodes of it with fewer cutpoints; the nearest first."""
    return [level.name for level in dataset.coarser(name)]


def coarser_classes(name: str, dataset: Dataset) -> list[str]:
    """The same where numbers enter as they are, and classes as classes: in models and correlations."""
    if dataset.variables[name].measurable:
        return []
    return [form for form in coarser_forms(name, dataset) if not dataset.variables[form].measurable]


def near_universes(request: Q, dataset: Dataset) -> Iterator[Near[Q]]:
    """Over a coarser universe: a condition by a coarser form of its variable, or none; a piece less."""
    where = request.where
    for name in where.variables:
        for form in coarser_forms(name, dataset):
            yield from _lifted(request, name, form, dataset)
    for name in where.variables:
        if len(where.variables) > 1:
            yield Near(f"without the condition on {name!r}", _over(request, _without(where, name)))
    if len(where.pieces) > 1:
        for number, piece in enumerate(where.pieces):
            rest = Universe(tuple(other for other in where.pieces if other != piece))
            yield Near(f"without piece {number + 1} of the universe", _over(request, rest))
    if len(where.variables) == 1:
        yield from _everyone(request)


def without_missing(request: Q, names: Iterable[str], dataset: Dataset) -> Iterator[Near[Q]]:
    """Over those who have a value of a variable that the question names, since codes of missing values make odd groups."""
    pieces = request.where.pieces or (None,)
    for name in names:
        variable = dataset.variables[name]
        present = present_places(variable)
        lacking = variable.universe and 0 < len(present) < len(variable.codes or ())
        if lacking and name not in request.where.variables:
            stated = Condition(name, tuple(_codes(variable)[place] for place in present))
            wanted = tuple(Piece((*(piece.conditions if piece else ()), stated)) for piece in pieces)
            yield Near(f"those whose {name!r} is not missing", _over(request, Universe(wanted)))


def without_classes(request: Q, variable: Variable, places: Iterable[int]) -> Q | None:
    """The same over those who are not of some classes; None if nobody would be left."""
    kept = [place for place in range(len(_codes(variable))) if place not in set(places)]
    pieces = []
    for piece in request.where.pieces or (None,):
        conditions = {c.variable: c for c in piece.conditions} if piece else {}
        own = conditions.pop(variable.name, None)
        left = [place for place in kept if own is None or place in _places(own, variable)]
        if left:
            stated = Condition(variable.name, tuple(_codes(variable)[place] for place in left))
            pieces.append(Piece((*conditions.values(), stated)))
    return _over(request, Universe(tuple(pieces))) if pieces else None


def _everyone(request: Q) -> Iterator[Near[Q]]:
    if request.where:
        yield Near("everyone instead of this universe", _over(request, EVERYONE))


def _over(request: Q, where: Universe) -> Q:
    return replace(request, where=where)  # type: ignore[type-var]  # every request is a dataclass


def _without(where: Universe, name: str) -> Universe:
    """The universe without the conditions on a variable; a piece of nothing else goes with them."""
    rests = (tuple(c for c in piece.conditions if c.variable != name) for piece in where.pieces)
    return Universe(tuple(Piece(rest) for rest in rests if rest))


def _lifted(request: Q, name: str, form: str, dataset: Dataset) -> Iterator[Near[Q]]:
    """The conditions on a variable by a coarser form of it, which holds all their units."""
    if form in request.where.variables or not dataset.variables[form].universe:
        return
    conditions = {c for piece in request.where.pieces for c in piece.conditions if c.variable == name}
    above = {condition: Condition(form, _above(condition, form, dataset)) for condition in conditions}
    pieces = tuple(Piece(tuple(above.get(c, c) for c in piece.conditions)) for piece in request.where.pieces)
    shown = f" ({', '.join(next(iter(above.values())).codes)})" if len(above) == 1 else ""
    yield Near(f"{form!r}{shown} instead of {name!r} in 'where'", _over(request, Universe(pieces)))


def _above(condition: Condition, form: str, dataset: Dataset) -> tuple[str, ...]:
    """The codes of the coarser form that hold those of a condition."""
    variable, coarse = dataset.variables[condition.variable], dataset.variables[form]
    lifted = dataset.lift(variable.name, form)
    return tuple(_codes(coarse)[lifted[place]] for place in _places(condition, variable))


def _wider_bins(request: Q, dataset: Dataset) -> Iterator[Near[Q]]:
    """The chosen bins with those beside them."""
    for piece in request.where.pieces:
        for condition in piece.conditions:
            variable = dataset.variables[condition.variable]
            places, bins = set(_places(condition, variable)), set(range(len(variable.cutpoints) + 1))
            near = places | ({p + step for p in places & bins for step in (-1, 1)} & bins)
            if variable.binned and near != places:
                codes = [_codes(variable)[place] for place in sorted(near)]
                rest = tuple(c for c in piece.conditions if c != condition)
                wider = Piece((*rest, Condition(variable.name, tuple(codes))))
                others = tuple(other for other in request.where.pieces if other != piece)
                words = f"wider bins of {variable.name!r} ({', '.join(codes)})"
                yield Near(words, _over(request, Universe((*others, wider))))


def _places(condition: Condition, variable: Variable) -> list[int]:
    codes = {leaf for code in condition.codes for leaf in variable.nodes.get(code, (code,))}
    return sorted(variable.place(code) for code in codes)


def _codes(variable: Variable) -> tuple[str, ...]:
    assert variable.codes is not None
    return variable.codes.names
