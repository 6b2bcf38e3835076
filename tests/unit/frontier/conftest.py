"""What the tests of the frontier share: cross-product matrices, and Data Sets I and II of Gomatam et al. (2004).

The paper (section 5.3) prints no data and no correlations. Both sets here are generated: 200 records, a response and
nine predictors. In I, x1, x2 and x3 are highly correlated with each other and with the response, x1 most; in II nothing
is strongly related. The response of I is scaled so that the largest values are near 100, which makes R_res = 0.2 a
prediction within 5 %, as in the paper. The target are the 5 % of the records with the largest response.
"""

import numpy as np
import pytest

from confide.answering.frontier.setting import Setting, Target

RECORDS, PREDICTORS = 200, 9


def _data_set_1(seed=2004):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((RECORDS, PREDICTORS + 1))
    shared = generator.standard_normal(RECORDS)
    x[:, 1:4] = shared[:, None] + 0.35 * x[:, 1:4]
    x[:, 0] = 75 + 12 * (0.7 * x[:, 1] + 0.15 * x[:, 2] + 0.15 * x[:, 3]) + 3 * x[:, 0]
    return x


def _data_set_2(seed=2004):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((RECORDS, PREDICTORS + 1))
    x[:, 0] += 0.1 * x[:, 1:].sum(axis=1)
    return x


def _setting_of(records, **options):
    centred = records - records.mean(axis=0)
    top = centred[np.argsort(records[:, 0])[-len(records) // 20 :]]
    columns = {f"x{i}": (i,) for i in range(records.shape[1])}
    return Setting(centred.T @ centred, columns, "x0", Target(top.T @ top, len(top)), **options)


def _cross_products(variables, *, seed=0, strength=1.0):
    """Products of centred records that share two factors and have different units."""
    generator = np.random.default_rng(seed)
    factors = generator.standard_normal((80, 2)) @ generator.standard_normal((2, variables))
    records = (strength * factors + generator.standard_normal((80, variables))) * np.exp(
        generator.normal(size=variables)
    )
    centred = records - records.mean(axis=0)
    return centred.T @ centred


@pytest.fixture(scope="session")
def cross_products():
    return _cross_products


@pytest.fixture(scope="session")
def data_set_1():
    return _data_set_1


@pytest.fixture(scope="session")
def data_set_2():
    return _data_set_2


@pytest.fixture(scope="session")
def setting_of():
    return _setting_of
