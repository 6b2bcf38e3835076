"""Education and work of persons, by age, sex and region."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from confide.arrays import Bools, Floats, Ints
from confide.demo.codes import Codes, draw, spread
from confide.demo.households import Members

__all__ = ["Employment", "work"]

# The age from which each level of education can be completed, in declared order.
_COMPLETED = np.array([0, 13, 18, 19, 22, 24, 27])
_OLDEST = 100
# Major groups of occupation in declared order: how common, and how much more so among women.
_COMMON = np.array([1.2, 1.6, 1.2, 0.6, 0.8, 0.15, 0.7, 0.7, 0.8])
_WOMEN = np.array([0.6, 1.3, 1, 1.8, 2, 0.5, 0.15, 0.3, 1.2])
# One row for each major group, one digit for each industry: how common.
_INDUSTRIES = (
    "131284233532332",
    "041112165624892",
    "052234165524252",
    "131246336447243",
    "011191911031295",
    "900100100010001",
    "171951200021111",
    "182229100021011",
    "221335711091133",
)


@dataclass(frozen=True)
class Employment:
    """One entry for each person; categories are positions in their code lists, hours are 0 without work."""

    level: Ints
    education: Ints
    employment: Ints
    employed: Bools
    occupation: Ints
    major: Ints
    industry: Ints
    hours: Ints


def work(rng: np.random.Generator, people: Members, codes: Mapping[str, Codes]) -> Employment:
    """Give the education and work of each person; who is not employed has no occupation, industry or hours."""
    level = _level(rng, people, len(codes["region"].names))
    unstated = rng.random(len(level)) < 0.015
    employment = draw(rng, _employment(codes["employment"]), people.age * len(_COMPLETED) + level)
    employed = employment == codes["employment"].at("employed")
    occupation = draw(rng, _occupation(codes), level * 2 + people.female)
    occupation[~employed] = codes["occupation"].at("none")
    major = codes["occupation_sub"].parents[codes["occupation"].parents[occupation]]
    return Employment(
        level=level,
        education=np.where(unstated, codes["education"].at("ns"), level),
        employment=employment,
        employed=employed,
        occupation=occupation,
        major=major,
        industry=draw(rng, _industry(codes["industry"]), major),
        hours=np.where(employed, _hours(rng, people.female), 0),
    )


def _level(rng: np.random.Generator, people: Members, regions: int) -> Ints:
    mean = np.interp(people.age, [25, 45, 95], [3.2, 3.0, 1.5]) + np.linspace(0.4, -0.2, regions)[people.region]
    reached = np.rint(mean + 1.4 * rng.standard_normal(len(mean))).astype(np.int64)
    return np.clip(reached, 0, np.searchsorted(_COMPLETED, people.age, "right") - 1)


def _employment(codes: Codes) -> Floats:
    """Frequencies of employment by age (slow) and level of education (fast)."""
    age, level = (side.ravel() for side in np.mgrid[0 : _OLDEST + 1, 0 : len(_COMPLETED)])
    retired = np.where(age < 50, 0, 1 / (1 + np.exp((65 - age) / 1.8)))
    student = np.clip((28 - age) / 11, 0.005, 0.97) * (1 - retired)
    ready = 1 - student - retired
    table = np.zeros((len(age), len(codes.names)))
    table[:, codes.at("retired")] = retired
    table[:, codes.at("student")] = student
    table[:, codes.at("employed")] = ready * (0.7 + 0.04 * level)
    table[:, codes.at("unemployed")] = ready * (0.09 - 0.01 * level)
    table[:, codes.at("inactive")] = ready * (0.21 - 0.03 * level)
    table[age < 15] = np.arange(len(codes.names)) == codes.at("child")
    return table


def _occupation(codes: Mapping[str, Codes]) -> Floats:
    """Frequencies of occupations by level of education (slow) and sex (fast): the more of it, the higher the group."""
    level = np.arange(len(_COMPLETED))[:, None]
    place = np.arange(len(_COMMON))
    fit = np.exp(-(((place - 7.2 + level * 1.05) / 2.8) ** 2)) + 0.02
    major = np.stack([fit * _COMMON, fit * _COMMON * _WOMEN], axis=1).reshape(-1, len(_COMMON))
    major = np.pad(major, [(0, 0), (0, 1)])
    sub = spread(major, codes["occupation_sub"], exponent=0.7)
    return spread(sub, codes["occupation"], exponent=1)


def _industry(codes: Codes) -> Floats:
    """Frequencies of industries by major group of occupation, the last of which is "none"."""
    table = np.array([[*row, "0"] for row in _INDUSTRIES]).astype(np.float64) ** 1.5
    return np.vstack([table, np.arange(len(codes.names)) == codes.at("none")])


def _hours(rng: np.random.Generator, female: Bools) -> Ints:
    part = rng.random(len(female)) < np.where(female, 0.36, 0.13)
    spent = np.where(part, 22, 38) + np.where(part, 7, 3) * rng.standard_normal(len(female))
    return np.clip(np.rint(spent), 1, 80).astype(np.int64)
