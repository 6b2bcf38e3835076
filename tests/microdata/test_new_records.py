"""Synthesis of another size, of a population of which some were surveyed, with weights, and from tables."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide.data.proportional_fitting import margin, proportionally_fitted
from confide.data.release_key import ReleaseKey
from confide.errors import Mistake
from confide.microdata import ReleaseGate, Synthesis, TableSynthesis, combine


def survey(n: int = 300, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    return pa.table(
        {"sex": sex, "pay": rng.lognormal(7, 0.5, n) + 900 * (sex == "m"), "area": rng.choice(["a", "b"], n)}
    )


# ---- a chosen size


@pytest.mark.parametrize("size", [1, 50, 1000])
@pytest.mark.parametrize("model", ["trees", "regressions"])
def test_a_file_has_as_many_new_records_as_are_asked_for(size: int, model: str) -> None:
    drawn = Synthesis(size=size, versions=2, model=model).protect(
        survey(), columns=["sex", "pay", "area"], teaching_seed=1
    )
    assert [len(one) for one in drawn.replicates] == [size, size] and drawn.report == {"drawn": size}
    assert drawn.frame.schema == survey().schema
    assert not set(drawn.frame["pay"].to_pylist()) & set(survey()["pay"].to_pylist())


def test_what_goes_together_still_does_in_a_larger_file() -> None:
    """The tolerance guards: it was chosen beside the result."""
    drawn = pa.table(
        Synthesis(size=3000).protect(survey(), columns=["sex", "pay", "area"], teaching_seed=1)
    ).to_pandas()
    true = survey().to_pandas().groupby("sex")["pay"].mean()
    assert drawn.groupby("sex")["pay"].mean().to_numpy() == pytest.approx(true.to_numpy(), rel=0.15)


def test_every_kind_of_frame_comes_back_numbered_anew() -> None:
    frame = survey().to_pandas().set_index(pd.Index(range(7, 307)))
    names = ["sex", "pay", "area"]
    drawn = Synthesis(size=40).protect(frame, columns=names, teaching_seed=1).frame
    assert list(drawn.index) == list(range(40)) and list(drawn.dtypes) == list(frame.dtypes)
    other = Synthesis(size=40).protect(pl.from_pandas(frame), columns=names, teaching_seed=1).frame
    assert drawn["pay"].tolist() == other["pay"].to_list()


def test_strata_have_so_many_records_each_and_given_columns_are_those_of_records() -> None:
    drawn = pa.table(
        Synthesis(size=20, given=["sex"]).protect(survey(), columns="pay", by="area", teaching_seed=1)
    ).to_pandas()
    assert drawn.groupby("area").size().tolist() == [20, 20] and set(drawn["sex"]) == {"f", "m"}


def test_new_records_have_no_column_that_is_neither_drawn_nor_given_and_no_household() -> None:
    with pytest.raises(Mistake, match="'area' is neither drawn nor given.*leave it out"):
        Synthesis(size=5).protect(survey(), columns=["sex", "pay"], teaching_seed=1)
    with pytest.raises(Mistake, match="no household"):
        Synthesis(size=5).protect(survey(), columns=["sex"], household="pay", by="area", teaching_seed=1)


# ---- a population of which some were surveyed


def population(rng: np.random.Generator, people: int = 2000, n: int = 200) -> pa.Table:
    """Income goes with age; the survey asked the old more often."""
    age = rng.uniform(20, 80, people)
    asked = np.zeros(people, bool)
    asked[rng.choice(people, n, replace=False, p=age**2 / np.sum(age**2))] = True
    income = 1000 + 40 * age + rng.normal(0, 300, people)
    return pa.table({"age": age, "asked": asked, "income": pa.array(income, mask=~asked), "truth": income})


def test_nobody_who_answered_is_in_the_file() -> None:
    frame = population(np.random.default_rng(1)).drop_columns("truth")
    drawn = Synthesis(given=["age"], sampled="asked", versions=3).protect(frame, columns="income", teaching_seed=1)
    ages = set(frame.filter(frame["asked"])["age"].to_pylist())
    for one in drawn.replicates:
        assert len(one) == 200 and not any(one["asked"].to_pylist()) and one["income"].null_count == 0
        assert not ages & set(one["age"].to_pylist()) and len(set(one["age"].to_pylist())) == 200
    assert drawn.replicates[0]["age"].to_pylist() != drawn.replicates[1]["age"].to_pylist()


def test_what_is_known_of_everybody_mends_a_survey_that_asked_some_more_often_and_intervals_hold_the_truth() -> None:
    """Rubin (1993), Reiter (2002): inference from several files by the rule for synthetic ones.

    Of 80 populations, 95 percent intervals that are valid hold the mean in 76 on average; fewer than 68 would be 4 standard
    errors off. The mean of who was asked is off by about 400. Regressions are of ranks among who was asked, so a tenth of
    that is left; the last bound was set after seeing it.
    """
    rng, held, bias = np.random.default_rng(8), 0, []
    method = Synthesis(model="regressions", given=["age"], sampled="asked", versions=10)
    for seed in range(80):
        frame = population(rng)
        truth = float(np.mean(frame["truth"].to_numpy()))
        files = method.protect(frame.drop_columns("truth"), columns="income", teaching_seed=seed).replicates
        values = [one["income"].to_numpy() for one in files]
        low, high = combine(
            [x.mean() for x in values], [x.var(ddof=1) / len(x) for x in values], rule="full"
        ).interval()
        held += bool(low <= truth <= high)
        bias.append(
            (np.mean([x.mean() for x in values]) - truth, frame["income"].drop_null().to_numpy().mean() - truth)
        )
    assert held >= 68
    drawn, asked = np.mean(bias, axis=0)
    assert asked > 300 and abs(drawn) < asked / 5


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"sampled": "asked"}, "say by given"),
        ({"sampled": "age", "given": ["age"]}, "'age' must say true or false"),
        ({"sampled": "asked", "given": ["age"], "size": 1801}, "1,800 of the population were not surveyed"),
        ({"sampled": "asked", "given": ["income"]}, "'income' is to be drawn"),
    ],
)
def test_a_population_that_is_not_one_is_a_mistake(given: dict, complaint: str) -> None:
    frame = population(np.random.default_rng(1)).drop_columns("truth")
    with pytest.raises(Mistake, match=complaint):
        Synthesis(**given).protect(frame, columns="income", teaching_seed=1)


# ---- weights


def test_with_weights_the_synthetic_file_is_as_the_population_is() -> None:
    rng = np.random.default_rng(3)
    rich = rng.random(2000) < 0.5  # one in ten of the population, asked five times as often
    weight = np.where(rich, 1.0, 9.0)
    frame = pa.table({"rich": pa.array(rich), "pay": np.where(rich, 5000, 1000) + rng.normal(0, 50, 2000), "w": weight})
    for method in (Synthesis(size=4000), TableSynthesis(size=4000, margins=[["rich"]])):
        columns = ["rich", "pay"] if isinstance(method, Synthesis) else ["rich"]
        only = frame.select([*columns, "w"])
        plain = method.protect(only.drop_columns("w"), columns=columns, teaching_seed=1).frame
        drawn = method.protect(only, columns=columns, weight="w", teaching_seed=1).frame
        # 4,000 draws: a standard error of .008, and of .005 (with that of the models, .009)
        assert np.mean(plain["rich"].to_numpy()) == pytest.approx(0.5, abs=0.05)
        assert np.mean(drawn["rich"].to_numpy()) == pytest.approx(np.average(rich, weights=weight), abs=0.04)
        assert drawn["w"].to_numpy() == pytest.approx(np.full(4000, weight.sum() / 4000))


def test_weights_stay_where_records_do() -> None:
    frame = survey().append_column("w", pa.array(np.linspace(1, 3, 300)))
    drawn = Synthesis(given=["sex"]).protect(frame, columns="pay", weight="w", teaching_seed=1).frame
    assert drawn["w"].equals(frame["w"]) and drawn["pay"].to_pylist() != frame["pay"].to_pylist()


# ---- tables


def jobs(n: int = 4000, seed: int = 2) -> pa.Table:
    """Three codes that go together in pairs and all three together."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n), rng.integers(0, 3, n)
    c = np.where(rng.random(n) < 0.8, (a + b) % 2, rng.integers(0, 2, n))
    return pa.table({"a": a, "b": pa.array([*"xyz"]).take(pa.array(b)), "c": pa.array(c, mask=rng.random(n) < 0.1)})


def counts(table: pa.Table, names: list[str]) -> dict:
    return pa.table(table).to_pandas().fillna(-1).groupby(names).size().to_dict()


def test_margins_are_met_exactly_by_the_table_and_on_average_by_what_is_drawn() -> None:
    frame = jobs()
    drawn = pa.table(TableSynthesis(size=40_000).protect(frame, columns=["a", "b", "c"], teaching_seed=1))
    for names in (["a", "b"], ["b", "c"], ["a", "c"]):
        before, after = counts(frame, names), counts(drawn, names)
        assert set(after) == set(before)
        for cell, count in before.items():  # 5 standard errors of a count of 40,000 draws
            assert abs(after[cell] / 10 - count) < 5 * np.sqrt(count * 10) / 10


def test_what_the_margins_do_not_know_is_not_in_what_is_drawn() -> None:
    """Independent given b, but for chance; both limits guard."""
    frame = jobs()
    alone = pa.table(
        TableSynthesis(margins=[["a"], ["b", "c"]]).protect(frame, columns=["a", "b", "c"], teaching_seed=1)
    ).to_pandas()
    before = frame.to_pandas()
    assert abs(before[before["b"] == "x"][["a", "c"]].corr().iloc[0, 1]) > 0.6
    assert abs(alone[alone["b"] == "x"][["a", "c"]].corr().iloc[0, 1]) < 0.15


def test_the_fitted_table_is_that_of_statsmodels_poisson_model() -> None:
    statsmodels = pytest.importorskip("statsmodels.formula.api")
    rng = np.random.default_rng(5)
    codes = np.column_stack([rng.integers(0, 2, 900), rng.integers(0, 3, 900), rng.integers(0, 2, 900)])
    shape, ones = (2, 3, 2), np.ones(900)
    pairs = [(0, 1), (0, 2), (1, 2)]
    ours = proportionally_fitted({p: margin(codes[:, p], ones, tuple(shape[i] for i in p)) for p in pairs}, shape)
    cells = pd.DataFrame(np.argwhere(np.ones(shape)), columns=["i", "j", "k"])
    cells["n"] = margin(codes, ones, shape).ravel()
    import statsmodels.api as sm

    fit = statsmodels.glm("n ~ (C(i) + C(j) + C(k)) ** 2", cells, family=sm.families.Poisson()).fit()
    assert ours.ravel() == pytest.approx(fit.fittedvalues.to_numpy(), rel=1e-5)


def test_tables_that_cannot_be_made_are_named() -> None:
    with pytest.raises(Mistake, match="'d' is not among the columns"):
        TableSynthesis(margins=[["a", "d"]]).protect(jobs(), columns=["a", "b"], teaching_seed=1)
    wide = pa.table({name: np.arange(300) for name in "xyz"})
    with pytest.raises(Mistake, match=r"27,\d+,\d+ cells, too many"):
        TableSynthesis().protect(wide, columns=list("xyz"), teaching_seed=1)


@pytest.mark.parametrize("size", [None, 4])
def test_a_stratum_of_one_is_drawn_as_it_is_so_the_gate_refuses_it(size: int | None, tmp_path) -> None:
    frame = pa.table({"zone": list("aaaab"), "sex": list("fmfmf"), "job": ["cook", "smith", "cook", "smith", "king"]})
    key = ReleaseKey.kept(tmp_path / "a.key")
    drawn = TableSynthesis(size=size).protect(frame, columns=["sex", "job"], by="zone", key=key)
    assert drawn.report["unmasked"] == 2
    with pytest.raises(Mistake, match="left values as they are"):
        ReleaseGate(frame, key=key).write(drawn, tmp_path / "out.csv")


def test_more_versions_from_tables_leave_the_first_as_it_was() -> None:
    one, two = (TableSynthesis(versions=n).protect(jobs(), columns=["a", "b"], teaching_seed=3) for n in (1, 2))
    assert one.frame.equals(two.frame) and not one.frame.equals(two.replicates[1])
