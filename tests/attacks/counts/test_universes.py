"""Attacks by universes that hardly differ, or differ at random, or are one set in other words."""

import numpy as np
import pytest

from confide.attacks.claims import Known, NotApplicable, UnitTargets
from confide.attacks.counts.universes.boxes import Boxes
from confide.attacks.counts.universes.changed_cells import ChangedCells
from confide.attacks.counts.universes.changes import cell_posterior
from confide.attacks.counts.universes.random_universes import RandomUniverses
from confide.attacks.counts.universes.words_for_a_set import WordsForASet
from confide.attacks.intruder import Intruder
from confide.attacks.runner import Settings, carry_out
from confide.model.catalog.dataset import Code, CodeList, Dataset, Kind, Variable
from confide.model.policy import Policy


def test_changed_cells_tell_the_class_where_cells_are_keyed_alone(field) -> None:
    result = carry_out(ChangedCells(), field("tablebuilder", rows=10_000), Settings(targets=30, questions=150))
    assert result.precision > 0.85
    assert result.lift > 0.3


def test_a_cell_that_never_shows_anything_counts_once() -> None:
    """Otherwise a hundred looks at an empty cell would make any other class certain."""
    counts = np.zeros((1, 3, 3))
    counts[0, 0, 1], counts[0, 1:, 0] = 100, 100
    belief = cell_posterior(counts, np.array([0.2, 0.4, 0.4]))[0]
    assert belief[0] < 0.05
    assert abs(belief[1] - belief[2]) < 1e-9


def test_random_universes_and_least_squares_tell_the_class(field) -> None:
    result = carry_out(RandomUniverses(), field("tablebuilder", rows=10_000), Settings(targets=40, questions=170))
    assert result.success > 0.65
    assert result.lift > 0.2


def test_other_words_for_a_set_tell_its_count_where_units_are_dropped(field) -> None:
    """Not `tablebuilder`, which drops nothing: there all words have one answer, and nothing is claimed."""
    result = carry_out(WordsForASet(), field("census-mas"), Settings(questions=250))
    assert result.targets > 50
    assert result.precision > 0.6
    assert result.lift > 0.1
    alike = carry_out(WordsForASet(), field("tablebuilder"), Settings(questions=250))
    assert alike.claimed == 0


def test_a_data_set_with_two_variables_has_no_other_words() -> None:
    two = {
        name: Variable(name, name, Kind.CATEGORICAL, codes=CodeList((Code("a", "A"), Code("b", "B")))) for name in "xy"
    }
    with pytest.raises(NotApplicable, match="three variables"):
        WordsForASet().wants(Dataset("t", "T", two), Policy())


def test_a_box_may_change_sides_without_one_piece_too_many(field) -> None:
    """A third key with many classes would need as many pieces; those beyond the limit are left out alike."""
    there = field("tablebuilder", rows=3_000)
    wanted = UnitTargets(("age", "sex", "county"), "income")
    known = Known(1, {"age": np.array([3]), "sex": np.array([0]), "county": np.array([7])})
    rng = np.random.default_rng(1)
    with there.opened() as site:
        intruder = Intruder(site, there.truth.dataset, there.policy, rng, 100, known)
        boxes = Boxes(intruder, wanted)
        for box in [(3, place) for place in range(20)]:
            changed = boxes.draw()
            changed[box] ^= True
            boxes.table(changed)
    assert intruder.asked == 20
    assert not intruder.refused["universe.pieces"]
    assert not intruder.mistakes
