"""What the studies are expected to give with the parameters they have in `STUDIES`, and who says so."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

__all__ = ["EXPECTED", "Expected"]


@dataclass(frozen=True)
class Expected:
    """Figures by case. From a paper, from a formula, or from first trials of ours, whose parameters were not all kept."""

    origin: Literal["paper", "formula", "trial"]
    values: Mapping[str, float]


def _formula(values: Mapping[str, float]) -> Expected:
    return Expected("formula", values)


def _trial(values: Mapping[str, float]) -> Expected:
    return Expected("trial", values)


def _firms(*values: float) -> Expected:
    """What the article printed for all establishments and the largest ones; with fewer numbers, for the largest alone."""
    cases = ("all", "top 50 %", "top 25 %", "top 10 %", "top 1 %")
    return Expected("paper", dict(zip(cases[-len(values) :], values, strict=True)))


EXPECTED: Mapping[str, Mapping[str, Expected]] = MappingProxyType(
    {
        "tracker": {"secrets of 500 people read": _formula({"directly": 0, "tracker": 1})},
        "table-pairs": {
            "secrets read, by table pairs": _trial({"1": 0.79, "3": 0.97, "8": 1}),
            "claims that are wrong, by table pairs": _trial({"8": 0}),
        },
        "rekeyed-noise": {"secrets guessed at V=1.25, by pads": _trial({"1": 0.37, "8": 0.76, "40": 1})},
        "partitions": {"counts exact, by reach and splits": _trial({"r=2, 200": 1, "r=10, 500": 0.75})},
        "known-maximum": {"true total of a row shown as 1 + 1 = 0": _formula({"least": 2, "greatest": 2})},
        "exact-means": {"rows solved, by use of": _trial({"means": 0.99})},
        "rounding": {
            "counts exact, by base": _formula({"3": 1, "5": 1, "10": 1, "20": 1}),
            "questions at most, by base": _formula({"3": 3, "5": 4, "10": 5, "20": 6}),
        },
        "noise-layers": {"secrets read, by variables known": Expected("paper", {"5": 0.894})},
        "differencing": {
            "disclosed correctly, by k": _formula({"3": 0.0430, "4": 0.0237, "5": 0.0152, "6": 0.0107, "7": 0.0079}),
            "disclosed apparently, by k": _formula({"3": 0.1039, "4": 0.0595, "5": 0.0393, "6": 0.0281, "7": 0.0212}),
            "apparent ones that are correct, by k": _formula(
                {"3": 0.413, "4": 0.398, "5": 0.387, "6": 0.380, "7": 0.373}
            ),
            "read with k = 5, by independent pairs": _trial({"1": 0.36, "5": 0.71, "10": 0.87, "20": 0.98, "50": 1}),
        },
        "padding": {
            "plain: disclosed, by size of pad / n": _formula({"1": 0.053, "10": 0.534, "100": 0.933}),
            "by piece: disclosed, by size of pad / n": _formula({"any": 0.0152}),
            "plain: secrets read, by pads": _trial({"1": 0.76, "10": 0.95, "40": 1}),
        },
        "reconstruction": {"bits right, by sd of the noise": _trial({"0.5": 1, "2": 1, "4": 0.91, "8": 0.76})},
        "membership": {"area under the curve, by margins": _trial({"50": 0.60, "500": 0.79, "5000": 0.995})},
        "leverage": {"relative error": _trial({"outlier": 4e-6, "dummy": 5e-16})},
        "firm-regressions": {
            "Table 1: size: unique": _firms(0.034, 0.066, 0.134, 0.335, 0.969),
            "Table 1: size: mean error": _firms(1.957, 0.011),
            "Table 1: size: mean error if unique": _firms(0.001, 0.001, 0.001, 0.001, 0.0001),
            "Table 2: size and state: unique": _firms(0.159, 0.312, 0.596, 0.872, 1),
            "Table 2: size and state: mean error": _firms(0.338, 1.86e-5),
            "Table 2: size and state: mean error if unique": _firms(0.035, 0.036, 0.006, 0.0003, 1.86e-5),
            "Table 3: exact size: unique": _firms(0.034, 0.066, 0.134, 0.335, 0.969),
            "Table 3: exact size: mean error": _firms(1.956, 0.011),
            "Table 3: approximate size: unique": _firms(0.0009, 0.002, 0.003, 0.009, 0.085),
            "Table 3: approximate size: mean error": _firms(4.296, 1.311),
            "Table 3: + state: unique": _firms(0.023, 0.046, 0.085, 0.186, 0.682),
            "Table 3: + state: mean error": _firms(1.944, 0.136),
            "Table 3: + legal form: unique": _firms(0.116, 0.200, 0.228, 0.352, 0.806),
            "Table 3: + legal form: mean error": _firms(1.499, 0.055),
            "Table 3: + branch: unique": _firms(0.658, 0.846, 0.868, 0.895, 0.953),
            "Table 3: + branch: mean error": _firms(1.478, 0.323, 0.147, 0.070, 0.021),
        },
    }
)
"""By study, then by what is said. The mean errors that a few establishments carry (1,000 and more) are left out."""
