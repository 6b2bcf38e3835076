"""Every attack on a released file, by its name. A new attack is added here."""

from confide.attacks.files.distance_linkage import DistanceLinkage, RankLinkage
from confide.attacks.files.guessable_seeds import GuessableSeeds
from confide.attacks.files.interval_disclosure import IntervalDisclosure
from confide.attacks.files.looking_up import LookingUp
from confide.attacks.files.probabilistic_linkage import ProbabilisticAttack
from confide.attacks.files.traces.decimals import Decimals
from confide.attacks.files.traces.kept_index import KeptIndex
from confide.attacks.files.traces.leftover_categories import LeftoverCategories
from confide.attacks.files.traces.lone_strata import LoneStrata
from confide.attacks.files.traces.metadata import FileMetadata
from confide.attacks.files.traces.row_order import RowOrder
from confide.attacks.files.uniqueness import Uniqueness
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.group_windows import GroupWindows
from confide.measures.transparency.kept_order import KeptOrder
from confide.measures.transparency.matched_sets import MatchedSets
from confide.measures.transparency.membership import SyntheticMembership
from confide.measures.transparency.noise_covariance import NoiseCovariance
from confide.measures.transparency.noise_posterior import NoisePosterior
from confide.measures.transparency.noise_ratios import NoiseRatios
from confide.measures.transparency.own_list import OwnList
from confide.measures.transparency.pram_posteriors import PramLinkage, PramPosteriors
from confide.measures.transparency.rank_windows import RankWindows

__all__ = ["FILE_ATTACKS"]

FILE_ATTACKS: dict[str, FileAttack] = {
    attack.name: attack
    for attack in (
        DistanceLinkage(),
        RankLinkage(),
        LookingUp(),
        ProbabilisticAttack(),
        IntervalDisclosure(),
        Uniqueness(),
        SyntheticMembership(),
        RankWindows(),
        GroupWindows(),
        NoiseCovariance(),
        NoisePosterior(),
        NoiseRatios(),
        PramLinkage(),
        PramPosteriors(),
        MatchedSets(),
        KeptOrder(),
        OwnList(),
        GuessableSeeds(),
        LeftoverCategories(),
        FileMetadata(),
        RowOrder(),
        KeptIndex(),
        Decimals(),
        LoneStrata(),
    )
}
"""In the order of the catalogue. L8, linking a user of a query log, has nothing to be tried on yet: there are no such logs."""
