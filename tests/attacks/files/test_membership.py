"""L7: whether a file betrays whose records it was made from."""

import numpy as np
import pyarrow as pa
import pytest

from confide.attacks.files.trying import attack_file
from confide.microdata import AdditiveNoise, Synthesis


def test_a_copy_betrays_its_members_and_a_synthetic_file_hardly(people_of, tried):
    everyone = pa.Table.from_pandas(people_of(1200).drop(columns="town"), preserve_index=False)
    members, holdout = everyone.slice(0, 600), everyone.slice(600)
    about = {"keys": ["age", "sex", "ill"], "confidential": "income", "holdout": holdout}
    copied = tried(
        "membership", members, AdditiveNoise(k=1e-6).protect(members, columns="income", teaching_seed=1).frame, **about
    )
    assert copied.success > 0.95 and copied.guess == 0.5
    synthetic = Synthesis().protect(members, columns=everyone.column_names, teaching_seed=1).frame
    # a tree hands out incomes of real people, so some members are nearer; far from most
    assert tried("membership", members, synthetic, **about).success < 0.65


def test_other_records_of_the_population_betray_nobody(people_of, tried):
    everyone = people_of(1500).drop(columns="town")
    members, others, holdout = (everyone.iloc[a : a + 500].reset_index(drop=True) for a in (0, 500, 1000))
    found = tried("membership", members, others, keys=["age", "sex", "ill"], confidential="income", holdout=holdout)
    assert abs(found.success - 0.5) < 4 * np.sqrt(0.25 / 1000)


def test_without_a_holdout_the_method_is_tried_on_half_of_the_file(firms_of, tried):
    original = firms_of(600, 3)
    about = {"keys": ["v0", "v1"], "confidential": "v2"}
    weak, strong = AdditiveNoise(k=1e-6), AdditiveNoise(k=5.0)
    for method, least, most in ((weak, 0.95, 1.0), (strong, 0.0, 0.6)):
        released = method.protect(original, columns=list(original), teaching_seed=4).frame
        assert least <= tried("membership", original, released, method=method, **about).success <= most


def test_with_neither_it_does_not_apply(people_of, tried):
    found = tried("membership", people_of(50), people_of(50), keys="age")
    assert not found.applies and "holdout" in found.stopped


def test_a_holdout_must_have_the_columns(people_of, tried):
    with pytest.raises(Exception, match="No column called 'sex'"):
        tried("membership", people_of(50), people_of(50), keys=["age", "sex"], holdout=people_of(50)[["age"]])


def test_of_new_records_members_and_values_beside_the_nearest_are_tried_and_nobody_is_looked_for(people_of):
    members, method = people_of(300).drop(columns="town"), Synthesis(size=200)
    synthetic = method.protect(members, columns=list(members), teaching_seed=1).frame
    found = attack_file(members, synthetic, keys=["age", "sex"], confidential="income", method=method)
    assert [one.attack for one in found if one.applies] == ["looking-up", "membership"]
    assert all("new records" in one.stopped for one in found if not one.applies)
