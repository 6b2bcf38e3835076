"""By which rules a command protects, and where results go: options that the commands of `confide protect` share."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer

from confide.cli.options import names, option
from confide.data.writing import FRAMES, check_target, csv_bytes
from confide.errors import Mistake
from confide.tables import PQ, AllZero, Dominance, PPercent, Table, Threshold
from confide.tables.files.endings import WORKING, check_published, write_published, write_working
from confide.tables.sensitivity import SensitivityRule

if TYPE_CHECKING:
    from confide.tables.changed import Changed
    from confide.tables.suppression.suppress import Suppressed

__all__ = ["Destination", "Rules", "number", "pair", "show"]


@dataclass(frozen=True)
class Rules:
    """Which cells are primary, and what protection they need."""

    threshold: Annotated[int | None, option("Mark cells with fewer contributors than this.")] = None
    p_percent: Annotated[
        float | None, option("Mark cells in which the largest can be estimated to within this percentage.")
    ] = None
    dominance: Annotated[
        list[str] | None, option("Mark cells in which n contributors hold over k percent: n,k; repeat.")
    ] = None
    pq: Annotated[str | None, option("Mark by the prior-posterior rule: p,q.", "--pq")] = None
    all_zero: Annotated[float | None, option("Mark cells of zeros, which must seem possible up to this value.")] = None
    weights: Annotated[str, option("What rules make of weights: secret, or repeated.")] = "secret"
    protection: Annotated[str, option("Where intervals must reach: both, upper or sliding.")] = "both"
    range: Annotated[float | None, option("Percent that cells marked in the file must stay uncertain.")] = None
    waive: Annotated[list[str] | None, option("Contributors who agreed to be shown, with commas; repeat.")] = None

    def flag(self, table: Table) -> Table:
        """The table with its primary cells marked."""
        if self.waive:
            holders: list[Any] = [name for each in self.waive for name in names(each)]
            if table.contributions.names is None:
                holders = [int(number(name, "--waive")) for name in holders]
            table = table.waive(*holders)
        if self.range is not None:
            table = table.mark(table.primary.nonzero()[0], "primary", range=self.range)
        rules = list(self._rules())
        return table.flag(*rules, weights=self.weights, protection=self.protection) if rules else table

    def find(self, table: Table) -> Table:
        """The same; a `Mistake` where nobody said which cells are primary: such a table would pass every audit."""
        table = self.flag(table)
        if not table.primary.any() and not any(self._rules()):
            raise Mistake(
                "No cell is primary, and there is no rule to find some.",
                suggestions=[
                    "Give a rule: --threshold 3 or --p-percent 15.",
                    "Name a column of marks: --column status=mark.",
                ],
            )
        return table

    def _rules(self) -> Iterable[SensitivityRule]:
        if self.threshold is not None:
            yield Threshold(self.threshold)
        if self.p_percent is not None:
            yield PPercent(self.p_percent)
        for each in self.dominance or ():
            n, k = _two(each, "--dominance")
            yield Dominance(n=int(n), k=k)
        if self.pq is not None:
            p, q = _two(self.pq, "--pq")
            yield PQ(p=p, q=q)
        if self.all_zero is not None:
            yield AllZero(self.all_zero)


@dataclass(frozen=True)
class Destination:
    """Where the protected table goes, and what the custodian keeps; looked at before the work begins."""

    output: Annotated[
        Path | None,
        option("Where to publish: .csv, .parquet or .arrow; without it, CSV to the screen.", "-o", "--output"),
    ] = None
    working: Annotated[
        Path | None, option("Keep everything, true values too: .csv, .parquet, .arrow, .tab or .jj.")
    ] = None
    report: Annotated[Path | None, option("Write a report with charts, true values too: .html.")] = None

    def __post_init__(self) -> None:
        if self.output is not None:
            check_published(self.output)
        if self.working is not None:
            check_target(self.working, *FRAMES, *WORKING)
        if self.report is not None:
            check_target(self.report, ".html")

    def write(self, result: "Suppressed | Changed") -> None:
        """Write the table, and what was asked for besides."""
        if self.report is not None:
            result.report(self.report)
        if self.working is not None:
            write_working(result.table, self.working)
        if self.output is not None:
            write_published(result.table, self.output)
        else:
            show(result.table.published())


def show(frame: pa.Table) -> None:
    """Write a frame to standard output, as CSV."""
    typer.echo(csv_bytes(frame).decode(), nl=False)


def pair(text: str, option: str) -> tuple[str, str]:
    """What an option says of a name."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise Mistake(f"{option} {text!r} is not a name and a value.", suggestions=["Write name=value."])
    return name.strip(), value.strip()


def _two(text: str, option: str) -> list[float]:
    given = [number(part, option) for part in names(text)]
    if len(given) != 2:
        raise Mistake(f"{option} takes two numbers with a comma between them, not {text!r}.")
    return given


def number(text: str, option: str) -> float:
    """A number that an option was given."""
    try:
        return float(text)
    except ValueError:
        raise Mistake(f"{option} takes numbers, not {text!r}.") from None
