"""Differencing against what protects counts, each mechanism by itself: the intruder has S, and S less one target, once.

Over 400 secrets their success is what was promised, within 4 standard errors. They know the policy, and where it says so
everybody but the target.
"""

from collections import Counter
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, chisquare

from asking import python_table
from confide.answering.mechanisms.dropq.risk import apparent_probability, disclosure_probability
from confide.answering.universe.resolve import resolve
from confide.spelling.where import read_where
from confide.tables.perturbation.transitions import transitions
from differencing import Crowd, Sites, alone, differenced, hypergeometric, same_drops, within

SECRETS = range(400)
SMALL, MIDDLE, LARGE = 0, 1, 2
"""The targets: of a class of 4 others, of 12, of 36."""


@pytest.fixture(scope="module")
def sites(town: Any) -> Sites:
    return Sites(town.dataset, Crowd((36, 28, 12, 4), targets=(3, 2, 0)))


def unit(at: int) -> Any:
    return np.eye(4, dtype=int)[at]


def shares(crowd: Crowd) -> list[float]:
    return [number / sum(crowd.numbers) for number in crowd.numbers]


# Drop q


@pytest.mark.parametrize(("target", "k"), [(SMALL, 2), (LARGE, 2), (MIDDLE, 3), (SMALL, 5)])
def test_drop_q_gives_the_target_away_as_often_as_formula_5_says(sites: Sites, target: int, k: int) -> None:
    """Right is a difference that is the target and nothing else. 80 units are so many that the formula, which is for many,
    is off by less than a hundredth."""
    crowd = sites.crowd
    right = [
        np.array_equal((whole - less)[:-1], unit(crowd.targets[target]))
        for whole, less in differenced(sites, alone(drop={"k": k}), target, secrets=SECRETS)
    ]
    promised = same_drops(crowd.numbers, crowd.with_target(target), k=k)
    assert promised == pytest.approx(disclosure_probability(shares(crowd), k=k), abs=0.01)
    assert within(float(np.mean(right)), promised, len(SECRETS))


def test_a_difference_that_looks_like_one_unit_is_right_as_often_as_drop_q_says(sites: Sites) -> None:
    """k = 2, where it happens often enough to be counted. With 80 units both figures are off by less than .03."""
    crowd = sites.crowd
    seen = [(a - b)[:-1] for a, b in differenced(sites, alone(drop={"k": 2}), SMALL, secrets=SECRETS)]
    single = [way for way in seen if sorted(way) == [0, 0, 0, 1]]
    right = [np.array_equal(way, unit(crowd.targets[SMALL])) for way in single]
    apparent, trusted = apparent_probability(shares(crowd), k=2)
    assert abs(len(single) / len(seen) - apparent) < 0.03 + 4 * sqrt(apparent * (1 - apparent) / len(seen))
    assert abs(np.mean(right) - trusted) < 0.03 + 4 * sqrt(trusted * (1 - trusted) / len(single))


def likelihoods(crowd: Crowd, k: int) -> list[dict[tuple[int, ...], float]]:
    """For each class the target may be of, the probability of every table over S, if the others are known."""
    found = []
    for at in range(4):
        whole = tuple((np.array(crowd.numbers) + unit(at)).tolist())
        shown: Counter[tuple[int, ...]] = Counter()
        for q in range(2, k + 1):
            for way, probability in hypergeometric(whole, q).items():
                shown[tuple((np.array(whole) - way).tolist())] += probability / (k - 1)
        found.append(dict(shown))
    return found


@pytest.mark.parametrize("target", [SMALL, LARGE])
def test_who_knows_everybody_else_learns_from_drop_q_what_bayes_rule_promises(sites: Sites, target: int) -> None:
    """The best claim there is: the class under which the table over S is most probable, each class as likely beforehand."""
    crowd, k = sites.crowd, 3
    each = likelihoods(crowd, k)

    def claim(table: tuple[int, ...]) -> int:
        return int(np.argmax([likelihood.get(table, 0.0) for likelihood in each]))

    own = crowd.targets[target]
    promised = sum(p for table, p in each[own].items() if claim(table) == own)
    tables = [whole[:-1] for whole, _ in differenced(sites, alone(drop={"k": k}), target, secrets=SECRETS)]
    assert 0.1 < promised < 0.9
    assert within(float(np.mean([claim(tuple(t.astype(int).tolist())) == own for t in tables])), promised, len(SECRETS))


def lost(sites: Sites, where: Any, *, secret: int, k: int = 5) -> list[int]:
    """The rows of the people whom a site drops from a universe."""
    road = sites.desk(alone(drop={"k": k}), secret).road
    rows = {record["unit"]: row for row, record in enumerate(sites.engine(secret)._records)}
    return [rows[key] for key in road._drops(resolve(read_where(where), sites.dataset))]


def test_over_secrets_every_unit_is_as_likely_to_be_dropped_and_every_q(sites: Sites) -> None:
    """Chi-square over the 81 units of S, and over q = 2 to 5; refused below 1 in 1,000."""
    times, numbers = np.zeros(sum(sites.crowd.numbers) + 1), Counter[int]()
    for secret in SECRETS:
        rows = lost(sites, sites.crowd.where(SMALL), secret=secret)
        times[np.minimum(rows, 80)] += 1
        numbers[len(rows)] += 1
    assert set(numbers) == {2, 3, 4, 5} and times.sum() == sum(q * times for q, times in numbers.items())
    assert chisquare(list(numbers.values())).pvalue > 1e-3
    assert chisquare(times).pvalue > 1e-3


@pytest.fixture(scope="module")
def binned(town: Any) -> Sites:
    """60 people, five in each of twelve bins of age, so that half the bins are a universe of 30."""
    cut = ", ".join(str(age) for age in range(10, 120, 10))
    finer = replace(town, catalog=town.catalog.replace("cutpoints = [20, 40, 60, 110]", f"cutpoints = [{cut}]"))
    crowd = Crowd((57, 0, 0, 0), targets=(0, 0, 0))
    people = crowd.people.slice(0, 60)
    aged = people.set_column(people.column_names.index("age"), "age", [np.arange(60) // 5 * 10.0])
    return Sites(finer.dataset, crowd, people=aged)


@pytest.mark.parametrize("secret", [1, 2, 3])
def test_over_universes_every_unit_is_as_likely_to_be_dropped_and_every_q(binned: Sites, secret: int) -> None:
    """One secret, 400 universes of six bins of twelve: who is dropped from one is no likelier to be dropped from another.

    Sum of squared deviations from q / 30 for each universe a unit is in, over its variance: chi-square with 59 degrees of
    freedom, since the deviations of each universe sum to zero; refused below 1 in 1,000.
    """
    random = np.random.default_rng(secret)
    names = [code.code for code in binned.dataset.variables["age"].codes or ()]
    deviation, variance, numbers = np.zeros(60), np.zeros(60), Counter[int]()
    for _ in range(400):
        bins = random.choice(12, 6, replace=False)
        rows = lost(binned, {"age": [names[at] for at in sorted(bins)]}, secret=secret)
        inside, share = np.isin(np.arange(60) // 5, bins), len(rows) / 30
        deviation += np.isin(np.arange(60), rows) - inside * share
        variance += inside * share * (1 - share)
        numbers[len(rows)] += 1
    assert chisquare([numbers[q] for q in (2, 3, 4, 5)]).pvalue > 1e-3
    assert chi2.sf((deviation**2 / variance).sum(), 59) > 1e-3


def test_what_s_loses_says_nothing_of_what_s_less_the_target_loses(sites: Sites) -> None:
    """Units in both drops of 400 pairs: as many as two independent drops share, within 4 standard errors of a Poisson number."""
    shared, promised = 0, 0.0
    for secret in SECRETS:
        whole, less = (set(lost(sites, sites.crowd.where(target), secret=secret)) for target in (SMALL, None))
        shared += len(whole & less)
        promised += len(whole) * len(less) / 81
    assert abs(shared - promised) < 4 * sqrt(promised)


# Cell keys

CELL_KEYS = alone(counts={"mechanism": "cell-key"})


def moves(number: int) -> Any:
    """The probabilities of the published counts 0, 1, ... of a true one."""
    rules = CELL_KEYS.counts
    law = transitions(D=rules.distance, V=rules.variance, js=rules.small)
    row = law.matrix[min(number, len(law.matrix) - 1)]
    shown = np.zeros(100)
    np.add.at(shown, number + np.arange(-law.D, law.D + 1)[row > 0], row[row > 0])
    return shown


def unchanged(number: int) -> float:
    """The probability that a count and one more are published alike, if their draws are independent."""
    return float(moves(number) @ moves(number + 1))


@pytest.mark.parametrize("target", [SMALL, MIDDLE, LARGE])
def test_the_cell_that_changed_is_the_targets_as_often_as_the_transitions_say(sites: Sites, target: int) -> None:
    """Cell keys alone do not stand against differencing: every other cell is the same, and the target's changes in four
    cases of five. That is their law, and neither more nor less happens."""
    own = sites.crowd.targets[target]
    changed = [whole != less for whole, less in differenced(sites, CELL_KEYS, target, secrets=SECRETS)]
    assert not np.delete(changed, [own, 4], axis=1).any()
    promised = 1 - unchanged(sites.crowd.numbers[own])
    assert within(float(np.mean(changed, axis=0)[own]), promised, len(SECRETS))


def test_the_total_changes_on_its_own(sites: Sites) -> None:
    """So a cell that did not change is given away by its margin, and nothing but chance joins the two."""
    own = sites.crowd.targets[LARGE]
    changed = [whole != less for whole, less in differenced(sites, CELL_KEYS, LARGE, secrets=SECRETS)]
    promised = unchanged(sites.crowd.numbers[own]) * unchanged(sum(sites.crowd.numbers))
    neither = ~np.array(changed)[:, [own, 4]].any(axis=1)
    assert within(float(neither.mean()), promised, len(SECRETS))


@pytest.mark.parametrize("fixed", ["secret", "keys", "neither"])
def test_who_lacks_either_the_keys_or_the_secret_cannot_say_the_noise(sites: Sites, fixed: str) -> None:
    """The noise of 36 and of 80 people, over secrets alone, over record keys alone, and over both: the law of the
    transitions each time, by chi-square refused below 1 in 1,000; and the two uncorrelated within 4 standard errors."""
    shown = []
    for number in SECRETS:
        secret, keys = (0 if fixed == "secret" else number), (0 if fixed == "keys" else number)
        shown.append(sites.values(sites.desk(CELL_KEYS, secret, keys=keys), None)[[0, 4]])
    noise = np.array(shown, dtype=int) - [36, 80]
    for column in noise.T:
        law = moves(36)[31:42] * len(SECRETS)
        often = law >= 5
        counted = np.bincount(column + 5, minlength=11)
        together = [*counted[often], counted[~often].sum()], [*law[often], law[~often].sum()]
        assert chisquare(*together).pvalue > 1e-3
    assert abs(np.corrcoef(noise.T)[0, 1]) < 4 / sqrt(len(SECRETS))


# Additive tables


def test_a_table_that_adds_up_gives_no_more_away_than_its_cell_keys(sites: Sites) -> None:
    """What is added looks at protected counts alone. So no claim is right more often than that of the cell which changed
    before anything was added, or of any of four where none did, plus 4 standard errors. 100 secrets."""
    policy = alone(counts={"mechanism": "cell-key"}, tables={"additive": True})
    own, secrets = sites.crowd.targets[MIDDLE], range(100)
    pairs = differenced(sites, policy, MIDDLE, secrets=secrets)
    right = [np.argmax(np.abs(whole - less)[:-1]) == own for whole, less in pairs]
    same = unchanged(sites.crowd.numbers[own])
    most = 1 - same + same / 4
    assert np.mean(right) < most + 4 * sqrt(most * (1 - most) / len(secrets))


# Noise of the counts that rules look at


def test_a_refusal_tells_of_the_target_as_often_as_the_noise_of_decisions_says(sites: Sites) -> None:
    """Γ is the size of S, so that S is answered and S less the target refused but for noise. The intruder says "in" to an
    answer and "out" to a refusal; right in (1 + the probability of no noise) / 2 of the cases."""
    size = sum(sites.crowd.numbers) + 1
    policy = alone(universe={"decide_on": "protected", "gamma": size})
    law = transitions(D=policy.universe.noise_distance, V=policy.universe.noise_variance, js=0).matrix[-1]
    right = [refused(sites, policy, None, secret) + (not refused(sites, policy, SMALL, secret)) for secret in SECRETS]
    promised = (1 + law[policy.universe.noise_distance]) / 2
    assert within(sum(right) / (2 * len(right)), float(promised), 2 * len(right))


def refused(sites: Sites, policy: Any, target: int | None, secret: int) -> bool:
    request = python_table("people", rows="town", where=sites.crowd.where(target))
    reasons = sites.desk(policy, secret).consider(request).reasons
    assert all(reason.rule == "universe.gamma" for reason in reasons)
    return bool(reasons)
