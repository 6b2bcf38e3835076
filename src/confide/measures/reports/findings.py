"""One measured number, with what it is about and what it means."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import isfinite

from confide.errors import Mistake

__all__ = ["Measurement", "attempted"]


@dataclass(frozen=True)
class Measurement:
    """A number of a report: `value` for the released file and, where it can be asked of one file, `before` of the original.

    A number that cannot be had is None, and `meaning` says why.
    """

    part: str
    name: str
    about: str
    value: float | None
    unit: str
    meaning: str
    before: float | None = None


def attempted(part: str, name: str, about: str, find: Callable[[], Iterable[Measurement]]) -> Iterator[Measurement]:
    """The findings, or in their place one that says why there are none."""
    try:
        for finding in find():
            finite = finding.value is not None and isfinite(finding.value)
            yield (
                finding
                if finite
                else replace(finding, value=None, meaning="Not measured: there is too little to compare.")
            )
    except Mistake as mistake:
        yield Measurement(part, name, about, None, "", f"Not measured: {mistake}")
