"""A setting that makes no sense is a mistake, said without a number from the data."""

import numpy as np
import pytest

from confide.answering.frontier.setting import Setting, Target
from confide.errors import Mistake

RECORDS = np.random.default_rng(0).standard_normal((60, 4))
S = RECORDS.T @ RECORDS
NAMES = {"income": (0,), "age": (1,), "rent": (2,), "cars": (3,)}


def repeated():
    records = RECORDS.copy()
    records[:, 3] = records[:, 1] + 2 * records[:, 2]
    return records.T @ records


def accounted():
    records = RECORDS.copy()
    records[:, 0] = records[:, 1:].sum(axis=1)
    return records.T @ records


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Setting(S, NAMES, "incme"), "No variable called 'incme'. Did you mean 'income'?"),
        (lambda: Setting(S, NAMES, "income", weights={"agee": 1.0}), "Did you mean 'age'?"),
        (lambda: Setting(S, NAMES, "income", weights={"age": np.nan}), "finite"),
        (lambda: Setting(S, {"income": (0,)}, "income"), "no variable besides 'income'"),
        (lambda: Setting(S, {"income": (0, 1), "age": (2,)}, "income"), "must be a number"),
        (lambda: Setting(S, {"income": (0,), "age": (7,)}, "income"), "columns of its own"),
        (lambda: Setting(S, {"income": (0,), "age": (0,)}, "income"), "columns of its own"),
        (lambda: Setting(S, {"income": (0,), "age": ()}, "income"), "columns of its own"),
        (lambda: Setting(np.ones((4, 3)), NAMES, "income"), "square"),
        (lambda: Setting(S * np.nan, NAMES, "income"), "finite"),
        (lambda: Setting(S + np.triu(S), NAMES, "income"), "symmetric"),
        (lambda: Setting(np.ones((4, 4)) * -0.9 + np.eye(4) * 1.9, NAMES, "income"), "not positive definite"),
        (lambda: Setting(np.diag([1.0, 1, 0, 1]), NAMES, "income"), "does not vary"),
        (lambda: Setting(repeated(), NAMES, "income"), "determine 'cars'"),
        (lambda: Setting(accounted(), NAMES, "income"), "determine 'income'"),
        (lambda: Setting(S, NAMES, "income", Target(S * 2, 3)), "part of all units"),
        (lambda: Setting(S, NAMES, "income", Target(-S, 3)), "part of all units"),
        (lambda: Setting(S, NAMES, "income", Target(np.eye(2), 3)), "columns of the whole"),
        (lambda: Target(S, 0), "at least one unit"),
    ],
)
def test_bad_input_is_a_mistake_without_a_number_from_the_data(build, words):
    with pytest.raises(Mistake) as mistake:
        build()
    assert words in str(mistake.value) and not set(str(mistake.value)) & set("0123456789")


def test_units_of_measurement_do_not_make_a_matrix_singular():
    scale = np.array([1e-6, 1e6, 1.0, 1e3])
    assert Setting(S * np.outer(scale, scale), NAMES, "income").others == ("age", "rent", "cars")
