"""Codes in the order people expect."""

import re

import numpy as np
import pyarrow as pa

from confide.arrays import Ints
from confide.model.catalog.dataset import MOST_CODES

__all__ = ["natural_order"]


def natural_order(values: pa.StringArray) -> Ints:
    """The places of codes in the order people expect; more than can be declared stay as they come."""
    if len(values) > MOST_CODES:
        return np.arange(len(values))
    codes = values.to_pylist()
    return np.array(sorted(range(len(codes)), key=lambda place: _natural(codes[place])), dtype=np.int64)


def _natural(code: str) -> tuple[list[tuple[int, float, str]], str]:
    """Codes in the order people expect: 5-9 before 10-19, <18 before 18-24, -1 before 0."""
    sign = -1.0 if re.match(r"-\d", code) else 1.0
    parts = re.findall(r"\d+(?:\.\d+)?|[^\d]+", code.lstrip("<-") if sign < 0 or code[:1] == "<" else code)
    keys = [(0, float(part), "") if part[0].isdecimal() and part.isascii() else (1, 0.0, part) for part in parts]
    if keys and keys[0][0] == 0:
        keys[0] = (0, sign * keys[0][1] - (0.5 if code[0] == "<" else 0), "")
    return keys, code
