"""The field's files: what is written is read back the same, and what cannot be read is a mistake that names the place."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables import PPercent, Status, Table, Threshold, transitions
from confide.tables.files.asc import read_asc, write_asc
from confide.tables.files.jj import read_jj, write_jj
from confide.tables.files.ptable import (
    KeyTable,
    PTable,
    read_key_table,
    read_ptable,
    write_key_table,
    write_ptable,
)
from confide.tables.files.rda import read_rda, write_rda
from confide.tables.files.tab import read_tab, write_tab

COLUMNS = ("value", "status", "cost", "lower_protection", "upper_protection")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A flagged table of two variables, one with levels, of counts or of amounts."""
    size = draw(st.integers(1, 15))
    column = lambda values: draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))  # noqa: E731
    data = {"region": column(["N1", "N2", "Süd"]), "size": column(["1", "02"]), "x": column([0, 1, 2.5, 1e6, 0.1])}
    of = draw(st.sampled_from([None, "x"]))
    hierarchy = {"N": None, "N1": "N", "N2": "N", "Süd": None}
    table = Table.from_microdata(data, by=["region", "size"], of=of, hierarchies={"region": hierarchy})
    return table.flag(Threshold(2), PPercent(20))


@given(tables())
def test_a_table_survives_tau_argus(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("tab") / "t.tab"
    write_tab(table, path)
    again = read_tab(path)
    assert again.hierarchies == table.hierarchies
    assert (again.variables, again.measure, again.is_count) == (table.variables, table.measure, table.is_count)
    for name in COLUMNS:
        assert getattr(again, name).tolist() == getattr(table, name).tolist(), name
    assert again.units.tolist() == table.units.tolist()
    assert again.contributions.top.tolist() == table.contributions.top.tolist()
    assert again.contributions.total.tolist() == table.contributions.total.tolist()


@given(tables())
def test_a_table_survives_jj_without_its_codes(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("jj") / "t.jj"
    write_jj(table, path)
    again = read_jj(path)
    for name in (*COLUMNS, "lower_bound", "upper_bound", "sliding_protection"):
        if name != "status":
            assert getattr(again, name).tolist() == getattr(table, name).tolist(), name
    empty = table.status == Status.EMPTY
    assert again.status.tolist() == np.where(empty, Status.PUBLISHED, table.status).tolist()
    assert (again.relations.matrix != table.relations.matrix).nnz == 0


def test_a_jj_file_may_have_coefficients_and_right_sides_of_its_own(tmp_path):
    path = tmp_path / "own.jj"
    path.write_text("0\n2\n0 3 1 s 0 10 0 0 0\n1 1 5 u -1e15 1e15 1 2 0.5\n1\n5 2 : 0 (2) 1 (-1)\n")
    table = read_jj(path)
    assert table.relations.rhs.tolist() == [5]
    assert table.relations.matrix.toarray().tolist() == [[2, -1]]
    assert (table.lower_bound[1], table.upper_bound[1], table.sliding_protection[1]) == (-np.inf, np.inf, 0.5)
    write_jj(table, path)
    assert read_jj(path).relations.rhs.tolist() == [5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a JJ file"),
        ("0\n3\n0 1 1 s 0 9 0 0 0\n", "not a JJ file"),
        ("0\n1\n0 1 1 s 0 9 0\n0\n", "Line 3 of the JJ file"),
        ("0\n1\n0 1 1 q 0 9 0 0 0\n0\n", "Line 3 of the JJ file"),
        ("0\n1\n1 1 1 s 0 9 0 0 0\n0\n", "not numbered 0, 1, 2"),
        ("0\n1\n0 1 1 s 0 9 0 0 0\n1\n0 2 : 0 (1)\n", "Line 5 of the JJ file"),
        ("0\n1\n0 1 1 s 0 9 0 0 0\n1\n0 1 : 7 (1)\n", "a cell that is not there"),
        ("0\n1\n0 1 1 s 0 9 0 0 0\n1\n0 1 : 0 (1)\n", "does not add up: 0 is not the sum of its 1 parts"),
    ],
)
def test_a_file_that_is_no_jj_file_is_a_mistake(tmp_path, text, words):
    (tmp_path / "bad.jj").write_text(text)
    with pytest.raises(Mistake, match=words):
        read_jj(tmp_path / "bad.jj")


def test_a_description_survives_its_file(tmp_path):
    path = tmp_path / "d.rda"
    path.write_text(
        '<SEPARATOR> ";"\n<UNSAFE> "X"\nregion 3 "99" "-"\n <RECODEABLE>\n <TOTCODE> "All"\nx 8\n <NUMERIC> <DECIMALS> 2\n'
    )
    rda = read_rda(path)
    assert rda.separator == ";"
    assert (rda["region"].width, rda["region"].missing) == (3, ("99", "-"))
    assert rda["x"].keywords == {"NUMERIC": "", "DECIMALS": "2"}
    assert rda.with_keyword("RECODEABLE") == ["region"]
    write_rda(rda, tmp_path / "again.rda")
    assert read_rda(tmp_path / "again.rda") == rda
    with pytest.raises(Mistake, match="Did you mean 'region'"):
        rda["regoin"]


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "no variables"), ("  <NUMERIC>\n", "before the first variable"), ("x 3\n", "where 'x' stands")],
)
def test_a_description_that_says_too_little_is_a_mistake(tmp_path, text, words):
    (tmp_path / "d.rda").write_text(text)
    with pytest.raises(Mistake, match=words):
        read_rda(tmp_path / "d.rda")


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6),
            st.one_of(st.integers(-9999, 9999), st.floats(-1e6, 1e6).map(lambda x: round(x, 3))),
        ),
        min_size=1,
        max_size=10,
    )
)
def test_records_survive_columns(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("asc") / "m.asc"
    frame = pa.table({"code": [code for code, _ in rows], "x": [float(x) for _, x in rows]})
    write_asc(frame, path)
    assert read_asc(path).to_pydict() == frame.to_pydict()


def test_records_between_separators_and_gzipped_are_read(tmp_path):
    (tmp_path / "m.rda").write_text('<SEPARATOR> ";"\na 1\n  <RECODEABLE>\nx 4 999\n  <NUMERIC>\n')
    (tmp_path / "m.asc.gz").write_bytes(gzip.compress(b"1; 1,5\r\r\n2;999\r\r\n"))
    assert read_asc(tmp_path / "m.asc.gz").to_pydict() == {"a": ["1", "2"], "x": [1.5, None]}
    (tmp_path / "m.asc").write_text("1;2;3\n")
    with pytest.raises(Mistake, match="Record 1 of m.asc does not have 2 fields"):
        read_asc(tmp_path / "m.asc")
    (tmp_path / "m.asc").write_text("1;two\n")
    with pytest.raises(Mistake, match="'x' holds something that is not a number"):
        read_asc(tmp_path / "m.asc")
    (tmp_path / "m.asc").write_text("\n")
    with pytest.raises(Mistake, match="no records"):
        read_asc(tmp_path / "m.asc")


def test_a_file_without_its_description_is_a_mistake(tmp_path):
    (tmp_path / "m.asc").write_text("1\n")
    with pytest.raises(Mistake, match="no description m.rda"):
        read_asc(tmp_path / "m.asc")


def test_a_description_may_have_letters_of_its_own_and_decimal_commas(tmp_path):
    (tmp_path / "t.rda").write_text(
        '<SEPARATOR> ";"\n<SAFE> "ok"\n<UNSAFE> "no"\na\n <RECODEABLE>\nv\n <NUMERIC>\ns\n <STATUS>\n'
    )
    (tmp_path / "t.tab").write_text('"Total";3,75;ok\n"x";1,5;no\n"y";2,25;ok\n')
    table = read_tab(tmp_path / "t.tab")
    assert table.value.tolist() == [3.75, 1.5, 2.25]
    assert table.primary.tolist() == [False, True, False]


def test_of_several_magnitudes_one_must_be_named(tmp_path):
    (tmp_path / "t.rda").write_text('<SEPARATOR> ","\na\n <RECODEABLE>\nv\n <NUMERIC>\nw\n <NUMERIC>\n')
    (tmp_path / "t.tab").write_text("x,1,2\n")
    with pytest.raises(Mistake, match="value='v'"):
        read_tab(tmp_path / "t.tab")
    assert read_tab(tmp_path / "t.tab", value="w").value.tolist() == [2, 2]
    with pytest.raises(Mistake, match="It has v, w"):
        read_tab(tmp_path / "t.tab", value="z")


@pytest.mark.parametrize(
    "design", [{"D": 3, "V": 2.0, "js": 2}, {"D": 5, "V": 3.0, "js": 2}, {"D": 4, "V": 1.5, "js": 0}]
)
def test_a_transition_matrix_survives_as_a_perturbation_table(tmp_path, design):
    matrix = transitions(**design)
    write_ptable(PTable.of(matrix), tmp_path / "p.csv")
    again = read_ptable(tmp_path / "p.csv").transitions()
    assert np.abs(again.matrix - matrix.matrix).max() < 1e-12
    assert (again.D, again.js) == (matrix.D, matrix.js)
    assert pytest.approx(matrix.V) == again.V


def test_keys_are_shared_out_as_the_probabilities_say(tmp_path):
    matrix = transitions(D=5, V=2, js=2)
    keyed = KeyTable.of(PTable.of(matrix))
    for count in (1, 2, 3, 7, 400, 750):
        row = matrix.matrix[min(count, len(matrix.matrix) - 1)]
        shares = np.bincount(keyed.moves[count] + 5, minlength=11) / 256
        assert np.abs(shares - row).max() <= 1 / 256
    write_key_table(keyed, tmp_path / "ons.csv")
    assert (read_key_table(tmp_path / "ons.csv").moves == keyed.moves).all()


def test_counts_above_750_are_looked_up_as_the_ons_does():
    moves = np.zeros((751, 256), dtype=np.int64)
    moves[501:, 7] = np.arange(501, 751)
    counts = np.array([501, 751, 1001, 750, 1000, 502])
    assert (KeyTable(moves).draw(counts, np.full(6, 7)) - counts).tolist() == [501, 501, 501, 750, 750, 502]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no perturbation table"),
        ("i;j\n1;2\n", "no perturbation table"),
        ("i;p;v\n1;x;0\n", "number 'p'"),
        ("i;p\n1;1\n", "number 'j'"),
        ("i;p;v\n1;0.5;0\n", "for 1 do not add up to 1"),
        ("i;p;v\n1;1.5;0\n1;-0.5;1\n", "negative"),
    ],
)
def test_a_file_that_is_no_perturbation_table_is_a_mistake(tmp_path, text, words):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(Mistake, match=words):
        read_ptable(tmp_path / "p.csv")


def test_a_key_out_of_range_is_a_mistake(tmp_path):
    (tmp_path / "k.csv").write_text("pcv,ckey,pvalue\n1,256,0\n")
    with pytest.raises(Mistake, match="keys from 0 to 255"):
        read_key_table(tmp_path / "k.csv")


def test_a_magnitude_table_is_not_a_transition_matrix(tmp_path):
    (tmp_path / "p.csv").write_text("i;p;v;type\n0;1;0;all\n5;0.5;-0.5;all\n5;0.5;0.5;all\n")
    table = read_ptable(tmp_path / "p.csv")
    assert table.kind == ("all", "all", "all")
    write_ptable(table, tmp_path / "q.csv")
    assert read_ptable(tmp_path / "q.csv").kind == table.kind
    with pytest.raises(Mistake, match="magnitudes, not counts"):
        table.transitions()


def test_codes_with_separators_and_quotes_go_through_a_tab_file(tmp_path):
    codes = ['a"b;c', "ü, y", "x y", "007", "7"]
    records = {"kind of shop": codes * 3, "v": list(range(15))}
    table = Table.from_microdata(records, by=["kind of shop"], of="v").flag(Threshold(4))
    write_tab(table, tmp_path / "t.tab")
    again = read_tab(tmp_path / "t.tab")
    assert again.variables == table.variables
    assert again.hierarchies == table.hierarchies
    assert again.value.tolist() == table.value.tolist()
    assert again.status.tolist() == table.status.tolist()


@pytest.mark.parametrize("code", ["@x", "x\ny"])
def test_a_code_that_a_hierarchy_file_cannot_hold_is_a_mistake(tmp_path, code):
    with pytest.raises(Mistake, match="cannot stand in a .hrc file"):
        write_tab(Table.from_microdata({"k": [code, "y"]}, by=["k"]), tmp_path / "t.tab")
    assert not list(tmp_path.iterdir())
