"""Universes: conditions that fit the codebook, and how many a policy allows."""

from collections.abc import Iterator

from confide.errors import Mistake, Reason, nearest
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.catalog.derivation import combinations_of
from confide.model.policy import Policy
from confide.model.universe import EVERYONE, Condition, Piece, Universe

__all__ = ["admit_universe", "check_pieces", "check_universe", "check_universe_variables", "declared_universe"]

MOST_PIECES = 1000
"""Conditions on variables of an analyst's own may come to so many pieces in declared words; policies allow fewer."""

Codes = dict[str, tuple[str, ...]]


def admit_universe(where: Universe, dataset: Dataset) -> None:
    """Raise a Mistake that names the first condition that the codebook does not allow."""
    for piece in where.pieces:
        for condition in piece.conditions:
            _admit_condition(condition, dataset)


def _admit_condition(condition: Condition, dataset: Dataset) -> None:
    variable = dataset.classifier(condition.variable)
    if not variable.universe:
        raise Mistake(f"{variable.name!r} may not define a universe. Use it in rows or columns instead.")
    assert variable.codes is not None
    known = [*variable.codes.names, *variable.nodes]
    for code in condition.codes:
        if code not in known:
            hint = nearest(code, known) or [f"Its codes begin with {', '.join(map(repr, known[:4]))}."]
            raise Mistake(f"{variable.name!r} has no code {code[:60]!r}.", suggestions=hint)


def declared_universe(where: Universe, dataset: Dataset) -> Universe:
    """The same units by conditions on declared variables alone: a class of an analyst's own is the codes it is made of."""
    if not any(dataset.variables[name].made for name in where.variables):
        return where
    every = [codes for piece in where.pieces for codes in _declared(piece, dataset)]
    if not all(every):
        return EVERYONE  # a piece in which all classes are named keeps nobody out
    pieces = [Piece.of(codes) for codes in every]
    if len(pieces) > MOST_PIECES:
        raise Mistake("The universe has too many pieces in declared words.", suggestions=["Use simpler conditions."])
    return Universe(tuple(pieces))


def _declared(piece: Piece, dataset: Dataset) -> list[Codes]:
    """A piece in declared words, which may be several."""
    found: list[Codes] = [{}]
    for condition in piece.conditions:
        each = list(_alternatives(condition, dataset))
        found = [joined for one in found for other in each if (joined := _both(one, other)) is not None]
        if len(found) > MOST_PIECES:
            raise Mistake("A piece of the universe has too many parts in declared words.")
    if not found:
        names = ", ".join(repr(condition.variable) for condition in piece.conditions)
        raise Mistake(f"No codes satisfy the conditions of one piece on {names}, so the universe would be empty.")
    return found


def _alternatives(condition: Condition, dataset: Dataset) -> Iterator[Codes]:
    variable = dataset.variables[condition.variable]
    if variable.made is None:
        leaves = [leaf for code in condition.codes for leaf in variable.nodes.get(code, (code,))]
        yield {variable.name: tuple(leaves)}
        return
    for box in combinations_of(variable.made, {variable.place(code) for code in condition.codes}):
        yield {name: _names(dataset.variables[name], places) for name, places in box}


def _names(variable: Variable, places: tuple[int, ...]) -> tuple[str, ...]:
    assert variable.codes is not None
    return tuple(variable.codes.names[place] for place in places)


def _both(one: Codes, other: Codes) -> Codes | None:
    """What satisfies both; None if nothing does."""
    joined = {**one, **other}
    for name in one.keys() & other.keys():
        joined[name] = tuple(code for code in one[name] if code in other[name])
    return joined if all(joined.values()) else None


def check_universe(where: Universe, policy: Policy) -> list[Reason]:
    """The reasons to refuse a universe whatever the data are."""
    return [*check_universe_variables(where, policy), *check_pieces(where, policy)]


def check_universe_variables(where: Universe, policy: Policy) -> list[Reason]:
    most = policy.universe.variables
    too_many = len(where.variables) > most
    return [Reason("universe.variables", f"At most {most} variables may define a universe.")] if too_many else []


def check_pieces(where: Universe, policy: Policy) -> list[Reason]:
    most = policy.universe.pieces
    too_many = len(where.pieces) > most
    return [Reason("universe.pieces", f"A universe may have at most {most} pieces.")] if too_many else []
