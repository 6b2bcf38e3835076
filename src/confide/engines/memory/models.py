"""Models in the plain reference engine: a dense design matrix and loops, as the definitions say."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import reduce
from math import exp, log, prod, sqrt
from operator import xor
from typing import Any

import numpy as np

from confide.arrays import Floats, Ints
from confide.engines import CLUSTER, StoreFacts
from confide.model.design import Block, Design, Duration, Indicator, Number
from confide.model.evidence import Moments, Rows, Spread, Step
from confide.model.formula import Transform
from confide.model.request import Family

__all__ = ["MemoryModel", "entering"]

Record = dict[str, Any]

TINY = float(np.finfo(np.float64).eps)

_TRANSFORMS: dict[Transform, Callable[[float], float | None]] = {
    Transform.NONE: lambda value: value,
    Transform.LOG: lambda value: log(value) if value > 0 else None,
    Transform.SQRT: lambda value: sqrt(value) if value >= 0 else None,
    Transform.SQUARE: lambda value: value * value,
}


class MemoryModel:
    """The complete records of a model: matrix, response, weight, fitted values, working weights and responses."""

    def __init__(self, step: Step, records: Iterable[Record], facts: StoreFacts) -> None:
        self.design, self.facts, self.clusters = step.design, facts, step.clusters
        self.records = [r for r in sorted(records, key=lambda r: (r["unit"], r["key"])) if self._complete(r)]
        rows = [self._row(r) for r in self.records]
        self.x = np.array(rows, np.float64).reshape(len(rows), step.design.columns)
        self.y = np.array([self._response(r) for r in self.records], np.float64)
        ones = [r["weight"] / 10**facts.weight_decimals if facts.weighted else 1.0 for r in self.records]
        self.w = np.array(ones, np.float64)
        self.by_unit: dict[int, list[int]] = defaultdict(list)
        for at, record in enumerate(self.records):
            self.by_unit[record["unit"]].append(at)
        self._predict(step)

    def _predict(self, step: Step) -> None:
        eta = self.x @ np.array(step.beta) if step.beta else [None] * len(self.x)
        found = [_working(step.family, y, e) for y, e in zip(self.y.tolist(), eta, strict=True)]
        self.mu, self.v, self.z = np.array(found, np.float64).reshape(-1, 3).T
        pairs = zip(self.y.tolist(), self.mu.tolist(), strict=True)
        self.deviances = np.array([_deviance(step.family, y, mu) for y, mu in pairs], np.float64)

    def moments(self) -> Moments:
        x, y, w, z, wv = self.x, self.y, self.w, self.z, self.w * self.v
        return Moments(
            gram=x.T @ (wv[:, None] * x),
            score=x.T @ (wv * z),
            square=float((wv * z * z).sum()),
            deviance=float((w * self.deviances).sum()),
            weight=float(w.sum()),
            response=float((w * y).sum()),
            response_square=float((w * y * y).sum()),
            records=len(self.records),
            units=len(self.by_unit),
            key=reduce(xor, (record["key"] for record in self.records), 0),
            support=self._support(),
        )

    def _support(self) -> Ints:
        """For each column, the units in its classes."""
        inside = np.array([self._row(r, 1.0) for r in self.records]).reshape(self.x.shape)
        touched = [(inside[rows] != 0).any(axis=0) for rows in self.by_unit.values()]
        found: Ints = np.array(touched, np.int64).reshape(-1, self.design.columns).sum(axis=0)
        return found

    def spread(self, inverse: Floats) -> Spread:
        scores, squares = (self.w * (self.y - self.mu))[:, None] * self.x, self.w * (self.y - self.mu) ** 2
        leverages = self._leverages(inverse)
        meat = np.zeros((self.design.columns, self.design.columns))
        for rows in self.by_unit.values():
            own = scores[rows].sum(axis=0)
            meat += np.outer(own, own)
        total = float(squares.sum())
        return Spread(
            meat=meat,
            leverage=max((float(leverages[rows].sum()) for rows in self.by_unit.values()), default=0.0),
            influence=max((float(squares[r].sum()) / total for r in self.by_unit.values() if total > 0), default=0.0),
            squares=total,
            fits=tuple(self._fits(at, squares, self.w) for at in range(len(self.design.classes))),
            scores=self._by_cluster(scores) if self.clusters else None,
        )

    def _by_cluster(self, scores: Floats) -> Floats:
        found = np.zeros((self.clusters, scores.shape[1]))
        for record, score in zip(self.records, scores, strict=True):
            found[record[self.facts.classes[CLUSTER]]] += score
        return found

    def rows(self, inverse: Floats) -> Rows:
        numbers = [[self._entering(number, r) for number in self.design.numbers] for r in self.records]
        places = [[r[self.facts.classes[name]] for name in self.design.classes] for r in self.records]
        return Rows(
            unit=np.array([r["unit"] for r in self.records], np.int64),
            fitted=self.mu,
            response=self.y,
            leverage=self._leverages(inverse),
            numbers=np.array(numbers, np.float64).reshape(len(numbers), len(self.design.numbers)),
            classes=np.array(places, np.int64).reshape(len(places), len(self.design.classes)),
        )

    def _leverages(self, inverse: Floats) -> Floats:
        leverages: Floats = self.w * self.v * ((self.x @ inverse) * self.x).sum(axis=1)
        return leverages

    def _fits(self, at: int, squares: Floats, weights: Floats) -> Floats:
        places = next(len(levels) for block in self.design.blocks for of, levels in block.classes if of == at)
        fits = np.zeros((places, 2))
        for record, square, w in zip(self.records, squares, weights, strict=True):
            fits[record[self.facts.classes[self.design.classes[at]]]] += [square, w]
        return fits

    def _complete(self, record: Record) -> bool:
        present = all(self._entering(number, record) is not None for number in self.design.numbers)
        return present and self._response(record) is not None

    def _entering(self, number: Number, record: Record) -> float | None:
        return entering(number, record, self.facts)

    def _scaled(self, number: Number, record: Record) -> float | None:
        value = self._entering(number, record)
        return None if value is None else (value - number.shift) / number.scale

    def _response(self, record: Record) -> float | None:
        response = self.design.response
        if isinstance(response, Indicator):
            return float(record[self.facts.classes[response.variable]] in response.places)
        if isinstance(response, Number):
            return self._scaled(response, record)
        level = response.levels[record[self.facts.classes[response.variable]]]
        if isinstance(response, Duration):
            happened = record[self.facts.classes[response.event]] in response.places
            return float(2 * level + happened) if level >= 0 else None
        return float(level) if level >= 0 else None

    def _row(self, record: Record, value: float | None = None) -> Floats:
        """The record's row of the design; with a value for all numbers, where it stands."""
        row = np.zeros(self.design.columns)
        values = [value or self._scaled(number, record) or 0.0 for number in self.design.numbers]
        for block in self.design.blocks:
            level = _level(block, self.design, record, self.facts)
            if level is not None:
                row[block.offset + level] = prod(values[at] for at in block.numbers)
        return row


def entering(number: Number, record: Record, facts: StoreFacts) -> float | None:
    """The transformed value, before shift and scale; None where it is missing or not defined."""
    stored = record[facts.value(number)]
    if stored is None:
        return None
    return _TRANSFORMS[number.transform](stored / 10 ** facts.scale(number))


def _level(block: Block, design: Design, record: Record, facts: StoreFacts) -> int | None:
    """Where in its block the record's column stands; None at a reference."""
    level = 0
    for at, levels in block.classes:
        own = levels[record[facts.classes[design.classes[at]]]]
        if own < 0:
            return None
        level = level * (max(levels) + 1) + own
    return level


def _working(family: Family, y: float, eta: float | None) -> tuple[float, float, float]:
    """Fitted value, working weight and working response; without eta those fitting starts from."""
    if family is Family.GAUSSIAN:
        return eta or 0.0, 1.0, y
    if family is Family.BINOMIAL:
        mu = (y + 0.5) / 2 if eta is None else 1 / (1 + exp(-max(eta, -700.0)))
        mu = min(max(mu, TINY), 1 - TINY)
        eta, v = log(mu / (1 - mu)) if eta is None else eta, mu * (1 - mu)
    else:
        mu = y + 0.1 if eta is None else max(exp(min(eta, 700.0)), TINY)
        eta, v = log(mu) if eta is None else eta, mu
    return mu, v, eta + (y - mu) / v


def _deviance(family: Family, y: float, mu: float) -> float:
    if family is Family.GAUSSIAN:
        return (y - mu) ** 2
    above = y * log(y / mu) if y > 0 else 0.0
    if family is Family.POISSON:
        return 2 * (above - (y - mu))
    return 2 * (above + ((1 - y) * log((1 - y) / (1 - mu)) if y < 1 else 0.0))
