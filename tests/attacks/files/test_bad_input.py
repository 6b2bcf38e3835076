"""Files that cannot be attacked: a sentence says why."""

import pandas as pd
import pytest

from confide.attacks.files.registry import FILE_ATTACKS
from confide.attacks.files.trying import attack_file
from confide.errors import Mistake
from confide.microdata import Microaggregation, RankSwapping

PEOPLE = pd.DataFrame({"age": [20, 30, 40], "sex": list("ffm"), "pay": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize(
    ("original", "released", "about", "sentence"),
    [
        (PEOPLE, PEOPLE.drop(columns="age"), {"keys": "age"}, "In the released file: No column called 'age'"),
        (PEOPLE, PEOPLE, {"keys": "aeg"}, "Did you mean 'age'"),
        (PEOPLE, PEOPLE, {"keys": []}, "at least one column as keys"),
        (PEOPLE, PEOPLE, {"keys": "age", "confidential": "age"}, "'age' is a key"),
        (PEOPLE, PEOPLE.head(2), {"keys": "age"}, "3 records, the released one 2"),
        (PEOPLE.head(0), PEOPLE.head(0), {"keys": "age"}, "has no records"),
        (PEOPLE.head(1), PEOPLE.head(1), {"keys": "age"}, "file of one record"),
        (
            PEOPLE,
            PEOPLE.assign(age=list("xyy"), sex=list("fmm")),
            {"keys": ["age", "sex"], "only": ["uniqeness"]},
            "'uniqueness'",
        ),
        (PEOPLE, PEOPLE, {"keys": "age", "identifier": "sex"}, "stands twice"),
    ],
)
def test_what_cannot_be_attacked_is_a_mistake(original, released, about, sentence):
    with pytest.raises(Mistake, match=sentence):
        attack_file(original, released, **about)


def test_every_attack_takes_small_files_and_missing_values():
    """Two records, one of them with nothing in it: nothing fails, and nobody is claimed twice over."""
    original = pd.DataFrame({"age": [20.0, None], "sex": ["f", None], "pay": [1.0, None]})
    for method in (None, RankSwapping()):
        for found in attack_file(original, original, keys=["age", "sex"], confidential="pay", method=method):
            assert 0 <= found.right <= found.claimed <= max(found.targets, found.claimed)
            assert 0 <= found.success <= 1, found.attack


def test_attacks_are_the_same_every_time():
    runs = [attack_file(PEOPLE, PEOPLE, keys=["age", "sex"], confidential="pay", seed=4) for _ in range(2)]
    assert [{**found.as_dict(), "seconds": 0} for found in runs[0]] == [
        {**found.as_dict(), "seconds": 0} for found in runs[1]
    ]


def test_attacks_are_named_once_and_placed_in_the_catalogue():
    assert all(attack.name == name and attack.words.endswith(".") for name, attack in FILE_ATTACKS.items())
    assert {attack.code for attack in FILE_ATTACKS.values()} == {"L1", "L2", "L3", "L4", "L7", "L9", "L10", "L11"}


def test_a_file_too_small_to_be_masked_without_the_targets_is_attacked_all_the_same():
    """Of four records none can be left out of groups of four: what others tell is not to be had, the rest is."""
    original = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "same": [1.0] * 4, "pay": [1.0, 2.0, 3.0, 4.0]})
    method = Microaggregation(k=4)
    released = method.protect(original, columns=["age", "pay"]).frame
    found = {
        each.attack: each
        for each in attack_file(original, released, keys=["age", "same"], confidential="pay", method=method)
    }
    assert found["looking-up"].applies and found["looking-up"].others is None
    assert not found["membership"].applies and "half of the file" in found["membership"].stopped
    assert found["group-windows"].targets == 4
