"""The score."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from confide.measures import score
from confide.measures.risk import distance_linkage, interval_disclosure, probabilistic_linkage
from confide.measures.utility import discrepancies

DATA = Path(__file__).parents[3] / "shared" / "data"


def test_the_score_is_the_formula_of_the_survey(people_of, masked_of):
    original = people_of(200).dropna()
    released = masked_of(original)
    names = ["age", "income", "wealth"]
    found = score(original, released, columns=names, known=["age", "income"])
    il = discrepancies(original, released, columns=names).loss
    dld, pld = (
        link(original, released, columns=["age", "income"]).percent
        for link in (distance_linkage, probabilistic_linkage)
    )
    interval = interval_disclosure(original, released, columns=names).percent
    assert found.value == pytest.approx((il + ((dld + pld) / 2 + interval) / 2) / 2)


@pytest.mark.reference
def test_scores_of_real_companies_order_masking_as_it_should_be():
    """Tarragona: more noise has less risk and more loss, and the score is worst for the file left as it is."""
    original = pd.read_csv(DATA / "casc_tarragona.csv.gz").astype(float)
    rng = np.random.default_rng(1)
    noise = rng.normal(size=original.shape) * original.std().to_numpy()
    found = [score(original, original + share * noise, columns=list(original)) for share in (0.0, 0.05, 0.5)]
    assert [f.risk for f in found] == sorted((f.risk for f in found), reverse=True)
    assert [f.loss for f in found] == sorted(f.loss for f in found)
    assert found[0].risk > 99 and found[0].loss == 0
