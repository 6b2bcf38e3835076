"""Standard deviations, ratios of totals and index numbers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import python_table
from confide.answering.selection import Selection
from confide.answering.tables.deviations import gather_squares
from confide.engines import Coded, Engine
from confide.errors import Mistake
from confide.formats.views import as_asked

LENIENT = {
    "universe": {"gamma": 0, "gamma_star": 0, "marginals": False, "complement": False, "decide_on": "true"},
    "tables": {"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False},
    "drop": {"k": 0},
}
BARE = {
    **LENIENT,
    "counts": {"mechanism": "none"},
    "totals": {"mechanism": "none", "units": 0, "dominance_k": 100.0, "p_percent": 0.0, "risk_limit": 1.0},
}


def asked(**words: Any) -> Any:
    return python_table("people", **{"rows": "sex", **words})


def deviation(values: Any, weights: Any) -> float:
    mean, n = np.average(values, weights=weights), len(values)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=weights) * n / (n - 1)))


def test_without_protection_they_are_those_of_the_records(town: Any) -> None:
    columns = town.under(**BARE).desk().consider(asked(rows="county", columns="sex", measure="sd", of="income")).columns
    data = town.people.to_pandas()
    for a, county in enumerate("AB"):
        for b, sex in enumerate("fm"):
            own = data[(data["county"] == county) & (data["sex"] == sex) & data["income"].notna()]
            true = deviation(own["income"], own["w"])
            assert columns["sd"].values[a, b] == pytest.approx(true, rel=1e-3)
    everyone = data[data["income"].notna()]
    assert columns["sd"].values[-1, -1] == pytest.approx(deviation(everyone["income"], everyone["w"]), rel=1e-3)
    assert columns["sd"].marks[0, 2] == "z"  # nobody has sex x


def test_every_engine_adds_up_squares_alike(town: Any, engine_of: Callable[[Coded], Engine]) -> None:
    place = town.under(**BARE)
    engine, data = engine_of(place.coded()), town.people.to_pandas()
    for by, of in ((("sex",), "income"), (("county", "sex"), "income"), (("county", "trade", "sex"), "age")):
        squares = gather_squares(by, of, Selection(place.dataset, engine, (), ()))
        own = (data["w"] * data[of] ** 2).groupby([data[name] for name in by]).sum()
        first = (slice(None), *[0] * (len(by) - 1))
        codes = [code.code for code in place.dataset.variables[by[0]].codes]
        rest = tuple(place.dataset.variables[name].codes.codes[0].code for name in by[1:])
        for at, code in enumerate(codes):
            cell = (code, *rest) if rest else code
            assert squares[first][at] == pytest.approx(float(own.get(cell, 0.0)))
        assert squares.ravel()[-1] == pytest.approx(float((data["w"] * data[of] ** 2).sum()))


def test_large_tables_are_added_up_in_parts(town: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = town.under(**BARE).desk()
    words = {"columns": ["county", "trade"], "measure": "sd", "of": "age"}
    universes = (None, {"town": ["a1", "b1"]}, [{"sex": "f", "age": ["20-39"]}, {"town": "b2"}], {"sex": "m"})
    whole = [desk.consider(asked(**words, where=where)).columns for where in universes]
    monkeypatch.setattr("confide.answering.tables.deviations.MOST_CELLS", 3)
    assert [desk.consider(asked(**words, where=where)).columns for where in universes] == whole


def test_noise_of_records_does_not_widen_them(town: Any) -> None:
    noisy = town.preset("standard").under(**LENIENT, records={"noise": 0.3, "noise_exposed": 0.3})
    catalog = town.catalog.replace("[variables.income]\n", '[variables.income]\nrole = "confidential"\n')
    data = town.people.to_pandas().dropna(subset="income")
    true = deviation(data["income"], data["w"])
    off, told = [], []
    for secret in range(6):
        column = replace(noisy, catalog=catalog).desk(secret).consider(asked(measure="sd", of="income")).columns["sd"]
        off.append(column.values[-1] / true - 1)
        told.append(column.noise[-1] / true)
    # guards: noise of 0.3 would make them 16 percent larger; six draws of 1,080 incomes are off by 2 percent on average
    assert abs(np.mean(off)) < 0.06
    assert np.sqrt(np.mean(np.square(off))) < 2 * np.mean(told)


def test_of_few_units_none_is_told(town: Any) -> None:
    people = town.people.slice(0, 60)
    columns = (
        town.of(people)
        .under(**BARE)
        .desk()
        .consider(asked(rows="town", columns="trade", measure="sd", of="age"))
        .columns
    )
    sizes = people.to_pandas().groupby(["town", "trade"]).size()
    for a, name in enumerate(("a1", "a2", "a9", "b1", "b2")):
        for b, trade in enumerate("pqr"):
            size = int(sizes.get((name, trade), 0))
            assert columns["sd"].marks[a, b] == ("z" if size == 0 else "x" if size < 10 else "")


def test_the_largest_contribution_is_not_read_off_them(town: Any) -> None:
    income = 100.0 + np.arange(1200) % 97
    income[7] = 4000.0
    rich = town.people.set_column(town.people.column_names.index("income"), "income", pa.array(income))
    place = town.of(rich).under(**{**BARE, "totals": {**BARE["totals"], "p_percent": 10.0}, "counts": {}})
    columns = place.desk().consider(asked(measure=["mean", "sd"], of="income")).columns
    at = "fm".index(rich["sex"][7].as_py())
    assert columns["mean"].marks[at] == "" and columns["sd"].marks[at] == "c" and columns["sd"].marks[1 - at] == ""


def test_where_totals_have_noise_so_have_they_and_another(town: Any) -> None:
    """The mean and the deviation of one cell are off by different shares: their ratio is no exact one."""
    place = town.under(**LENIENT, totals={"mechanism": "ma", "beta": 0.04, "risk_limit": 1.0})
    true = town.under(**BARE).desk().consider(asked(rows="town", measure=["mean", "sd"], of="age")).columns
    shown = place.desk().consider(asked(rows="town", measure=["mean", "sd"], of="age")).columns
    free = (shown["sd"].marks == "") & (shown["mean"].marks == "")
    by_mean, by_sd = (shown[name].values[free] / true[name].values[free] - 1 for name in ("mean", "sd"))
    assert free.sum() >= 4 and (np.abs(by_sd) > 0.01).any() and (np.abs(by_mean - by_sd) > 0.01).any()


def test_a_ratio_is_that_of_two_protected_totals(town: Any) -> None:
    desk = town.under(**LENIENT).desk()
    ratio = desk.consider(asked(measure="ratio", of="income", over="age")).columns["ratio"]
    total = {of: desk.consider(asked(measure="total", of=of)).columns["total"] for of in ("income", "age")}
    for at in (0, 1, 3):
        quotient = total["income"].values[at] / total["age"].values[at]
        assert ratio.values[at] == pytest.approx(quotient, rel=0.02)
        relative = np.hypot(*(t.noise[at] / t.values[at] for t in total.values()))
        assert ratio.noise[at] == pytest.approx(ratio.values[at] * relative, rel=0.02)
    assert ratio.marks[2] == "z"


def test_a_ratio_stands_beside_other_measures_and_is_withheld_where_a_total_is(town: Any) -> None:
    income = np.full(1200, 1.0)
    income[7] = 1e6
    rich = town.people.set_column(town.people.column_names.index("income"), "income", pa.array(income))
    desk = town.of(rich).under(**LENIENT, totals={"p_percent": 10.0, "risk_limit": 1.0}).desk()
    words = {"measure": ["count", "ratio", "mean", "median"], "of": "age", "over": "income"}
    columns = desk.consider(asked(**words)).columns
    at = "fm".index(rich["sex"][7].as_py())
    assert list(columns) == words["measure"]
    assert (
        columns["ratio"].marks[at] == "c" and columns["ratio"].marks[1 - at] == "" and columns["mean"].marks[at] == ""
    )


def test_an_index_is_of_released_numbers(town: Any) -> None:
    desk = town.under(**LENIENT).desk()
    request = asked(rows="town", columns="sex", measure=["count", "mean"], of="income", index="sex=f")
    plain = desk.consider(replace(request, index=None)).release
    shown = as_asked(plain, request)
    assert desk.receipt(request) == desk.receipt(replace(request, index=None))
    count, index = plain.columns["count"], shown.columns["count_index"]
    assert list(shown.columns) == ["count_index", "mean_index"] and "100" in shown.columns["mean_index"].label
    assert index.values[0].tolist()[:2] == [
        100.0,
        pytest.approx(100 * count.values[0, 1] / count.values[0, 0], abs=0.06),
    ]
    assert index.noise[0, 0] == 0 and index.noise[0, 1] > 0
    deserted = 2
    assert (index.marks[deserted] == "z").all() and (shown.columns["mean_index"].marks[deserted] == "z").all()


MISTAKES: dict[str, dict[str, Any]] = {
    "name measure='ratio'": {"measure": "ratio", "of": "income"},
    "or none of them": {"measure": "mean", "of": "income", "over": "age"},
    "to itself": {"measure": "ratio", "of": "income", "over": "income"},
    "A sd needs a variable": {"measure": "sd"},
    "no index 'sex'": {"index": "sex"},
    "not in the table": {"index": "town=a1"},
    "does not go with percentages": {"index": "sex=f", "percent": "total"},
}


@pytest.mark.parametrize("words", MISTAKES)
def test_what_makes_no_sense_is_a_mistake(words: str) -> None:
    with pytest.raises(Mistake, match=words):
        asked(**MISTAKES[words])


def test_what_the_codebook_does_not_have_is_a_mistake(town: Any) -> None:
    desk = town.under(**LENIENT).desk()
    for words, given in {
        "'sex' has no totals": {"measure": "ratio", "of": "income", "over": "sex"},
        "has no code 'zz'": {"index": "sex=zz"},
        "No variable called 'incme'": {"measure": "ratio", "of": "income", "over": "incme"},
    }.items():
        with pytest.raises(Mistake, match=words):
            desk.consider(asked(**given))
