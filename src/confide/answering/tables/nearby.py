"""Requests near a refused one, nearest first: what a patient analyst would try next. Found from public metadata alone."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from confide.answering.analysis import Near
from confide.model.catalog.dataset import Dataset
from confide.model.request import TableRequest
from confide.model.universe import Condition, Piece, Universe

__all__ = ["near_tables"]


def near_tables(request: TableRequest, dataset: Dataset) -> Iterator[Near[TableRequest]]:
    """Coarser levels, larger areas, wider bins, a condition less, a variable less: each with the words for it."""
    yield from _coarser_variables(request, dataset)
    yield from _wider_conditions(request, dataset)
    yield from _fewer_conditions(request)
    yield from _fewer_variables(request)
    if request.where:
        yield Near("everyone instead of this universe", replace(request, where=Universe()))


def _coarser_variables(request: TableRequest, dataset: Dataset) -> Iterator[Near[TableRequest]]:
    """One variable a level up, then all that have one, then one variable two levels up."""
    above = {name: [level.name for level in dataset.chain(name)[1:]] for name in request.by}
    one = {name: levels[0] for name, levels in above.items() if levels}
    two = {name: levels[1] for name, levels in above.items() if len(levels) > 1}
    yield from (_coarser(request, {name: level}) for name, level in one.items() if level not in request.by)
    if len(one) > 1 and not set(one.values()) & set(request.by):
        yield _coarser(request, one)
    yield from (_coarser(request, {name: level}) for name, level in two.items() if level not in request.by)


def _coarser(request: TableRequest, levels: Mapping[str, str]) -> Near[TableRequest]:
    rows, columns = (tuple(levels.get(name, name) for name in side) for side in (request.rows, request.columns))
    words = " and ".join(f"{level!r} instead of {name!r}" for name, level in levels.items())
    return Near(words, replace(request, rows=rows, columns=columns))


def _conditions(request: TableRequest) -> Iterator[tuple[Piece, Condition]]:
    for piece in request.where.pieces:
        for condition in piece.conditions:
            yield piece, condition


def _with_piece(request: TableRequest, old: Piece, conditions: tuple[Condition, ...]) -> TableRequest:
    others = tuple(piece for piece in request.where.pieces if piece != old)
    new = (Piece(conditions),) if conditions else ()
    return replace(request, where=Universe(others + new))


def _wider_conditions(request: TableRequest, dataset: Dataset) -> Iterator[Near[TableRequest]]:
    """The classes above the chosen ones, or the bins beside them."""
    for piece, condition in _conditions(request):
        variable = dataset.variables[condition.variable]
        assert variable.codes is not None
        if variable.parent is not None and variable.parent not in [c.variable for c in piece.conditions]:
            above = {code.parent for code in variable.codes if code.code in condition.codes}
            wider = Condition(variable.parent, tuple(code for code in above if code))
            words = f"{variable.parent!r} ({', '.join(wider.codes)}) instead of {variable.name!r} in 'where'"
        elif variable.binned:
            chosen = {leaf for code in condition.codes for leaf in variable.nodes.get(code, (code,))}
            places = {variable.place(code) for code in chosen}
            bins = set(range(len(variable.cutpoints) + 1))
            near = places | ({p + step for p in places & bins for step in (-1, 1)} & bins)
            wider = Condition(variable.name, tuple(variable.codes.names[p] for p in near))
            words = f"wider bins of {variable.name!r} ({', '.join(variable.codes.names[p] for p in sorted(near))})"
        else:
            continue
        if wider != condition:
            rest = tuple(c for c in piece.conditions if c != condition)
            yield Near(words, _with_piece(request, piece, (*rest, wider)))


def _fewer_conditions(request: TableRequest) -> Iterator[Near[TableRequest]]:
    for piece, condition in _conditions(request):
        if len(piece.conditions) > 1:
            rest = tuple(c for c in piece.conditions if c != condition)
            yield Near(f"without the condition on {condition.variable!r}", _with_piece(request, piece, rest))
    if len(request.where.pieces) > 1:
        for number, piece in enumerate(request.where.pieces):
            yield Near(f"without piece {number + 1} of the universe", _with_piece(request, piece, ()))


def _fewer_variables(request: TableRequest) -> Iterator[Near[TableRequest]]:
    for name in reversed(request.by):
        if len(request.by) > 1:
            rows, columns = (tuple(n for n in side if n != name) for side in (request.rows, request.columns))
            yield Near(f"without {name!r}", replace(request, rows=rows or columns, columns=columns if rows else ()))
