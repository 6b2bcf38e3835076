"""Three keys for attacks by universes: one to leave bins out of, two for the table."""

from confide.attacks.choosing import keys, size
from confide.attacks.claims import NotApplicable
from confide.model.catalog.dataset import Dataset

__all__ = ["three_keys"]

_NEEDED = "It needs three keys: one to leave bins out of, two for the table."


def three_keys(book: Dataset, given: tuple[str, ...] = ()) -> tuple[str, str, str]:
    """Those given; else a number in bins, if there is one, and the finest and the coarsest of the other keys."""
    if given:
        if len(given) != 3:
            raise NotApplicable(_NEEDED)
        return given[0], given[1], given[2]
    found = keys(book)
    binned = [v for v in found if v.binned and size(v) > 3] or found
    others = [v for v in found if v is not binned[0]] if found else []
    if len(others) < 2:
        raise NotApplicable(_NEEDED)
    return binned[0].name, others[0].name, others[-1].name
