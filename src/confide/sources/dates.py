"""Days of a calendar as numbers that tell less: the year, the month, or the age at a day."""

import re
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.arrays import Bools, Floats
from confide.errors import Mistake

__all__ = ["DAY", "date_numbers"]

_YEAR_FIRST = r"^\s*(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})([T ].*)?\s*$"
_YEAR_LAST = r"^\s*(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<y>\d{4})\s*$"
_COMPACT = r"^\s*(?P<y>(?:18|19|20)\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])\s*$"
DAY = "|".join(f"({re.sub(r'[?]P<[a-z]>', '', each)})" for each in (_YEAR_FIRST, _YEAR_LAST, _COMPACT))
"""What is written like this is a day: 1990-05-31, 31.5.1990, 5/31/1990, 19900531."""


@dataclass(frozen=True)
class _Days:
    """Year, month and day of each value, NaN where there is none."""

    year: Floats
    month: Floats
    day: Floats


def date_numbers(name: str, values: pa.StringArray, part: str) -> Floats:
    """The year, month or age of each date as it is written, NaN where there is none; a Mistake if something else stands there.

    >>> date_numbers("born", pa.array(["1990-05-31", None]), "year").tolist()
    [1990.0, nan]
    >>> date_numbers("born", pa.array(["31.12.1990", "1.1.1991"]), "age 2020-12-30").tolist()
    [29.0, 29.0]
    >>> date_numbers("born", pa.array(["19901231"]), "month").tolist()
    [12.0]
    """
    days = _written(name, values)
    if part == "year":
        return days.year
    if part == "month":
        return days.month
    at = date.fromisoformat(part[4:])
    before = (days.month > at.month) | ((days.month == at.month) & (days.day > at.day))
    return np.where(np.isnan(days.year), np.nan, at.year - days.year - before)


def _floats(values: pa.Array) -> Floats:
    return np.array(values.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _written(name: str, values: pa.StringArray) -> _Days:
    text = pc.if_else(pc.equal(pc.utf8_trim_whitespace(values), ""), None, values)
    first, last = _parts(text, _YEAR_FIRST), _parts(text, _YEAR_LAST)
    if np.isnan(first["y"]).any():
        compact = _parts(text, _COMPACT)
        first = {part: np.where(np.isnan(first[part]), compact[part], first[part]) for part in first}
    if np.isnan(first["y"]).any() and (lost := np.isnan(first["y"]) & np.isnan(last["y"]) & _there(text)).any():
        some = str(text[int(np.flatnonzero(lost)[0])].as_py())[:30]
        raise Mistake(f"Column {name!r} is declared to hold dates, and {some!r} is none.")
    # Days come first, unless a second number above 12 shows that months do, as in 5/31/1990.
    month, day = ("a", "b") if (last["b"] > 12).any() and not (last["a"] > 12).any() else ("b", "a")
    later = np.isnan(first["y"])
    return _Days(*(np.where(later, last[b], first[a]) for a, b in (("y", "y"), ("m", month), ("d", day))))


def _there(text: pa.Array) -> Bools:
    return np.asarray(pc.is_valid(text).to_numpy(zero_copy_only=False))


def _parts(text: pa.Array, pattern: str) -> dict[str, Floats]:
    found = pc.extract_regex(text, re.sub(r"\(\[T \]\.\*\)", "(?:[T ].*)", pattern))
    names = [field.name for field in found.type]
    return {name: _floats(pc.struct_field(found, name)) for name in names}
