"""What a contributor learns from a pattern that was made against others only, and that the default leaves them nothing."""

import numpy as np
import pytest

from confide.tables import PPercent, Table, audit, suppress

CODES = {"u": 8, "v": 5, "w": 3}


def firms(seed: int) -> Table:
    """Four hundred firms by three variables, of skew turnover: some 60 primary cells."""
    random = np.random.default_rng(seed)
    data = {name: random.integers(0, codes, 400).astype(str) for name, codes in CODES.items()}
    data["t"] = np.round(random.lognormal(4, 1.5, 400), 1)
    return Table.from_microdata(data, by=list(CODES), of="t").flag(PPercent(10))


@pytest.mark.parametrize("seed", [2, 3])
def test_the_default_leaves_contributors_nothing_where_a_pattern_against_singletons_leaves_them_something(seed):
    table = firms(seed)
    mild = suppress(table, attackers="singletons", method="fast", time_limit=None)
    assert audit(mild.table, attackers="singletons").passed
    learned = audit(mild.table)
    assert learned.missed
    assert {failure.attacker >= 0 for failure in learned.failures} == {True}
    assert suppress(table, method="fast", time_limit=None).audit.passed
