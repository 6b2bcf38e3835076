"""Games of privacy: the figures of Domingo-Ferrer (2011), where he errs, and laws that hold for every game."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from confide.coprivacy import (
    GRIM,
    TIT_FOR_TAT,
    CoprivacyShare,
    Game,
    Reciprocity,
    combined,
    coprivacy_share,
    help_probability,
    incentive,
    is_coprivate,
    privacy_functionality,
    read_game,
    request_game,
    social_network,
)
from confide.errors import Mistake

EXAMPLE_2 = social_network(sensitivities=[1.0], users=2)


def game_of(payoffs):
    sizes = payoffs.shape[1:]
    names = tuple(tuple(f"s{one}" for one in range(size)) for size in sizes)
    return Game(payoffs=payoffs, strategies=names, help=np.zeros(sizes, bool))


def two_players(least=1, most=3):
    sizes = st.tuples(st.integers(least, most), st.integers(least, most))
    whole = st.integers(-3, 3).map(float)
    return sizes.flatmap(lambda size: arrays(float, (2, *size), elements=whole)).map(game_of)


def test_example_2_has_the_payoffs_of_the_paper():
    assert EXAMPLE_2.payoffs[0].tolist() == [[0, 1], [0, 0.5]] and EXAMPLE_2.payoffs[1].tolist() == [[0, 0], [1, 0.5]]


def test_hiding_is_dominant_but_not_strictly_so_it_is_no_strict_prisoners_dilemma():
    assert EXAMPLE_2.dominant() == [("H", "H")] and EXAMPLE_2.dominant(strict=True) == []


@pytest.mark.parametrize("users", [2, 3, 4, 7])
def test_n_users_have_n_plus_one_pure_equilibria_in_which_at_most_one_publishes(users):
    """The paper calls (H, H) the only one."""
    found = social_network(sensitivities=[1.0], users=users).nash()
    assert len(found) == users + 1 and all(profile.count("P") <= 1 for profile in found)


def test_mixed_equilibria_of_example_2_are_two_continua():
    found = EXAMPLE_2.mixed()
    assert len(found) == 2 and all(one.continuum for one in found)
    assert all([1.0, 0.0] in one.first.tolist() and [1.0, 0.0] in one.second.tolist() for one in found)
    assert "continuum" in repr(found[0])


def test_correlated_equilibria_of_example_2_are_those_that_never_publish_both():
    assert EXAMPLE_2.correlated(objective="help").help == pytest.approx(0, abs=1e-9)
    for shares in ([0.2, 0.5, 0.3], [1, 0, 0], [0, 0.1, 0.9]):
        assert incentive(EXAMPLE_2, np.array([*shares, 0.0]).reshape(2, 2)) == 0
    assert incentive(EXAMPLE_2, np.array([0.5, 0.25, 0.2, 0.05])) > 0


def test_the_best_welfare_of_two_is_1_and_the_fairest_tosses_a_coin():
    assert EXAMPLE_2.correlated().welfare == pytest.approx(1)
    fair = EXAMPLE_2.correlated(objective="fair")
    assert fair.values == pytest.approx([0.5, 0.5]) and fair.welfare == pytest.approx(1)
    assert fair.chances == pytest.approx({("H", "P"): 0.5, ("P", "H"): 0.5}, abs=1e-6)


def test_publishing_both_needs_an_epsilon_of_one_half():
    both = np.array([[0, 0], [0, 1.0]])
    assert incentive(EXAMPLE_2, both) == 0.5
    for epsilon in (0, 0.1, 0.25, 0.5):
        assert help_probability(EXAMPLE_2, kind="correlated", epsilon=epsilon) == pytest.approx(2 * epsilon, abs=1e-7)


def test_three_users_have_a_correlated_welfare_of_2_and_of_3_if_all_publish():
    three = social_network(sensitivities=[1.0], users=3)
    assert three.correlated().welfare == pytest.approx(2)
    assert three.payoffs[:, 1, 1, 1].sum() == 3


def test_a_social_network_is_not_coprivate_in_any_way():
    assert not any(is_coprivate(EXAMPLE_2, kind=kind) for kind in ("pure", "mixed", "correlated"))


def test_a_finite_game_need_not_be_mixedly_coprivate():
    """The paper says that every one is. Here asking directly gives 1 and being helped 0."""
    game = request_game(direct=1, helped=[0], refused=[0], helping=[1], refusing=[0])
    assert game.mixed() and not is_coprivate(game, kind="mixed") and not is_coprivate(game, kind="correlated")


def test_definition_1_wants_both_the_asker_and_a_peer_to_gain():
    def coprivate(helped, helping):
        peers = len(helped)
        told = {"refused": [-1] * peers, "refusing": [0] * peers}
        return is_coprivate(request_game(direct=0, helped=helped, helping=helping, **told))

    assert coprivate([1], [1]) and coprivate([0], [0])
    assert not coprivate([-0.5], [1]) and not coprivate([1], [-1])
    assert coprivate([3, 1], [-1, 1])  # the better peer is unwilling, another is not
    assert not coprivate([3, -2], [-1, 1])


def test_help_can_be_mixed_where_it_is_never_pure():
    """Each would rather do what the other does not expect; now and then help comes of it."""
    game = Game.of(
        {("direct", "do"): (0, 1), ("direct", "refuse"): (1, 0), ("ask", "do"): (1, 0), ("ask", "refuse"): (0, 1)},
        help=[("ask", "do")],
    )
    assert not is_coprivate(game) and help_probability(game, kind="mixed") == pytest.approx(0.25)


def test_delta_comes_with_an_interval_that_covers_the_truth():
    def draw(random):
        return request_game(direct=0, helped=[1], refused=[-1], helping=[random.uniform(-3, 1)], refusing=[0])

    found = coprivacy_share(draw, np.random.default_rng(1), samples=400)
    assert found.low < 0.25 < found.high
    # Wilson's interval of 0 of 10, as in Brown, Cai and DasGupta (2001): 0 to z² / (n + z²).
    none = CoprivacyShare.of(0, 10)
    assert (none.low, none.high) == pytest.approx((0, 1.96**2 / (10 + 1.96**2)), abs=1e-4)


def test_general_coprivacy_adds_what_else_a_helper_wants():
    told = {"direct": 0, "helped": [1], "refused": [-1], "refusing": [0]}
    privacy = request_game(helping=[-1], **told)
    favour = request_game(direct=0, helped=[0], refused=[0], helping=[3], refusing=[0])
    assert not is_coprivate(privacy) and is_coprivate(combined((1, privacy), (0.5, favour)))


@pytest.mark.parametrize("discount", [0.0, 0.3, 0.5, 0.7, 0.95])
def test_grim_holds_from_one_half_and_tit_for_tat_always_leaves_a_gain(discount):
    assert GRIM.gain(EXAMPLE_2, discount=discount) == pytest.approx(max(0.0, 0.5 - discount))
    assert TIT_FOR_TAT.gain(EXAMPLE_2, discount=discount) == pytest.approx((1 - discount) / (2 * (1 + discount)))


def test_a_reputation_of_two_rounds_holds_from_the_golden_section():
    """It holds if (1 - d) / (1 - d³) <= 1/2, so from d² + d = 1: ours, not the article's."""
    golden = (5**0.5 - 1) / 2
    assert Reciprocity(2).gain(EXAMPLE_2, discount=golden + 1e-6) == 0
    assert Reciprocity(2).gain(EXAMPLE_2, discount=golden - 1e-3) > 0


def test_payoffs_of_a_network_are_prf_of_every_profile():
    beta = [[1.0, 0.5], [2.0, 0.25]]
    links = [(0, 1), (1, 2)]
    game = social_network(sensitivities=beta, users=3, links=links)
    level = {"H": 0, "1": 1, "2": 2}
    for profile in list(product(*game.strategies))[::37]:
        seen = np.array([[[level[one[i]] > k for k in range(2)] for one in profile] for i in range(2)])
        place = tuple(names.index(one) for names, one in zip(game.strategies, profile, strict=True))
        paid = game.payoffs[(slice(None), *place)]
        assert paid == pytest.approx(privacy_functionality(seen, beta, links=links))


def test_prf_by_hand_on_a_line_of_three():
    """User 0 gets from 1 (one link) 1·V and from 2 (two links) 0.5·V, over 1 plus what 0 shows."""
    seen = np.array([[[1, 0], [1, 1], [1, 1]]])
    found = privacy_functionality(seen, [[1.0, 0.5]], links=[(0, 1), (1, 2)])
    assert found == pytest.approx([1.5 / 2, 2 / 2.5, 1 / 2.5])


def test_who_is_linked_to_nobody_gets_nothing():
    assert social_network(sensitivities=[1.0], users=3, links=[(0, 1)]).payoffs[2].max() == 0


@given(two_players())
def test_pure_equilibria_are_those_from_which_nobody_gains_by_moving(game):
    found = set(game.nash())
    for places in product(*(range(size) for size in game.help.shape)):
        stays = all(
            game.payoffs[(i, *places)] >= game.payoffs[(i, *places[:i], other, *places[i + 1 :])]
            for i, size in enumerate(game.help.shape)
            for other in range(size)
        )
        assert stays == (game.profile(places) in found)


@given(two_players())
def test_every_mixed_equilibrium_is_one_and_pure_ones_are_among_them(game):
    found = game.mixed()
    assert found, "Nash 1951"
    for one in found:
        for x, y in product(one.first, one.second):
            assert x @ game.payoffs[0] @ y == pytest.approx((game.payoffs[0] @ y).max(), abs=1e-7)
            assert x @ game.payoffs[1] @ y == pytest.approx((x @ game.payoffs[1]).max(), abs=1e-7)
    for places in np.argwhere(game.equilibria()):
        x, y = (np.eye(size)[place] for size, place in zip(game.help.shape, places, strict=True))
        assert any(x.tolist() in one.first.tolist() and y.tolist() in one.second.tolist() for one in found)


@given(two_players(), st.sampled_from(["welfare", "fair"]), st.sampled_from([0.0, 0.5]))
def test_a_correlated_equilibrium_leaves_no_gain_above_epsilon_and_beats_every_pure_one(game, objective, epsilon):
    found = game.correlated(objective=objective, epsilon=epsilon)
    assert found.probabilities.sum() == pytest.approx(1) and incentive(game, found.probabilities) <= epsilon + 1e-6
    pure = game.payoffs[:, game.equilibria()]
    if pure.size:
        best = found.welfare if objective == "welfare" else found.values.min()
        assert best >= (pure.sum(axis=0) if objective == "welfare" else pure.min(axis=0)).max() - 1e-6


@given(two_players(), st.sampled_from([1e-8, 1e-3, 1e6]))
def test_equilibria_do_not_depend_on_the_unit_of_payoffs(game, unit):
    other = game_of(game.payoffs * unit)
    assert other.nash() == game.nash() and other.dominant(strict=True) == game.dominant(strict=True)
    assert [repr(one) for one in other.mixed()] == [repr(one) for one in game.mixed()]
    assert other.correlated().welfare == pytest.approx(game.correlated().welfare * unit, abs=1e-5 * unit)


@given(two_players(least=2))
def test_a_strictly_dominant_solution_is_the_only_equilibrium(game):
    if game.dominant(strict=True):
        assert game.nash() == game.dominant(strict=True)


@pytest.mark.parametrize(
    ("work", "complaint"),
    [
        (lambda: Game.of({("a", "b"): (1, float("nan"))}), "missing or is not a finite"),
        (lambda: Game.of({("a", "b"): (1, float("inf"))}), "missing or is not a finite"),
        (lambda: Game.of({("a", "b"): (1, 1), ("c", "d"): (1, 1)}), "payoffs of a, d are missing"),
        (lambda: Game.of({("a", "b"): (1,)}), "a strategy and a payoff for each player"),
        (lambda: Game.of({}), "a strategy and a payoff"),
        (lambda: Game.of({("a",): (1,)}, help=[("b",)]), "no profile b"),
        (lambda: EXAMPLE_2.correlated(objective="welfrae"), "Did you mean 'welfare'"),
        (lambda: EXAMPLE_2.correlated(epsilon=-1), "from 0"),
        (lambda: EXAMPLE_2.correlated(epsilon=float("nan")), "from 0"),
        (lambda: social_network(sensitivities=[1.0], users=3).mixed(), "two players, not 3"),
        (lambda: social_network(sensitivities=[1.0], users=1), "two users or more"),
        (lambda: social_network(sensitivities=[-1.0], users=2), "numbers from 0"),
        (lambda: social_network(sensitivities=[float("nan")], users=2), "numbers from 0"),
        (lambda: social_network(sensitivities=[[1.0, 1.0]], users=2), "need links"),
        (lambda: social_network(sensitivities=[1.0], users=2, links=[(0, 2)]), "users 0 to 1"),
        (lambda: social_network(sensitivities=[1.0], users=40), "more than can be enumerated"),
        (lambda: request_game(direct=0, helped=[], refused=[], helping=[], refusing=[]), "a peer or more"),
        (lambda: is_coprivate(game_of(np.zeros((2, 2, 2)))), "which profiles are help"),
        (lambda: is_coprivate(EXAMPLE_2, kind="strict"), "no coprivacy called 'strict'"),
        (lambda: is_coprivate(EXAMPLE_2, epsilon=0.1), "for correlated"),
        (lambda: combined((1, EXAMPLE_2), (1, social_network(sensitivities=[1], users=3))), "same players"),
        (lambda: GRIM.gain(EXAMPLE_2, discount=1), "below 1"),
        (lambda: GRIM.gain(social_network(sensitivities=[1], users=3), discount=0.5), "two players"),
        (lambda: Reciprocity(0), "1 to 1,000"),
    ],
)
def test_what_is_no_game_is_a_mistake(work, complaint):
    with pytest.raises(Mistake, match=complaint):
        work()


def test_a_game_is_read_from_a_file(tmp_path):
    file = tmp_path / "game.csv"
    file.write_text("ann,bob,payoff ann,payoff bob,help\nH,H,0,0,no\nH,P,1,0,no\nP,H,0,1,no\nP,P,0.5,0.5,yes\n")
    game = read_game(file)
    assert (game.payoffs == EXAMPLE_2.payoffs).all() and (game.help == EXAMPLE_2.help).all()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("ann,bob,payoff ann\nH,H,1\n", "is not a game"),
        ("ann,payoff ann\nH,\nP,1\n", "payoff of ann is missing"),
        ("ann,payoff ann\nH,nan\nP,1\n", "missing or is not a"),
        ("ann,payoff ann\nH,much\nP,1\n", "payoff of ann is missing or is not a number"),
        ("ann,payoff ann\n,2\nP,1\n", "strategy of ann is missing"),
        ("ann,payoff ann\nP,2\nP,1\n", "twice"),
        ("ann,payoff ann,help\nP,2,perhaps\n", "yes or no"),
        ("ann,bob,payoff ann,payoff bob\nH,H,1,1\nP,P,1,1\n", "payoffs of H, P are missing"),
    ],
)
def test_a_file_that_is_no_game_is_a_mistake(text, complaint, tmp_path):
    (tmp_path / "game.csv").write_text(text)
    with pytest.raises(Mistake, match=complaint):
        read_game(tmp_path / "game.csv")
