"""Code lists read from the catalogs beside this module, and the few ways to draw from them."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa

from confide.arrays import Floats, Ints
from confide.errors import Mistake

__all__ = ["Catalog", "Codes", "blocks", "draw", "hundredths", "read", "spread"]


# Blocks fit the processor's cache, which makes large data sets about twice as fast and keeps memory flat.
_BLOCK = 1 << 17


@dataclass(frozen=True)
class Codes:
    """The codes of one variable in declared order, each with the position of its parent code (0 without parent)."""

    names: tuple[str, ...]
    parents: Ints

    def at(self, name: str) -> int:
        """Give the position of a code."""
        return self.names.index(name)

    def column(self, positions: Ints) -> pa.DictionaryArray:
        """Make a column of codes whose dictionary is the whole declared list."""
        index = np.int8 if len(self.names) <= 127 else np.int16
        return pa.DictionaryArray.from_arrays(positions.astype(index), pa.array(self.names, pa.string()))


@dataclass(frozen=True)
class Catalog:
    """The columns of a data set in declared order, and the codes of those that have codes."""

    columns: tuple[str, ...]
    codes: Mapping[str, Codes]
    parent: Mapping[str, str]

    def table(self, numbers: Mapping[str, pa.Array], positions: Mapping[str, Ints]) -> pa.Table:
        """Put number columns and positions of codes together; coarser levels follow from the finest one given."""
        full = dict(positions)
        for name in positions:
            while name in self.parent:
                full[self.parent[name]] = self.codes[name].parents[full[name]]
                name = self.parent[name]
        coded = {name: self.codes[name].column(at) for name, at in full.items()}
        return pa.table({**numbers, **coded}).select(self.columns)


def read(dataset: str) -> Catalog:
    """Read the catalog shipped as `<dataset>.toml`."""
    catalog = tomllib.loads(files("confide.demo").joinpath(f"{dataset}.toml").read_text("utf-8"))
    variables = catalog["variables"]
    return Catalog(
        columns=(*(name for name, variable in variables.items() if "of" not in variable), catalog["weight"]),
        codes={name: _codes(variable, variables) for name, variable in variables.items() if "codes" in variable},
        parent={name: variable["parent"] for name, variable in variables.items() if "parent" in variable},
    )


def _codes(variable: Mapping[str, Any], variables: Mapping[str, Any]) -> Codes:
    codes = variable["codes"]
    if "parent" not in variable:
        return Codes(tuple(codes), np.zeros(len(codes), np.int64))
    above = list(variables[variable["parent"]]["codes"])
    return Codes(tuple(codes), np.array([above.index(code["parent"]) for code in codes.values()]))


def spread(shares: Floats, codes: Codes, *, exponent: float) -> Floats:
    """Split the shares of the parents (last axis) over their codes, the k-th code in proportion to k ** -exponent.

    >>> spread(np.ones(1), Codes(("a", "b"), np.zeros(2, np.int64)), exponent=1).round(2)
    array([0.67, 0.33])
    """
    before = [np.count_nonzero(codes.parents[:k] == parent) for k, parent in enumerate(codes.parents)]
    size = (np.array(before) + 1.0) ** -exponent
    size /= np.bincount(codes.parents, size)[codes.parents]
    return np.asarray(shares[..., codes.parents] * size)


def draw(rng: np.random.Generator, table: Floats, group: Ints) -> Ints:
    """Draw one position for each entry of `group` from that row of a table of relative frequencies."""
    edges = np.cumsum(table, axis=1)
    edges = edges / edges[:, -1:] + np.arange(len(table))[:, None]
    # Single-precision draws add exactly to the row number, so none can round up into the next row.
    found = np.searchsorted(edges.ravel(), group + rng.random(len(group), np.float32).astype(np.float64), "right")
    return np.asarray(found - group * table.shape[1])


def blocks(rows: int) -> Iterator[int]:
    """Split a number of rows into blocks; no rows are one empty block."""
    if rows < 0:
        raise Mistake("The number of rows is negative.", suggestions=["Give 0 or more."])
    yield min(rows, _BLOCK)
    yield from (min(_BLOCK, rows - done) for done in range(_BLOCK, rows, _BLOCK))


def hundredths(values: Ints) -> pa.Array:
    """Make a decimal column with two digits from non-negative whole hundredths, exactly."""
    words = np.zeros((len(values), 2), "<i8")
    words[:, 0] = values
    return pa.Array.from_buffers(pa.decimal128(7, 2), len(values), [None, pa.py_buffer(words)])
