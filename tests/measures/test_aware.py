"""An intruder who knows the method: every method names an attack, and report, score and map show the worst."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from confide import measures
from confide.attacks.files.registry import FILE_ATTACKS
from confide.errors import Mistake
from confide.measures import AwareRisk, aware_risk, worst_attack
from confide.measures.transparency.camouflage_intervals import CamouflageIntervals
from confide.measures.transparency.registry import AWARE, attack_on
from confide.measures.transparency.trial import FileTrial, MaskedHow
from confide.microdata import (
    METHODS,
    AdditiveNoise,
    Camouflage,
    DataSwapping,
    GlobalRecoding,
    HybridData,
    Method,
    Microaggregation,
    MultiplicativeNoise,
    NonlinearNoise,
    Plan,
    Pram,
    RankSwapping,
    RecordSwapping,
    Resampling,
    Rounding,
    Sampling,
    Shuffling,
    Synthesis,
    TableSynthesis,
    TopBottomCoding,
)


@pytest.mark.parametrize("word", METHODS)
def test_every_method_names_its_best_known_attack_and_it_can_be_run(word):
    name = METHODS[word].best_attack
    assert name in AWARE, f"{word} must name its best known attack in best_attack"
    assert FILE_ATTACKS[name] is not None and AWARE[name].name == name


def test_a_method_that_names_none_says_so():
    class Untried(Method):
        def _mask(self, records):
            raise NotImplementedError

    with pytest.raises(Mistake, match="No attack is known yet that makes use of untried"):
        attack_on(Untried())


def balance_sheets(rows, columns=13, seed=1):
    """Skewed and correlated, as the companies of the CASC project."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, columns)) + 0.8 * rng.normal(size=(rows, columns))
    return pd.DataFrame({f"v{j}": np.round(np.exp(5 + 0.7 * hidden[:, j]), 2) for j in range(columns)})


FIRMS = balance_sheets(400)
ON_FIRMS = [
    RankSwapping(p=15),
    Microaggregation(k=5),
    AdditiveNoise(k=0.3, kind="correlated"),
    MultiplicativeNoise(k=0.15),
    NonlinearNoise(k=0.15),
    Rounding(base=100),
    TopBottomCoding(top_share=0.2),
    HybridData(),
    Resampling(),
    Shuffling(),
]


@pytest.mark.parametrize("method", ON_FIRMS, ids=lambda m: m.word())
def test_the_attack_on_a_method_finds_no_fewer_firms_than_distance_does(method):
    """Four standard errors of 400 targets at most below; the intruder and the measure look from different sides."""
    names = list(FIRMS)
    released = method.protect(FIRMS, columns=names, teaching_seed=918273645)
    found = aware_risk(FIRMS, released, method=method, columns=names)
    near = measures.risk.distance_linkage(FIRMS, released, columns=names).percent
    assert found.attack == method.best_attack
    assert found.percent >= near - 400 * np.sqrt(max(near / 100 * (1 - near / 100), 1 / 400) / 400)


def test_rank_windows_over_13_attributes_link_four_of_five_at_p_15():
    """Issue 14: CASC-like data, p = 15, at least 80 percent; by distance 27 percent."""
    names, method = list(FIRMS), RankSwapping(p=15)
    released = method.protect(FIRMS, columns=names, teaching_seed=918273645)
    found = worst_attack(FIRMS, released, columns=names, method=method)
    assert found.attack == "rank-windows" and found.percent >= 80
    assert measures.risk.distance_linkage(FIRMS, released, columns=names).percent < 60


def test_normal_scores_betray_nonlinear_noise_more_than_evidence_does():
    """Measured: 84 percent against 31."""
    names, method = list(FIRMS), NonlinearNoise(k=0.5)
    released = method.protect(FIRMS, columns=names, teaching_seed=918273645)
    found = aware_risk(FIRMS, released, method=method, columns=names)
    assert found.percent > worst_attack(FIRMS, released, columns=names).percent + 30


def test_ratios_betray_multiplicative_noise_unless_there_is_much():
    names, found = list(FIRMS), {}
    for k in (0.15, 20.0):
        released = MultiplicativeNoise(k=k).protect(FIRMS, columns=names, teaching_seed=918273645)
        found[k] = aware_risk(FIRMS, released, method=MultiplicativeNoise(k=k), columns=names).percent
        standard = worst_attack(FIRMS, released, columns=names).percent
        assert found[k] > standard + 10 or k == 20
    assert found[0.15] > 60 and found[20] < 5


@pytest.mark.parametrize("scheme", ["z-scores", "positive"])
def test_ratios_are_those_of_the_scheme(scheme):
    rng = np.random.default_rng(3)
    size = np.exp(rng.normal(size=300))
    frame = pd.DataFrame({f"x{j}": 100 * size * np.exp(0.3 * rng.normal(size=300)) for j in range(4)})
    method = MultiplicativeNoise(k=0.01, scheme=scheme)
    released = method.protect(frame, columns=list(frame), teaching_seed=918273645)
    found = aware_risk(frame, released, method=method, columns=list(frame))
    assert found.percent > measures.risk.distance_linkage(frame, released, columns=list(frame)).percent
    assert found.percent > 70


def crowd(rows=900, seed=2):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice([f"t{i}" for i in range(12)], rows),
            "job": rng.choice([f"j{i}" for i in range(9)], rows),
            "pay": np.round(np.exp(rng.normal(7, 0.8, rows)), 2),
        }
    )


CROWD, KEYS = crowd(), ["age", "sex", "town", "job"]


def crowd_risk(method, columns, keys=KEYS):
    released = method.protect(CROWD, columns=columns, teaching_seed=918273645)
    standard = worst_attack(CROWD, released, columns=keys).percent
    return aware_risk(CROWD, released, method=method, columns=keys), standard


def test_whoever_knows_the_matrix_of_pram_links_more_than_whoever_does_not():
    found, standard = crowd_risk(Pram(change=0.5), ["sex", "town", "job"])
    assert found.attack == "pram-linkage" and found.percent > standard


@pytest.mark.parametrize("method", [DataSwapping(match=["sex"], share=0.3), RecordSwapping(keys=["age"], share=0.3)])
def test_whoever_knows_what_moved_links_at_least_as_many(method):
    found, standard = crowd_risk(method, ["town"])
    assert found.attack == "matched-sets" and found.percent > standard - 3


def test_a_column_that_was_swapped_everywhere_speaks_against_those_who_kept_it():
    """Everybody moves, so the record with the target's own town is somebody else's."""
    method = DataSwapping(match=["sex"], share=1.0)
    released = method.protect(CROWD, columns="town", teaching_seed=918273645)
    found = aware_risk(CROWD, released, method=method, columns=["age", "sex", "town"])
    plain = aware_risk(CROWD, released, method=method, columns=["age", "sex", "job"])
    near = measures.risk.distance_linkage(CROWD, released, columns=["age", "sex", "town"])
    assert found.percent > near.percent and plain.percent > found.percent


def test_shuffled_pay_adds_nothing_to_the_keys_that_stayed():
    found, _ = crowd_risk(Shuffling(), ["pay"], [*KEYS, "pay"])
    exact = 100 * (1 / CROWD.groupby(KEYS)["pay"].transform("size")).mean()
    assert found.attack == "kept-order"
    assert found.percent == pytest.approx(exact, abs=400 * np.sqrt(0.25 / 900))  # four standard errors


def test_whoever_masks_their_own_list_finds_everybody_who_is_alone_afterwards():
    for method, columns in (
        (Rounding(base=100), ["pay"]),
        (TopBottomCoding(top=60), ["age"]),
        (GlobalRecoding(cutpoints={"age": [30, 50, 70]}), ["age"]),
    ):
        released = method.protect(CROWD, columns=columns).frame
        keys = [*KEYS, "pay"] if columns == ["pay"] else KEYS
        alone = measures.risk.k_anonymity(released, keys=keys).frequency
        found = aware_risk(CROWD, released, method=method, columns=keys)
        assert found.attack == "own-list"
        # within four standard errors
        assert found.percent == pytest.approx(100 * np.mean(1 / alone), abs=400 * np.sqrt(0.25 / 900))


def test_a_sample_is_looked_up_by_an_identifier():
    numbered = CROWD.assign(id=np.arange(len(CROWD)))
    sample = Sampling(share=0.4).protect(numbered, teaching_seed=918273645)
    found = aware_risk(numbered, sample, method=Sampling(share=0.4), columns=[*KEYS, "pay"], identifier="id")
    assert found.attack == "own-list" and found.percent == 100


@pytest.mark.parametrize(("method", "names"), [(Synthesis(), list(CROWD)), (TableSynthesis(), ["sex", "town", "job"])])
def test_membership_of_a_synthetic_file_is_an_advantage_over_a_coin_with_its_area_under_the_curve(method, names):
    released = method.protect(CROWD, columns=names, teaching_seed=918273645)
    found = aware_risk(CROWD, released, method=method, columns=names)
    assert found.attack == "membership" and found.guessing == 50 and "AUC 0." in found.words
    assert found.advantage == pytest.approx(max(0, 2 * found.percent - 100))
    assert AwareRisk("a", "w", 40.0, 50.0).advantage == 0 and AwareRisk("a", "w", 100.0, 100.0).advantage == 0


@pytest.mark.parametrize("about", [{"size": 700}, {"size": len(CROWD)}, {"given": ("sex",), "sampled": "asked"}])
def test_membership_of_a_file_of_new_records_needs_no_pairs(about):
    method, names = Synthesis(**about), [name for name in CROWD if name not in about.get("given", ())]
    everybody = CROWD.assign(asked=np.arange(len(CROWD)) % 2 == 0)[[*CROWD, *about.get("sampled", "").split()]]
    released = method.protect(everybody, columns=names, teaching_seed=918273645).frame
    found = aware_risk(everybody, released, method=method, columns=list(CROWD))
    assert found.attack == "membership" and found.guessing == 50 and "AUC 0." in found.words
    assert found == aware_risk(everybody, released.sample(frac=1, random_state=1), method=method, columns=list(CROWD))


def test_of_a_population_only_those_surveyed_are_members():
    """Those surveyed stand in the file as they are, the others are nowhere near: every claim is right."""
    size = 400
    asked = np.arange(size) % 2 == 0
    x = np.where(asked, 0.0, 1e6) + np.arange(size)
    people = pd.DataFrame({"x": x, "sex": "f", "asked": asked})
    method = Synthesis(given=("sex",), sampled="asked")
    trial = FileTrial.of(people, people[asked], MaskedHow(("x",), (), method, paired=False), seed=0)
    candidates = trial.of_members(people.assign(x=5e6 + x))
    known = candidates.known.targets["x"].to_numpy()
    assert (known[candidates.truth.member] < size).all() and (known[~candidates.truth.member] > 4e6).all()


def test_what_cannot_be_tried_says_why():
    method = RankSwapping(p=15)
    released = method.protect(FIRMS, columns="v0", by=(), teaching_seed=5)
    with pytest.raises(Mistake, match="rank-windows cannot be tried. No key was swapped"):
        aware_risk(FIRMS, released, method=method, columns="v1")
    assert worst_attack(FIRMS, released, columns="v1", method=method).attack == "distance linkage"


def test_score_and_report_show_the_worst_of_the_attacks():
    names, method = list(FIRMS), RankSwapping(p=15)
    released = method.protect(FIRMS, columns=names, teaching_seed=918273645)
    unaware = measures.score(FIRMS, released, columns=names)
    aware = measures.score(FIRMS, released, columns=names, method=method)
    linked = aware_risk(FIRMS, released, method=method, columns=names).advantage
    assert unaware.aware is None and aware.aware == linked == aware.linkage
    assert aware.risk == pytest.approx((linked + unaware.interval) / 2) and aware.value > unaware.value
    found = measures.report(FIRMS, released, keys=names, method=method)
    assert found["aware attack"] == linked == found["worst attack"] and found["score"] == aware.value
    [row] = [each for each in found.findings if each.name == "worst attack"]
    assert row.about == "rank-windows"
    silent = measures.report(FIRMS, released, keys=names)
    assert not {"aware attack", "worst attack"} & {each.name for each in silent.findings}


def test_a_report_says_why_an_attack_was_not_tried_and_names_the_worst_of_the_others():
    released = Microaggregation(k=5).protect(FIRMS, columns=["v0", "v1"])
    found = measures.report(FIRMS, released, keys=["v2", "v3"], method=Microaggregation(k=5))
    [row] = [each for each in found.findings if each.name == "aware attack"]
    assert row.value is None and "No key was averaged" in row.meaning and found["worst attack"] == 100


def test_a_map_shows_the_worst_attack_on_each_way():
    names = list(FIRMS)
    step = Plan.parse(f'[[step]]\nmethod = "rank-swapping"\np = 15\ncolumns = {names}\n'.replace("'", '"'))
    found = measures.risk_utility_map(
        FIRMS, {"swapped": RankSwapping(p=15), "plan": step, "noisy": AdditiveNoise(k=0.001)}, columns=names, seed=5
    )
    assert [point.attack for point in found.points[:2]] == ["rank-windows", "rank-windows"]
    assert all(point.risk > 80 for point in found.points)
    assert "rank-windows" in found.to_text() and "rank-windows" in found.to_html()
    scores = measures.risk_utility_map(FIRMS, [RankSwapping(p=15)], columns=names, risk="score", seed=5)
    released = RankSwapping(p=15).protect(pa.Table.from_pandas(FIRMS), columns=names, teaching_seed=5)
    assert scores.points[0].risk > measures.score(FIRMS, released, columns=names).risk


def test_whoever_asks_camouflage_for_its_corners_is_nearer_than_the_middle_of_each_interval():
    """On average over 20 draws, of which one alone says little: measured, 45 percent as far off, and 159 of 160 corners found.
    The limits were set after that, and guard."""
    rng = np.random.default_rng(8)
    pay = rng.lognormal(5, 1, 60)
    ends = {"lower": pay * (1 - rng.uniform(0.1, 0.4, 60)), "upper": pay * (1 + rng.uniform(0.1, 0.4, 60))}
    attack, off, found = CamouflageIntervals(), [], []
    for seed in range(20):
        hidden = Camouflage.hide(pay, **ends, teaching_seed=918273645 + seed)
        assert hidden.best_attack == attack.name
        corners = attack.corners(hidden)
        apart = np.abs(corners[:, None] / hidden.points - 1).max(axis=2)
        found.append((apart < 1e-3).any(axis=0))
        middle = np.array([sum(hidden.total([place])) / 2 for place in range(60)])
        off.append([np.mean(np.abs(claimed - pay) / pay) for claimed in (corners.mean(axis=0), middle)])
    aware, plain = np.mean(off, axis=0)
    assert aware < 0.6 * plain and np.mean(found) > 0.95


def test_strata_are_attacked_one_by_one_by_whoever_knows_them():
    """Ranks are those of the stratum: over the whole file the windows would be in the wrong place."""
    firms = FIRMS.assign(branch=np.array(["a", "b"])[np.arange(400) % 2])
    firms.loc[firms["branch"] == "b", list(FIRMS)] *= 50
    method, names = RankSwapping(p=15), list(FIRMS)
    released = method.protect(firms, columns=names, by="branch", teaching_seed=918273645).frame
    found = aware_risk(firms, released, method=method, columns=[*names, "branch"], by="branch")
    assert found.attack == "rank-windows" and found.percent > 80
    with pytest.raises(Mistake, match="does not know the stratum, 'branch'"):
        aware_risk(firms, released, method=method, columns=names, by="branch")
