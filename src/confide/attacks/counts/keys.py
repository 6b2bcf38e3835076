"""The keys that attacks on counts use: some to leave bins out of, some for the table."""

from confide.attacks.choosing import keys, size
from confide.attacks.claims import NotApplicable
from confide.model.catalog.dataset import Dataset, Variable

__all__ = ["by_use", "coarse_keys", "table_keys", "three_keys"]

_NEEDED = "It needs three keys: one to leave bins out of, two for the table."


def three_keys(book: Dataset, given: tuple[str, ...] = ()) -> tuple[str, str, str]:
    """Those given; else a number in bins, if there is one, and the finest and the coarsest of the other keys."""
    first, second, third, *_ = by_use(book, given)
    return first, second, third


def by_use(book: Dataset, given: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The same, and after them the other keys, the coarsest first, for where few are alone on three."""
    found = keys(book)
    binned = [v for v in found if v.binned and size(v) > 3] or found
    others = [v.name for v in found if v is not binned[0]] if found else []
    chosen = given or (*(v.name for v in binned[:1]), *others[:1], *reversed(others[1:]))
    if len(chosen) < 3:
        raise NotApplicable(_NEEDED)
    return chosen


def coarse_keys(book: Dataset) -> list[Variable]:
    """The keys, each one level above its finest if it has such a level: tables by them are not refused as sparse."""
    return [coarser if (coarser := _above(book, variable)) else variable for variable in keys(book)]


def table_keys(book: Dataset) -> tuple[str, ...]:
    """A number in bins to leave one out of, the key with most coarse classes and the smallest of more than two."""
    found = keys(book)
    hidden = next((v for v in found if v.binned and size(v) > 3), None)
    rest = [v for v in coarse_keys(book) if hidden is not None and v.column != hidden.column]
    small = [v for v in rest[1:] if size(v) > 2] or rest[1:]
    if hidden is None or not small:
        raise NotApplicable("It needs a key in bins to leave one out of, and two others for the table.")
    return hidden.name, _hierarchical(book, rest).name, small[-1].name


def _hierarchical(book: Dataset, found: list[Variable]) -> Variable:
    """The first that is one level of several, such as an area: its classes are of like size; else the first."""
    return next((v for v in found if len(book.levels(v.name)) > 1), found[0])


def _above(book: Dataset, variable: Variable) -> Variable | None:
    levels = [level for level in book.levels(variable.name)[:-1] if level.universe and not level.binned]
    return levels[-1] if levels else None
