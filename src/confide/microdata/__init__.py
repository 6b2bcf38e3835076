"""Publishing files: masking methods, one a module, all under one contract."""

from confide.microdata.method import Method
from confide.microdata.methods.additive_noise import AdditiveNoise
from confide.microdata.methods.camouflage import Camouflage, Interval
from confide.microdata.methods.data_swapping import DataSwapping
from confide.microdata.methods.generalisation import Generalisation
from confide.microdata.methods.global_recoding import GlobalRecoding
from confide.microdata.methods.hybrid_data import HybridData
from confide.microdata.methods.local_suppression import LocalSuppression
from confide.microdata.methods.microaggregation import Microaggregation
from confide.microdata.methods.multiplicative_noise.method import MultiplicativeNoise
from confide.microdata.methods.multiplicative_noise.moments import masked_moment, original_moment
from confide.microdata.methods.pram import Pram, estimated_counts
from confide.microdata.methods.rank_swapping import RankSwapping
from confide.microdata.methods.record_swapping import RecordSwapping
from confide.microdata.methods.registry import METHODS
from confide.microdata.methods.resampling import Resampling
from confide.microdata.methods.rounding import Rounding
from confide.microdata.methods.sampling import Sampling
from confide.microdata.methods.shuffling import Shuffling
from confide.microdata.methods.top_bottom_coding import TopBottomCoding
from confide.microdata.plan import Plan
from confide.microdata.released import Released
from confide.microdata.synthesis.combining import Combined, combine
from confide.microdata.synthesis.synthesis import Synthesis

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
