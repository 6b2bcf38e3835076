"""The best known attack on each masking method, found from the method. A new attack is added here."""

from confide.errors import Mistake
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.group_windows import GroupWindows
from confide.measures.transparency.kept_order import KeptOrder
from confide.measures.transparency.matched_sets import MatchedSets
from confide.measures.transparency.membership import SyntheticMembership
from confide.measures.transparency.noise_covariance import NoiseCovariance
from confide.measures.transparency.noise_ratios import NoiseRatios
from confide.measures.transparency.own_list import OwnList
from confide.measures.transparency.pram_posteriors import PramLinkage
from confide.measures.transparency.rank_windows import RankWindows
from confide.microdata import Method

__all__ = ["AWARE", "attack_on"]

AWARE: dict[str, FileAttack] = {
    attack.name: attack
    for attack in (
        RankWindows(),
        GroupWindows(),
        NoiseCovariance(),
        NoiseRatios(),
        PramLinkage(),
        MatchedSets(),
        OwnList(),
        KeptOrder(),
        SyntheticMembership(),
    )
}
"""By name, as methods name them in `best_attack`."""


def attack_on(method: Method) -> FileAttack:
    """The best known attack by an intruder who knows this method.

    >>> from confide.microdata import RankSwapping
    >>> attack_on(RankSwapping(p=15)).name
    'rank-windows'
    """
    if method.best_attack not in AWARE:
        raise Mistake(f"No attack is known yet that makes use of {method.word()}.")
    return AWARE[method.best_attack]
