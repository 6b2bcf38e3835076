"""L11: strata of one record, in which there is nobody to be mixed with."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import UntouchedClaims
from confide.measures.transparency.knowledge import Knowledge
from confide.microdata.strata import numbered

__all__ = ["LoneStrata"]


@dataclass(frozen=True)
class LoneStrata(FileAttack):
    """Strata of one: a record that is alone in its stratum exchanges its values with nobody, so they are the true ones.

    Knows by which columns the file was masked stratum by stratum; they stand in the file.
    """

    name: ClassVar = "lone-strata"
    code: ClassVar = "L11"
    words: ClassVar = "Takes the values of records that are alone in their stratum for true ones."

    def unfit(self, released: pa.Table, known: Knowledge) -> str:
        if not known.by or any(name not in released.column_names for name in known.by):
            return "The file was not masked by strata that it shows."
        return "" if known.masked else "Nothing was masked."

    def attack(self, released: pa.Table, known: Knowledge) -> UntouchedClaims:
        number = numbered(released, known.by)
        alone = np.bincount(number)[number] == 1
        return UntouchedClaims(dict.fromkeys(known.masked, alone))
