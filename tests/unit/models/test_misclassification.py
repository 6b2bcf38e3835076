"""Models of the classes of a number that carries noise: what noise leaves of slopes, and what is put right of it."""

import re
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit, logit

from asking import Desk, python_correlation, python_regression, python_table
from confide import demo
from confide.answering.regressions.inference import Inference
from confide.answering.regressions.misclassification import NoisyClasses, NoisyDurations, Stretch, apart
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.data.noise_law import factors
from confide.demo.texts import catalog_text
from confide.engines.columns.engine import ColumnsEngine
from confide.engines.columns.store import write_columns
from confide.model.catalog.toml import read_dataset
from confide.model.policy import PRESETS
from confide.records.protect import protect_records
from confide.site.coding.encode import encode
from confide.site.secret import Secret

CUTPOINTS = np.array([1.0, 10_000, 20_000, 30_000, 40_000, 60_000, 100_000])
MIXED = ((0.6, 0.15), (0.4, 0.6))


def classes(levels: list[int], spreads: Any = MIXED) -> NoisyClasses:
    return NoisyClasses("income", "income", CUTPOINTS, np.array(levels), spreads)


def numbers(rng: np.random.Generator, size: int, *, up: float) -> np.ndarray:
    """Incomes of a log-logistic law with odds raised by a factor."""
    return np.exp(10.3 + 0.35 * (logit(rng.random(size)) + up))


def noised(rng: np.random.Generator, values: np.ndarray, spreads: Any) -> np.ndarray:
    spread = rng.choice([s for _, s in spreads], len(values), p=[share for share, _ in spreads])
    return values * factors(rng.random(len(values)), spread)


def counted(values: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(CUTPOINTS, values, side="right"), minlength=len(CUTPOINTS) + 1).astype(float)


@pytest.mark.parametrize("spreads", [MIXED, ((1.0, 0.15), (0.0, 0.6)), ((0.2, 0.15), (0.8, 0.6))])
@pytest.mark.parametrize("cut", [3, 5])
def test_what_is_left_of_log_odds_is_what_a_draw_of_noise_leaves(spreads: Any, cut: int) -> None:
    """Half a million people in two groups that are nearly alike. Within 0.05: three standard errors, and that bins are not even."""
    rng, size = np.random.default_rng(4), 500_000
    groups = [numbers(rng, size, up=up) for up in (-0.15, 0.15)]
    seen = [noised(rng, values, spreads) for values in groups]

    def odds(values: np.ndarray) -> float:
        return float(logit(np.mean(values >= CUTPOINTS[cut - 1])))

    expected = (odds(seen[1]) - odds(seen[0])) / (odds(groups[1]) - odds(groups[0]))
    levels = [int(at >= cut) for at in range(len(CUTPOINTS) + 1)]
    found = classes(levels, spreads).kept(counted(np.concatenate(seen)), ordered=False)
    assert found == pytest.approx([expected], abs=0.05)
    assert classes(levels, spreads).kept(counted(np.concatenate(seen)), ordered=True) == pytest.approx(found, abs=1e-3)


@pytest.mark.parametrize("spreads", [MIXED, ((1.0, 0.15), (0.0, 0.6))])
def test_who_is_in_a_class_in_truth_is_what_a_draw_of_noise_leaves(spreads: Any) -> None:
    """Within 0.03: bins are not even."""
    rng = np.random.default_rng(6)
    true = numbers(rng, 300_000, up=0.0)
    seen, levels = noised(rng, true, spreads), np.array([0, 0, 0, 1, 1, 2, 2, 2])
    of_true, of_seen = (levels[np.searchsorted(CUTPOINTS, each, side="right")] for each in (true, seen))
    expected = [np.mean(of_true[of_seen == level] == level) for level in range(3)]
    found = classes(levels.tolist(), spreads).in_truth(counted(seen))
    assert np.diag(found) == pytest.approx(expected, abs=0.03) and found.sum(axis=1) == pytest.approx(np.ones(3))
    assert classes(levels.tolist(), ((1.0, 0.0), (0.0, 0.0))).in_truth(counted(true)) == pytest.approx(
        np.eye(3), abs=1e-6
    )


def test_without_noise_and_between_none_and_some_nothing_is_lost() -> None:
    rng = np.random.default_rng(1)
    counts = counted(np.append(np.zeros(2000), numbers(rng, 20_000, up=0.0)))
    several = [0, 0, 0, 1, 1, 2, 2, 2]
    assert classes(several, ((1.0, 0.0), (0.0, 0.0))).kept(counts, ordered=True) == pytest.approx([1.0], abs=1e-6)
    some = [0, *[1] * len(CUTPOINTS)]
    assert classes(some).kept(counts, ordered=False) == pytest.approx([1.0], abs=0.01)
    assert classes(several).kept(np.zeros(len(CUTPOINTS) + 2), ordered=False).tolist() == [1.0, 1.0]


WEEKS = np.array([1.0, 3, 6, 9, 12, 18, 24, 36])


def lasted(rng: np.random.Generator, size: int, hazard: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Durations, and whether they ended while seen."""
    weeks, seen = 15 * rng.weibull(1.5, size) * hazard ** (-1 / 1.5), rng.uniform(6, 24, size)
    return np.maximum(np.minimum(weeks, seen), 1.0), weeks <= seen


def ended(weeks: np.ndarray, happened: np.ndarray) -> np.ndarray:
    """By bin, those it did not happen to and those it did."""
    bins = np.searchsorted(WEEKS, weeks, side="right")
    return np.stack([np.bincount(bins[happened == own], minlength=len(WEEKS) + 1) for own in (False, True)], axis=1)


def log_odds_of_hazards(fast: np.ndarray, slow: np.ndarray) -> float:
    """The slope of a model of durations by two groups, by Newton's method on its likelihood."""
    events = np.array([each[:, 1] for each in (fast, slow)], float)
    there = np.array([each.sum(axis=1)[::-1].cumsum()[::-1] for each in (fast, slow)], float)
    used = (events.sum(axis=0) > 0) & (events.sum(axis=0) < there.sum(axis=0))
    events, there, slope = events[:, used], there[:, used], 0.0
    levels, group = logit(events.sum(axis=0) / there.sum(axis=0)), np.array([[1.0], [0.0]])
    for _ in range(20):
        hazard = expit(levels + slope * group)
        weight, score = there * hazard * (1 - hazard), events - there * hazard
        left = weight[0] - weight[0] ** 2 / weight.sum(axis=0)
        slope += (score[0] - score.sum(axis=0) * weight[0] / weight.sum(axis=0)).sum() / left.sum()
        hazard = expit(levels + slope * group)
        levels = levels + (events - there * hazard).sum(axis=0) / (there * hazard * (1 - hazard)).sum(axis=0)
    return slope


@pytest.mark.parametrize("spreads", [MIXED, ((1.0, 0.15), (0.0, 0.6)), ((0.0, 0.15), (1.0, 0.6))])
def test_what_is_left_of_hazards_is_what_a_draw_of_noise_leaves(spreads: Any) -> None:
    """A million people in two groups. Within 0.03: three standard errors, and that bins are not even."""
    rng, size = np.random.default_rng(5), 500_000
    groups = [lasted(rng, size, hazard) for hazard in (1.25, 0.8)]
    seen = [ended(noised(rng, weeks, spreads), happened) for weeks, happened in groups]
    expected = log_odds_of_hazards(*seen) / log_odds_of_hazards(*(ended(*group) for group in groups))
    found = NoisyDurations("weeks", "weeks", WEEKS, np.arange(len(WEEKS) + 1), spreads)
    assert found.kept(seen[0] + seen[1]) == pytest.approx([expected], abs=0.03)
    assert expected < (0.95 if spreads[1][0] else 1.0)


def test_durations_that_all_end_or_never_do_are_no_trouble() -> None:
    classes_of_all = NoisyDurations("weeks", "weeks", WEEKS, np.arange(len(WEEKS) + 1), MIXED)
    weeks, _ = lasted(np.random.default_rng(2), 5000, 1.0)
    assert 0.5 < classes_of_all.kept(ended(weeks, np.ones(5000, bool)))[0] < 0.9
    assert classes_of_all.kept(ended(weeks, np.zeros(5000, bool))).tolist() == [1.0]


def test_levels_follow_and_errors_include_as_much_again_as_was_moved() -> None:
    """Of a column with mean 0.4, an intercept gives up 0.4 of what the slope gains."""
    gram = np.array([[10.0, 4.0], [4.0, 8.0]])
    covariance = np.array([[0.04, -0.01], [-0.01, 0.09]])
    inference = Inference(np.array([0.2, 0.8]), covariance, False, (1, 1), np.array([7.1]))
    found = Stretch.of(np.array([0.8]), 1, gram).inferred(inference, np.eye(2))
    assert found.estimates == pytest.approx([0.2 - 0.4 * 0.2, 1.0])
    assert found.errors[1] == pytest.approx(np.hypot(0.3 / 0.8, 0.2))
    assert found.tests == pytest.approx([found.statistics[1] ** 2])


SPELLS = """
[variables.weeks]
kind = "numeric"
role = "confidential"
decimals = 0
minimum = 0
cutpoints = [1, 3, 6, 9, 12, 18, 24, 36]

[variables.search]
kind = "categorical"
role = "confidential"
[variables.search.codes]
found = "Found work"
looking = "Still looking"
"""


def searching(people: pa.Table) -> pa.Table:
    """With how long they looked for work: the young and men less long."""
    ready = np.exp(0.4 * (people["sex"].to_numpy() == "male") - 0.02 * (people["age"].to_numpy() - 40))
    weeks, happened = lasted(np.random.default_rng(3), len(people), ready)
    search = pa.array(np.where(happened, "found", "looking"))
    return people.append_column("weeks", pa.array(np.ceil(weeks).astype(int))).append_column("search", search)


@cache
def desks(folder: Any) -> tuple[Desk, Desk]:
    """6,000 people of the demonstration, with how long they looked for work: the true ones, and those that a site answers from."""
    text, secret = catalog_text("people") + SPELLS, Secret(sha256(b"1").digest())
    dataset = read_dataset(text, name="people", read_file=str)
    true = encode(dataset, searching(demo.people(6000)), secret=secret)
    found = []
    for name in ("open", "standard"):
        policy = PRESETS[name]
        path = folder / f"{name}.columns"
        write_columns(protect_records(true, dataset, policy, secret)[0], path)
        found.append(Desk(Road(dataset, ColumnsEngine(path), Shield(policy, secret))))
    return found[0], found[1]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Desk]:
    return desks(tmp_path_factory.mktemp("people"))


NOISY = {
    "ordered": {"formula": "taxes ~ sex + age", "family": "ordered"},
    "own classes": {"formula": "own ~ sex + age", "family": "ordered", "define": ["own = cut(income, 20000, 40000)"]},
    "multinomial": {
        "formula": "own ~ sex + age",
        "family": "multinomial",
        "define": ["own = cut(wages, 20000, 40000)"],
    },
    "binomial": {"formula": "own=yes ~ sex + age", "family": "binomial", "define": ["own = income >= 30000"]},
    "durations": {"formula": "weeks ~ sex + age", "family": "survival", "event": "search=found"},
}


@pytest.mark.parametrize("name", list(NOISY))
def test_slopes_of_noisy_classes_are_put_right_in_part_and_errors_cover_the_rest(people: Any, name: str) -> None:
    request = python_regression("people", where={"employment": "employed"}, **NOISY[name])
    true, told = (desk.consider(request) for desk in people)
    assert not told.reasons
    own = [note for note in told.release.notes if not note.startswith("Defined by the asker")]
    assert own[0].startswith("Noise of ") and "towards 0" in own[0] and own[0] not in true.release.notes
    model = told.model
    exact, found = (
        (each.inference.estimates[each.levels_alone :], each.inference.errors[each.levels_alone :])
        for each in (true.model, model)
    )
    off = [(each - exact[0]) / exact[1] for each in (found[0] * model.kept, found[0])]
    assert (off[1] ** 2).sum() < 0.7 * (off[0] ** 2).sum()
    assert np.abs((found[0] - exact[0]) / found[1]).max() < 3.0, (
        "of one draw; `benchmarks/noisy_classes.py` has how many are inside"
    )
    assert (model.kept < 0.97).all()


@pytest.mark.parametrize(
    "words",
    [
        {"formula": "hours ~ sex + age", "family": "ordered"},
        {"formula": "own=yes ~ sex + age", "family": "binomial", "define": ["own = hours >= 35"]},
        {"formula": "log(income) ~ sex + age"},
    ],
)
def test_other_responses_stay_as_they_are(people: Any, words: Any) -> None:
    answer = people[1].consider(python_regression("people", where={"employment": "employed"}, **words))
    assert answer.model.noisy is None and not any(note.startswith("Noise of ") for note in answer.release.notes)


def test_classes_are_told_apart_as_true_ones_where_only_they_matter() -> None:
    in_truth, means = np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]]), np.array([4.0, 6.0, 9.0])
    published = in_truth @ means
    matrix = apart(in_truth)
    assert matrix is not None
    intercept, *slopes = np.append(published[0], 0.0 * published[1:]) + matrix @ (published[1:] - published[0])
    assert [intercept, *slopes] == pytest.approx([4.0, 2.0, 5.0])
    assert apart(np.full((2, 2), 0.5) + 0.01 * np.eye(2)) is None


def test_a_share_of_a_stretch_moves_estimates_by_it_and_errors_include_as_much_again() -> None:
    inference = Inference(np.array([0.2, 0.8]), np.diag([0.04, 0.09]), False, (1, 1), np.array([7.1]))
    found = Stretch(np.array([[1.0, -0.1], [0.0, 1.5]])).inferred(inference, np.eye(2), share=0.5)
    assert found.estimates == pytest.approx([0.2 - 0.04, 1.0])
    assert found.errors == pytest.approx([np.sqrt(0.04 + 0.05**2 * 0.09 + 0.04**2), np.hypot(0.3 * 1.25, 0.2)])


@pytest.mark.parametrize("family", ["gaussian", "binomial", "ordered"])
def test_classes_of_a_noisy_number_among_the_predictors_are_said_to_be_drawn(people: Any, family: str) -> None:
    response = {"gaussian": "hours", "binomial": "long=yes", "ordered": "hours"}[family]
    define = ["own = cut(income, 20000, 40000)", "long = hours >= 35"][: 2 if family == "binomial" else 1]
    words: Any = {"family": family, "where": {"employment": "employed"}, "define": define}
    true, told = (
        desk.consider(python_regression("people", f"{response} ~ own + education", **words)) for desk in people
    )
    [note] = [n for n in told.release.notes if n.startswith("Noise of income moves units between the classes of own")]
    first, last = (int(text) for text in re.findall(r"(\d+) to (\d+) %", note)[0])
    assert 55 < first < last < 95 and "two thirds of that are put right" in note and note not in true.release.notes
    exact, found = (slopes_of(each.model) for each in (true, told))
    assert sum(name.startswith("own=") for name in exact) >= 1
    for name, (estimate, error) in found.items():
        if name.startswith("own=") and name in exact:
            assert abs(estimate - exact[name][0]) < 2.5 * error


def slopes_of(model: Any) -> dict[str, tuple[float, float]]:
    several = getattr(model, "predictors", None)
    places = [column for _, column in several.places] if several else range(model.columns)
    names = [model.compiled.labels[column] for column in places]
    return dict(zip(names, zip(model.inference.estimates, model.inference.errors, strict=True), strict=True))


def test_classes_of_noisy_predictors_come_nearer_to_true_ones(people: Any) -> None:
    """The true slopes differ by 7 of their errors in the median where nothing is put right."""
    words: Any = {"where": {"employment": "employed"}, "define": ["own = cut(income, 20000, 40000)"]}
    true, told = (desk.consider(python_regression("people", "hours ~ own + age", **words)).model for desk in people)
    exact, found = slopes_of(true), slopes_of(told)
    plain = dict(zip(told.compiled.labels, told.fitted.fitted.beta, strict=True))
    own = [name for name in found if name.startswith("own=")]
    assert len(own) == 2
    before, now = (
        sum(((slopes[name] - exact[name][0]) / exact[name][1]) ** 2 for name in own)
        for slopes in (plain, {name: estimate for name, (estimate, _) in found.items()})
    )
    assert now < 0.5 * before
    crossed = people[1].consider(python_regression("people", "hours ~ own + age + own:age", **words)).release
    assert any("That is not put right" in note for note in crossed.notes)


def test_correlations_with_classes_of_a_noisy_number_say_so(people: Any) -> None:
    words: Any = {"define": ["own = income >= 30000"], "where": {"employment": "employed"}}
    told = people[1].consider(python_correlation("people", ["age", "own"], **words)).release
    [note] = [note for note in told.notes if note.startswith("Noise of income moves units between the classes of own")]
    assert "That is not put right" in note
    other = people[1].consider(python_correlation("people", ["age", "income", "sex"])).release
    assert not any(note.startswith("Noise of ") for note in other.notes)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"rows": "income"}, "income"),
        ({"rows": ["sex", "own"], "define": ["own = wages >= 20000"]}, "wages"),
        ({"rows": "sex", "where": {"taxes": ["1-999"]}}, "taxes"),
        ({"rows": "sex", "measure": "mean", "of": "income"}, ""),
        ({"rows": "age_group", "where": {"sex": "male"}}, ""),
    ],
)
def test_tables_by_classes_of_a_noisy_number_say_what_their_spread_leaves_out(
    people: Any, words: Any, said: str
) -> None:
    true, told = (desk.consider(python_table("people", **words)).release.notes for desk in people)
    found = [note for note in told if note.startswith("Classes of ")]
    assert [note.split()[2] for note in found] == ([said] if said else [])
    assert not any(note.startswith("Classes of ") for note in true)
