"""Tables with and without the bin that a target is in: what B1 and B3 take differences of."""

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, number_secret
from confide.attacks.claims import NotApplicable, UnitTargets
from confide.attacks.intruder import Intruder, universe, values
from confide.attacks.passing import candidates, within_rules
from confide.attacks.totals.parts import classes_for_table, leaving
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy

__all__ = ["in_the_top_bin", "with_and_without"]


def in_the_top_bin(book: Dataset, policy: Policy, *, keys: tuple[str, ...], secret: str) -> UnitTargets:
    """The largest units that are alone in the top bin of the number, in their cell of two other variables."""
    wanted = number_secret(book, secret)
    variable = book.variable(wanted)
    if not variable.binned:
        raise NotApplicable("The number to be found out has no cutpoints, so that its bins cannot define a universe.")
    by = keys or tuple(v.name for v in classes_for_table(book, besides=wanted))
    top = [code.code for code in variable.codes or () if not code.missing][-1:]
    targets = UnitTargets(
        (wanted, *by), wanted, number=True, weighted=True, largest=True, where=universe({wanted: top})
    )
    classes = candidates(book, lambda v: not v.binned)
    return within_rules(targets, book, policy, given=keys, among=((wanted,), classes, (*classes[::-1], "")))


def with_and_without(intruder: Intruder, wanted: UnitTargets, *measures: str) -> Floats | None:
    """The measures in the cell of each target with the top bin and without it: two by measures by targets.

    The lowest bin is left out both times: all but the top bin would leave out few units, which is refused.
    """
    binned, *by = wanted.keys
    bins = codes(intruder.book, binned)
    cells = tuple(intruder.known.places[key] for key in by)
    whole, rest = np.arange(len(bins)) > 0, np.arange(len(bins)) > 0
    rest[intruder.known.places[binned]] = False
    found = []
    for chosen in (whole, rest):
        where = leaving(bins, binned, chosen)
        table = intruder.table(*by, where=where, measure=measures, of=wanted.secret)
        if table is None:
            return None
        found.append([values(table, measure)[cells] for measure in measures])
    return np.array(found)
