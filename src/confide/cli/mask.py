"""Masking files on the command line: by a plan, or by one method whose options are its declared parameters."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field, dataclass, fields, replace
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pyarrow as pa
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from confide.cli.described import Described, Encoding, Missing, described, remark_codes
from confide.cli.options import Gate, KeyOptions, names, with_options
from confide.data.writing import FRAMES, check_target
from confide.errors import Mistake
from confide.microdata import METHODS, Manifest, Method, Plan, Released, ReleaseGate
from confide.microdata.description import FileDescription, read_text
from confide.microdata.step import PlanStep
from confide.model.parameter import limits
from confide.model.toml import parse_toml
from confide.sources.columns import blanked, typed
from confide.sources.source import read_source

__all__ = ["app", "read_blanked", "say_released"]

ABOUT_FILES = ("dataset", "categorical", "missing", "encoding", "as_is")
PLAIN = (bool, int, float, str)

AVERAGING = ("microaggregation", "synthesis")
"""Methods that calculate with numbers and count codes: to them it matters which of the two a column holds."""


class _PlanUnlessNamed(TyperGroup):
    """`confide mask FILE ...` is `confide mask plan FILE ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = not args or args[0] in self.commands or args[0] == "--help"
        return super().parse_args(ctx, args if named else ["plan", *args])


app = typer.Typer(
    cls=_PlanUnlessNamed,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Mask a file and release it: by a plan, or by one method. 'confide mask PLAN IN OUT' is short for 'mask plan'.",
)
methods_app = typer.Typer(no_args_is_help=True, help="Mask a file by one method; each has its own --help.")
app.add_typer(methods_app, name="apply")

In = Annotated[Path, typer.Argument(help="The data: CSV, Parquet, Arrow, DuckDB, SPSS, Stata or SAS.", metavar="IN")]
Out = Annotated[Path, typer.Argument(help="The masked file, by its ending: csv, parquet or arrow.", metavar="OUT")]
AsIs = Annotated[
    bool,
    typer.Option(
        "--as-is", help="Write the masked file as it is, records in their order: to measure, not for release."
    ),
]
Categorical = Annotated[str | None, typer.Option(help="Columns whose numbers are codes, with commas.")]


@app.command("plan")
@with_options(KeyOptions, Gate)
def by_plan(
    drawing: KeyOptions,
    gate: Gate,
    plan: Annotated[Path, typer.Argument(help="The steps, in TOML.", metavar="PLAN")],
    file: In,
    output: Out,
    categorical: Categorical = None,
    missing: Missing = None,
    encoding: Encoding = None,
    as_is: AsIs = False,
) -> None:
    """Mask a file by the steps of a plan, and release it: see 'confide release'. What is printed is for the custodian.

    All that is drawn comes from a key in a private file. The same key repeats the release; do not give it away.

    Example: confide mask plan.toml survey.csv public.parquet --identifiers person_id
    """
    read = partial(read_blanked, file, missing or (), encoding)
    _Work(_completed(Plan.read(plan), file, categorical), file, read, output, drawing, gate, as_is).run()


def _completed(plan: Plan, file: Path, categorical: str | None) -> Plan:
    """The plan with what it does not say itself: columns that hold codes, as named here; and what the file beside the data says."""
    beside = FileDescription.beside(file)
    codes = tuple(dict.fromkeys((*plan.categorical, *names(categorical), *beside.categorical)))
    return replace(
        plan, roles=plan.roles or beside.roles, categorical=codes, ordered={**beside.ordered, **plan.ordered}
    )


@dataclass(frozen=True)
class _Work:
    """One file to mask: by which plan, from where to where, drawn from what, and how it leaves."""

    plan: Plan
    file: Path
    read: Callable[[], pa.Table]
    output: Path
    drawing: KeyOptions
    gate: Gate
    as_is: bool

    def run(self) -> None:
        if self.file.resolve() == self.output.resolve():
            raise Mistake("The masked file would replace the confidential one.", suggestions=["Name another file."])
        check_target(self.output, *FRAMES)
        every = self.output.suffix.lower() != ".csv"
        table = _typed(self.read(), self.plan, every=every)
        key = self.drawing.chosen(self.file, over=self.output)
        identifiers = [*names(self.gate.identifiers), *self.plan.roles.get("identifier", ())]
        release = ReleaseGate(table, key=key, identifiers=identifiers, keep=names(self.gate.keep))
        release.check_place(self.output, replace=self.gate.replace)
        with _bar(f"Masking {self.file.name}") as progress:
            released = self.plan.protect(table, key=key, progress=progress)
        if self.as_is:
            manifests = release.keep_as_is(released, self.output)
        else:
            manifests = release.write(released, self.output, replace=self.gate.replace)
        self._say(released, manifests)

    def _say(self, released: Released, manifests: Sequence[Manifest]) -> None:
        for step, report in zip(self.plan.steps, released.report["steps"], strict=True):
            facts = "".join(
                f"; {fact} {value:,.6g}" for fact, value in report.items() if isinstance(value, int | float)
            )
            typer.echo(f"{report['method']}: {', '.join(self.plan.columns(step)) or 'all columns'}{facts}")
        typer.echo("This report is for the custodian only.")
        say_released(manifests, self.output.parent)


def say_released(manifests: Sequence[Manifest], folder: Path) -> None:
    """Say where released files are, and of those that are not for release, why."""
    files = ", ".join(str(folder / manifest.file) for manifest in manifests)
    count = manifests[0].records
    records = "1 record is" if count == 1 else f"{count:,} records are"
    typer.echo(f"{records} in {files}; what may be told of them is in the manifest beside.")
    if not manifests[0].for_release:
        typer.echo(" ".join(["Not for release.", *manifests[0].notes]))


def read_blanked(file: Path, missing: Sequence[str], encoding: str | None) -> pa.Table:
    """The data in a file, without the words that mean missing."""
    table = read_source(file, encoding=encoding).table
    columns = [blanked(column, missing) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _typed(table: pa.Table, plan: Plan, *, every: bool) -> pa.Table:
    """Text that is numbers as numbers: in columns that the plan uses, or in all. Codes such as 007 stay text."""
    masked = {name: step.method for step in plan.steps for name in plan.columns(step)}
    used = {name for step in plan.steps for name in (step.weight, *step.method.reads) if name is not None}
    table = FileDescription(plan.roles, plan.categorical, plan.ordered).apply(table)
    for place, name in enumerate(table.column_names):
        if name not in plan.categorical and (every or name in masked or name in used):
            amounts = name in masked and masked[name].takes == {"numbers"}
            table = table.set_column(place, name, _numbers(name, table[name], amounts=amounts))
            if name in masked and masked[name].word() in AVERAGING:
                remark_codes(name, table[name])
    return table


def _numbers(name: str, column: pa.ChunkedArray, *, amounts: bool) -> pa.ChunkedArray:
    """A column of text as numbers, if that is what it holds; what must be amounts and is not is a Mistake."""
    found = typed(column, amounts=amounts)
    if amounts and len(found.others):
        word = found.others[0].as_py().strip()
        hint = f"If it means missing, add --missing {word}."
        raise Mistake(f"Column {name!r} has {word!r}, which is not a number.", suggestions=[hint])
    return found.column


@contextmanager
def _bar(text: str) -> Iterator[Callable[[float], None]]:
    """How much is done, on stderr, and only to a person."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _add(kind: type[Method]) -> None:
    """A command for a method: an option for each parameter, and for what every step of a plan says."""
    hints = get_type_hints(kind)

    def command(drawing: KeyOptions, gate: Gate, file: Path, output: Path, **given: Any) -> None:
        dataset, categorical, missing, encoding, as_is = (given.pop(name) for name in ABOUT_FILES)
        raw = {name: _value(name, text, hints.get(name)) for name, text in given.items() if text is not None}
        step = PlanStep.read({"method": kind.word(), **raw}, read_file=lambda name: read_text(Path(name)))
        about = described(file, dataset)
        plan = _completed(Plan((step,), about.roles, about.categorical, about.ordered), file, categorical)
        read = partial(read_blanked, file, missing or (), encoding)
        _Work(plan, file, read, output, drawing, gate, as_is).run()

    shown = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("drawing", "gate")]
    shown += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, annotation, default in _options(kind, hints)
    ]
    command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # what typer reads
    command.__annotations__ = {one.name: one.annotation for one in shown}
    columns = " --columns income,age" if kind.takes else ""
    example = f"confide mask apply {kind.word()}{columns} survey.csv public.csv"
    first = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    command.__doc__ = f"{first}\n\nExample: {example}"
    does = first.partition(": ")[2]  # the list of methods has no room for the reference, and the name stands beside it
    methods_app.command(kind.word(), short_help=does[:1].upper() + does[1:])(with_options(KeyOptions, Gate)(command))


def _options(kind: type[Method], hints: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Name, annotation and default of every argument and option."""
    yield "file", In, inspect.Parameter.empty
    yield "output", Out, inspect.Parameter.empty
    if kind.takes:
        yield "columns", _text("The columns to mask, with commas."), None
        yield "role", _text("Instead: all columns that have this role."), None
    for f in fields(kind):
        yield f.name, _option(f, hints[f.name]), f.default if _bare(hints[f.name]) in PLAIN else None
    yield "by", _text("Columns whose values are strata, each masked alone; with commas."), None
    if kind.weighs:
        yield "weight", _text("The column of weights."), None
    yield "household", _text("The column that says which household; its members keep equal values."), None
    yield "dataset", Described, None
    yield "categorical", Categorical, None
    yield "missing", Missing, None
    yield "encoding", Encoding, None
    yield "as_is", AsIs, False


def _text(help: str) -> Any:
    return Annotated[str | None, typer.Option(help=help)]


def _option(f: Field[Any], hint: Any) -> Any:
    """An option of a parameter: numbers and words as they are, lists with commas, the rest in TOML."""
    kind = _bare(hint)
    bare = kind in PLAIN or str in get_args(kind)
    words = limits(f).help + ("" if bare else " With commas." if _listed(kind) else " In TOML.")
    return Annotated[kind | None if kind in PLAIN else str | None, typer.Option(help=words)]


def _bare(hint: Any) -> Any:
    """A kind without the "or nothing"."""
    others = [one for one in get_args(hint) if one is not NoneType]
    return others[0] if NoneType in get_args(hint) and len(others) == 1 else hint


def _listed(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[0] in (str, float, int)


def _value(name: str, text: Any, hint: Any) -> Any:
    """What was typed, as a plan would have it."""
    kind = tuple[str, ...] if name in ("columns", "by") else _bare(hint)
    if kind is None or kind in PLAIN:
        return text
    if _listed(kind):
        words = [word.strip() for word in text.split(",") if word.strip()]
        return words if get_args(kind)[0] is str else [_parsed(name, word) for word in words]
    return _number_or_word(text) if get_origin(kind) is UnionType else _parsed(name, text)


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _parsed(name: str, text: str) -> Any:
    try:
        return parse_toml(f"value = {text}", what=name)["value"]
    except Mistake:
        raise Mistake(f"--{name.replace('_', '-')} must be written as in a plan, not {text!r}.") from None


for _kind in METHODS.values():
    _add(_kind)
