"""The law of the noise in protected records: its moments are those of what it draws."""

import numpy as np
import pytest

from confide.data.noise_law import FURTHEST, NoiseLaw, law_of

DRAWN = (np.arange(200_000) + 0.5) / 200_000
"""Even steps through the law: means over them are integrals, to five digits."""


@pytest.mark.parametrize("s", [0.05, 0.15, 0.25, 0.5])
def test_the_moments_are_those_of_the_factors(s: float) -> None:
    law = NoiseLaw(s)
    f = law.factors(DRAWN)
    assert f.mean() == pytest.approx(1, abs=1e-5)
    for power in (0.5, 1.5, 2, 3, 4):
        assert law.moment(power) == pytest.approx(np.mean(f**power), rel=1e-4)
        assert law.log_with(power) == pytest.approx(np.cov(np.log(f), f**power)[0, 1] / np.mean(f**power), rel=1e-3)
    assert law.mean_log == pytest.approx(np.log(f).mean(), abs=1e-5)
    assert law.variance_log == pytest.approx(np.log(f).var(), rel=1e-4)
    assert law.relative == pytest.approx(f.std(), rel=1e-4)


def test_no_factor_is_further_out_than_the_cut() -> None:
    law = NoiseLaw(0.25)
    ends = law.factors(np.array([0.0, 1.0]))
    np.testing.assert_allclose(np.log(ends) - law.mean_log, [-FURTHEST * 0.25, FURTHEST * 0.25])


@pytest.mark.parametrize("relative", [0.01, 0.15, 0.6])
def test_a_law_is_found_by_its_spread(relative: float) -> None:
    assert law_of(relative).relative == pytest.approx(relative, rel=1e-9)
