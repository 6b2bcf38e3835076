"""Plans: read, written, run; and what a typo gives."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.microdata import AdditiveNoise, GlobalRecoding, Microaggregation, Plan, Rounding, Sampling, TopBottomCoding
from confide.microdata.methods.registry import METHODS
from confide.microdata.step import PlanStep, toml

PLAN = """
[roles]
key = ["age", "größe"]
confidential = ["income"]

[[step]]
method = "global-recoding"
columns = ["trade"]
hierarchies = { trade = "trades.hrc" }

[[step]]
method = "microaggregation"
k = 3
role = "key"
by = "area"

[[step]]
method = "sampling"
share = 0.5

[[step]]
method = "top-bottom-coding"
role = "confidential"
top = 3000
"""
TRADES = "Farms\n@F1\n@F2\nShops\n@S1\n"


def people(size: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 90, size),
            "größe": rng.normal(170, 10, size),
            "income": rng.lognormal(8, 1, size),
            "trade": rng.choice(["F1", "F2", "S1"], size),
            "area": rng.choice(["a", "b"], size),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "trades.hrc").write_text(TRADES, encoding="utf-8")
    return tmp_path


def test_a_plan_does_what_its_steps_do_one_after_the_other(folder: Path) -> None:
    released = Plan.read(folder / "plan.toml").protect(people(), teaching_seed=11)
    one = GlobalRecoding(hierarchies={"trade": TRADES}).protect(people(), columns="trade")
    two = Microaggregation(k=3).protect(one, columns=["age", "größe"], by="area")
    three = Sampling(share=0.5).protect(two, teaching_seed=11)
    four = TopBottomCoding(top=3000).protect(three, columns="income")
    pd.testing.assert_frame_equal(released.frame, four.frame)
    assert [step["method"] for step in released.report["steps"]] == [type(m).word() for m in
        (GlobalRecoding(), Microaggregation(), Sampling(), TopBottomCoding(top=1))]  # fmt: skip
    assert released.report["steps"][1]["loss"] == two.report["loss"]


def test_a_plan_written_and_read_again_is_the_same(folder: Path) -> None:
    plan = Plan.read(folder / "plan.toml")
    assert Plan.parse(plan.text()) == plan
    assert "trades.hrc" not in plan.text() and "Farms" in plan.text()


def test_steps_that_are_the_same_do_not_draw_the_same() -> None:
    twice = Plan((PlanStep(Sampling(share=0.5)), PlanStep(Rounding(), ("age",)), PlanStep(Sampling(share=0.5))))
    frame = pd.DataFrame({"age": np.arange(40.0)})
    once = Sampling(share=0.5).protect(frame, teaching_seed=3).frame
    again = Sampling(share=0.5).protect(once, teaching_seed=3).frame.round(-1)
    assert again["age"].tolist() != twice.protect(frame, teaching_seed=3).frame["age"].tolist()


def test_methods_that_differ_in_a_parameter_share_no_draws() -> None:
    """Noise of twice the size with the same draws would be subtracted, and the truth be left."""
    frame = pd.DataFrame({"x": np.arange(100.0)})
    one, two = (
        AdditiveNoise(k=k, kind="uncorrelated").protect(frame, columns="x", teaching_seed=3).frame["x"] - frame["x"]
        for k in (0.1, 0.4)
    )
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.4  # four standard errors
    same = AdditiveNoise(k=1).protect(frame, columns="x", teaching_seed=3).frame
    pd.testing.assert_frame_equal(same, AdditiveNoise(k=1.0).protect(frame, columns="x", teaching_seed=3).frame)


def test_taking_a_step_out_leaves_what_the_others_draw_as_it_was() -> None:
    """This is undo: without its first step, the sample is of the same records."""
    plan = Plan((PlanStep(Rounding(base=5), ("age",)), PlanStep(Sampling(share=0.5))))
    undone = Plan(plan.steps[1:])
    both = [p.protect(people(), teaching_seed=7).frame["income"].tolist() for p in (plan, undone)]
    assert both[0] == both[1]


def test_roles_may_come_from_the_catalog_of_a_data_set(folder: Path) -> None:
    (folder / "people").mkdir()
    catalog = (
        '[variables.age]\nkind = "numeric"\nrole = "key"\n[variables.income]\nkind = "numeric"\nrole = "confidential"\n'
    )
    (folder / "people" / "dataset.toml").write_text(catalog, encoding="utf-8")
    text = 'dataset = "people/dataset.toml"\n[[step]]\nmethod = "rounding"\nrole = "confidential"\n'
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    plan = Plan.read(folder / "plan.toml")
    assert plan.roles == {"key": ("age",), "confidential": ("income",)}
    after = plan.protect(people()).frame
    assert np.all(after["income"] % 10 == 0) and after["age"].equals(people()["age"])


def test_progress_runs_through_all_steps() -> None:
    told: list[float] = []
    Plan((PlanStep(Rounding(), ("age",)), PlanStep(Rounding(), ("income",)))).protect(people(), progress=told.append)
    assert told == sorted(told) and told[-1] == 1.0 and 0.5 in told


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "one \\[\\[step\\]\\] or more"),
        ("step = 3", "one \\[\\[step\\]\\] or more"),
        ("[[step]\n", "not valid TOML"),
        ('stp = 1\n[[step]]\nmethod = "rounding"', "Unknown key 'stp'.*'step'"),
        ("[[step]]\ncolumns = ['a']", "names its method"),
        ('[[step]]\nmethod = "roundign"', "No method called 'roundign'.*'rounding'"),
        ('[[step]]\nmethod = "x"', "No method called 'x'. There are .*rounding"),
        ('[[step]]\nmethod = "rounding"\nbse = 3', "Unknown key 'bse' in a step of 'rounding'.*'base'"),
        ('[[step]]\nmethod = "rounding"\nbase = "three"', "base must be a number, more than 0, not 'three'"),
        ('[[step]]\nmethod = "rounding"\ncolumns = [3]', "'columns' must be names"),
        ('[[step]]\nmethod = "rounding"\nweight = 3', "'weight' must be text"),
        ('[[step]]\nmethod = "sampling"\nseed = 5', "holds no seed.*the key of the release"),
        ('[[step]]\nmethod = "rounding"\nrole = "key"\ncolumns = ["a"]', "columns or a role"),
        ('roles = 1\n[[step]]\nmethod = "rounding"', "roles.* must be a section"),
        ('[roles]\nkey = "a"\n[[step]]\nmethod = "rounding"', "'key' must be a list"),
        ('dataset = "d.toml"\n[[step]]\nmethod = "rounding"', "names a file, 'd.toml'"),
        ('dataset = 3\n[[step]]\nmethod = "rounding"', "'dataset' must be the name"),
        ('dataset = "d"\n[roles]\n[[step]]\nmethod = "rounding"', "roles or a dataset"),
        ('[[step]]\nmethod = "microaggregation"\nhierarchies = { a = "a.hrc" }', "names a file, 'a.hrc'"),
    ],
)
def test_a_plan_that_cannot_be_read_says_why(text: str, complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        Plan.parse(text)


def test_a_mistake_in_a_long_plan_says_in_which_step() -> None:
    with pytest.raises(Mistake, match="Step 2: .*'roundign'"):
        Plan.parse('[[step]]\nmethod = "rounding"\ncolumns = ["a"]\n[[step]]\nmethod = "roundign"')
    plan = Plan((PlanStep(Rounding(), ("age",)), PlanStep(Microaggregation(k=500), ("age",))))
    with pytest.raises(Mistake, match="Step 2 \\(microaggregation\\): Fewer than k"):
        plan.protect(people())


def test_names_and_seeds_are_looked_at_before_any_work_is_done() -> None:
    told: list[float] = []
    for step, complaint in [
        (PlanStep(Rounding(), ("aeg",)), "Step 2 \\(rounding\\): No column called 'aeg'.*'age'"),
        (PlanStep(Rounding(), ("age",), by=("arae",)), "'arae'.*'area'"),
        (PlanStep(Sampling()), "draws at random, from a secret key"),
        (PlanStep(Rounding(), role="keys"), "No column has the role 'keys'.*'key'"),
    ]:
        plan = Plan((PlanStep(Rounding(), ("age",)), step), roles={"key": ("age",)})
        with pytest.raises(Mistake, match=complaint):
            plan.protect(people(), progress=told.append)
    assert told == []


def test_files_that_are_not_there_or_no_text_are_mistakes(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="There is no file"):
        Plan.read(tmp_path / "none.toml")
    (tmp_path / "plan.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Mistake, match="cannot be read"):
        Plan.read(tmp_path / "plan.toml")


values = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(values)
def test_any_value_is_read_as_it_was_written(value: object) -> None:
    import tomllib

    assert tomllib.loads(f"value = {toml(value)}")["value"] == value


def test_no_parameter_has_the_name_of_what_every_step_says() -> None:
    from dataclasses import fields

    about = {f.name for f in fields(PlanStep)} | {"file", "output", "missing"}
    assert not {f.name for method in METHODS.values() for f in fields(method)} & about


def test_an_empty_file_goes_through_a_plan() -> None:
    plan = Plan((PlanStep(Rounding(), ("a",)), PlanStep(Sampling())))
    assert len(plan.protect(pa.table({"a": pa.array([], pa.int64())}), teaching_seed=1).frame) == 0
