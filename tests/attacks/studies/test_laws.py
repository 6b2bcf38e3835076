"""Studies against the laws they should follow, worked out here in another way, and against what defeats the attack."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from confide.attacks.studies.exact_means import ExactMeansStudy
from confide.attacks.studies.known_maximum import bounds
from confide.attacks.studies.membership import MarginMembership, area
from confide.attacks.studies.noise_layers import NoiseLayers
from confide.attacks.studies.partitions import PartitionAveraging
from confide.attacks.studies.reconstruction import reconstruct
from confide.attacks.studies.rekeyed import RekeyedNoise
from confide.attacks.studies.table_pairs import TablePairs
from confide.attacks.studies.tracker import GeneralTracker
from confide.tables.perturbation.transitions import transitions


def test_the_tracker_needs_sets_that_are_answered() -> None:
    """Where more than half of the people are asked for in every set, neither a half nor its complement is answered."""
    assert GeneralTracker(targets=20, least=0.6).run()["secrets of 20 people read"]["tracker"] == 0


def test_a_pair_shows_a_change_as_often_as_two_draws_of_the_noise_differ() -> None:
    """Cells of 20 on average have the last row of the matrix, but for one in a thousand. 4 standard errors of 800 are .056."""
    study = TablePairs(people=300, pairs=(1,), targets=800)
    row = transitions(D=5, V=2.0, js=2).matrix[-1]
    same = row[:-1] @ row[1:]  # one count is one less, so its noise must be one more
    assert study.run()["secrets read, by table pairs"]["1"] == pytest.approx(1 - same, abs=0.056)


@pytest.mark.parametrize(("V", "js"), [(1.25, 1), (2.0, 2)])
def test_pads_average_as_normal_noise_does(V: float, js: int) -> None:
    """The largest of five sums is the target's; normal noise instead of whole numbers: .03, and 4 standard errors of .008."""
    given = RekeyedNoise(noise=((V, js),)).run()[f"secrets guessed at V={V:g}, by pads"]
    for pads, share in given.items():
        lead = np.sqrt(int(pads) / (2 * V))
        law = quad(lambda x, lead=lead: norm.pdf(x - lead) * norm.cdf(x) ** 4, -10, 20)[0]
        assert share == pytest.approx(law, abs=0.04)


@pytest.mark.parametrize(("r", "splits"), [(2, 50), (2, 200), (10, 500), (5, 100)])
def test_splits_average_as_normal_noise_does(r: int, splits: int) -> None:
    """Two uniform numbers on -r..r have variance 2 r (r + 1) / 3. 4 standard errors of 1,000 cells are at most .064."""
    [share] = PartitionAveraging(trials=((r, splits),)).run()["counts exact, by reach and splits"].values()
    assert share == pytest.approx(2 * norm.cdf(0.5 / np.sqrt(2 * r * (r + 1) / 3 / splits)) - 1, abs=0.065)


def test_linear_programs_bound_counts_as_enumeration_does() -> None:
    rng = np.random.default_rng(3)
    true = rng.poisson(1.5, (20, 2, 3))
    sums = np.concatenate([true.sum(axis=2), true.sum(axis=1)], axis=1)
    inner, margins = (np.where(x > 0, np.maximum(x + rng.integers(-2, 3, x.shape), 0), 0) for x in (true, sums))
    low, high = bounds(inner, margins, D=2)
    assert ((low <= true) & (true <= high)).all()
    for number in range(20):
        tables = _consistent(inner[number], margins[number])
        assert (low[number] == tables.min(axis=0)).all() and (high[number] == tables.max(axis=0)).all()


def _consistent(inner: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Every table from which the published one may have come."""

    def could_be(published: np.ndarray, true: np.ndarray) -> np.ndarray:
        return (abs(true - published) <= 2) & ((published == 0) | (true > 0))

    ranges = [range(max(0, count - 2), count + 3) for count in inner.ravel()]
    tables = np.array(list(product(*ranges))).reshape(-1, *inner.shape)
    sums = np.concatenate([tables.sum(axis=2), tables.sum(axis=1)], axis=1)
    return tables[could_be(inner, tables).all(axis=(1, 2)) & could_be(margins, sums).all(axis=1)]


def test_means_that_are_rounded_to_thousands_do_not_solve_counts() -> None:
    solved = ExactMeansStudy(decimals=-3, rows=200).run()["rows solved, by use of"]
    assert max(solved.values()) < 0.05


def test_one_pair_of_layers_is_read_as_its_likelihoods_say() -> None:
    """One variable: whole differences near N(0, 2) or N(1, 4). 4 standard errors of 40,000 targets are .01."""
    shown = np.arange(-20, 21)

    def chances(mean: float, variance: float) -> np.ndarray:
        return np.diff(norm.cdf(np.append(shown - 0.5, 20.5), mean, np.sqrt(variance)))

    inside = norm.pdf(shown, 1, 2) > norm.pdf(shown, 0, np.sqrt(2))
    law = (chances(1, 4)[inside].sum() + chances(0, 2)[~inside].sum()) / 2
    given = NoiseLayers(known=(1,), targets=40_000).run()["secrets read, by variables known"]["1"]
    assert given == pytest.approx(law, abs=0.01)


def test_membership_follows_the_number_of_margins_for_each_person() -> None:
    """Φ(sqrt(margins / n) / 2); 4 standard errors of ten areas of 200 and 200 people are .04 at 50 margins."""
    given = MarginMembership().run()["area under the curve, by margins"]
    for margins, share in given.items():
        assert share == pytest.approx(norm.cdf(np.sqrt(int(margins) / 200) / 2), abs=0.04)


def test_nobody_is_told_apart_who_is_not_in_the_release() -> None:
    """Scores of two groups from one law: 4 standard errors of an area of 400 and 400 are .082."""
    rng = np.random.default_rng(5)
    assert area(rng.standard_normal(400), rng.standard_normal(400)) == pytest.approx(0.5, abs=0.082)


def test_reconstruction_is_exact_without_noise_and_guesswork_under_much() -> None:
    """40 bits, 400 questions; with a noise of 500 4 standard errors of 40 guesses are .32."""
    rng = np.random.default_rng(7)
    bits, asked = rng.random(40) < 0.5, rng.random((400, 40)) < 0.5
    answers = asked @ bits.astype(np.float64)
    assert (reconstruct(asked, answers) == bits).all()
    assert (reconstruct(asked, answers + 500 * rng.standard_normal(400)) == bits).mean() < 0.82
