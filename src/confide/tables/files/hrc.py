"""Hierarchies in files: `.hrc` of τ-ARGUS, one code a line under its total; or CSV with the columns code and parent."""

from pathlib import Path

from confide.data.hierarchy import TOTAL, Hierarchy
from confide.data.text import read_text, write_text
from confide.errors import Mistake
from confide.model.catalog.code_file import read_code_file

__all__ = ["Hierarchy", "read_hierarchy", "write_hrc"]


def read_hierarchy(path: str | Path, *, total: str = TOTAL, lead: str = "@") -> Hierarchy:
    """The hierarchy in a file; `lead` stands at the start of a line of a `.hrc` file once for each level of depth."""
    text = read_text(path)
    if Path(str(path).removesuffix(".gz")).suffix.lower() != ".csv":
        return Hierarchy.parse(text, total=total, lead=lead)
    codes = read_code_file(text, f"hierarchy file {Path(path).name}", needed=["code", "parent"], known=["parent"])
    return Hierarchy.of({code: said.get("parent") for code, said in codes.items()}, total=total)


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
