"""Models with several linear predictors in the plain reference engine: the likelihood of an outcome and its derivatives."""

from functools import reduce
from math import log
from operator import xor

import numpy as np

from confide.arrays import Floats
from confide.engines.memory.models import TINY, MemoryModel
from confide.model.design import Category, Duration
from confide.model.evidence import Moments, Spread, Step
from confide.model.request import Family

__all__ = ["SeveralModel"]


class SeveralModel(MemoryModel):
    """For each record: derivatives of its log-likelihood, expected weights, deviance, squared residuals, how often it counts."""

    def _predict(self, step: Step) -> None:
        response = step.design.response
        assert isinstance(response, Category | Duration)
        self.many, self.outcomes = response.predictors, response.outcomes
        beta = np.array(step.beta).reshape(-1, step.design.columns)
        start = [log((k + 1) / (self.many - k)) if step.family is Family.ORDERED else 0.0 for k in range(self.many)]
        self.eta = self.x @ beta.T if step.beta else np.tile(start, (len(self.x), 1))
        found = [_DERIVED[step.family](int(y), eta) for y, eta in zip(self.y, self.eta, strict=True)]
        self.slope = np.array([one[0] for one in found]).reshape(-1, self.many)
        self.weight = np.array([one[1] for one in found]).reshape(-1, self.many, self.many)
        self.deviances, self.squares = np.array([one[2:] for one in found]).reshape(-1, 2).T
        rows = np.array(step.calibration).reshape(-1, step.design.columns)
        self.times = 1 + (self.x * rows[self.y.astype(int)]).sum(axis=1) if len(rows) else np.ones(len(self.x))

    def moments(self) -> Moments:
        w, width = self.w * self.times, self.many * self.design.columns
        towards = self.slope + np.einsum("ikj,ij->ik", self.weight, self.eta)
        return Moments(
            gram=np.einsum("i,ikj,ia,ib->kajb", w, self.weight, self.x, self.x).reshape(width, width),
            score=np.einsum("i,ik,ia->ka", w, towards, self.x).reshape(width),
            square=0.0,
            deviance=float((w * self.deviances).sum()),
            weight=float(w.sum()),
            response=float(self.times.sum()),
            response_square=0.0,
            records=len(self.records),
            units=len(self.by_unit),
            key=reduce(xor, (record["key"] for record in self.records), 0),
            support=np.tile(self._support(), self.many),
        )

    def spread(self, inverse: Floats) -> Spread:
        w, p, width = self.w * self.times, self.design.columns, self.many * self.design.columns
        own = self.w * np.sqrt(np.maximum(self.times, 0.0))
        scores = np.einsum("i,ik,ia->ika", own, self.slope, self.x).reshape(len(self.x), width)
        blocks = np.asarray(inverse).reshape(self.many, p, self.many, p)
        leverages = np.einsum("i,ikj,ia,ib,kajb->i", w, self.weight, self.x, self.x, blocks)
        squares = w * self.squares
        units = [scores[rows].sum(axis=0) for rows in self.by_unit.values()]
        total = float(squares.sum())
        pull = np.zeros((self.outcomes, width, p))
        for y, plain, g, x in zip(self.y.astype(int), self.w, self.slope, self.x, strict=True):
            pull[y] += plain * np.outer(np.outer(g, x).ravel(), x)
        return Spread(
            meat=sum((np.outer(one, one) for one in units), np.zeros((width, width))),
            leverage=max((float(leverages[rows].sum()) for rows in self.by_unit.values()), default=0.0),
            influence=max((float(squares[r].sum()) / total for r in self.by_unit.values() if total > 0), default=0.0),
            squares=total,
            fits=tuple(self._fits(at, squares, w) for at in range(len(self.design.classes))),
            pull=pull,
            scores=self._by_cluster(scores) if self.clusters else None,
        )


Derived = tuple[Floats, Floats, float, float]


def _multinomial(y: int, eta: Floats) -> Derived:
    each = np.exp(np.append(0.0, eta) - max(0.0, eta.max()))
    shares = each / each.sum()
    left = (np.arange(len(shares)) == y) - shares
    weight = np.diag(shares[1:]) - np.outer(shares[1:], shares[1:])
    return left[1:], weight, -2 * log(max(shares[y], TINY)), float(left @ left)


def _ordered(y: int, eta: Floats) -> Derived:
    """P(level <= k) is F(eta_k); with D the derivatives of the shares in eta, weights are D' diag(1 / shares) D."""
    below = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
    shares = np.maximum(np.diff(np.concatenate([[0.0], below, [1.0]])), TINY)
    dense, k = below * (1 - below), np.arange(len(eta))
    derivatives = np.zeros((len(shares), len(eta)))
    derivatives[k, k], derivatives[k + 1, k] = dense, -dense
    left = (np.arange(len(shares)) == y) - shares
    weight = derivatives.T @ (derivatives / shares[:, None])
    return derivatives[y] / shares[y], weight, -2 * log(shares[y]), float(left @ left)


def _survival(y: int, eta: Floats) -> Derived:
    """A yes or no for each period up to the last: no in all before it."""
    last, happened = divmod(y, 2)
    share = np.clip(1 / (1 + np.exp(-np.clip(eta, -700, 700))), TINY, 1 - TINY)
    there, k = np.arange(len(eta)) <= last, np.arange(len(eta))
    yes = (k == last) & bool(happened)
    left = np.where(there, yes - share, 0.0)
    deviance = -2 * float(np.log(np.where(yes, share, 1 - share))[there].sum())
    return left, np.diag(np.where(there, share * (1 - share), 0.0)), deviance, float(left @ left)


_DERIVED = {Family.MULTINOMIAL: _multinomial, Family.ORDERED: _ordered, Family.SURVIVAL: _survival}
