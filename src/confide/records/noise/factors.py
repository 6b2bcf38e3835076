"""Noise of confidential numbers, drawn once for each unit and variable, and the records with keys exchanged and numbers noised.

The factor of a number is that of `confide.data.noise_law`: of one mode, with mean 1. All records of a unit share it, or the
sum over a unit would tell more than each of its records; different variables have factors of their own. Zero and missing
stay, whole numbers stay whole, and what is declared of a number's domain holds. The noise of units
with one record is balanced (`confide.records.noise.balance`).
"""

from collections.abc import Callable

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.data.noise_law import factors
from confide.data.scratch import IN_MEMORY, Scratch
from confide.model.catalog.dataset import Variable
from confide.model.policy import RecordRules
from confide.records.cells import parts_of
from confide.records.lots import lots
from confide.site.secret import Secret

__all__ = ["noised"]


def noised(
    values: Floats,
    units: Ints,
    variable: Variable,
    exposed: Bools,
    rules: RecordRules,
    secret: Secret,
    balance: Callable[[Floats, Floats, Floats], Floats] | None = None,
    scratch: Scratch = IN_MEMORY,
) -> Floats:
    """The values of a variable with their noise; `balance` makes it cancel in large groups."""
    logs, spread = (scratch.zeros(len(values), np.float64) for _ in range(2))
    for part in parts_of(len(values)):
        own = np.where(exposed[part], rules.noise_exposed, rules.noise)
        logs[part] = np.log(factors(lots(units[part], secret, f"noise {variable.name}"), own))
        # a number that is 0 has no noise to balance: counted in, that of the many would fall on the few who have some
        spread[part] = own * (np.nan_to_num(values[part]) > 0)
    if balance is not None:
        logs = balance(logs, spread, values)
    moved = np.empty(len(values))
    for part in parts_of(len(values)):
        noisy = np.round(values[part] * np.exp(logs[part]), variable.decimals)
        moved[part] = np.clip(noisy, variable.minimum, variable.maximum)
    return moved
