"""Hierarchies in files: `.hrc` of τ-ARGUS, one code a line under its total; or CSV with the columns code and parent."""

import csv
import io
from pathlib import Path

from confide.errors import Mistake
from confide.model.catalog.hrc import read_hrc
from confide.tables.files.text import read_text, write_text
from confide.tables.hierarchy import TOTAL, Hierarchy

__all__ = ["read_hierarchy", "write_hrc"]


def read_hierarchy(path: str | Path, *, total: str = TOTAL, lead: str = "@") -> Hierarchy:
    """The hierarchy in a file; `lead` stands at the start of a line of a `.hrc` file once for each level of depth."""
    text = read_text(path)
    if Path(str(path).removesuffix(".gz")).suffix.lower() == ".csv":
        return _from_csv(text, Path(path).name, total)
    levels = read_hrc(text if lead == "@" else _led(text, lead))
    return Hierarchy.of(
        {code: parent for level in levels for code, parent in level.items() if code != parent}, total=total
    )


def _led(text: str, lead: str) -> str:
    """The text with the usual sign of depth in the place of another."""
    lines = []
    for line in map(str.strip, text.splitlines()):
        code = line
        while lead and code.startswith(lead):
            code = code.removeprefix(lead)
        lines.append("@" * ((len(line) - len(code)) // len(lead or "@")) + code)
    return "\n".join(lines)


def _from_csv(text: str, name: str, total: str) -> Hierarchy:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if not {"code", "parent"} <= set(rows.fieldnames or ()):
        raise Mistake(f"The hierarchy file {name} needs a header with the columns code and parent.")
    parents: dict[str, str | None] = {}
    for row in rows:
        code = (row["code"] or "").strip()
        if code in parents:
            raise Mistake(f"Code {code!r} stands twice in {name}.")
        parents[code] = (row["parent"] or "").strip() or None
    return Hierarchy.of(parents, total=total)


def write_hrc(hierarchy: Hierarchy, path: str | Path) -> None:
    """Write a hierarchy as τ-ARGUS reads it; the total of all goes without saying."""
    unfit = [code for code in hierarchy.codes[1:] if code.startswith("@") or not code.isprintable()]
    if unfit:
        raise Mistake(
            f"Code {unfit[0][:60]!r} cannot stand in a .hrc file, where @ says how deep a code is and every line has one.",
            suggestions=["Rename it, or write CSV or Parquet."],
        )
    lines = ["@" * (depth - 1) + code for code, depth in zip(hierarchy.codes, hierarchy.depths.tolist(), strict=True)]
    write_text(path, "".join(line + "\n" for line in lines[1:]))
