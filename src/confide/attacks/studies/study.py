"""What a study is: an attack on made-up data as its literature has it, with all parameters and a seed, that gives figures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Protocol, SupportsFloat

import pyarrow as pa

from confide.errors import Mistake, nearest
from confide.measures.reports.tabulate import aligned

__all__ = ["Figure", "Study", "StudyResult", "figures"]


@dataclass(frozen=True)
class Figure:
    """One number of a study: what it says, in which case (so many questions, so much noise), and how much."""

    what: str
    case: str
    value: float


@dataclass(frozen=True, repr=False)
class StudyResult:
    """The figures of one run. Speaks Arrow, so pandas, polars, pyarrow and duckdb read it."""

    title: str
    figures: tuple[Figure, ...]

    def __getitem__(self, what: str) -> dict[str, float]:
        """The figures that say one thing, by case, as result["bits right"]."""
        found = {figure.case: figure.value for figure in self.figures if figure.what == what}
        if not found:
            said = list(dict.fromkeys(figure.what for figure in self.figures))
            raise Mistake(f"The study has no figure {what!r}.", suggestions=nearest(what, said) or said)
        return found

    def to_arrow(self) -> pa.Table:
        """One row a figure."""
        return pa.table({f.name: [getattr(figure, f.name) for figure in self.figures] for f in fields(Figure)})

    def to_text(self) -> str:
        """The figures as a table for a terminal."""
        rows = [(figure.what, figure.case, f"{figure.value:.4g}") for figure in self.figures]
        return f"{self.title}\n\n{aligned(('figure', 'case', 'value'), rows)}\n"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return self.to_text()


class Study(Protocol):
    """A frozen dataclass: its fields are the parameters and the seed, and the same ones give the same figures for ever."""

    title: ClassVar[str]
    source: ClassVar[str]

    def run(self) -> StudyResult: ...


def figures(what: str, values: Mapping[str, SupportsFloat] | Iterable[tuple[str, SupportsFloat]]) -> tuple[Figure, ...]:
    """Figures that say one thing, one for each case.

    >>> figures("right", {"1 pad": 0.5})
    (Figure(what='right', case='1 pad', value=0.5),)
    """
    return tuple(Figure(what, case, float(value)) for case, value in dict(values).items())
