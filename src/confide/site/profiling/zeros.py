"""Structural zeros that the records contradict: somebody is where the custodian says nobody can be. For the custodian's eyes only."""

from collections.abc import Iterator

import numpy as np

from confide.engines import Coded
from confide.model.catalog.dataset import Dataset
from confide.model.universe import Piece

__all__ = ["filled_zeros"]


def filled_zeros(dataset: Dataset, coded: Coded) -> Iterator[str]:
    """What to say of each declared structural zero in which true records stand, with their number."""
    for zero in dataset.structural_zeros:
        number = _records_in(zero, dataset, coded)
        if number:
            stand = "record stands" if number == 1 else "records stand"
            yield (
                f"{number:,} true {stand} where [[structural_zeros]] says that nobody can be ({zero.words}); tables show [z] there, "
                "so take the declaration out or mend the data"
            )


def _records_in(zero: Piece, dataset: Dataset, coded: Coded) -> int:
    inside = np.ones(coded.records.num_rows, bool)
    for condition in zero.conditions:
        variable = dataset.variables[condition.variable]
        inside &= np.isin(coded.classes(variable.name), [variable.place(code) for code in condition.codes])
    return int(inside.sum())
