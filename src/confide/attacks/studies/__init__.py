"""Studies: the published attacks where no site is asked, as experiments that anybody can repeat.

`STUDIES` has each by its name, with the parameters of its literature; `EXPECTED` has what is to come out.

>>> STUDIES["rounding"].run()["questions at most, by base"]["10"]
5.0
"""

from collections.abc import Mapping
from types import MappingProxyType

from confide.attacks.studies.bleninger import FirmRegressions
from confide.attacks.studies.exact_means import ExactMeansStudy
from confide.attacks.studies.expected import EXPECTED, Expected
from confide.attacks.studies.known_maximum import KnownMaximum
from confide.attacks.studies.leverage import HighLeverage
from confide.attacks.studies.lucero import DifferencingStudy
from confide.attacks.studies.membership import MarginMembership
from confide.attacks.studies.noise_layers import NoiseLayers
from confide.attacks.studies.padding import PaddingStudy
from confide.attacks.studies.partitions import PartitionAveraging
from confide.attacks.studies.reconstruction import LinearReconstruction
from confide.attacks.studies.rekeyed import RekeyedNoise
from confide.attacks.studies.rounding import DeterministicRounding
from confide.attacks.studies.study import Figure, Study, StudyResult
from confide.attacks.studies.table_pairs import TablePairs
from confide.attacks.studies.tracker import GeneralTracker

__all__ = ["EXPECTED", "STUDIES", "Expected", "Figure", "Study", "StudyResult"]

STUDIES: Mapping[str, Study] = MappingProxyType(
    {
        "tracker": GeneralTracker(),
        "table-pairs": TablePairs(),
        "rekeyed-noise": RekeyedNoise(),
        "partitions": PartitionAveraging(),
        "known-maximum": KnownMaximum(),
        "exact-means": ExactMeansStudy(),
        "rounding": DeterministicRounding(),
        "noise-layers": NoiseLayers(),
        "differencing": DifferencingStudy(),
        "padding": PaddingStudy(),
        "reconstruction": LinearReconstruction(),
        "membership": MarginMembership(),
        "leverage": HighLeverage(),
        "firm-regressions": FirmRegressions(),
    }
)
