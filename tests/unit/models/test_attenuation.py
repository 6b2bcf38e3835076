"""Slopes and correlations of numbers with noise: corrected they are those of the numbers without, uncorrected they are not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from confide.answering.correlations.correlate import correlate
from confide.answering.regressions.attenuation import Attenuation
from confide.answering.regressions.fit import Unfit, fit, solved
from confide.answering.regressions.inference import infer
from confide.answering.regressions.scaling import original_units
from confide.arrays import Floats
from confide.data.noise_law import factors, unbiasing
from confide.model.design import Block, Design, Number
from confide.model.evidence import Moments, Spread, Step
from confide.model.formula import Transform
from confide.model.request import Family

SIZE = 10_000
NOISE = {"x": 0.2, "z": 0.2, "y": 0.15}
DRAWS = 40
LOG, SQRT, SQUARE = Transform.LOG, Transform.SQRT, Transform.SQUARE
TRANSFORMS: dict[Transform, Callable[[Floats], Floats]] = {
    Transform.NONE: lambda v: v,
    Transform.LOG: np.log,
    Transform.SQRT: np.sqrt,
    Transform.SQUARE: np.square,
}
SEX = ((0, (-1, 0)),)
"""A class of two places, the first of which is the reference."""


def column(number: Number, data: dict[str, Floats]) -> Floats:
    values = data.get(f"{number.transform}({number.variable})", data[number.variable])
    return (TRANSFORMS[number.transform](values) - number.shift) / number.scale


def matrix(design: Design, data: dict[str, Floats]) -> Floats:
    columns = []
    for block in design.blocks:
        own = np.prod([column(design.numbers[at], data) for at in block.numbers] or [np.ones(SIZE)], axis=0)
        columns.append(own * data["sex"] if block.classes else own)
    return np.column_stack(columns)


def moments(design: Design, data: dict[str, Floats]) -> Moments:
    x = matrix(design, data)
    assert isinstance(design.response, Number)
    y = column(design.response, data)
    sums = (x.T @ x, x.T @ y, float(y @ y), 0.0, float(SIZE), float(y.sum()), float(y @ y))
    return Moments(*sums, SIZE, SIZE, 1, np.full(x.shape[1], SIZE))


def fitted(design: Design, data: dict[str, Floats], noise: dict[str, float]) -> tuple[Floats, Floats]:
    """Estimates and standard errors, corrected for this noise."""
    attenuation, question = Attenuation(design, noise), Step(design, Family.GAUSSIAN)
    found = fit(lambda step: moments(design, data), question)
    found = solved(found, attenuation.corrected(found.moments))
    x = matrix(design, data)
    assert isinstance(design.response, Number)
    left = column(design.response, data) - x @ found.beta
    spread = Spread((x * left[:, None]).T @ (x * left[:, None]), 0.0, 0.0, float(left @ left), ())
    told = infer(found, spread, question, robust=True)
    return told.estimates, told.errors


def population(seed: int = 2) -> dict[str, Floats]:
    """Numbers as incomes are: skew, related to each other and to a class."""
    rng = np.random.default_rng(seed)
    sex, common = (rng.random(SIZE) < 0.4).astype(float), rng.normal(size=SIZE)
    x = np.exp(3 + 0.4 * common + 0.3 * rng.normal(size=SIZE) + 0.2 * sex)
    z = np.exp(2 + 0.3 * common + 0.3 * rng.normal(size=SIZE))
    y = np.exp(1 + 0.5 * np.log(x) + 0.3 * np.log(z) + 0.1 * sex + 0.3 * rng.normal(size=SIZE))
    return {"sex": sex, "x": x, "z": z, "y": y}


def noised(data: dict[str, Floats], rng: np.random.Generator) -> dict[str, Floats]:
    """Numbers with their noise, and as the records keep them to be transformed."""
    found = dict(data)
    for name, spread in NOISE.items():
        found[name] = data[name] * factors(rng.random(SIZE), spread)
        for transform in (LOG, SQRT, SQUARE):
            found[f"{transform}({name})"] = found[name] * unbiasing(transform.power, spread)
    return found


def design(response: Number, *numbers: Number, crossed: bool = False) -> Design:
    """The numbers, a class, and if `crossed` their interactions."""
    blocks = [Block((), (), 0, 1), *(Block((at,), (), at + 1, 1) for at in range(len(numbers)))]
    blocks.append(Block((), SEX, len(blocks), 1))
    blocks += [Block((at,), SEX, len(blocks) + at, 1) for at in range(len(numbers))] if crossed else []
    return Design(response, numbers, ("sex",), tuple(blocks))


DESIGNS = {
    "plain": design(Number("y"), Number("x", shift=20.0, scale=3.0), Number("z")),
    "logarithms": design(Number("y", LOG), Number("x", LOG, shift=3.0), Number("z", LOG)),
    "a root and a square": design(Number("y", SQRT), Number("x", SQRT, shift=4.0), Number("z", SQUARE)),
    "with a class": design(Number("y"), Number("x"), crossed=True),
    "logarithm with a class": design(Number("y"), Number("x", LOG), crossed=True),
    "a number and its square": design(Number("y"), Number("x"), Number("x", SQUARE)),
    "a number and its logarithm": design(Number("y"), Number("x", LOG), Number("x")),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_no_coefficient_is_biased_by_half_a_standard_error_where_uncorrected_ones_are(name: str) -> None:
    """Mean over 40 draws of the noise against the fit without noise, n = 10,000."""
    data, rng, shape = population(), np.random.default_rng(7), DESIGNS[name]
    truth, _ = fitted(shape, data, {})
    corrected, plain, errors = [], [], []
    for _ in range(DRAWS):
        protected = noised(data, rng)
        estimates, error = fitted(shape, protected, NOISE)
        corrected.append(estimates)
        errors.append(error)
        plain.append(fitted(shape, protected, {})[0])
    error = np.mean(errors, axis=0)
    bias, without = (np.abs(np.mean(found, axis=0) - truth) / error for found in (corrected, plain))
    assert bias.max() < 0.5 < without.max(), (bias.round(2), without.round(2))


def test_errors_are_those_of_the_corrected_slopes() -> None:
    """Over samples and noise together, 150 of them, the standard errors are right to a fifth."""
    rng, shape = np.random.default_rng(8), DESIGNS["plain"]
    found = [fitted(shape, noised(population(100 + seed), rng), NOISE) for seed in range(150)]
    estimates, errors = (np.array([one[part] for one in found]) for part in (0, 1))
    ratio = estimates.std(axis=0) / np.median(errors, axis=0)
    assert np.all(np.abs(ratio - 1) < 0.2), ratio


def test_correlations_are_corrected_and_never_beyond_one() -> None:
    data, rng = population(), np.random.default_rng(9)
    shape = Design(Number("x"), (Number("x", shift=20.0), Number("z"), Number("y")), (), DESIGNS["plain"].blocks[:1])
    shape = replace(shape, blocks=(Block((), (), 0, 1), *(Block((at,), (), at + 1, 1) for at in range(3))))
    truth = np.corrcoef([data["x"], data["z"], data["y"]])
    found, plain = [], []
    for _ in range(DRAWS):
        gram = moments(shape, noised(data, rng)).gram
        found.append(correlate(Attenuation(shape, NOISE).gram(gram), columns=[1, 2, 3]).correlations)
        plain.append(correlate(gram, columns=[1, 2, 3]).correlations)
    error = 1 / np.sqrt(SIZE)
    assert np.abs(np.mean(found, axis=0) - truth).max() < error < np.abs(np.mean(plain, axis=0) - truth).max()
    alike = {**data, "z": data["x"] * factors(rng.random(SIZE), 0.05)}
    high = correlate(Attenuation(shape, NOISE).gram(moments(shape, alike).gram), columns=[1, 2, 3]).correlations
    assert np.abs(high).max() <= 1.0


def test_more_noise_than_there_is_spread_is_no_model() -> None:
    """Numbers that hardly vary: the noise expected of them is more than all they vary."""
    data = population() | {"x": 100 + np.random.default_rng(1).random(SIZE)}
    with pytest.raises(Unfit):
        fitted(DESIGNS["plain"], data, NOISE)


def test_without_noise_nothing_is_touched() -> None:
    shape, given = DESIGNS["plain"], moments(DESIGNS["plain"], population())
    assert Attenuation(shape, {"other": 0.2}).corrected(given) is given


def test_products_of_shifted_numbers_come_back_to_their_own_units() -> None:
    """(x - a)(z - b) with its parts: the same fitted values in both."""
    numbers = (Number("x", shift=20.0, scale=2.0), Number("z", shift=5.0, scale=4.0))
    blocks = (Block((), (), 0, 1), Block((0,), (), 1, 1), Block((1,), (), 2, 1), Block((0, 1), (), 3, 1))
    shape: Any = Design(Number("y"), numbers, (), blocks)
    plain = replace(shape, numbers=(Number("x"), Number("z")))
    data, beta = population(), np.array([1.0, -2.0, 3.0, 0.5])
    _, _, back = original_units(shape)
    np.testing.assert_allclose(matrix(plain, data) @ back @ beta, matrix(shape, data) @ beta)
