"""Measuring risk and utility of files on the command line: `confide measure` and `confide map`."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from confide import measures
from confide.cli.described import Described, Encoding, Missing, described, measured_roles, remark_codes
from confide.cli.options import names
from confide.cli.terminal import working, write
from confide.errors import Mistake, nearest
from confide.measures.maps import LOSSES, RISKS
from confide.microdata import METHODS, Method, Plan
from confide.model.toml import parse_toml
from confide.sources.columns import blanked, typed
from confide.sources.source import read_source

__all__ = ["map_command", "measure_command", "read_file", "read_method", "read_ways"]

FORMATS = ("text", "csv", "json", "html")

Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file.")]
Format = Annotated[str, typer.Option(help="text, csv, json or html.")]


def measure_command(
    original: Annotated[
        Path, typer.Argument(help="The file before masking: CSV, Parquet, SPSS, ...", metavar="ORIGINAL")
    ],
    released: Annotated[Path, typer.Argument(help="The file to be released; the same columns.", metavar="RELEASED")],
    keys: Annotated[str | None, typer.Option(help="What an intruder may know, with commas: age,sex,region.")] = None,
    confidential: Annotated[str | None, typer.Option(help="What must not be learnt, with commas: income.")] = None,
    other: Annotated[str | None, typer.Option(help="Further columns whose utility matters, with commas.")] = None,
    categorical: Annotated[str | None, typer.Option(help="Columns whose numbers are codes, with commas.")] = None,
    weight: Annotated[str | None, typer.Option(help="The column of sampling weights.")] = None,
    household: Annotated[str | None, typer.Option(help="The column that says who lives together.")] = None,
    identifier: Annotated[str | None, typer.Option(help="The column that says which records belong together.")] = None,
    method: Annotated[str | None, typer.Option(help="How it was masked, as rank-swapping:p=15.")] = None,
    by: Annotated[str | None, typer.Option(help="The strata it was masked by, with commas.")] = None,
    holdout: Annotated[Path | None, typer.Option(help="Records not used for a synthetic file.")] = None,
    paired: Annotated[bool, typer.Option(" /--unpaired", help="Records do not belong together (synthetic).")] = True,
    dataset: Described = None,
    missing: Missing = None,
    encoding: Encoding = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with pictures here as well.")] = None,
    format: Format = "text",
    output: Output = None,
) -> None:
    """Measure the risk and the utility of a file before it is released. True figures: for the custodian.

    Records belong together row by row, or by an identifier. What columns are may stand in original.roles.toml. Risk:
    k-anonymity, uniques, linkage, intervals, attribute disclosure. Utility: information loss, tables, propensity,
    regressions. Then the score of both. With --method an intruder is measured too who knows it, and the worst attack named.

    Example: confide measure original.csv released.csv --keys age,sex --confidential income --report out.html
    """
    roles = {"keys": keys, "confidential": confidential, "other": other, "categorical": categorical}
    named: dict[str, Any] = {name: names(value) for name, value in roles.items() if value is not None}
    singles = {"weight": weight, "household": household, "identifier": identifier}
    named |= {name: value for name, value in singles.items() if value is not None}
    _known(format)
    read = partial(read_file, missing=missing or (), encoding=encoding)
    with working("Measuring"):
        files = [read(path) for path in (original, released)]
        if not {"keys", "confidential", "other"} & set(named):
            shared = [name for name in files[0].column_names if name in files[1].column_names]
            named = measured_roles(described(original, dataset), shared, named)
        elif dataset is not None:
            raise Mistake("Name columns by their roles, or give a dataset that has them: not both.")
        _remark_codes(files[0], named)
        spare = None if holdout is None else read(holdout)
        named |= {"method": read_method(method), "by": names(by)}
        found = measures.report(*files, holdout=spare, paired=paired, **named)
        if report is not None:
            write(found.to_html(), report)
        write(_written(found, format), output)
    if report is not None:
        typer.echo(f"The page is {report}.", err=True)


def map_command(
    file: Annotated[Path, typer.Argument(help="The file to be masked.", metavar="FILE")],
    ways: Annotated[
        list[str], typer.Argument(help="Methods, as microaggregation:k=3,5, and plans, as plan.toml.", metavar="WAYS")
    ],
    columns: Annotated[str, typer.Option(help="The columns to mask and to measure, with commas.")],
    risk: Annotated[str, typer.Option(help=f"{', '.join(RISKS)}.")] = "worst",
    utility: Annotated[str, typer.Option(help=f"{', '.join(LOSSES)}.")] = "variation",
    most: Annotated[
        float | None, typer.Option("--risk-at-most", help="Name the most useful with at most this risk.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of all random draws.")] = 1,
    missing: Missing = None,
    encoding: Encoding = None,
    format: Format = "text",
    output: Output = None,
) -> None:
    """Mask a file in several ways and map risk against loss of utility; the best trades are marked.

    A method is a word with parameters, several values of one after commas, several parameters after semicolons. A plan
    is a file as `confide mask` takes it.

    Example: confide map survey.csv microaggregation:k=3,5,10 "rounding:base=100,1000" --columns income,age
    """
    _known(format)
    with working("Masking and measuring"):
        found = measures.risk_utility_map(
            read_file(file, missing=missing or (), encoding=encoding), read_ways(ways),
            columns=names(columns), risk=risk, utility=utility, seed=seed,
        )  # fmt: skip
        write(_written(found, format), output)
    if most is not None:
        typer.echo(
            f"With a risk of at most {most:g}: {found.choose(risk=most).name}.", err=output is None and format != "text"
        )


def _known(format: str) -> None:
    if format not in FORMATS:
        hint = nearest(format, FORMATS) or [f"Formats: {', '.join(FORMATS)}."]
        raise Mistake(f"There is no format {format!r}.", suggestions=hint)


def _written(found: Any, format: str) -> str:
    writers: Mapping[str, Callable[[], str]] = {
        "text": found.to_text,
        "csv": found.to_csv,
        "json": lambda: json.dumps(found.to_json(), ensure_ascii=False, separators=(",", ":")),
        "html": found.to_html,
    }
    return writers[format]()


def _remark_codes(original: pa.Table, named: Mapping[str, Any]) -> None:
    """Say which columns that are measured as numbers may hold codes."""
    for name in (name for role in ("keys", "confidential", "other") for name in named.get(role, ())):
        if name in original.column_names and name not in named.get("categorical", ()):
            remark_codes(name, original[name])


def read_file(path: Path, *, missing: Sequence[str] = (), encoding: str | None = None) -> pa.Table:
    """A data file with the columns of a CSV as what they hold: numbers if every value is one, else categories.

    Only what is empty, or a word named in `missing`, is missing. A column that is mostly numbers is remarked on.
    """
    source = read_source(path, encoding=encoding)
    table = source.table
    for place, name in enumerate(table.column_names):
        column = table[name].cast(pa.string()) if name in source.value_labels else _typed(name, table[name], missing)
        table = table.set_column(place, name, column)
    return table


def _typed(name: str, column: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray:
    column = blanked(column, missing)
    found = typed(column)
    if column.null_count == len(column):
        typer.echo(f"{name!r} has no values at all.", err=True)
    if 0 < len(found.others) < (len(column) - column.null_count) / 2:
        word = found.others[0].as_py()[:20]
        typer.echo(f"{name!r} has {word!r}, so it holds categories. If that means missing: --missing {word}", err=True)
    return found.column


def read_ways(words: Sequence[str]) -> dict[str, Any]:
    """Methods and plans by name, from what was written: every combination of the values given.

    >>> read_ways(["rounding:base=5,10"])
    {'rounding:base=5': Rounding(base=5.0), 'rounding:base=10': Rounding(base=10.0)}
    """
    ways: dict[str, Any] = {}
    for word in words:
        ways |= {word: Plan.read(word)} if word.endswith(".toml") else _methods(word)
    return ways


def read_method(word: str | None) -> Method | None:
    """The one method by which a file was masked, as rank-swapping:p=15."""
    if word is None:
        return None
    ways = list(read_ways([word]).values())
    if len(ways) != 1 or not isinstance(ways[0], Method):
        raise Mistake("The file was masked in one way.", suggestions=["As in --method rank-swapping:p=15"])
    return ways[0]


def _methods(word: str) -> dict[str, Any]:
    name, _, settings = word.partition(":")
    if name not in METHODS:
        hint = nearest(name, METHODS) or [f"Methods: {', '.join(METHODS)}.", "A plan is a file that ends in .toml."]
        raise Mistake(f"There is no method {name!r}.", suggestions=hint)
    pairs = [part.partition("=") for part in settings.split(";") if part.strip()]
    broken = [a for a, sign, b in pairs if not sign or not b.strip()]
    if broken:
        raise Mistake(
            f"Say what {broken[0].strip()!r} of {name} is.", suggestions=[f"As in {name}:{broken[0].strip()}=1,2"]
        )
    choices = [[(a.strip(), one.strip()) for one in b.split(",")] for a, _, b in pairs]
    known = [field.name for field in fields(METHODS[name])]
    unknown = [a.strip() for a, _, _ in pairs if a.strip() not in known]
    if unknown:
        hint = nearest(unknown[0], known) or [f"It has {', '.join(known) or 'none'}."]
        raise Mistake(f"{name} has no parameter {unknown[0]!r}.", suggestions=hint)
    return {_label(name, chosen): METHODS[name](**{a: _value(b) for a, b in chosen}) for chosen in product(*choices)}


def _label(name: str, chosen: Sequence[tuple[str, str]]) -> str:
    return name + (":" if chosen else "") + ";".join(f"{a}={b}" for a, b in chosen)


def _value(text: str) -> Any:
    """A number, true or false as in a plan; other words are text."""
    try:
        return parse_toml(f"value = {text}", what=text)["value"]
    except Mistake:
        return text
