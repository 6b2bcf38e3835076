"""Whether a synthetic file remembers its records."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from confide.errors import Mistake
from confide.measures.risk import membership


def drawn(rows, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 0] + x[:, 1], "c": x[:, 2]})


def test_shares_and_areas_are_those_of_scikit_learn():
    original, holdout, synthetic = drawn(200, 1), drawn(150, 2), drawn(180, 3)
    found = membership(original, synthetic, holdout, columns=list("abc"))
    whole = pd.concat([original, holdout])
    scaled = [(frame - whole.mean()) / whole.std(ddof=0) for frame in (original, holdout, synthetic)]

    def far(points, among):
        return NearestNeighbors(n_neighbors=1).fit(among).kneighbors(points)[0][:, 0]

    assert found.closer == pytest.approx(100 * np.mean(far(scaled[2], scaled[0]) < far(scaled[2], scaled[1])))
    assert found.fair == pytest.approx(100 * 200 / 350)
    scores = -np.append(far(scaled[0], scaled[2]), far(scaled[1], scaled[2]))
    assert found.auc == pytest.approx(roc_auc_score([1] * 200 + [0] * 150, scores))


def test_a_file_from_the_population_betrays_nobody():
    found = membership(drawn(600, 1), drawn(600, 3), drawn(600, 2), columns=list("abc"))
    assert abs(found.closer_z) < 4 and abs(found.auc_z) < 4


def test_a_file_that_copies_betrays_its_records():
    """Ten standard errors from fairness; nine tenths guard against regression."""
    original = drawn(600, 1)
    near = original + np.random.default_rng(5).normal(0, 0.02, original.shape)
    found = membership(original, near, drawn(600, 2), columns=list("abc"))
    assert found.closer > 90 and found.auc > 0.9 and min(found.closer_z, found.auc_z) > 10


def test_categories_and_other_numbers_of_records_are_compared():
    original = pa.table({"s": ["a", "b", "c"], "n": [1, 2, 3]})
    holdout = pa.table({"s": ["d", "e"], "n": [1.5, 2.5]})
    found = membership(original, original, holdout, columns=["s", "n"])
    assert (found.closer, found.auc) == (100, 1)


@pytest.mark.parametrize(
    ("holdout", "words"), [({"s": [1]}, "other kinds of values"), ({"s": []}, "holdout file has no records")]
)
def test_a_holdout_that_does_not_match_is_a_mistake(holdout, words):
    original = pa.table({"s": ["a"]})
    with pytest.raises(Mistake, match=words):
        membership(original, original, pa.table(holdout), columns="s")
