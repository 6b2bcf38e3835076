"""What `confide check` sees in the records of a description that was written by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import confide
from confide.answering.unopened import check
from confide.records.ingest import preview
from confide.site.folder import Folder

ROWS = 2000
RNG = np.random.default_rng(5)
SEX = RNG.choice(["f", "m"], ROWS)
PAY = RNG.lognormal(9, 0.6, ROWS).round()
NUMBER = 'kind = "numeric"\nrole = "confidential"'


def codes(values: Sequence[str], role: str = "other") -> str:
    listed = ", ".join(f'"{value}" = "{value}"' for value in sorted(set(values)))
    return f'role = "{role}"\ncodes = {{ {listed} }}'


def made(folder: Path, columns: Mapping[str, tuple[Sequence[object], str]], unit: str = "") -> Path:
    """A site of these columns, each with what is said of it, beside the sex of people."""
    columns = {"sex": (list(SEX), codes(["f", "m"], "key")), **columns}
    table = pa.table({name: pa.array(list(values)) for name, (values, _) in columns.items()})
    text = "".join(f'[variables.{name}]\nlabel = "Of {name}"\n{body}\n' for name, (_, body) in columns.items())
    confide.add(table, folder, name="d", catalog=unit + text)
    return folder


def words_of(site: Path) -> list[str]:
    return [finding.text for finding in check(site)]


TEXTS = [f"remark {at // 2 * 2 if at < 200 else at}" for at in range(ROWS)]
BANDS = [str(int(band)) for band in np.searchsorted(np.quantile(PAY, np.arange(0.02, 1, 0.02)), PAY)]
SEEN = {
    "a low number": ({"wait": (np.where(SEX == "f", -9, RNG.integers(0, 60, ROWS)), NUMBER)}, "missing (-9)"),
    "nines": ({"pay": (np.where(np.arange(ROWS) % 50 == 0, 9999999, PAY), NUMBER)}, "missing (9999999)"),
    "free text": ({"said": (TEXTS, codes(TEXTS))}, "one record each, as in free text or names: 'said'"),
    "an index as a number": ({"nr": (np.arange(ROWS) + 7, NUMBER)}, "numbers the records, and is shown: 'nr'"),
    "an index as codes": (
        {"nr": ([str(at) for at in range(ROWS)], codes([str(at) for at in range(ROWS)]))},
        "numbers the records, and is shown: 'nr'",
    ),
    "days": (
        {"born": (19000101 + 10000 * RNG.integers(0, 99, ROWS) + 100 * RNG.integers(0, 12, ROWS), NUMBER)},
        "exact days written as numbers",
    ),
    "one number": ({"same": ([4.0] * ROWS, NUMBER)}, "the same number in every record"),
    "a number twice": (
        {"pay": (PAY, NUMBER), "again": (np.where(np.arange(ROWS) == 9, 0, PAY), NUMBER)},
        "nearly the same as 'pay', so that their few differences single units out; leave one out: 'again'",
    ),
    "a number in bands": (
        {"pay": (PAY, NUMBER), "band": (BANDS, codes(BANDS, "key"))},
        "tells the confidential 'pay' by its classes, and is not confidential: 'band'",
    ),
}


@pytest.mark.parametrize("kind", SEEN)
def test_what_the_records_look_like_is_told(kind: str, tmp_path: Path) -> None:
    columns, words = SEEN[kind]
    assert [text for text in words_of(made(tmp_path, columns)) if words in text]


def test_what_is_declared_is_told_no_more(tmp_path: Path) -> None:
    """The same columns with their missing codes, hidden, and confidential: nothing is left to say of them."""
    site = made(
        tmp_path,
        {
            "wait": (np.where(SEX == "f", -9, RNG.integers(0, 60, ROWS)), f'{NUMBER}\nminimum = 0\nmissing = ["-9"]'),
            "said": (TEXTS, 'role = "identifier"'),
            "nr": (np.arange(ROWS), 'role = "identifier"'),
            "pay": (PAY, f"{NUMBER}\nminimum = 0"),
            "band": (BANDS, codes(BANDS, "confidential")),
        },
        unit='unit = "nr"\n',
    )
    told = words_of(site)
    assert told and not [text for text in told if any(words.split(":")[0] in text for _, words in SEEN.values())]


def test_true_records_that_are_kept_elsewhere_are_not_looked_at_and_that_is_said(tmp_path: Path) -> None:
    site = made(tmp_path, SEEN["a number twice"][0])
    Folder(site).truth("d").unlink()
    told = words_of(site)
    assert any("nobody looked at their columns" in text for text in told)
    assert not any("nearly the same" in text for text in told)


def zero(sex: str, town: str) -> str:
    return f'[[structural_zeros]]\nsex = ["{sex}"]\ntown = ["{town}"]\n'


@pytest.mark.parametrize(("town", "rows", "said"), [("b", 4, True), ("c", 4, False), ("a", 1, True)])
def test_true_records_where_nobody_can_be_are_counted_for_the_custodian(
    town: str, rows: int, said: bool, tmp_path: Path
) -> None:
    columns = {"sex": ["f", "f", "m", "m"], "town": list("abbb")}
    table = pa.table({name: values[:rows] for name, values in columns.items()})
    described = 'sex = { codes = { f = "F", m = "M" } }\ntown = { codes = { a = "A", b = "B", c = "C" } }\n'
    told: list[str] = []
    text = f"[variables]\n{described}\n{zero('f', town)}"
    confide.add(table, tmp_path / "s", name="d", catalog=text, preset="drop-q", tell=told.append)
    words = f"1 true record stands where [[structural_zeros]] says that nobody can be (sex=f and town={town})"
    assert [words in text for text in told] == [True] * said
    assert [finding.kind for finding in check(tmp_path / "s") if words in finding.text] == ["risky"] * said
    for load in (preview, confide.ingest):
        assert any(words in line for line in load(table, tmp_path / "s", name="d").lines()) is said
