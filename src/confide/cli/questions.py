"""Asking a site, here or elsewhere: tables, regressions, correlations, codebooks."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.cli.arguments import AllowOpen, DatasetName, SitePlace, Token
from confide.cli.terminal import width, write
from confide.client import DatasetHandle
from confide.client import open as open_site
from confide.errors import Mistake, nearest
from confide.formats.release import Released, writers
from confide.model.request import CorrelationRequest, RegressionRequest, Request, TableRequest
from confide.spelling.python import write_python
from confide.spelling.url import read_query

__all__ = ["codebook", "correlation", "regression", "table"]

Where = Annotated[
    list[str] | None, typer.Option(help="A piece, as in age_group=20-29,30-39;sex=female; repeat for a union.")
]
Define = Annotated[
    list[str] | None, typer.Option(help="A variable of your own, as in 'adult = age >= 20'; repeat for more.")
]
Format = Annotated[str, typer.Option(help="text, csv, json, xlsx, or python for the code of the request.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file.")]


def table(
    site: SitePlace,
    dataset: DatasetName,
    rows: Annotated[list[str] | None, typer.Option(help="Variables down the side; repeat, or put commas.")] = None,
    columns: Annotated[list[str] | None, typer.Option(help="Variables across the top; repeat, or put commas.")] = None,
    where: Where = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="count, weighted_count, total, mean, sd, ratio, median, p10, p25, p75, p90."),
    ] = None,
    of: Annotated[str | None, typer.Option(help="The numeric variable of all but counts.")] = None,
    over: Annotated[str | None, typer.Option(help="The numeric variable that a ratio divides by.")] = None,
    percent: Annotated[
        str | None, typer.Option(help="row, column or total: counts and totals as percentages of it.")
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(help="90, 95 or 99: with percentages of counts, or errors, the ends of confidence intervals."),
    ] = None,
    error: Annotated[
        list[str] | None, typer.Option(help="se, cv, reliability: standard errors by the design of the sample.")
    ] = None,
    index: Annotated[
        str | None, typer.Option(help="A class as 100, as in year=2020: numbers as percentages of that class's.")
    ] = None,
    define: Define = None,
    format: Format = "text",
    output: Output = None,
    token: Token = None,
    allow_open: AllowOpen = False,
) -> None:
    """A protected table. Exit status: 0 answered, 2 your mistake, 3 refused by the policy, 1 our fault.

    Example: confide table mysite people --rows sex --columns region --where "age_group=20-29,30-39;sex=female"
    """
    pairs = [("rows", rows), ("columns", columns), ("where", where), ("measure", measure), ("error", error)]
    single = {"of": of, "over": over, "percent": percent, "interval": interval, "index": index}
    pairs += [("define", define), *((key, [text]) for key, text in single.items() if text)]
    request = read_query(dataset, _given(pairs), TableRequest)
    _Asking(site, token, allow_open).give(request, format, output)


def regression(
    site: SitePlace,
    dataset: DatasetName,
    formula: Annotated[str, typer.Argument(help="The model, as in 'log(income) ~ age + age^2 + sex + age:sex'.")],
    where: Where = None,
    family: Annotated[
        str,
        typer.Option(
            help="gaussian (numbers), binomial (yes or no), poisson (counts), multinomial (one of several classes), "
            "ordered (classes in their order) or survival (periods until an event)."
        ),
    ] = "gaussian",
    also: Annotated[
        list[str] | None,
        typer.Option(help="covariance, deviance (tests term by term), effects (marginal ones); repeat, or put commas."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="A smaller model to compare with, as in 'log(income) ~ age'.")
    ] = None,
    event: Annotated[
        str | None, typer.Option(help="With family survival: what ends a duration, as in 'status=ended'.")
    ] = None,
    errors: Annotated[
        str | None, typer.Option(help="What standard errors come from: model, or design (strata, PSUs).")
    ] = None,
    define: Define = None,
    diagnostics: Annotated[bool, typer.Option("--diagnostics", help="Add plots of synthetic residuals.")] = False,
    format: Format = "text",
    output: Output = None,
    token: Token = None,
    allow_open: AllowOpen = False,
) -> None:
    """A protected regression. With --diagnostics, json holds the plots (Vega-Lite) and every format what they show.

    Example: confide regression mysite people "log(income) ~ age + sex" --where "employment=employed"
    """
    pairs = [("formula", [formula]), ("where", where), ("family", [family]), ("also", also), ("define", define)]
    single = {"against": against, "event": event, "errors": errors}
    pairs += [(name, [text]) for name, text in single.items() if text]
    request = read_query(dataset, _given(pairs), RegressionRequest)
    _Asking(site, token, allow_open).give(request, format, output, diagnostics=diagnostics)


def correlation(
    site: SitePlace,
    dataset: DatasetName,
    variables: Annotated[list[str], typer.Argument(help="Two variables or more; several words, or commas.")],
    where: Where = None,
    method: Annotated[
        str | None, typer.Option(help="pearson, or spearman: of the ranks, by declared classes and the order of codes.")
    ] = None,
    define: Define = None,
    format: Format = "text",
    output: Output = None,
    token: Token = None,
    allow_open: AllowOpen = False,
) -> None:
    """Protected correlations; a categorical variable enters by its classes.

    Example: confide correlation mysite people "age,log(income),hours"
    """
    pairs = [("variables", variables), ("where", where), ("define", define)]
    pairs += [("method", [method])] if method else []
    request = read_query(dataset, _given(pairs), CorrelationRequest)
    _Asking(site, token, allow_open).give(request, format, output)


def _given(pairs: list[tuple[str, list[str] | None]]) -> list[tuple[str, str]]:
    return [(key, value) for key, values in pairs for value in values or []]


@dataclass(frozen=True)
class _Asking:
    """How a question reaches a site, and its answer a file or the screen."""

    site: str
    token: str | None
    allow_open: bool

    def give(self, request: Request[Any], format: str, output: Path | None, *, diagnostics: bool = False) -> None:
        if format == "python":
            more = ".diagnostics()" if diagnostics else ""
            write(f"import confide\n\n{write_python(request, site=self.site)}{more}\n", output)
            return
        if format not in _FORMATS:
            hint = nearest(format, _FORMATS) or ["Formats: text, csv, json, xlsx, python."]
            raise Mistake(f"There is no format {format!r}.", suggestions=hint)
        if format == "xlsx" and output is None:
            raise Mistake("An XLSX file needs a name.", suggestions=["Add -o table.xlsx."])
        with open_site(self.site, token=self.token, allow_open=self.allow_open) as opened:
            release = opened.ask(request, diagnostics=diagnostics)
        write(_written(release, format, wide=None if output else width()), output)


_FORMATS = ("text", "csv", "json", "xlsx")


def _written(release: Released, format: str, *, wide: int | None) -> str | bytes:
    how = writers(release)
    if format == "text":
        return how.text(release, width=wide)
    if format == "json":
        return json.dumps(how.json(release), ensure_ascii=False, separators=(",", ":"))
    return how.csv(release) if format == "csv" else how.xlsx(release)


def codebook(
    site: SitePlace,
    dataset: DatasetName,
    format: Annotated[str, typer.Option(help="text, or with all codes: ddi for DDI-Codebook 2.5, or json.")] = "text",
    output: Output = None,
    token: Token = None,
) -> None:
    """The variables of a data set, with their first codes.

    Example: confide codebook mysite people --format ddi -o people.xml
    """
    written = {"text": _listed, "ddi": DatasetHandle.to_ddi, "json": _book}
    if format not in written:
        raise Mistake(f"A codebook is not written as {format!r}.", suggestions=["Say --format text, ddi or json."])
    with open_site(site, token=token, allow_open=True) as opened:
        write(written[format](opened[dataset]), output)


def _book(described: DatasetHandle) -> str:
    return json.dumps(described.codebook, ensure_ascii=False, indent=1) + "\n"


def _listed(described: DatasetHandle) -> str:
    """A line for each variable."""
    book = described.codebook
    lines = [f"{book['title']}\n{book['source']}\n"]
    for variable in book["variables"]:
        codes = variable.get("codes", [])
        some = ", ".join(code["code"] for code in codes[:6]) + (", ..." if len(codes) > 6 else "")
        lines.append(f"{variable['name']:<20} {variable['label']:<32} {variable['kind']:<12} {some}")
    return "\n".join(lines) + "\n"
