"""What every method promises, whatever it does: one battery over all that are public.

A new method adds its cases to CASES: an example of it, the columns of `people()` that it masks, and its promise.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide import microdata
from confide.errors import Mistake
from confide.microdata import METHODS, Method
from confide.model.parameter import limits

NUMBERS = ("income", "größe", "age")
CATEGORIES = ("sex", "region", "education")


def people(size: int = 300, seed: int = 7) -> pa.Table:
    """Persons in households, with some values missing, a code of -999, and names that are not ASCII."""
    rng = np.random.default_rng(seed)
    household = np.sort(rng.integers(0, max(size // 3, 1), size))
    income = rng.lognormal(8, 0.8, size).round(2)
    income[rng.random(size) < 0.02] = -999.0
    region = pa.array(rng.choice(["Nord", "Süd", "Ø", "東"], size))
    education = pa.DictionaryArray.from_arrays(
        rng.integers(0, 4, size), ["none", "school", "trade", "degree"], ordered=True
    )
    return pa.table(
        {
            "id": pa.array([f"p{i}" for i in range(size)]),
            "income": pa.array(income, mask=rng.random(size) < 0.05),
            "größe": pa.array(rng.normal(170, 10, size)),
            "age": pa.array(rng.integers(0, 100, size)),
            "sex": pa.array(rng.choice(["f", "m"], size), mask=rng.random(size) < 0.05),
            "region": region.dictionary_encode(),
            "education": education,
            "area": pa.array(rng.choice(["a", "b"], size)),
            "weight": pa.array(rng.uniform(1, 3, size)),
            "household": pa.array(household),
            "rent": pa.array(np.round(household * 37.5 % 911, 1)),
            "tenure": pa.array(np.array(["owner", "tenant", "other"])[household % 3]),
        }
    )


Promise = Callable[[pa.Table, pa.Table], None]
"""Looks at a file before and after; asserts."""


@dataclass(frozen=True)
class Case:
    method: Method
    columns: Sequence[str] = NUMBERS
    promise: Promise = lambda before, after: None
    at_home: Method | None = None
    """The method for `rent`, a number of households, where it is not the same."""

    def protect(self, frame: Any, **changes: Any) -> microdata.Released:
        return self.method.protect(frame, **{"columns": self.columns, "teaching_seed": 1, **changes})


def multiples_of_ten(before: pa.Table, after: pa.Table) -> None:
    for name in NUMBERS:
        old, new = (table[name].drop_null().to_numpy() for table in (before, after))
        assert np.all(new % 10 == 0) and np.all(np.abs(new - old) <= 5)


def at_least(k: int, columns: Sequence[str]) -> Promise:
    """Each combination of released values that are all known stands for k records or more."""

    def promise(before: pa.Table, after: pa.Table) -> None:
        known = after.select(list(columns)).to_pandas().dropna()
        assert len(known) and known.groupby(list(columns), observed=True).size().min() >= k

    return promise


def between(low: float, high: float) -> Promise:
    def promise(before: pa.Table, after: pa.Table) -> None:
        for name in NUMBERS:
            old, new = (table[name].drop_null().to_numpy() for table in (before, after))
            assert np.array_equal(new, np.clip(old, low, high)) and not np.array_equal(new, old)

    return promise


def nothing_but_school_and_trade(before: pa.Table, after: pa.Table) -> None:
    lumped = {"none": "school", "degree": "trade"}
    assert after["education"].to_pylist() == [lumped.get(one, one) for one in before["education"].to_pylist()]


def half_of_the_records(before: pa.Table, after: pa.Table) -> None:
    assert len(after) == len(before) / 2
    assert set(after["id"].to_pylist()) < set(before["id"].to_pylist())


def coarser(before: pa.Table, after: pa.Table) -> None:
    for name in ("age", "region", "sex"):
        pairs = set(zip(before[name].to_pylist(), after[name].to_pylist(), strict=True))
        assert len({old for old, _ in pairs}) == len(pairs) > len({new for _, new in pairs})


def every_value_moved(before: pa.Table, after: pa.Table) -> None:
    for name in ("income", "größe"):
        old, new = (table[name].drop_null().to_numpy() for table in (before, after))
        assert not np.any(old == new)


def never_negative(before: pa.Table, after: pa.Table) -> None:
    for name in ("größe", "age"):
        assert after[name].to_numpy().min() >= 0 and after[name].to_pylist() != before[name].to_pylist()


def drawn_anew(before: pa.Table, after: pa.Table) -> None:
    """Categories are those there were; rare amounts are not; about as many values are missing as before."""
    old, new = (table["income"].drop_null().to_numpy() for table in (before, after))
    assert set(new) & set(old) <= {-999.0} and abs(len(new) - len(old)) < 20
    assert abs(np.median(new) / np.median(old) - 1) < 0.3
    for name in ("sex", "region", "education"):
        assert set(after[name].to_pylist()) <= set(before[name].to_pylist())


def coarse_classes_of_five(before: pa.Table, after: pa.Table) -> None:
    assert min(Counter(zip(*[after[name].to_pylist() for name in CATEGORIES], strict=True)).values()) >= 5
    assert set(after["region"].to_pylist()) <= {"Nord", "Süd", "Ø", "東", "West", "East", "*"}


def shared_by(k: int, columns: Sequence[str]) -> Promise:
    """Each record shares all its values, missing ones too, with k or more; and what is there is what was there."""

    def promise(before: pa.Table, after: pa.Table) -> None:
        rows = list(zip(*[after[name].to_pylist() for name in columns], strict=True))
        assert min(Counter(rows).values()) >= k
        for name in columns:
            pairs = zip(before[name].to_pylist(), after[name].to_pylist(), strict=True)
            assert all(new is None or new == old for old, new in pairs)

    return promise


def the_same_values(before: pa.Table, after: pa.Table) -> None:
    for name in ("income", "sex"):
        old, new = (sorted(map(str, table[name].to_pylist())) for table in (before, after))
        assert old == new
    assert not after.equals(before)


def no_new_values(before: pa.Table, after: pa.Table) -> None:
    for name in ("age", *CATEGORIES):
        assert set(after[name].to_pylist()) <= set(before[name].to_pylist())
    assert after["sex"].to_pylist() != before["sex"].to_pylist()


def within_the_range(before: pa.Table, after: pa.Table) -> None:
    for name in NUMBERS:
        old, new = (table[name].drop_null().to_numpy() for table in (before, after))
        assert old.min() <= new.min() and new.max() <= old.max() and not np.array_equal(old, new)


REGIONS = "West\n@Nord\n@Süd\nEast\n@Ø\n@東\n"
RECODING = microdata.GlobalRecoding(
    cutpoints={"age": [18, 65]}, hierarchies={"region": REGIONS}, codes={"sex": {"f": "any", "m": "any"}}
)

CASES = [
    Case(microdata.Rounding(base=10), promise=multiples_of_ten),
    Case(microdata.TopBottomCoding(top=180, bottom=20), promise=between(20, 180)),
    Case(microdata.TopBottomCoding(top_share=0.1)),
    Case(
        microdata.TopBottomCoding(top="trade", bottom="school"),
        ("education",),
        nothing_but_school_and_trade,
        microdata.TopBottomCoding(top=500),
    ),
    Case(microdata.Sampling(share=0.5), (), half_of_the_records),
    Case(RECODING, ("age", "region", "sex"), coarser, microdata.GlobalRecoding(cutpoints={"rent": [300]})),
    Case(microdata.Synthesis(given=("area",)), ("income", "sex", "age", "region"), drawn_anew),
    Case(microdata.Synthesis(model="regressions", versions=2), ("größe", "education", "income"), drawn_anew),
    Case(microdata.TableSynthesis(versions=2), CATEGORIES, no_new_values),
    Case(microdata.HybridData(proximity=0.3), promise=every_value_moved),
    Case(microdata.HybridData(given=("größe",)), ("income", "age")),
    Case(microdata.Generalisation(k=5, left_out=0.1), CATEGORIES, coarse_classes_of_five),
    Case(
        microdata.Generalisation(k=5, hierarchies={"region": REGIONS}, confidential="age", diversity=3, closeness=0.3),
        CATEGORIES,
        coarse_classes_of_five,
        microdata.Generalisation(loss="classes"),
    ),
    Case(microdata.LocalSuppression(k=4), CATEGORIES, shared_by(4, CATEGORIES)),
    Case(microdata.LocalSuppression(k=8, blank="anything"), CATEGORIES),
    Case(
        microdata.LocalSuppression(k=30, combs=2),
        CATEGORIES,
        shared_by(30, CATEGORIES[1:]),
        microdata.LocalSuppression(),
    ),
    Case(microdata.Microaggregation(k=5), promise=at_least(5, NUMBERS)),
    Case(microdata.Microaggregation(k=4, algorithm="v-mdav"), promise=at_least(4, NUMBERS)),
    Case(microdata.Microaggregation(k=4, algorithm="spanning-tree"), promise=at_least(4, NUMBERS)),
    Case(microdata.Microaggregation(k=4, dominance=0.4), promise=at_least(4, NUMBERS)),
    Case(microdata.Microaggregation(k=3, algorithm="optimal"), promise=at_least(3, ["größe"])),
    Case(microdata.Microaggregation(k=3), ("income", *CATEGORIES), at_least(3, ["income", *CATEGORIES])),
    Case(microdata.AdditiveNoise(k=0.2), promise=every_value_moved),
    Case(microdata.AdditiveNoise(kind="uncorrelated", exact=True), promise=every_value_moved),
    Case(microdata.NonlinearNoise(), ("income", "größe", "age", "education"), within_the_range),
    Case(microdata.MultiplicativeNoise(), promise=every_value_moved),
    Case(microdata.MultiplicativeNoise(scheme="positive", exact=True), ("größe", "age"), never_negative),
    Case(microdata.RankSwapping(p=10), (*NUMBERS, "education"), the_same_values),
    Case(
        microdata.DataSwapping(share=0.5, match=["education"]),
        ("income", "sex"),
        the_same_values,
        microdata.DataSwapping(share=0.5, match=["tenure"]),
    ),
    Case(microdata.Pram(), ("age", *CATEGORIES), no_new_values),
    Case(
        microdata.Pram(matrices={"sex": {"f": {"f": 0.8, "m": 0.2}, "m": {"m": 1}}}, invariant=False),
        ("sex",),
        no_new_values,
        microdata.Pram(),
    ),
    Case(microdata.Shuffling(given=["education"]), NUMBERS, the_same_values, microdata.Shuffling()),
    Case(microdata.Resampling(), promise=within_the_range),
    Case(microdata.RecordSwapping(keys=["age"], share=0.3), ("region", "sex"), the_same_values),
]

cases = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.method.word()}-{CASES.index(case)}")


def kinds(table: pa.Table) -> dict[str, Any]:
    frame = table.to_pandas().set_index(pd.Index(np.arange(table.num_rows) * 2 + 5))
    ordered = pl.Enum(table["education"].combine_chunks().dictionary.to_pylist())
    polars = pl.from_arrow(table).with_columns(pl.col("education").cast(ordered))
    return {"pyarrow": table, "pandas": frame, "polars": polars}


def arrow(released: Any) -> pa.Table:
    return pa.table(released)


def null(table: pa.Table, name: str) -> list[bool]:
    return table[name].is_null(nan_is_null=pa.types.is_floating(table[name].type)).to_pylist()


def test_every_public_method_is_in_the_battery_and_known_by_a_word() -> None:
    public = {value for name in microdata.__all__ if isinstance(value := getattr(microdata, name), type)}
    methods = {one for one in public if issubclass(one, Method) and one is not Method}
    assert methods == {type(case.method) for case in CASES} == set(METHODS.values())


@cases
def test_the_promise_holds(case: Case) -> None:
    case.promise(people(), arrow(case.protect(people())))


@cases
def test_the_same_seed_gives_the_same_file_and_leaves_the_given_one_alone(case: Case) -> None:
    frame, untouched = people(), people()
    assert arrow(case.protect(frame)).equals(arrow(case.protect(people())))
    assert frame.equals(untouched)


@cases
def test_another_seed_matters_only_where_chance_plays_a_part(case: Case) -> None:
    one, other = arrow(case.protect(people(), teaching_seed=1)), arrow(case.protect(people(), teaching_seed=2))
    assert one.equals(other) != case.method.draws
    if case.method.draws:
        with pytest.raises(Mistake, match="draws at random, from a secret key"):
            case.protect(people(), teaching_seed=None)
    else:
        assert arrow(case.protect(people(), teaching_seed=None)).equals(one)


@cases
def test_what_the_method_keeps_is_kept(case: Case) -> None:
    before, released = people(), case.protect(people())
    after, keeps = arrow(released), case.method.keeps
    assert after.column_names == before.column_names
    if "rows" in keeps:
        assert len(after) == len(before)
        for name in set(before.column_names) - set(case.columns):
            assert after[name].equals(before[name]), name
    if "types" in keeps:
        assert after.schema.types == before.schema.types
    if {"rows", "missing"} <= keeps:
        for name in case.columns:
            assert null(after, name) == null(before, name)


@cases
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_frame_comes_back_as_the_kind_it_was_with_the_same_values(case: Case, kind: str) -> None:
    given = kinds(people())[kind]
    released = case.protect(given)
    assert type(released.frame) is type(given)
    plain = arrow(case.protect(people()))
    for name in plain.column_names:
        assert arrow(released)[name].to_pylist() == plain[name].to_pylist(), name
    if "types" in case.method.keeps and kind != "pyarrow":
        assert list(released.frame.dtypes) == list(given.dtypes)
    if kind == "pandas" and "rows" in case.method.keeps:
        assert released.frame.index.equals(given.index)


@cases
def test_a_stratum_is_masked_as_if_it_were_alone_wherever_its_records_stand(case: Case) -> None:
    frame = people()
    whole = arrow(case.protect(frame, by="area"))
    alone = frame.filter(pa.compute.equal(frame["area"], "a"))
    mixed = pa.concat_tables([frame.filter(pa.compute.equal(frame["area"], "b")), alone])
    only = arrow(case.protect(alone, by="area"))
    for other in (whole, arrow(case.protect(mixed, by="area"))):
        assert other.filter(pa.compute.equal(other["area"], "a")).to_pydict() == only.to_pydict()


@cases
def test_households_keep_equal_values_among_members_and_stay_whole(case: Case) -> None:
    columns = ["rent"] if "numbers" in case.method.takes else ["tenure"] if case.method.takes else []
    method = case.at_home or case.method
    after = pa.table(method.protect(people(), columns=columns, household="household", teaching_seed=1)).to_pandas()
    assert all(after.groupby("household")[name].nunique(dropna=False).max() == 1 for name in columns)
    before = people().to_pandas().groupby("household").size()
    for household, size in after.groupby("household").size().items():
        assert size == before[household]


@cases
def test_a_column_that_differs_within_households_is_named(case: Case) -> None:
    if case.columns:
        with pytest.raises(Mistake, match="differs within"):
            case.protect(people(), household="household")


@cases
def test_weights_are_used_or_refused(case: Case) -> None:
    if not case.method.weighs:
        with pytest.raises(Mistake, match="does not use weights"):
            case.protect(people(), weight="weight")
        return
    assert len(arrow(case.protect(people(), weight="weight")))
    zero = people().set_column(8, "weight", pa.array([0.0] + [1.0] * 299))
    with pytest.raises(Mistake, match="record 1"):
        case.protect(zero, weight="weight")


@cases
def test_parameters_out_of_range_and_of_the_wrong_kind_are_mistakes(case: Case) -> None:
    for f in fields(case.method):
        declared = limits(f)
        assert declared.help.endswith("."), f.name
        wrong: list[Any] = [object(), float("nan")]
        wrong += [] if declared.low is None else [declared.low - 1]
        wrong += [] if declared.high is None else [declared.high + 1]
        wrong += [] if declared.above is None else [declared.above]
        wrong += [] if declared.below is None else [declared.below]
        wrong += ["no such word"] if declared.among else []
        listed = isinstance(getattr(case.method, f.name), tuple)
        for value in wrong + ([(one,) for one in wrong] if listed else []):
            with pytest.raises(Mistake, match=f.name):
                replace(case.method, **{f.name: value})


@cases
def test_nothing_in_gives_nothing_out(case: Case) -> None:
    for kind, frame in kinds(people().slice(0, 0)).items():
        released = case.protect(frame)
        assert len(released.frame) == 0 and type(released.frame) is type(frame), kind
        assert list(arrow(released).column_names) == people().column_names


@cases
def test_one_record_is_masked_or_a_mistake(case: Case) -> None:
    with suppress(Mistake):
        assert len(arrow(case.protect(people(size=1, seed=3)))) <= 1


@cases
def test_columns_unknown_twice_or_forgotten_are_named(case: Case) -> None:
    with pytest.raises(Mistake, match="'areas'.*'area'"):
        case.protect(people(), by="areas")
    if not case.columns:
        with pytest.raises(Mistake, match="whole records"):
            case.protect(people(), columns=["age"])
        return
    with pytest.raises(Mistake, match="'aeg'.*'age'"):
        case.protect(people(), columns=["aeg"])
    with pytest.raises(Mistake, match="twice"):
        case.protect(people(), columns=[case.columns[0], case.columns[0]])
    with pytest.raises(Mistake, match="twice"):
        case.protect(people(), by=case.columns[0])
    with pytest.raises(Mistake, match="at least one column"):
        case.protect(people(), columns=[])


@cases
def test_columns_of_another_kind_are_named(case: Case) -> None:
    for kind, name in (("numbers", "age"), ("categories", "sex")):
        if case.method.takes and kind not in case.method.takes:
            with pytest.raises(Mistake, match=f"{name!r} holds {kind}"):
                case.protect(people(), columns=[name])


@cases
def test_constant_columns_are_masked_or_a_mistake(case: Case) -> None:
    frame = people()
    for name in case.columns:
        place = frame.column_names.index(name)
        frame = frame.set_column(place, name, frame[name].take(pa.array([0] * len(frame))))
    try:
        after = arrow(case.protect(frame))
    except Mistake as error:
        assert any(name in str(error) for name in case.columns)
        return
    assert after.column_names == frame.column_names


@cases
def test_a_stratum_in_which_all_is_missing_stays_missing_or_is_named(case: Case) -> None:
    frame = people()
    there = pa.compute.equal(frame["area"], "a")
    for name in case.columns:
        values = pa.compute.if_else(there, frame[name].cast(frame[name].type), pa.scalar(None, frame[name].type))
        frame = frame.set_column(frame.column_names.index(name), name, values)
    try:
        after = arrow(case.protect(frame, by="area"))
    except Mistake as error:
        assert "stratum b" in str(error)
        return
    if {"rows", "missing"} <= case.method.keeps:
        for name in case.columns:
            assert null(after, name) == null(frame, name)


@cases
def test_progress_goes_from_somewhere_to_the_end(case: Case) -> None:
    told: list[float] = []
    case.protect(people(), by="area", progress=told.append)
    assert told == sorted(told) and told[-1] == 1.0


@cases
def test_a_masked_file_can_be_masked_again_and_shown(case: Case) -> None:
    once = case.protect(people())
    assert repr(once).startswith("Released(")
    if "types" in case.method.keeps:
        assert arrow(case.protect(once)).column_names == people().column_names
