"""Probabilistic linkage beside Splink, which was written by others (an oracle of the `dev` extra)."""

import numpy as np
import pandas as pd
import pytest
import splink
from splink import comparison_library as library

from confide.measures.risk import probabilistic_linkage


def files(rows=500):
    """Keys of different sizes, each changed in another share of the records."""
    rng = np.random.default_rng(4)
    keys = {"a": (40, 0.05), "b": (25, 0.08), "c": (30, 0.12), "d": (60, 0.16)}
    original = pd.DataFrame({name: rng.integers(0, size, rows).astype(str) for name, (size, _) in keys.items()})
    released = original.copy()
    for name, (size, share) in keys.items():
        changed = rng.random(rows) < share
        released.loc[changed, name] = rng.integers(0, size, changed.sum()).astype(str)
    return original, released


def trained(original, released, unlinked):
    """m of equal values by Splink's EM over all pairs, with the same u and the same share of links."""
    names = list(original)
    comparisons = [
        library.ExactMatch(name).configure(u_probabilities=[u, 1 - u]) for name, u in zip(names, unlinked, strict=True)
    ]
    settings = splink.SettingsCreator(
        link_type="link_only", comparisons=comparisons, blocking_rules_to_generate_predictions=["1=1"],
        probability_two_random_records_match=1 / len(original), unique_id_column_name="id", em_convergence=1e-6,
        max_iterations=200,
    )  # fmt: skip
    database = splink.DuckDBAPI()
    sides = [
        database.register(frame.assign(id=range(len(frame))), dataset_display_name=name)
        for name, frame in (("original", original), ("released", released))
    ]
    linker = splink.Linker(sides, settings)
    linker.training.estimate_parameters_using_expectation_maximisation(
        "1=1", fix_u_probabilities=True, fix_probability_two_random_records_match=True
    )
    learnt = linker.misc.save_model_to_json()["comparisons"]
    return [one["comparison_levels"][1]["m_probability"] for one in learnt]


@pytest.mark.filterwarnings("ignore")
def test_em_learns_what_splink_learns():
    """The peer and we agree so far on this file; the tolerance guards."""
    original, released = files()
    found = probabilistic_linkage(original, released, columns=list(original))
    np.testing.assert_allclose(found.linked[:, 0], trained(original, released, found.unlinked[:, 0]), atol=5e-4)
