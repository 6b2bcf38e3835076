"""Every method there is, by the word it has in plans and on the command line. A new method is added here."""

from confide.microdata.additive_noise import AdditiveNoise
from confide.microdata.data_swapping import DataSwapping
from confide.microdata.generalisation import Generalisation
from confide.microdata.global_recoding import GlobalRecoding
from confide.microdata.hybrid_data import HybridData
from confide.microdata.local_suppression import LocalSuppression
from confide.microdata.method import Method
from confide.microdata.microaggregation import Microaggregation
from confide.microdata.multiplicative_noise import MultiplicativeNoise
from confide.microdata.pram import Pram
from confide.microdata.rank_swapping import RankSwapping
from confide.microdata.record_swapping import RecordSwapping
from confide.microdata.resampling import Resampling
from confide.microdata.rounding import Rounding
from confide.microdata.sampling import Sampling
from confide.microdata.shuffling import Shuffling
from confide.microdata.synthesis import Synthesis
from confide.microdata.top_bottom_coding import TopBottomCoding

__all__ = ["METHODS"]

METHODS: dict[str, type[Method]] = {
    method.word(): method
    for method in (
        AdditiveNoise,
        DataSwapping,
        Generalisation,
        GlobalRecoding,
        HybridData,
        LocalSuppression,
        Microaggregation,
        MultiplicativeNoise,
        Pram,
        RankSwapping,
        RecordSwapping,
        Resampling,
        Rounding,
        Sampling,
        Shuffling,
        Synthesis,
        TopBottomCoding,
    )
}
