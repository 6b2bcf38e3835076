"""The variables that span a table, and the hierarchies of their codes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from confide.arrays import Ints
from confide.data.frame import Frame
from confide.data.hierarchy import TOTAL, Hierarchy
from confide.errors import Mistake, nearest
from confide.tables.files.hrc import read_hierarchy

__all__ = ["HierarchyLike", "check_variables", "hierarchy_of", "places_of"]


HierarchyLike = Hierarchy | str | Path | Mapping[str, str | None] | Sequence[str]
"""A hierarchy; a file with one; codes with the codes they are parts of; or columns of coarser codes, coarsest first."""


def check_variables(by: Sequence[str], hierarchies: Mapping[str, HierarchyLike]) -> None:
    """A `Mistake` where there are no variables, one stands twice, or a hierarchy belongs to none of them."""
    if isinstance(by, str) or not by:
        raise Mistake("A table is spanned by variables.", suggestions=["Give their names as a list: by=['region']."])
    if not all(isinstance(name, str) for name in by):
        raise Mistake("Variables go by the names of their columns.", suggestions=["Give texts: by=['region']."])
    twice = [name for name in by if list(by).count(name) > 1]
    if twice:
        raise Mistake(f"Variable {twice[0]!r} stands twice.")
    other = [name for name in hierarchies if name not in by]
    if other:
        raise Mistake(
            f"There is a hierarchy for {other[0]!r}, which does not span the table.", suggestions=nearest(other[0], by)
        )


def hierarchy_of(
    name: str, given: HierarchyLike | None, frame: Frame, codes: Sequence[str], *, total: str = TOTAL
) -> Hierarchy:
    """The hierarchy of a variable; without one, its codes are the parts of the total."""
    if isinstance(given, Hierarchy):
        return given
    try:
        if given is None:
            return Hierarchy.flat((code for code in codes if code != total), total=total)
        if isinstance(given, str | Path):
            return read_hierarchy(given, total=total)
        if isinstance(given, Mapping):
            return Hierarchy.of(given, total=total)
        if not isinstance(given, Sequence):
            raise Mistake(
                "This is no hierarchy.", suggestions=["Give a file, a mapping from codes to parents, or columns."]
            )
        return _nested(frame, [*given, name], total)
    except Mistake as mistake:
        raise Mistake(f"In {name!r}: {mistake.message}", suggestions=mistake.suggestions) from None


def _nested(frame: Frame, names: Sequence[str], total: str) -> Hierarchy:
    columns = [frame.coded(name) for name in names]
    sizes = [len(column.codes) for column in columns]
    found = np.unique(np.ravel_multi_index([column.places for column in columns], sizes))
    paths = np.column_stack(np.unravel_index(found, sizes)).tolist()
    codes = ([column.codes[place] for column, place in zip(columns, path, strict=True)] for path in paths)
    return Hierarchy.paths(codes, total=total)


def places_of(name: str, codes: Sequence[str], hierarchy: Hierarchy) -> Ints:
    """The place of each code in the hierarchy."""
    return np.array([hierarchy.place(code, variable=name) for code in codes], dtype=np.int64)
