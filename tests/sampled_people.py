"""People in sampling units of several strata, who are alike within a sampling unit: for errors by the design of a sample."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from asking import python_regression
from confide.answering.rounding import significant

__all__ = [
    "BARE",
    "NOISY",
    "REPLICATES",
    "STRATA",
    "designed",
    "errors",
    "noise",
    "released",
    "sampled",
    "sandwich",
    "shown",
]

BARE = {
    "universe": {"gamma": 0, "gamma_star": 0, "marginals": False, "complement": False, "decide_on": "true"},
    "tables": {"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False},
    "drop": {"k": 0},
    "counts": {"mechanism": "none"},
    "totals": {"mechanism": "none", "units": 0, "dominance_k": 100.0, "p_percent": 0.0, "risk_limit": 1.0},
    "models": {"leverage_units": 1},
}
NOISY = {name: rules for name, rules in BARE.items() if name != "counts"}

STRATA = 'strata = "stratum"\npsu = "psu"\npopulation = "size"'
REPLICATES = f'replicates = {[f"rep{r}" for r in range(8)]}\nmethod = "jackknife"'.replace("'", '"')


def sampled(seed: int = 5, size: int = 600) -> pa.Table:
    """People in 24 sampling units of four strata, who are alike within a sampling unit."""
    rng = np.random.default_rng(seed)
    psu = rng.integers(0, 24, size)
    town = np.array(["a1", "a2", "b1", "b2"])[rng.integers(0, 4, size)]
    pull = rng.normal(size=24)[psu]
    age = rng.integers(0, 100, size).astype(float)
    weight = rng.integers(50, 300, size) / 100
    columns = {
        "id": np.arange(size).astype(str),
        "w": weight,
        "sex": rng.choice(["f", "m"], size),
        "county": np.char.upper(town.astype("<U1")),
        "town": town,
        "age": age,
        "ill": np.where(rng.normal(size=size) + pull > 0.3, "yes", "no"),
        "work": rng.choice(["yes", "no"], size),
        "trade": rng.choice(["p", "q", "r"], size),
        "income": np.rint(1000 + 3 * age + 200 * pull + rng.normal(0, 150, size)).clip(1),
        "stratum": (psu % 4).astype(str),
        "psu": psu,
        "size": np.array([20, 30, 40, 50])[psu % 4],
    }
    group = rng.integers(0, 8, size)
    columns |= {f"rep{r}": np.where(group == r, 0.0, np.round(weight * 8 / 7, 6)) for r in range(8)}
    return pa.table(columns)


def designed(town: Any, design: str | None, *, weighted: bool = True, **policy: Any) -> Any:
    head, rest = town.catalog.split("[variables.id]", 1)
    catalog = town.catalog if design is None else f"{head}\n[sampling]\n{design}\n[variables.id]{rest}"
    catalog = catalog if weighted else catalog.replace('weight = "w"\n', "")
    return replace(town, catalog=catalog, people=sampled()).under(**policy)


def released(place: Any, formula: str, secret: int = 0, **words: Any) -> Any:
    request = python_regression("people", formula, **{"errors": "design", **words})
    outcome = place.desk(secret).consider(request)
    assert not outcome.reasons, outcome.reasons
    return outcome.release


def errors(release: Any) -> np.ndarray:
    return np.array([row[2] for row in release.grids["coefficients"].rows])


def shown(values: Any) -> np.ndarray:
    return significant(np.asarray(values, float), 2)


def sandwich(scores: Any, inverse: Any, data: Any, *, finite: bool = True) -> np.ndarray:
    """The textbook: scores by sampling unit about the mean of their stratum, times (1 - f) n / (n - 1)."""
    meat = np.zeros_like(inverse)
    for stratum in sorted(set(data["stratum"])):
        here = (data["stratum"] == stratum).to_numpy()
        sums = np.array([scores[here & (data["psu"] == psu)].sum(axis=0) for psu in sorted(set(data["psu"][here]))])
        n = len(sums)
        f = n / data["size"][here].iloc[0] if finite else 0.0
        apart = sums - sums.mean(axis=0)
        meat += (1 - f) * n / (n - 1) * apart.T @ apart
    return np.asarray(inverse @ meat @ inverse)


def noise(place: Any, exact: Any, formula: str, secret: int, column: int = 1, **words: Any) -> float:
    """What noise adds to the variance of a coefficient, relative to it, before anything is rounded."""
    request = python_regression("people", formula, errors="design", **words)
    covariances = (each.desk(secret).consider(request).model.inference.covariance for each in (place, exact))
    noisy, plain = (each[column, column] for each in covariances)
    return float(noisy / plain - 1)
