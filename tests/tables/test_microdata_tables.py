"""Tables from microdata, against plain loops over the records."""

from collections import defaultdict
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables import Hierarchy, Status, Table, Threshold

REGIONS = Hierarchy.of({"N": None, "N1": "N", "N2": "N", "S": None})
CODES = {"region": ["N1", "N2", "S"], "sex": ["f", "m"]}

records = st.lists(
    st.fixed_dictionaries(
        {
            "region": st.sampled_from(CODES["region"]),
            "sex": st.sampled_from(CODES["sex"]),
            "x": st.integers(-20, 20),
            "w": st.integers(1, 4),
            "h": st.integers(0, 5).map(str),
        }
    ),
    min_size=1,
    max_size=25,
)


def frame(rows) -> pa.Table:
    return pa.Table.from_pylist(rows)


def looped(rows, *, of, weight, holding):
    """Every cell as codes to the sums of its contributors: [unweighted, weighted]."""
    up = {"N1": ["N1", "N", "Total"], "N2": ["N2", "N", "Total"], "S": ["S", "Total"]}
    cells = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for number, row in enumerate(rows):
        for cell in product(up[row["region"]], [row["sex"], "Total"]):
            sums = cells[cell][row["h"] if holding else number]
            amount = row["x"] if of else 1
            sums[0] += amount
            sums[1] += amount * (row["w"] if weight else 1)
    return cells


@given(records, st.booleans(), st.booleans(), st.booleans())
def test_cells_are_the_sums_over_their_contributors(rows, of, weight, holding):
    table = Table.from_microdata(
        frame(rows), by=["region", "sex"], of="x" if of else None, weight="w" if weight else None,
        holding="h" if holding else None, hierarchies={"region": REGIONS}, top=3,
    )  # fmt: skip
    expected = looped(rows, of=of, weight=weight, holding=holding)
    sexes = sorted({row["sex"] for row in rows})
    assert len(table) == 5 * (1 + len(sexes))
    for cell, codes in enumerate(zip(table.codes("region"), table.codes("sex"), strict=True)):
        contributors = expected[codes]
        parts = table.contributions
        assert table.value[cell] == sum(weighted for _, weighted in contributors.values())
        assert parts.units[cell] == len(contributors)
        assert parts.total[cell] == sum(abs(weighted) for _, weighted in contributors.values())
        largest = sorted((abs(amount) for amount, _ in contributors.values()), reverse=True)
        assert parts.top[cell].tolist() == (largest + [0] * 3)[:3]
        assert (table.status[cell] == Status.EMPTY) == (not contributors)
        listed = [holder for holder in parts.holders[cell].tolist() if holder >= 0]
        assert len(listed) == min(3, len(contributors)) == len(set(listed))
        names = parts.names
        for holder, amount in zip(listed, parts.top[cell], strict=False):
            key = names[holder] if holding else holder
            assert abs(contributors[key][0]) == amount


@given(records)
def test_the_table_adds_up_and_leaving_out_empty_cells_changes_nothing_else(rows):
    full = Table.from_microdata(frame(rows), by=["region", "sex"], of="x", hierarchies={"region": REGIONS})
    assert (full.relations.residuals(full.value) == 0).all()
    some = Table.from_microdata(frame(rows), by=["region", "sex"], of="x", hierarchies={"region": REGIONS}, empty=False)
    kept = full.units > 0
    assert some.value.tolist() == full.value[kept].tolist()
    assert [some.name(cell) for cell in range(len(some))] == [full.name(cell) for cell in np.flatnonzero(kept)]
    assert (some.relations.residuals(some.value) == 0).all()


def test_relations_are_those_of_every_total_in_every_variable():
    table = Table.from_microdata(frame([{"region": "N1", "sex": "f"}, {"region": "S", "sex": "m"}]),
                                 by=["region", "sex"], hierarchies={"region": REGIONS})  # fmt: skip
    # Two totals of region for each of three codes of sex, and the total of sex for each of five codes of region.
    assert table.relations.matrix.shape == (2 * 3 + 5, 15)
    rows = [table.relations.matrix[[row]] for row in range(11)]
    texts = {
        (
            *(table.name(cell) for cell in row.indices[row.data < 0]),
            *sorted(table.name(cell) for cell in row.indices[row.data > 0]),
        )
        for row in rows
    }
    assert ("region=N, sex=f", "region=N1, sex=f", "region=N2, sex=f") in texts
    assert ("region=S, sex=Total", "region=S, sex=f", "region=S, sex=m") in texts


def test_any_frame_or_file_will_do(tmp_path):
    plain = {"sex": ["f", "m", "m"], "x": [1.5, 2, 3]}
    arrow = pa.table(plain)
    pq.write_table(arrow, tmp_path / "t.parquet")
    pd.DataFrame(plain).to_csv(tmp_path / "t.csv", index=False)
    sources = [plain, arrow, pd.DataFrame(plain), pl.DataFrame(plain), tmp_path / "t.parquet", str(tmp_path / "t.csv")]
    assert {tuple(Table.from_microdata(source, by=["sex"], of="x").value) for source in sources} == {(6.5, 1.5, 5.0)}


def test_a_hierarchy_may_be_a_file_a_mapping_or_columns(tmp_path):
    (tmp_path / "r.hrc").write_text("N\n@N1\n@N2\nS\n")
    rows = frame([{"region": code, "wide": code[0]} for code in CODES["region"]])
    ways = [tmp_path / "r.hrc", {"N": None, "N1": "N", "N2": "N", "S": None}, ["wide"], REGIONS]
    made = [Table.from_microdata(rows, by=["region"], hierarchies={"region": way}) for way in ways]
    assert {table.hierarchies for table in made} == {(REGIONS,)}


def test_codes_may_be_numbers_and_stand_in_their_order():
    table = Table.from_microdata({"size": [10, 9, 100, 9]}, by=["size"])
    assert table.codes("size") == ["Total", "9", "10", "100"]


def test_one_record_is_a_table():
    table = Table.from_microdata({"sex": ["f"]}, by=["sex"]).flag(Threshold(3))
    assert table.value.tolist() == [1, 1]
    assert table.primary.all()


def test_letters_of_any_script_and_huge_codes_are_codes():
    table = Table.from_microdata({"place": ["Ōsaka", "x" * 10_000, "\U0001f600"]}, by=["place"])
    assert len(table) == 4
    assert "Ōsaka" in repr(table.codes("place"))


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"sex": []}, {}, "no records"),
        ({"sex": ["f", None]}, {}, "no code in 'sex'"),
        ({"sex": ["f", " "]}, {}, "no code in 'sex'"),
        ({"sex": ["f"], "x": [None]}, {"of": "x"}, "column 'x'|no number in 'x'"),
        ({"sex": ["f", "m"], "x": [1.0, None]}, {"of": "x"}, "no number in 'x'"),
        ({"sex": ["f"], "x": [float("inf")]}, {"of": "x"}, "no number in 'x'"),
        ({"sex": ["f"], "x": ["much"]}, {"of": "x"}, "'x' holds something that is not a number"),
        ({"sex": ["f"], "w": [-1.0]}, {"weight": "w"}, "negative"),
        ({"sex": ["f"]}, {"by": ["sec"]}, "Did you mean 'sex'"),
        ({"sex": ["f"]}, {"by": "sex"}, "as a list"),
        ({"sex": ["f"]}, {"by": []}, "spanned by variables"),
        ({"sex": ["f"]}, {"by": ["sex", "sex"]}, "stands twice"),
        ({"sex": ["f"]}, {"of": "x"}, "No column called 'x'"),
        ({"sex": ["f"]}, {"hierarchies": {"sexe": {}}}, "Did you mean 'sex'"),
        ({"sex": ["f"]}, {"hierarchies": {"sex": {"m": None}}}, "'sex' has no code 'f'"),
        ({"sex": ["f"]}, {"hierarchies": {"sex": {"f": None, "f1": "f"}}}, "'f' of 'sex', which has parts"),
        ({"sex": ["f"]}, {"hierarchies": {"sex": {"f": "g", "g": "f"}}}, "In 'sex': The hierarchy runs in a circle"),
        ({"sex": ["f"]}, {"top": 0}, "top of 1 or more"),
    ],
)
def test_bad_microdata_are_mistakes_that_name_the_thing(columns, options, words):
    with pytest.raises(Mistake, match=words):
        Table.from_microdata(columns, **{"by": ["sex"], **options})


def test_too_many_cells_are_a_mistake_and_leaving_out_the_empty_ones_helps():
    wide = {f"v{number}": [str(row) for row in range(300)] for number in range(3)}
    with pytest.raises(Mistake, match="empty=False"):
        Table.from_microdata(wide, by=list(wide))
    assert len(Table.from_microdata(wide, by=list(wide), empty=False)) == 300 * 7 + 1
    wider = {f"v{number}": [str(row) for row in range(300)] for number in range(8)}
    with pytest.raises(Mistake, match="Leave variables out"):
        Table.from_microdata(wider, by=list(wider), empty=False)


def test_negative_contributions_leave_no_lower_bound():
    assert (Table.from_microdata({"a": ["x", "y"], "v": [1, -1]}, by=["a"], of="v").lower_bound == -np.inf).all()
    assert (Table.from_microdata({"a": ["x", "y"], "v": [1, 0]}, by=["a"], of="v").lower_bound == 0).all()


def test_a_table_speaks_arrow_and_html_and_hides_what_is_suppressed():
    table = Table.from_microdata({"sex": ["f", "m", "m", "<b>"]}, by=["sex"]).flag(Threshold(2))
    everything = pd.DataFrame(pl.DataFrame(table).to_dict(as_series=False))
    assert everything["value"].tolist() == [4, 1, 1, 2]
    assert everything["status"].tolist() == ["safe", "primary", "primary", "safe"]
    shown = table.published()
    assert shown["value"].to_pylist() == [4, None, None, 2]
    assert shown["mark"].to_pylist() == ["", "c", "c", ""]
    # Arrow keeps what lies under a null.
    assert np.frombuffer(shown["value"].chunk(0).buffers()[1], dtype=np.int64)[:4].tolist() == [4, 0, 0, 2]
    html = table._repr_html_()
    assert html.count("[c]") == 3
    assert "&lt;b&gt;" in html and "<b>" not in html


def test_a_variable_may_have_the_name_of_a_column():
    table = Table.from_microdata({"status": ["single", "married", "married"]}, by=["status"]).flag(Threshold(2))
    assert table.to_arrow()["status"].to_pylist() == ["Total", "married", "single"]
    assert table.to_arrow()["cell_status"].to_pylist() == ["safe", "safe", "primary"]
    odd = Table.from_microdata({"value": ["x"], "mark": ["y"]}, by=["value", "mark"])
    assert odd.published().column_names == ["value", "mark", "cell_value", "cell_mark"]
    assert "<td" in odd._repr_html_()


def test_codes_stand_as_people_count():
    sizes = ["10-19", "5-9", "250+", "1-4"]
    assert Table.from_microdata({"size": sizes}, by=["size"]).hierarchies[0].codes[1:] == (
        "1-4",
        "5-9",
        "10-19",
        "250+",
    )
    assert Table.from_microdata({"n": ["10", "2", "1"]}, by=["n"]).hierarchies[0].codes[1:] == ("1", "2", "10")


def test_ordered_categories_stand_as_declared():
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    column = pa.DictionaryArray.from_arrays(pa.array([2, 0, 1], pa.int8()), ["low", "middle", "high"], ordered=True)
    frame = pa.table({"level": column.cast(kind)})
    assert Table.from_microdata(frame, by=["level"]).hierarchies[0].codes[1:] == ("low", "middle", "high")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_a_file_in_another_encoding_is_read_as_told_and_otherwise_named(tmp_path, encoding):
    path = tmp_path / "towns.csv"
    path.write_bytes("town,n\nGrößenau,1\nÅs,2\n".encode(encoding))
    table = Table.from_microdata(path, by=["town"], encoding=encoding)
    assert table.hierarchies[0].codes[1:] == ("Größenau", "Ås")
    with pytest.raises(Mistake, match=r"towns.csv is not UTF-8 text.*encoding='"):
        Table.from_microdata(path, by=["town"])


def test_an_encoding_that_nobody_knows_is_a_mistake(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\nx\n")
    with pytest.raises(Mistake, match="no encoding 'latin-99'"):
        Table.from_microdata(path, by=["a"], encoding="latin-99")
