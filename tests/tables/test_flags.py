"""Primaries and the protection they need: by derivation, by simulation, under weights, holdings and waivers."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables import PQ, AllZero, Dominance, PPercent, Status, Table, Threshold
from confide.tables.sensitivity import Contributions

RULES = [PPercent(15), PPercent(30, coalition=2), PQ(p=10, q=60), Dominance(1, 60), Dominance(n=2, k=80)]

contributors = st.lists(st.integers(1, 1000), min_size=1, max_size=8)


def cell(amounts, weights=None) -> Contributions:
    order = np.argsort(-np.abs(amounts), kind="stable")
    weight = np.ones(len(amounts)) if weights is None else np.asarray(weights, dtype=np.float64)
    padded = np.zeros((2, 1, max(8, len(amounts))))
    padded[0, 0, : len(amounts)] = np.abs(amounts)[order]
    padded[1, 0, : len(amounts)] = weight[order]
    total = float(np.sum(np.abs(amounts) * weight))
    units = np.array([len(amounts)])
    return Contributions(units, np.array([total]), padded[0], None if weights is None else padded[1])


def of(amounts, **options) -> Table:
    """A table of one variable with these contributors in its only cell."""
    return Table.from_microdata({"a": ["x"] * len(amounts), "v": amounts}, by=["a"], of="v", top=8, **options)


def test_the_handbook_computes_the_same_protection():
    # Handbook on SDC, section 4.2.2, example 4: 300, 20, 10 under the (1, 85) rule: the bound is 352.94.
    assert 330 + Dominance(1, 85).levels(cell([300, 20, 10]), counts=False).upper[0] == pytest.approx(352.94, abs=0.005)
    # Section 4.2.1, example 1: 50,000 and 49,000 of 100,000 are safe under (1, 90), though the runner-up errs by 2 % only.
    firms = cell([50_000, 49_000, 1_000])
    assert not Dominance(1, 90).marks(firms)[0]
    assert PPercent(10).marks(firms)[0]
    # Example 2: 52,000 and 50,000 of 110,000 are safe under 10 %, not under (2, 90.9).
    others = cell([52_000, 50_000, 8_000])
    assert not PPercent(10).marks(others)[0]
    assert Dominance(2, 90.9).marks(others)[0]


@given(contributors, st.sampled_from(RULES))
def test_with_the_protection_it_needs_a_marked_cell_would_just_not_be_marked(amounts, rule):
    parts = cell(amounts)
    assume(rule.marks(parts)[0])
    level = rule.levels(parts, counts=False).upper[0]
    assert level > 0

    def marked(total: float) -> bool:
        return bool(rule.marks(Contributions(parts.units, np.array([total]), parts.top))[0])

    assert not marked((parts.total[0] + level) * (1 + 1e-9))
    assert marked(parts.total[0] + level * (1 - 1e-6))


@given(contributors)
def test_no_contributor_estimates_another_closer_than_p_percent_of_what_the_cell_may_be(amounts):
    p = 20.0
    parts = cell(amounts)
    needed = PPercent(p).levels(parts, counts=False).upper[0] if PPercent(p).marks(parts)[0] else 0.0
    highest = sum(amounts) + needed
    for attacker, own in enumerate(amounts):
        for target, value in enumerate(amounts):
            if target != attacker:
                assert highest - own - value >= p / 100 * value - 1e-9
    assert len(amounts) > 1 or highest >= (1 + p / 100) * amounts[0] - 1e-9


@given(contributors, st.integers(1, 4))
def test_no_coalition_estimates_another_closer_than_p_percent(amounts, size):
    p = 25.0
    parts = cell(amounts)
    rule = PPercent(p, coalition=size)
    needed = rule.levels(parts, counts=False).upper[0] if rule.marks(parts)[0] else 0.0
    ordered = sorted(amounts, reverse=True)
    for target in range(len(ordered)):
        others = ordered[:target] + ordered[target + 1 :]
        assert sum(ordered) + needed - sum(others[:size]) - ordered[target] >= p / 100 * ordered[target] - 1e-9


def test_prior_posterior_with_everything_unknown_is_p_percent():
    rng = np.random.default_rng(5)
    for amounts in (rng.lognormal(0, 2, rng.integers(1, 8)) for _ in range(200)):
        parts = cell(amounts)
        assert PQ(p=15, q=100).marks(parts)[0] == PPercent(15).marks(parts)[0]
        levels = [rule.levels(parts, counts=False).upper[0] for rule in (PQ(p=15, q=100), PPercent(15))]
        assert levels[0] == pytest.approx(levels[1])


def test_an_attacker_with_estimates_as_good_as_q_never_does_better_than_p():
    # The runner-up knows the rest to within q percent, draws his estimate there, and subtracts it.
    rule, rng = PQ(p=10, q=40), np.random.default_rng(8)
    for _ in range(300):
        amounts = np.sort(rng.lognormal(0, 1.5, rng.integers(3, 8)))[::-1]
        if rule.marks(cell(amounts))[0]:
            continue
        rest = amounts[2:].sum()
        worst = rest * (1 + 0.4)
        assert abs(amounts.sum() - amounts[1] - worst - amounts[0]) >= 0.1 * amounts[0] - 1e-9


def test_counts_are_protected_up_to_a_safe_count_and_one_down():
    table = Table.from_microdata({"a": list("xyyzzz")}, by=["a"]).flag(Threshold(3))
    assert table.primary.tolist() == [False, True, True, False]
    assert table.lower_protection.tolist() == [0, 1, 1, 0]
    assert table.upper_protection.tolist() == [0, 2, 1, 0]


def test_magnitudes_below_the_threshold_stay_uncertain_by_the_range():
    assert of([60.0, 40]).flag(Threshold(3, range=25)).upper_protection.tolist() == [25, 25]
    assert of([60.0, 40]).flag(Threshold(3, range=0)).upper_protection.tolist() == [0, 0]


def test_protection_may_be_asked_for_above_only_or_in_all():
    flagged = {side: of([90.0, 8, 2]).flag(PPercent(10), protection=side) for side in ("both", "upper", "sliding")}
    asked = {
        side: [getattr(t, f"{name}_protection")[0] for name in ("lower", "upper", "sliding")]
        for side, t in flagged.items()
    }
    assert asked == {"both": [7, 7, 0], "upper": [0, 7, 0], "sliding": [0, 0, 14]}


def test_of_several_rules_the_widest_protection_holds():
    table = of([90.0, 8, 2])
    both = table.flag(PPercent(10), Threshold(5, range=3))
    assert both.upper_protection.tolist() == [7, 7]
    assert table.flag(Threshold(5, range=3)).flag(PPercent(10)).upper_protection.tolist() == [7, 7]


def test_a_holding_is_one_contributor():
    # Handbook on SDC, section 4.2.1, holdings: three branches of one company are one contributor.
    data = {"a": ["x"] * 4, "v": [40.0, 35, 20, 5], "company": ["c", "c", "c", "d"]}
    by_branch = Table.from_microdata(data, by=["a"], of="v").flag(Dominance(1, 75))
    by_company = Table.from_microdata(data, by=["a"], of="v", holding="company").flag(Dominance(1, 75))
    assert (by_branch.primary.any(), by_company.primary.all()) == (False, True)
    assert by_company.units.tolist() == [2, 2]
    assert by_company.contributions.top[0].tolist() == [95, 5, 0]


def test_weights_are_secret_unless_records_stand_for_as_many():
    # Handbook on SDC, section 4.2.1, sampling weights: 100 with weight 2 and 1 with weight 3, an estimate of 203.
    data = {"a": ["x", "x"], "v": [100.0, 1.0], "w": [2, 3]}
    table = Table.from_microdata(data, by=["a"], of="v", weight="w")
    assert table.value.tolist() == [203, 203]
    assert not table.flag(PPercent(5)).primary.any()
    assert table.flag(PPercent(5), weights="repeated").primary.all()
    assert not table.flag(PPercent(3), weights="repeated").primary.any()


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 4)), min_size=1, max_size=6), st.integers(1, 5))
def test_a_whole_weight_stands_for_as_many_equal_contributors(drawn, n):
    amounts, weights = map(list, zip(*drawn, strict=True))
    as_many = [amount for amount, weight in drawn for _ in range(weight)]
    assert cell(amounts, weights).repeated(n).top[0].tolist() == (sorted(as_many, reverse=True) + [0] * n)[:n]


def test_a_broken_weight_shares_a_place():
    parts = cell([100.0, 10.0], [2.5, 7])
    assert parts.repeated(4).top[0].tolist() == [100, 100, 55, 10]


def test_weights_below_one_never_understate_the_contributors_that_were_not_kept():
    kept = Contributions(np.array([9]), np.array([100.0]), np.array([[40.0, 30]]), np.array([[0.5, 0.5]]))
    assert kept.repeated(2).top.tolist() == [[35, 30]]


def test_a_waiver_turns_protection_to_the_next():
    # Handbook on SDC, section 4.2.1, waivers: X - x_s - x_r < p/100 x_s with s the largest who did not waive.
    table = of([80.0, 15, 5, 2])
    assert table.flag(PPercent(10)).primary.all()
    assert not table.waive(0).flag(PPercent(10)).primary.any()
    assert table.waive(0).flag(PPercent(50)).primary.all()
    assert table.waive(0).flag(Dominance(2, 92)).primary.all()
    assert not table.waive(0).flag(Dominance(1, 70)).primary.any()


def test_a_cell_whose_contributors_all_waived_is_not_marked():
    table = of([80.0, 15])
    assert table.flag(Threshold(3)).primary.all()
    assert table.waive(0).flag(Threshold(3)).primary.all()
    assert not table.waive(0, 1).flag(Threshold(3), PPercent(10)).primary.any()


def test_who_was_not_kept_may_be_as_large_as_the_last_who_was():
    table = Table.from_microdata({"a": ["x"] * 4, "v": [80.0, 15, 14, 1]}, by=["a"], of="v", top=2).waive(0, 1)
    # As if the third were 15: 110 - 15 - 80 is 15, less than 101 percent of him but not than 99.
    assert not table.flag(PPercent(99)).primary.any()
    assert table.contributions.top[0].tolist() == [15, 80]


def test_waivers_go_by_the_name_of_the_holding():
    data = {"a": ["x"] * 3, "v": [80.0, 15, 5], "h": ["big", "small", "tiny"]}
    table = Table.from_microdata(data, by=["a"], of="v", holding="h")
    assert not table.waive("big").flag(PPercent(10)).primary.any()
    with pytest.raises(Mistake, match="Did you mean 'small'"):
        table.waive("smal")
    with pytest.raises(Mistake, match="Waive first"):
        table.flag(PPercent(10)).waive("big")


def test_zeros_are_marked_only_by_their_own_rule_and_empty_cells_never():
    data = {"a": ["x", "x", "y"], "v": [0.0, 0.0, 3.0]}
    hierarchy = {"a": {"x": None, "y": None, "z": None}}
    table = Table.from_microdata(data, by=["a"], of="v", hierarchies=hierarchy)
    assert not table.flag(PPercent(10)).primary[1]
    zeros = table.flag(AllZero(reach=10))
    assert zeros.primary.tolist() == [False, True, False, False]
    assert (zeros.lower_protection[1], zeros.upper_protection[1]) == (0, 10)


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=6), st.sampled_from(RULES))
def test_signs_change_nothing_for_the_rules(amounts, rule):
    signed, plain = of([float(x) for x in amounts]), of([float(abs(x)) for x in amounts])
    assert signed.flag(rule).primary.tolist() == plain.flag(rule).primary.tolist()


def test_cells_are_marked_by_hand_and_to_be_published_stays():
    table = of([90.0, 8, 2])
    by_hand = table.mark(table.find(a="x"), "primary", range=20)
    assert by_hand.primary.tolist() == [False, True]
    assert by_hand.upper_protection.tolist() == [0, 20]
    shown = table.mark(table.find(a="x"), "published").flag(PPercent(10))
    assert [Status(s).name for s in shown.status] == ["PRIMARY", "PUBLISHED"]
    assert by_hand.mark(by_hand.find(a="x"), Status.SAFE).upper_protection.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("asking", "words"),
    [
        (lambda t: t.flag(), "no rule"),
        (lambda t: t.flag(Threshold(3), weights="secrets"), "Did you mean 'secret'"),
        (lambda t: t.flag(Threshold(3), protection="down"), "It may be both, upper, sliding"),
        (lambda t: t.flag(Dominance(9, 80)), "with top=9"),
        (lambda t: t.mark(t.find(a="x"), "primari"), "Did you mean 'primary'"),
        (lambda t: t.mark(t.find(a="x"), "primary", range=-1), "0 or more"),
        (lambda t: t.find(b="x"), "no variable 'b'"),
        (lambda t: t.find(a="z"), "'a' has no code 'z'"),
        (lambda t: PQ(p=10, q=10), "q larger than p"),
        (lambda t: PPercent(10, coalition=0), "must be at least 1, not 0"),
        (lambda t: PPercent("10"), "a number, more than 0, at most 100, not '10'"),
        (lambda t: AllZero(0), "more than 0"),
        (lambda t: Threshold(2.5), "a whole number"),
        (lambda t: Threshold(True), "a whole number"),
    ],
)
def test_what_cannot_be_asked_is_a_mistake(asking, words):
    with pytest.raises(Mistake, match=words):
        asking(of([90.0, 8, 2]))


def test_weighted_counts_are_protected_by_what_one_contributor_is_worth():
    data = {"a": ["x", "x", "y", "y", "y"], "w": [3, 5, 1, 1, 1]}
    table = Table.from_microdata(data, by=["a"], weight="w").flag(Threshold(3))
    assert table.primary.tolist() == [False, True, False]
    assert (table.lower_protection[1], table.upper_protection[1]) == (4, 4)


def test_a_rule_asks_for_nothing_below_what_everyone_knows():
    table = Table.from_microdata({"a": list("xxxyyy"), "t": [50, 10, 5, 30, 30, 30]}, by=["a"], of="t")
    flagged = table.flag(Dominance(n=1, k=20))
    assert (flagged.primary & (flagged.lower_protection == flagged.value)).any()
    assert (flagged.lower_protection <= flagged.value).all()


def test_no_cells_may_be_marked():
    table = Table.from_microdata({"a": list("xy")}, by=["a"])
    assert (table.mark([], "published").status == table.status).all()
