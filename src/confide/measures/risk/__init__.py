"""What an intruder could learn from a released file: one function a question, numbers for every record."""

from confide.measures.risk.anonymity import dominance, k_anonymity, l_diversity, t_closeness
from confide.measures.risk.attributes import attribute_disclosure
from confide.measures.risk.holdout import membership
from confide.measures.risk.individual import household_risk, individual_risk
from confide.measures.risk.intervals import interval_disclosure
from confide.measures.risk.linkage import distance_linkage, one_to_one_linkage
from confide.measures.risk.loglinear import model_risk
from confide.measures.risk.probabilistic import probabilistic_linkage
from confide.measures.risk.special_uniques import suda

__all__ = [
    "attribute_disclosure",
    "distance_linkage",
    "dominance",
    "household_risk",
    "individual_risk",
    "interval_disclosure",
    "k_anonymity",
    "l_diversity",
    "membership",
    "model_risk",
    "one_to_one_linkage",
    "probabilistic_linkage",
    "suda",
    "t_closeness",
]
