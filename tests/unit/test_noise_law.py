"""The law of the noise in protected records: its moments are those of what it draws."""

import numpy as np
import pytest

from confide.data.noise_law import REACH, factors, log_mean, log_variance, log_with_power, power_mean

DRAWN = (np.arange(200_000) + 0.5) / 200_000
"""Even steps through the law: means over them are integrals, to five digits."""


@pytest.mark.parametrize("spread", [0.05, 0.15, 0.25, 0.5])
def test_the_moments_are_those_of_the_factors(spread: float) -> None:
    f = factors(DRAWN, spread)
    assert f.mean() == pytest.approx(1, abs=1e-5)
    for power in (0.5, 1.5, 2, 3, 4):
        mean = np.mean(f**power)
        assert power_mean(power, spread) == pytest.approx(mean, rel=1e-4)
        assert log_with_power(power, spread) == pytest.approx(np.cov(np.log(f), f**power)[0, 1] / mean, rel=1e-3)
    assert log_mean(spread) == pytest.approx(np.log(f).mean(), abs=1e-5)
    assert log_variance(spread) == pytest.approx(np.log(f).var(), rel=1e-4)


def test_no_factor_is_further_out_than_the_cut() -> None:
    ends = np.log(factors(np.array([0.0, 1.0]), 0.25)) - log_mean(0.25)
    np.testing.assert_allclose(ends, [-REACH * 0.25, REACH * 0.25])
