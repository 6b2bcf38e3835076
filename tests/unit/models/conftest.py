"""A small dense twin of an engine: everything from one matrix, as the textbooks write it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.answering.regressions.fit import Fitted, fit, fit_null
from confide.answering.regressions.inference import Inference, infer
from confide.model.design import Block, Design, Number
from confide.model.evidence import Moments, Spread, Step
from confide.model.request import Family

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Dense:
    """Columns, response, prior weights and units of the records; `tiny` keeps means away from 0 and 1, as engines do."""

    x: Floats
    y: Floats
    widths: Sequence[int]
    family: Family = Family.GAUSSIAN
    w: Floats | None = None
    unit: NDArray[np.int64] | None = None
    tiny: float = 0.0

    @property
    def weight(self) -> Floats:
        return np.ones(len(self.y)) if self.w is None else self.w

    @property
    def question(self) -> Step:
        starts = np.cumsum([0, *self.widths[:-1]])
        blocks = tuple(Block((), (), int(at), width) for at, width in zip(starts, self.widths, strict=True))
        return Step(Design(Number("y"), (), (), blocks), self.family)

    def working(self, x: Floats, beta: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean, working weight and working response."""
        y, start = self.y, not len(beta)
        if self.family is Family.GAUSSIAN:
            return (y if start else x @ beta), np.ones(len(y)), y
        eta = np.zeros(len(y)) if start else x @ beta
        if self.family is Family.BINOMIAL:
            mu = (y + 0.5) / 2 if start else np.clip(1 / (1 + np.exp(-eta)), self.tiny, 1 - self.tiny)
            v, eta = mu * (1 - mu), np.log(mu / (1 - mu)) if start else eta
        else:
            mu = y + 0.1 if start else np.maximum(np.exp(eta), self.tiny)
            v, eta = mu, np.log(mu) if start else eta
        return mu, v, eta + (y - mu) / v

    def deviance(self, mu: Floats) -> float:
        y, w = self.y, self.weight
        if self.family is Family.GAUSSIAN:
            return float(w @ (y - mu) ** 2)
        if self.family is Family.BINOMIAL:
            return float(-2 * w @ np.where(y > 0.5, np.log(mu), np.log1p(-mu)))
        return float(2 * w @ (y * np.log(np.where(y > 0, y / mu, 1)) - (y - mu)))

    @np.errstate(all="ignore")
    def step(self, step: Step) -> Moments:
        x, w = self.x[:, : step.design.columns], self.weight
        mu, v, z = self.working(x, np.array(step.beta))
        wv = w * v
        units = len(self.y) if self.unit is None else len(np.unique(self.unit))
        return Moments(
            gram=(x * wv[:, None]).T @ x, score=x.T @ (wv * z), square=float(wv @ z**2), deviance=self.deviance(mu),
            weight=float(w.sum()), response=float(w @ self.y), response_square=float(w @ self.y**2),
            records=len(self.y), units=units, key=0, support=np.count_nonzero(x, axis=0),
        )  # fmt: skip

    def spread(self, fitted: Fitted) -> Spread:
        mu, _, _ = self.working(self.x, fitted.beta)
        scores = self.x * (self.weight * (self.y - mu))[:, None]
        if self.unit is not None:
            scores = np.array([scores[self.unit == one].sum(axis=0) for one in np.unique(self.unit)])
        return Spread(scores.T @ scores, 0.0, 0.0, float(self.weight @ (self.y - mu) ** 2), ())

    def fit(self) -> Fitted:
        return fit(self.step, self.question)

    def infer(self, *, robust: bool = False, design: Design | None = None) -> Inference:
        fitted = self.fit()
        null = fit_null(self.step, self.question) if self.family is Family.POISSON else None
        question = self.question if design is None else replace(self.question, design=design)
        return infer(fitted, self.spread(fitted), question, robust=robust, null=null)


@pytest.fixture(scope="session")
def dense() -> type[Dense]:
    return Dense


@dataclass(frozen=True)
class Example:
    """Predictors with an interaction and badly scaled numbers: intercept, number, class of 3, their products, a square."""

    x: Floats
    widths: tuple[int, ...]
    eta: Floats
    w: Floats
    unit: NDArray[np.int64]
    rng: np.random.Generator


def _example(seed: int, *, n: int = 400) -> Example:
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 12, n)
    group = rng.integers(0, 3, n)
    dummies = (group[:, None] == [1, 2]).astype(float)
    tiny = rng.normal(0, 1e-7, n)
    huge = rng.lognormal(16, 1, n)
    x = np.column_stack([np.ones(n), age, dummies, dummies * age[:, None], tiny, huge])
    eta = -0.4 + 0.01 * age + 0.5 * dummies[:, 0] - 0.01 * dummies[:, 1] * age + 3e6 * tiny + 1e-8 * huge
    return Example(x, (1, 1, 2, 2, 1, 1), eta, rng.uniform(0.2, 5, n), rng.integers(0, 150, n), rng)


@pytest.fixture(params=[1, 2, 3])
def example(request: pytest.FixtureRequest) -> Example:
    return _example(request.param)


@pytest.fixture
def examples() -> Callable[..., Example]:
    return _example
