"""`confide protect`: publishing tables from the command line, in the words of `confide.tables`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from confide import tables
from confide.cli.options import KeyOptions, names, with_options
from confide.cli.protect.options import Destination, Rules, show
from confide.cli.protect.source import TableSource, read_frame
from confide.data.release_key import ReleaseKey
from confide.data.writing import FRAMES, check_target, write_frame
from confide.errors import Mistake
from confide.tables.files.ptable import KeyTable, PTable, write_key_table, write_ptable

if TYPE_CHECKING:  # solvers are loaded by the commands that need them
    from confide.tables.suppression.audit import Audit
    from confide.tables.table.table import Table

__all__ = ["app"]

app = typer.Typer(
    help="Publish tables: which cells say too much, and how they are protected.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

NAMED = 20
"""How many of the cells that fail an audit are named."""

Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="Where to write: .csv, .parquet or .arrow; without it, CSV to the screen."),
]
Report = Annotated[Path | None, typer.Option(help="Write a report with charts, true values too: .html.")]
Attackers = Annotated[
    str, typer.Option(help="Against whom, each with all before: outsider, singletons, contributors or coalitions.")
]
TimeLimit = Annotated[float, typer.Option(min=0.1, help="Seconds to search.")]


@app.command()
@with_options(TableSource, Rules, Destination)
def suppress(
    source: TableSource,
    rules: Rules,
    destination: Destination,
    cost: Annotated[str, typer.Option(help="What to save: value, count, cells or given.")] = "value",
    method: Annotated[str, typer.Option(help="auto, optimal or fast.")] = "auto",
    attackers: Attackers = "contributors",
    time_limit: TimeLimit = 60,
) -> None:
    """Suppress primary cells, and others so that nobody can work them out.

    Rules find the primary cells, or marks that the file brings. What is written has passed its audit.

    \b
    Example: confide protect suppress firms.csv --by activity,region --of turnover \\
        --hierarchy activity=nace.hrc --holding group --p-percent 15 --threshold 3 -o table.csv
    Example: confide protect suppress turnover.tab -o table.csv --working protected.tab
    Example: confide protect suppress one.csv two.csv --by act,size --by act,region --value tot \\
        --frequency n --top max --dominance 1,85 -o table.csv
    """
    table = rules.find(source.table())
    with _progress("Suppressing") as progress:
        result = tables.suppress(
            table, cost=cost, method=method, attackers=attackers, time_limit=time_limit, progress=progress
        )
    destination.write(result)
    _say(repr(result))


@app.command()
@with_options(TableSource, Rules)
def audit(
    source: TableSource,
    rules: Rules,
    pattern: Annotated[
        Path | None,
        typer.Option(
            help="What was published, if FILE is the truth: CSV, Parquet, .tab; .txt as τ-ARGUS saves tables."
        ),
    ] = None,
    changed: Annotated[
        Path | None,
        typer.Option(help="What was published, rounded, adjusted or perturbed, with a column value: CSV or Parquet."),
    ] = None,
    D: Annotated[
        float | None, typer.Option("--D", min=0, help="With --changed: the farthest that values move.")
    ] = None,
    base: Annotated[float | None, typer.Option(min=0, help="With --changed: what they were rounded to.")] = None,
    attackers: Attackers = "contributors",
    time_limit: Annotated[
        float, typer.Option(min=0.1, help="Seconds to judge; what is not decided then counts as not protected.")
    ] = 600,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the intervals, true values too: .csv, .parquet or .arrow."),
    ] = None,
    report: Report = None,
) -> None:
    """Judge a protected table, made here or elsewhere: can anyone work out what must stay uncertain?

    True values are needed. Either FILE has the pattern too: .tab, .jj, a column of marks, or as τ-ARGUS saves a table.
    Or FILE is the truth, best microdata, rules find the primary cells, and --pattern or --changed is what was published.
    Exit status: 0 passed, 1 failed or not decided in time; the cells that can be known too well are named.

    \b
    Example: confide protect audit firms.csv --by activity,region --of turnover --p-percent 15 \\
        --pattern published.csv --report audit.html
    Example: confide protect audit people.csv --by region,sex --threshold 3 --changed rounded.csv --base 3
    Example: confide protect audit protected.tab
    Example: confide protect audit cells.csv --by act,region --value tot --column status=mark --range 10
    Example: confide protect audit saved.txt --tau-argus --by Size,Region --hierarchy Region=region.hrc
    """
    _check(output, report)
    if changed is None and (D is not None or base is not None):
        raise Mistake("--D and --base are for --changed, a table with changed values.")
    if changed is not None and pattern is not None:
        raise Mistake("A table has gaps or changed values. Give --pattern or --changed.")
    given = source.table()
    table = rules.find(given)
    with _progress("Auditing") as progress:
        if changed is not None:
            values = tables.read_changed(changed, table)
            judged = tables.audit_changed(table, values, D=D, base=base, time_limit=time_limit, progress=progress)
        else:
            told = {"attackers": attackers, "time_limit": time_limit, "progress": progress}
            judged = _audited(table, _pattern(given, table, pattern), **told)
    _tell(judged, output, report)
    if not judged.passed:
        raise SystemExit(1)


def _tell(judged: "Audit", output: Path | None, report: Path | None) -> None:
    """The verdict with the cells that fail, and what was asked for as files."""
    if output is not None:
        write_frame(judged.intervals, output)
    if report is not None:
        judged.report(report)
    typer.echo(judged.verdict)
    for sentence in _failing(judged):
        typer.echo(f"  {sentence}")


def _pattern(given: "Table", table: "Table", pattern: Path | None) -> Any:
    """What is suppressed: as published, or as the file says; nothing where it is left to the rules."""
    if pattern is not None:
        return tables.read_pattern(pattern, table)
    return (
        given.suppressed if given.suppressed.any() else None
    )  # a cell that a rule marks and the file shows is a failure


def _audited(table: "Table", pattern: Any, **told: Any) -> Any:
    return tables.audit(table, **told) if pattern is None else tables.audit_pattern(table, pattern, **told)


def _failing(judged: "Audit") -> Iterator[str]:
    """The cells that fail, and how."""
    exact = set() if judged.ends.many else set(judged.recovered)
    undecided = set(judged.undecided)
    for cell, levels in islice(sorted(judged.missed.items(), key=lambda missed: missed[0] in undecided), NAMED):
        known = "can be computed" if cell in exact else f"can be known too well ({levels})"
        said = levels if cell in undecided else known
        yield f"{judged.table.name(cell)}: {'is shown' if levels == 'shown' else said}"
    if len(judged.missed) > NAMED:
        yield f"and {len(judged.missed) - NAMED} more; -o writes them all."


@app.command("round")
@with_options(TableSource, Destination, KeyOptions)
def round_table(
    source: TableSource,
    destination: Destination,
    drawing: KeyOptions,
    base: Annotated[float, typer.Option(help="Values become multiples of it.")] = 3,
    method: Annotated[str, typer.Option(help="controlled, small (only small counts) or random.")] = "controlled",
    time_limit: TimeLimit = 60,
) -> None:
    """Round values to multiples of a base, so that the table still adds up (but for random rounding).

    \b
    Example: confide protect round people.csv --by region,sex --base 3 -o table.csv
    """
    table, key = source.table(), drawing.chosen(*source.files)
    with _progress("Rounding") as progress:
        result = tables.round(table, base=base, method=method, key=key, time_limit=time_limit, progress=progress)
    destination.write(result)
    _say(repr(result), *result.notes, *_warning(key))


@app.command()
@with_options(TableSource, Rules, Destination, KeyOptions)
def adjust(
    source: TableSource,
    rules: Rules,
    destination: Destination,
    drawing: KeyOptions,
    original: Annotated[
        list[Path] | None,
        typer.Option(help="The table before the noise, laid out as FILE is; repeat for linked tables."),
    ] = None,
    D: Annotated[int | None, typer.Option("--D", min=0, help="The farthest from the original.")] = None,
    js: Annotated[
        int | None, typer.Option("--js", min=0, help="Counts from 1 to js never appear; 2 for counts.")
    ] = None,
    cost: Annotated[str, typer.Option(help="What is least: L1, L2 or Linf.")] = "L1",
    time_limit: TimeLimit = 60,
) -> None:
    """Find the nearest table that adds up, with sensitive cells moved away and no small counts left.

    For noisy tables, which do not add up, and for tables with primary cells (controlled tabular adjustment).

    \b
    Example: confide protect adjust noisy.csv --by region,sex --frequency n --original true.csv --D 5 -o table.csv
    Example: confide protect adjust firms.csv --by activity,region --of turnover --p-percent 15 -o table.csv
    """
    table = rules.flag(source.table(additive=False))
    before = replace(source, files=original).table() if original else None
    key = drawing.chosen(*source.files)
    with _progress("Adjusting") as progress:
        result = tables.adjust(
            table, original=before, D=D, js=js, cost=cost, key=key, time_limit=time_limit, progress=progress
        )
    destination.write(result)
    _say(repr(result), *result.notes, *_warning(key))


@app.command()
@with_options(KeyOptions)
def safe(
    drawing: KeyOptions,
    file: Annotated[
        Path, typer.Argument(help="Microdata: CSV, Parquet, Arrow, DuckDB, SPSS, Stata or SAS; .asc.", metavar="FILE")
    ],
    by: Annotated[str, typer.Option(help="The variables of the base, with commas.")],
    controlled: Annotated[
        list[str] | None,
        typer.Option(help="Tables to keep near the truth: all by up to so many variables (3), or sex,age; repeat."),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="The column of weights.")] = None,
    bound: Annotated[int, typer.Option(min=0, help="The largest deviation to aim at.")] = 5,
    time_limit: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds to search; without it, until it is done.")
    ] = None,
    output: Output = None,
    report: Report = None,
) -> None:
    """Protect microdata (SAFE): every combination of codes has no record or at least three, and tables stay near.

    \b
    Example: confide protect safe people.csv --by sex,age,region --controlled 3 -o base.csv
    """
    _check(output, report)
    frame, key = read_frame(file), drawing.chosen(file)
    with _progress("Searching") as progress:
        base = tables.safe(
            frame, by=names(by), controlled=_controlled(controlled or ["3"]), weight=weight, bound=bound,
            key=key, time_limit=time_limit, progress=progress,
        )  # fmt: skip
    if report is not None:
        base.report(report)
    if output is not None:
        write_frame(base.to_arrow(), output)
    else:
        show(base.to_arrow())
    _say(repr(base), *base.notes, *_warning(key))


def _controlled(given: list[str]) -> int | list[list[str]]:
    return int(given[0]) if len(given) == 1 and given[0].isdigit() else [names(table) for table in given]


@app.command()
def transitions(
    D: Annotated[int | None, typer.Option("--D", min=1, help="The farthest a count moves.")] = None,
    V: Annotated[float | None, typer.Option("--V", help="The variance of its moves.")] = None,
    js: Annotated[int, typer.Option("--js", min=0, help="Counts from 1 to js never appear.")] = 2,
    stay: Annotated[float | None, typer.Option(help="The probability of staying, as near as can be.")] = None,
    monotone: Annotated[bool, typer.Option("--monotone", help="Farther moves are never likelier.")] = False,
    symmetry: Annotated[float | None, typer.Option(help="The most that moves down and up may differ.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it as R's ptable does.")] = None,
    keys: Annotated[Path | None, typer.Option(help="Write it for 256 cell keys, as the ONS does.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report with charts: .html.")] = None,
) -> None:
    """Find the probabilities with which counts move so that no small one is shown; without --V, which V go with which D.

    \b
    Example: confide protect transitions --js 2
    Example: confide protect transitions --D 5 --V 2 --js 2 -o ptable.csv --report moves.html
    """
    if D is None or V is None:
        if output or keys or report:
            raise Mistake("Say which moves to write.", suggestions=["Give both --D and --V."])
        show(tables.feasible_pairs(js=js))
        return
    matrix = tables.transitions(D=D, V=V, js=js, stay=stay, monotone=monotone, symmetry=symmetry)
    if output is not None:
        write_ptable(PTable.of(matrix), output)
    if report is not None:
        matrix.report(report)
    if keys is not None:
        write_key_table(KeyTable.of(PTable.of(matrix)), keys)
    typer.echo("count  " + "".join(f"{move:>+7d}" if move else f"{0:>7}" for move in range(-D, D + 1)))
    last = len(matrix.matrix) - 1
    for count, row in enumerate(matrix.matrix):
        typer.echo(f"{count:>5}{'+' * (count == last):1} " + "".join(f"{p:7.3f}" if p else f"{'.':>7}" for p in row))


@contextmanager
def _progress(words: str) -> Iterator[Callable[[float, str], None]]:
    """Show on stderr, and only to a person, how far the work is."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[words]}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(words, total=1.0, words="")
        yield lambda share, more: progress.update(task, completed=share, words=more)


def _check(output: Path | None, report: Path | None) -> None:
    """A `Mistake` before the work begins, where its results could not be written."""
    if output is not None:
        check_target(output, *FRAMES)
    if report is not None:
        check_target(report, ".html")


def _warning(key: ReleaseKey) -> list[str]:
    return ["Drawn from a teaching seed, which everybody can guess: not for release."] if key.teaching else []


def _say(*sentences: str) -> None:
    """What happened, on stderr: stdout is for the table."""
    for sentence in sentences:
        typer.echo(sentence, err=True)
