"""Universes: conditions that fit the codebook, and how many a policy allows."""

from confide.errors import Mistake, Reason, nearest
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.universe import Condition, Universe

__all__ = ["admit_universe", "check_pieces", "check_universe", "check_universe_variables"]


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
