"""Individual and household risks from weights."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from confide.errors import Mistake
from confide.measures.risk import household_risk, individual_risk
from confide.measures.risk.individual import posterior_risk

KEYS = ["residence", "gender", "education", "labour"]


def test_the_guides_risks_are_found(guide):
    """Benschop et al., table 4.4 (individual risk) and section 4.8 (global risk 0.01582, or 0.158 records)."""
    found = individual_risk(guide, keys=KEYS, weight="weight")
    printed = [0.0054, 0.0054, 0.0251, 0.0126, 0.0282, 0.0126, 0.0290, 0.0251, 0.0074, 0.0074]
    np.testing.assert_allclose(found.risk, printed, atol=5.1e-5)
    assert found.expected == pytest.approx(0.1582, abs=5e-5)
    assert found.above(0.05) == 0


def integral(f, p):
    """The risk by numerical integration, x = exp(-s), in two pieces about the bend."""
    a, bend = (1 - p) / p, max(1.0, -np.log(p))

    def rate(s):
        return np.exp(-f * s) / (1 + a * np.exp(-s))

    return sum(quad(rate, *ends, epsabs=0, epsrel=1e-11, limit=400)[0] for ends in ((0, bend), (bend, np.inf)))


@pytest.mark.parametrize("f", [1, 2, 3, 7, 39, 40, 41, 150])
@pytest.mark.parametrize("p", [1 - 1e-9, 0.9, 0.51, 0.5, 0.49, 0.1, 1e-3, 1e-7])
def test_risks_are_the_integral_for_any_frequency_and_weight(f, p):
    assert posterior_risk(np.array([float(f)]), np.array([f / p]))[0] == pytest.approx(integral(f, p), rel=1e-9)


@given(st.integers(1, 10**6), st.floats(1, 1e9))
def test_risks_stay_between_none_and_one_over_the_frequency(f, times):
    risk = posterior_risk(np.array([float(f)]), np.array([f * times]))[0]
    assert 0 < risk <= 1 / f * (1 + 1e-12)
    assert risk >= 1 / (f * times) * (1 - 1e-9)  # by Jensen: E(1 / F) >= 1 / E(F)


def test_risks_are_the_mean_of_one_over_the_people_of_simulated_populations():
    rng = np.random.default_rng(2)
    f, p = 3, 0.2
    drawn = 1 / (f + rng.negative_binomial(f, p, 200_000))
    found = posterior_risk(np.array([3.0]), np.array([15.0]))[0]
    assert abs(found - drawn.mean()) < 4 * drawn.std() / np.sqrt(200_000)


def test_without_weights_the_file_is_the_population():
    file = pa.table({"k": list("abbccc"), "w": [1.0] * 6})
    expected = [1, 1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3]
    assert individual_risk(file, keys="k").risk == pytest.approx(expected)
    assert individual_risk(file, keys="k", weight="w").risk == pytest.approx(expected)
    half = file.set_column(1, "w", pa.array([0.5] * 6))
    assert individual_risk(half, keys="k", weight="w").risk == pytest.approx(expected)


@pytest.mark.parametrize("bad", [0.0, -1.0, None, float("nan")])
def test_a_weight_that_cannot_be_is_a_mistake(bad):
    file = pa.table({"k": ["a", "b"], "w": [1.0, bad]})
    with pytest.raises(Mistake, match="must be positive and known; it is not in record 2"):
        individual_risk(file, keys="k", weight="w")


def test_a_weight_of_text_is_a_mistake():
    with pytest.raises(Mistake, match="does not hold numbers"):
        individual_risk(pa.table({"k": ["a"], "w": ["1"]}), keys="k", weight="w")


def test_a_household_is_as_risky_as_all_its_members(guide):
    """Benschop et al., section 4.9: members of 0.02, 0.03 and 0.03 make 1 - 0.98 x 0.97 x 0.97."""
    homes = guide.assign(home=[1, 1, 1, 2, 2, 3, 3, 3, 3, 4])
    alone = individual_risk(homes, keys=KEYS, weight="weight").risk
    found = household_risk(homes, keys=KEYS, household="home", weight="weight")
    expected = {home: 1 - np.prod(1 - alone[homes["home"] == home]) for home in (1, 2, 3, 4)}
    assert found.risk == pytest.approx([expected[home] for home in homes["home"]])
    assert found.households == pytest.approx(sum(expected.values()))
    assert (found.risk >= alone - 1e-15).all()


def test_someone_certain_to_be_known_makes_the_household_certain():
    file = pa.table({"k": ["a", "b", "b"], "home": ["x", "x", "y"]})
    assert household_risk(file, keys="k", household="home").risk.tolist() == [1.0, 1.0, 0.5]


def test_a_household_that_is_not_known_is_a_mistake():
    file = pd.DataFrame({"k": ["a", "b"], "home": ["x", None]})
    with pytest.raises(Mistake, match="their household is not known"):
        household_risk(file, keys="k", household="home")
