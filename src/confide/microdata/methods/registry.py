"""Every method there is, by the word it has in plans and on the command line. A new method is added here."""

from confide.microdata.method import Method
from confide.microdata.methods.additive_noise import AdditiveNoise
from confide.microdata.methods.data_swapping import DataSwapping
from confide.microdata.methods.generalisation import Generalisation
from confide.microdata.methods.global_recoding import GlobalRecoding
from confide.microdata.methods.hybrid_data import HybridData
from confide.microdata.methods.local_suppression import LocalSuppression
from confide.microdata.methods.microaggregation import Microaggregation
from confide.microdata.methods.multiplicative_noise.method import MultiplicativeNoise
from confide.microdata.methods.nonlinear_noise import NonlinearNoise
from confide.microdata.methods.pram import Pram
from confide.microdata.methods.rank_swapping import RankSwapping
from confide.microdata.methods.record_swapping import RecordSwapping
from confide.microdata.methods.resampling import Resampling
from confide.microdata.methods.rounding import Rounding
from confide.microdata.methods.sampling import Sampling
from confide.microdata.methods.shuffling import Shuffling
from confide.microdata.methods.top_bottom_coding import TopBottomCoding
from confide.microdata.synthesis.synthesis import Synthesis
from confide.microdata.synthesis.tables import TableSynthesis

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
        NonlinearNoise,
        Pram,
        RankSwapping,
        RecordSwapping,
        Resampling,
        Rounding,
        Sampling,
        Shuffling,
        Synthesis,
        TableSynthesis,
        TopBottomCoding,
    )
}
