"""Every way into the house gives the same table, or a Mistake in plain words."""

import gzip
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pyreadstat
import pytest

from confide.errors import Mistake
from confide.site.drafting.draft import draft
from confide.sources.dictionaries.dictionary import read_dictionary
from confide.sources.source import read_source

TABLE = pa.table({"sex": ["f", "m", None], "age": [30, 41, 7]})
TEXTS = {"sex": ["f", "m", None], "age": ["30", "41", "7"]}


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def fails(source: Any, *words: str, **options: Any) -> None:
    with pytest.raises(Mistake) as mistake:
        read_source(source, **options)
    for word in words:
        assert word in str(mistake.value)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_csv_with_any_separator_and_line_ending_is_read_as_text(tmp_path: Path, separator: str, ending: str) -> None:
    rows = [["sex", "age"], ["f", "30"], ["m", "41"], ["", "7"]]
    file = write(tmp_path / "a.csv", ending.join(separator.join(row) for row in rows) + ending)
    assert read_source(file).table.to_pydict() == TEXTS
    assert read_source(str(file)).table.to_pydict() == TEXTS


@pytest.mark.parametrize("name", ["a.CSV", "a.tsv", "a.txt", "a.b.csv"])
def test_the_ending_tells_what_a_file_is(tmp_path: Path, name: str) -> None:
    assert read_source(write(tmp_path / name, "sex\tage\nf\t30\nm\t41\n\t7\n")).table.to_pydict() == TEXTS


def test_csv_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert read_source(write(tmp_path / "a.csv", "\ufeffsex,age\nf,30\nm,41\n,7\n")).table.to_pydict() == TEXTS


def test_csv_may_be_gzipped(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"sex,age\nf,30\nm,41\n,7\n"))
    assert read_source(tmp_path / "a.csv.gz").table.to_pydict() == TEXTS


def test_a_gzipped_file_that_breaks_off_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"sex,age\n" + bytes(range(32, 120)) * 99)[:-20])
    fails(tmp_path / "a.csv.gz", "a.csv.gz cannot be read")


def test_fields_in_quotes_hold_separators_quotes_and_line_breaks(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", '"na,me;x",note\n"Fort Worth, TX","two\nlines"\n"say ""a""",x\n')
    read = read_source(file).table.to_pydict()
    assert read == {"na,me;x": ["Fort Worth, TX", 'say "a"'], "note": ["two\nlines", "x"]}


def test_codes_keep_their_leading_zeros_and_spaces_inside(tmp_path: Path) -> None:
    read = read_source(write(tmp_path / "a.csv", "code,x\n007,a b\n010,NA\n")).table
    assert read.to_pydict() == {"code": ["007", "010"], "x": ["a b", "NA"]}


def test_semicolon_files_may_write_a_decimal_comma(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "x;town;n\n1,5;Ulm, south;1\n2;Bonn;2\n;Kiel;3\n")
    assert read_source(file).table.to_pydict() == {
        "x": ["1.5", "2", None],
        "town": ["Ulm, south", "Bonn", "Kiel"],
        "n": ["1", "2", "3"],
    }


def test_one_column_may_have_empty_fields(tmp_path: Path) -> None:
    assert read_source(write(tmp_path / "a.csv", "x\na\n\nb\n")).table.to_pydict() == {"x": ["a", None, "b"]}


@pytest.mark.parametrize("text", ["name\nMünchen\n", "größe\n1\n"])
def test_another_encoding_is_a_mistake_that_says_so(tmp_path: Path, text: str) -> None:
    fails(write(tmp_path / "a.csv", text, "latin-1"), "UTF-8")


def test_broken_rows_are_a_mistake_that_says_which(tmp_path: Path) -> None:
    fails(write(tmp_path / "a.csv", "a,b\n1,2\n3\n4,5\n6,7,8\n"), "2 rows", "row 3, 5", "2 fields")


def test_a_quote_that_never_ends_is_a_mistake(tmp_path: Path) -> None:
    fails(write(tmp_path / "a.csv", 'a,b\n1,"2\n3,4\n5,6\n'), "quote", "never closed")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("a,b\n", "no records"),
        ("a,b,a\n1,2,3\n", "'a' appears twice"),
        ("a,,b\n1,2,3\n", "no name"),
        ('"a\nb",c\n1,2\n', "line break"),
    ],
)
def test_a_csv_without_sound_columns_is_a_mistake(tmp_path: Path, text: str, words: str) -> None:
    fails(write(tmp_path / "a.csv", text), words)


def test_parquet_and_arrow_files_keep_their_types(tmp_path: Path) -> None:
    pa.parquet.write_table(TABLE, tmp_path / "a.parquet")
    pa.feather.write_feather(TABLE, tmp_path / "a.feather")
    with pa.ipc.new_file(tmp_path / "a.arrow", TABLE.schema) as file:
        file.write_table(TABLE)
    with pa.ipc.new_stream(tmp_path / "b.arrow", TABLE.schema) as stream:
        stream.write_table(TABLE)
    for name in ("a.parquet", "a.feather", "a.arrow", "b.arrow"):
        assert read_source(tmp_path / name).table.equals(TABLE), name


@pytest.mark.parametrize(
    "name", ["a.parquet", "a.arrow", "a.feather", "a.duckdb", "a.sav", "a.dta", "a.xpt", "a.csv.gz"]
)
def test_a_file_that_is_not_what_it_says_is_a_mistake_that_quotes_none_of_it(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / name, "secret-value " * 200)
    with pytest.raises(Mistake) as mistake:
        read_source(file)
    assert name in str(mistake.value) and "secret-value" not in str(mistake.value)


def test_unknown_endings_and_missing_files_are_mistakes(tmp_path: Path) -> None:
    fails(write(tmp_path / "a.xlsx", "x"), "'a.xlsx'", "csv")
    fails(tmp_path / "none.csv", "no file")
    fails(tmp_path, "is a folder, and no table")


def test_frames_of_pandas_polars_and_arrow_are_read() -> None:
    rows = TABLE.to_pydict()
    for frame in (pl.DataFrame(rows), TABLE, TABLE.to_batches()[0], rows, TABLE.to_reader()):
        assert read_source(frame).table.to_pydict() == rows
    assert read_source(TABLE.to_pandas()).table.to_pydict() == rows


def test_a_named_index_of_pandas_is_a_column_and_a_plain_one_is_not() -> None:
    frame = pd.DataFrame({"id": [7, 8], "x": [1, 2]}, index=[5, 6])
    assert read_source(frame).table.column_names == ["id", "x"]
    assert read_source(frame.set_index("id")).table.to_pydict() == {"id": [7, 8], "x": [1, 2]}


def test_frames_with_mixed_or_doubled_columns_are_mistakes() -> None:
    fails(pd.DataFrame({"ok": [1, 2], "mixed": [1, "a"]}, dtype=object), "mixed")
    fails(pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' appears twice")
    fails(pd.DataFrame({"a": []}), "no records")
    fails(pd.DataFrame(), "no columns")


@pytest.mark.parametrize("source", [3, None, object(), [1, 2]])
def test_anything_else_is_not_microdata(source: Any) -> None:
    fails(source, type(source).__name__, "pandas")


def test_a_duckdb_file_with_one_table_needs_no_name(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute('CREATE TABLE "odd "" name" AS SELECT \'f\' AS sex, 30 AS age')
    assert read_source(path).table.to_pydict() == {"sex": ["f"], "age": [30]}


def test_a_duckdb_file_with_several_tables_needs_one(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE people AS SELECT 1 AS x; CREATE VIEW firms AS SELECT 2 AS x")
    assert read_source(path, table="firms").table.to_pydict() == {"x": [2]}
    fails(path, "which table", "firms, people")
    fails(path, "'people'", table="peeple")


FRAME = pd.DataFrame(
    {"sex": [1.0, 2.0, 9.0, None], "age": [30.0, 41.0, 99.0, 7.0], "town": ["Ulm", "Bonn", "", "Kiel"]}
)
LABELS = {"sex": {1: "Male", 2: "Female", 9: "No answer"}, "age": {99: "No answer"}}


def test_spss_files_bring_labels_value_labels_and_missing_values(tmp_path: Path) -> None:
    pyreadstat.write_sav(
        FRAME,
        tmp_path / "a.sav",
        column_labels=["Sex of person", "", "Town"],
        variable_value_labels=LABELS,
        missing_ranges={"sex": [9], "age": [{"lo": 97, "hi": 99}]},
    )
    read = read_source(tmp_path / "a.sav")
    assert read.table["sex"].to_pylist() == [1.0, 2.0, 9.0, None]
    assert read.labels == {"sex": "Sex of person", "town": "Town"}
    assert read.value_labels == {"sex": {"1": "Male", "2": "Female", "9": "No answer"}, "age": {"99": "No answer"}}
    assert read.missing == {"sex": ["9"], "age": ["99"]}


def test_stata_and_sas_files_are_read(tmp_path: Path) -> None:
    pyreadstat.write_dta(FRAME, tmp_path / "a.dta", variable_value_labels=LABELS, column_labels=["Sex", "Age", "Town"])
    read = read_source(tmp_path / "a.dta")
    assert read.table["age"].to_pylist() == [30.0, 41.0, 99.0, 7.0]
    assert read.table["sex"].to_pylist() == [1.0, 2.0, 9.0, None]
    assert read.value_labels["sex"] == {"1": "Male", "2": "Female", "9": "No answer"}
    assert read.labels["age"] == "Age"
    pyreadstat.write_xport(FRAME, tmp_path / "a.xpt", column_labels=["Sex", "Age", "Town"])
    read = read_source(tmp_path / "a.xpt")
    assert read.table["town"].to_pylist() == ["Ulm", "Bonn", "", "Kiel"]
    assert read.labels["sex"] == "Sex"


def test_several_threads_read_columns_of_one_parquet_file(tmp_path: Path) -> None:
    """In a process of its own: with one reader for both, two threads end it within a few of these rounds."""
    script = """
        import sys
        from concurrent.futures import ThreadPoolExecutor
        from pathlib import Path
        import pyarrow as pa, pyarrow.parquet as pq
        from confide.sources.by_column import ParquetColumns

        table = pa.table({f"c{i}": [f"{i}-{j % 7}" for j in range(1_000)] for i in range(30)})
        pq.write_table(table, sys.argv[1], row_group_size=20)
        for _ in range(30):
            with ThreadPoolExecutor(4) as pool:
                columns = ParquetColumns(Path(sys.argv[1]))
                assert list(pool.map(columns.__getitem__, columns.column_names)) == table.columns
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "wide.parquet")], check=True)


FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_labels_of_a_sas_file_come_from_the_catalog_beside_it_and_codes_stay_codes(tmp_path: Path) -> None:
    for name in ("survey.sas7bcat", "formats.sas7bcat"):
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(FIXTURES / "survey.sas7bdat", folder)
        shutil.copy(FIXTURES / "survey.sas7bcat", folder / name)
        read = read_source(folder / "survey.sas7bdat")
        assert read.value_labels == {
            "sex": {"1": "Men", "2": "Women"},
            "area": {"N": "North", "S": "South", "W": "West"},
        }
        assert read.labels["income"] == "Income a year" and set(read.table["area"].to_pylist()) == {"N", "S", "W"}
        drafted = tomllib.loads(draft(read, name="d").catalog)["variables"]
        assert drafted["sex"]["codes"] == {"1": "Men", "2": "Women"} and drafted["sex"]["missing"] == ["NA"]


def test_a_sas_file_without_its_catalog_has_codes_alone_and_a_damaged_one_is_a_mistake(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "survey.sas7bdat", tmp_path)
    assert read_source(tmp_path / "survey.sas7bdat").value_labels == {}
    (tmp_path / "formats.sas7bcat").write_bytes(b"no catalog")
    with pytest.raises(Mistake, match="formats.sas7bcat, the catalog beside survey.sas7bdat, cannot be read"):
        read_source(tmp_path / "survey.sas7bdat")


def test_a_catalog_given_as_a_codebook_says_where_it_belongs() -> None:
    with pytest.raises(Mistake, match=r"names formats, not variables. Put it beside its data file"):
        read_dictionary(FIXTURES / "survey.sas7bcat")


@pytest.mark.parametrize(
    ("name", "words"), [("people.xlsx", "as CSV"), ("people.dat", "call it .txt"), ("people.zip", "Unpack it first")]
)
def test_what_to_do_with_a_file_that_is_not_read_is_said(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"sex|age\nf|3\n")
    with pytest.raises(Mistake, match=f"Cannot tell what '{name}' is.*{words}"):
        read_source(tmp_path / name)
