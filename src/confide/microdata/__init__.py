"""Publishing files: masking methods, one a module, all under one contract."""

from confide.microdata.additive_noise import AdditiveNoise
from confide.microdata.camouflage import Camouflage, Interval
from confide.microdata.combining import Combined, combine
from confide.microdata.data_swapping import DataSwapping
from confide.microdata.frame import Released
from confide.microdata.generalisation import Generalisation
from confide.microdata.global_recoding import GlobalRecoding
from confide.microdata.hybrid_data import HybridData
from confide.microdata.local_suppression import LocalSuppression
from confide.microdata.method import Method
from confide.microdata.methods import METHODS
from confide.microdata.microaggregation import Microaggregation
from confide.microdata.moments import masked_moment, original_moment
from confide.microdata.multiplicative_noise import MultiplicativeNoise
from confide.microdata.plan import Plan
from confide.microdata.pram import Pram, estimated_counts
from confide.microdata.rank_swapping import RankSwapping
from confide.microdata.record_swapping import RecordSwapping
from confide.microdata.resampling import Resampling
from confide.microdata.rounding import Rounding
from confide.microdata.sampling import Sampling
from confide.microdata.shuffling import Shuffling
from confide.microdata.synthesis import Synthesis
from confide.microdata.top_bottom_coding import TopBottomCoding

__all__ = [
    "METHODS",
    "AdditiveNoise",
    "Camouflage",
    "Combined",
    "DataSwapping",
    "Generalisation",
    "GlobalRecoding",
    "HybridData",
    "Interval",
    "LocalSuppression",
    "Method",
    "Microaggregation",
    "MultiplicativeNoise",
    "Plan",
    "Pram",
    "RankSwapping",
    "RecordSwapping",
    "Released",
    "Resampling",
    "Rounding",
    "Sampling",
    "Shuffling",
    "Synthesis",
    "TopBottomCoding",
    "combine",
    "estimated_counts",
    "masked_moment",
    "original_moment",
]
