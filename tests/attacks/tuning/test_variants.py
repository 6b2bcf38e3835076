"""Which variants of a policy are tried."""

import pytest

from confide.attacks.tuning.variants import around, read_values, single_changes, varied
from confide.errors import Mistake
from confide.model.policy import PRESETS, Policy, preset_policy

STANDARD = preset_policy("standard")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("tables.mean_cell=2,4.5", (2, 4.5)),
        ("tables.class_disclosure = true", (True,)),
        ("totals.mechanism=ma,thompson", ("ma", "thompson")),
        ("totals.magnitudes=[0.4, 0.3],[0.2]", ([0.4, 0.3], [0.2])),
    ],
)
def test_values_are_read_as_toml_or_as_words(text: str, values: tuple[object, ...]) -> None:
    assert read_values(text).values == values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tables.mean_cel=2", "Did you mean 'tables.mean_cell'?"),
        ("mean_cell=2", "no field"),
        ("tables.mean_cell", "nothing to try"),
        ("tables.mean_cell=", "nothing to try"),
        ("quota.per_day=10", "changes no answer"),
        ("red_team.limit=0.1", "changes no answer"),
    ],
)
def test_what_cannot_be_tried_is_a_mistake(text: str, said: str) -> None:
    with pytest.raises(Mistake) as caught:
        read_values(text)
    assert said in " ".join([caught.value.message, *caught.value.suggestions])


@pytest.mark.parametrize(
    "text", ["records.noise=2", "tables.mean_cell=many", "tables.cross=1", "counts.mechanism=saef"]
)
def test_a_value_that_a_field_may_not_have_is_a_mistake(text: str) -> None:
    with pytest.raises(Mistake, match=text.partition("=")[0]):
        single_changes(STANDARD, [read_values(text)])


def test_one_field_is_changed_at_a_time_and_what_makes_no_difference_is_left_out() -> None:
    tried = [read_values("tables.mean_cell=2,5,8,8.0"), read_values("tables.cross=true,false")]
    found = single_changes(STANDARD, tried)
    assert found == [{}, {"tables.mean_cell": 2.0}, {"tables.mean_cell": 8.0}, {"tables.cross": False}]


@pytest.mark.parametrize("policy", PRESETS.values(), ids=PRESETS)
def test_the_usual_variants_are_near_the_policy_and_few(policy: Policy) -> None:
    found = single_changes(policy, around(policy))
    assert found[0] == {}
    assert len({varied(policy, changes).mark for changes in found}) == len(found) <= 15
    assert all(len(changes) == 1 for changes in found[1:])


def test_the_usual_variants_of_standard_change_records_and_rules_in_both_directions() -> None:
    values = {one.field: one.values for one in around(STANDARD)}
    assert values["tables.mean_cell"] == (2.5, 10.0)
    assert values["records.noise"] == (0.1, 0.2)
    assert not {"drop.k", "universe.gamma", "tables.sparsity", "totals.beta"} & set(values)
