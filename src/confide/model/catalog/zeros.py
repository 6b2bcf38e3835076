"""Reading `[[structural_zeros]]`: which classes of two variables or more nobody can be in at once."""

from typing import Any

from confide.errors import Mistake, nearest
from confide.model.catalog.dataset import Dataset, Role
from confide.model.universe import Piece

__all__ = ["read_zeros"]


def read_zeros(raw: Any, dataset: Dataset, *, where: str) -> tuple[Piece, ...]:
    """The structural zeros that a text declares of the variables of a data set; a Mistake names what is wrong with one."""
    if not isinstance(raw, list) or not all(isinstance(table, dict) for table in raw):
        raise Mistake(f"'structural_zeros' in {where} must be sections, each [[structural_zeros]].")
    here = f"[[structural_zeros]] of {where}"
    return tuple(dict.fromkeys(_zero(table, dataset, here) for table in raw))


def _zero(table: dict[str, Any], dataset: Dataset, here: str) -> Piece:
    if len(table) < 2:
        raise Mistake(
            f"A structural zero in {here} is of two variables or more; one names {len(table)}.",
            suggestions=["Name the classes of each variable that nobody can be in at once."],
        )
    for name, codes in table.items():
        _check(name, codes, dataset, here)
    kin: dict[str, str] = {}
    for name in table:
        other = kin.setdefault(dataset.levels(name)[0].name, name)
        if other != name:
            raise Mistake(
                f"{other!r} and {name!r} in {here} are one variable at two levels of detail. Name one of them."
            )
    return Piece.of(table)


def _check(name: str, codes: Any, dataset: Dataset, here: str) -> None:
    """A Mistake if that is no variable with classes, or these are no codes of it."""
    found = dataset.variables.get(name)
    if found is not None and found.role is Role.IDENTIFIER:
        raise Mistake(f"{name!r} in {here} is an identifier, which has no classes.")
    try:
        known = dataset.classifier(name).codes or ()
    except Mistake as mistake:
        raise Mistake(f"In {here}: {mistake.message}", suggestions=mistake.suggestions) from None
    if not isinstance(codes, list) or not codes or not all(isinstance(code, str) for code in codes):
        raise Mistake(f"{name!r} in {here} must be a list of codes in square brackets, each in quotes.")
    for code in codes:
        if code not in known:
            raise Mistake(
                f"{name!r} in {here} has no code {code!r}.",
                suggestions=nearest(code, [each.code for each in known]) or ["The codebook lists them."],
            )
