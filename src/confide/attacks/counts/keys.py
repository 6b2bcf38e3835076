"""Three keys for attacks by universes: one to leave bins out of, two for the table."""

from confide.attacks.choosing import keys, size
from confide.attacks.claims import NotApplicable
from confide.model.catalog.dataset import Dataset

__all__ = ["by_use", "three_keys"]

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
