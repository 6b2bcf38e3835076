"""Reading SPSS, Stata and SAS files with their variable labels, value labels and declared missing values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from confide.errors import Mistake

__all__ = ["read_labelled"]

READERS = {"sav": "sav", "zsav": "sav", "por": "por", "dta": "dta", "sas7bdat": "sas7bdat", "xpt": "xport"}

Read = tuple[pa.Table, dict[str, str], dict[str, dict[str, str]], dict[str, list[str]]]


def read_labelled(path: Path, kind: str) -> Read:
    """The table, the labels of its variables, the labels of their values, and the values that mean missing.

    Labels of a SAS file's values are in a catalog beside it, `survey.sas7bcat` or `formats.sas7bcat`, if there is one.
    Of Stata's and SAS's many missing values one is kept: no value. SPSS's own missing values stay apart.
    """
    try:
        import pyreadstat
    except ImportError:
        raise Mistake(f"Reading {path.name} needs the extra 'spss': pip install 'confide[spss]'.") from None
    options = {"user_missing": True} if READERS[kind] == "sav" else {}
    try:
        frame, meta = getattr(pyreadstat, f"read_{READERS[kind]}")(str(path), **options)
    except Exception as error:  # pyreadstat has no common exception class
        raise Mistake(f"{path.name} cannot be read as {kind} ({type(error).__name__}).") from None
    meta = _with_catalog(path, meta, frame.head(0)) if kind == "sas7bdat" else meta
    labels = {name: text for name, text in (meta.column_names_to_labels or {}).items() if text}
    values = {
        name: {_code(value): str(text) for value, text in pairs.items()}
        for name, pairs in meta.variable_value_labels.items()
    }
    ranges: Mapping[str, Sequence[Mapping[str, Any]]] = getattr(meta, "missing_ranges", None) or {}
    missing = {name: _inside(frame[name].dropna().unique(), ranges[name]) for name in ranges}
    return pa.Table.from_pandas(frame, preserve_index=False), labels, values, missing


def _with_catalog(path: Path, meta: Any, empty: Any) -> Any:
    """What SAS says of its columns, with the value labels of the catalog beside the file; the values stay codes."""
    import pyreadstat

    beside = [path.with_suffix(".sas7bcat"), path.with_name("formats.sas7bcat")]
    catalog = next((file for file in beside if file.is_file()), None)
    if catalog is None:
        return meta
    try:
        _, formats = pyreadstat.read_sas7bcat(str(catalog))
    except Exception as error:  # as above
        raise Mistake(
            f"{catalog.name}, the catalog beside {path.name}, cannot be read ({type(error).__name__}).",
            suggestions=["Move it elsewhere to read the data without value labels."],
        ) from None
    return pyreadstat.set_catalog_to_sas(empty, meta, formats)[1]


def _code(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _inside(values: Any, ranges: Sequence[Mapping[str, Any]]) -> list[str]:
    """Declared single values that mean missing, and those values of the data that lie in a declared range."""
    single = [r["lo"] for r in ranges if r["lo"] == r["hi"]]
    ranged = [v for v in values if not isinstance(v, str) and any(r["lo"] <= v <= r["hi"] for r in ranges)]
    return list(dict.fromkeys(_code(v) for v in [*single, *ranged]))
