"""How much a released file still tells: one function a question. Loss is in percent, and 0 if nothing changed."""

from confide.measures.utility.categories import changes, entropy_loss, pram_entropy, table_distance
from confide.measures.utility.distances import hellinger
from confide.measures.utility.information_loss import discrepancies
from confide.measures.utility.probabilistic import probabilistic_loss
from confide.measures.utility.propensity import propensity
from confide.measures.utility.regression import regression_overlap
from confide.measures.utility.subdomains import subdomains

__all__ = [
    "changes",
    "discrepancies",
    "entropy_loss",
    "hellinger",
    "pram_entropy",
    "probabilistic_loss",
    "propensity",
    "regression_overlap",
    "subdomains",
    "table_distance",
]
