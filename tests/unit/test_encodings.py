"""Text files that are not UTF-8: refused with the line and what they may be, read where the encoding is named."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from confide.errors import Mistake
from confide.sources.source import read_source

TEXT = "name,größe\nplain,1\nJosé,2\n"


def written(folder: Path, encoding: str, name: str = "in.csv") -> Path:
    path = folder / name
    content = TEXT.encode(encoding)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["in.csv", "in.csv.gz"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8", "utf-8-sig", "mac-roman"])
def test_a_file_is_read_by_its_encoding(tmp_path: Path, encoding: str, name: str) -> None:
    table = read_source(written(tmp_path, encoding, name), encoding=encoding).table
    assert table.to_pydict() == {"name": ["plain", "José"], "größe": ["1", "2"]}


@pytest.mark.parametrize(
    ("encoding", "line", "likely"),
    [("latin-1", 1, "latin-1"), ("utf-16", 1, "utf-16"), ("utf-16-le", 1, "utf-16"), ("utf-16-be", 1, "utf-16")],
)
def test_without_it_the_line_and_the_likely_encoding_are_named(
    tmp_path: Path, encoding: str, line: int, likely: str
) -> None:
    with pytest.raises(Mistake, match=rf"in.csv is not UTF-8 text \(line {line}\).*encoding='{likely}'"):
        read_source(written(tmp_path, encoding))


def test_the_line_is_where_it_begins_not_to_be_utf_8(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("name,n\na,1\nb,2\nJosé,3\n".encode("latin-1"))
    with pytest.raises(Mistake, match=r"\(line 4\)"):
        read_source(tmp_path / "in.csv")


def test_what_is_utf_8_is_read_as_such_whatever_is_named(tmp_path: Path) -> None:
    assert read_source(written(tmp_path, "utf-8"), encoding="latin-1").table["name"].to_pylist()[1] == "José"


@pytest.mark.parametrize(
    ("named", "complaint"),
    [
        ("latin1-1", "no encoding 'latin1-1'.*latin-1, cp1252"),
        ("rot13", "no encoding 'rot13'"),
        ("utf-32", "not text in utf-32"),
        ("ascii", "ascii"),
    ],
)
def test_an_encoding_that_is_none_or_is_not_the_files_is_a_mistake(tmp_path: Path, named: str, complaint: str) -> None:
    with pytest.raises(Mistake, match=complaint):
        read_source(written(tmp_path, "latin-1"), encoding=named)


def test_a_long_file_in_latin_1_is_read_to_the_end(tmp_path: Path) -> None:
    rows = "".join(f"é{i},{i}\n" for i in range(50_000))
    (tmp_path / "in.csv").write_bytes(f"a,b\n{rows}".encode("latin-1"))
    table = read_source(tmp_path / "in.csv", encoding="latin-1").table
    assert table.num_rows == 50_000 and table["a"][-1] == pa.scalar("é49999")
