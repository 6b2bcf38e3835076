"""The command line: the same words as everywhere. Exit status 0 answered, 2 mistake, 3 refused, 1 fault."""

import json
import os
import signal
import sys
from collections import deque
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import confide
from confide.answering import service as answering
from confide.answering.service import Service
from confide.cli import mask, measure
from confide.cli.protect.commands import app as protect_app
from confide.cli.terminal import working
from confide.errors import ConfideError, Fault, Mistake, Refused, nearest
from confide.formats.release import Released, writers
from confide.model.policy import describe, read_policy
from confide.model.request import Correlation, Regression, Request, Table
from confide.site import ingest as ingesting
from confide.site import ledger, policies
from confide.site.access import Access, Role, add_token, must_be_loopback, remove_token, set_public
from confide.site.cutpoints.draft import draft_cutpoints
from confide.site.folder import Folder
from confide.spelling.python import write_python
from confide.spelling.url import read_query

__all__ = ["app", "main"]

app = typer.Typer(
    help="Analyse confidential microdata without seeing it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
ledger_app = typer.Typer(help="The record of questions and outcomes.", no_args_is_help=True)
token_app = typer.Typer(help="Who may ask: tokens, stored hashed in access.toml.", no_args_is_help=True)
app.add_typer(ledger_app, name="ledger")
app.add_typer(token_app, name="token")
app.add_typer(protect_app, name="protect")
app.add_typer(mask.app, name="mask")

SiteFolder = Annotated[Path, typer.Argument(help="The site's folder.", metavar="SITE")]
SitePlace = Annotated[str, typer.Argument(help="The site's folder, or its address (http://...).", metavar="SITE")]
DatasetName = Annotated[str, typer.Argument(help="The data set.", metavar="DATASET")]
Token = Annotated[str | None, typer.Option(envvar="CONFIDE_TOKEN", help="For a site that asks for one.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")]
Where = Annotated[
    list[str] | None, typer.Option(help="A piece, as in age_group=20-29,30-39;sex=female; repeat for a union.")
]
Format = Annotated[str, typer.Option(help="text, csv, json, xlsx, or python for the code of the request.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file.")]
AllowOpen = Annotated[bool, typer.Option("--allow-open", help="Run a policy that protects nothing (for teaching).")]


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    if version:
        typer.echo(f"confide {confide.__version__}")
        raise typer.Exit()


def main() -> None:
    """Run the command line; every outcome that is ours becomes a sentence and an exit status."""
    try:
        app(standalone_mode=False)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except typer.Abort:
        sys.exit(130)
    except ConfideError as error:
        sys.stderr.write(_sentence(error))
        sys.exit(error.exit_code)
    except Exception as error:  # click's own usage errors know how to show themselves
        if not hasattr(error, "exit_code") or not hasattr(error, "show"):
            sys.stderr.write(f"Fault: {type(error).__name__}. Run again with CONFIDE_TRACE=1 to see where.\n")
            if os.environ.get("CONFIDE_TRACE"):
                raise
            sys.exit(1)
        error.show()
        sys.exit(error.exit_code)


def _sentence(error: ConfideError) -> str:
    if not isinstance(error, Refused):
        return f"{error.title}: {error}\n"
    lines = [f"Refused: {error.reasons[0]}"]
    lines += [f"         {reason}" for reason in error.reasons[1:]]
    lines.append(f"  rule   {', '.join(reason.rule for reason in error.reasons)}  (policy {error.policy})")
    for number, suggestion in enumerate(error.suggestions):
        lines.append(f"  {'try' if number == 0 else '   '}    {'or ' if number else ''}{suggestion}")
    return "\n".join(lines) + "\n"


@app.command()
def init(
    file: Annotated[Path, typer.Argument(help="CSV, Parquet, Arrow, DuckDB, SPSS, Stata or SAS.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The site's folder; made if it is not there.")],
    name: Annotated[str | None, typer.Option(help="The data set's name; the file's name if not given.")] = None,
    preset: Annotated[str, typer.Option(help="standard, census-mas, tablebuilder or open.")] = "standard",
    table: Annotated[str | None, typer.Option(help="Which table of a DuckDB file.")] = None,
) -> None:
    """Turn a data file into a site: drafts dataset.toml and policy.toml, makes a secret, ingests the data.

    Example: confide init survey.csv -o mysite --name people
    """
    name = name or file.name.split(".")[0]
    with working(f"Reading {file.name}"):
        folder = ingesting.add(file, output, name=name, preset=preset, table=table)
    typer.echo(f"The data set {name!r} is ready in {folder.path}.")
    typer.echo(f"Next: read {folder.catalog(name)}, which is public, and {folder.path / 'policy.toml'};")
    typer.echo(f"      keep {folder.path / 'secret'} safe; then run: confide check {output}")


@app.command()
def ingest(
    file: Annotated[Path, typer.Argument(help="The data.")],
    site: SiteFolder,
    dataset: DatasetName,
    table: Annotated[str | None, typer.Option(help="Which table of a DuckDB file.")] = None,
) -> None:
    """Load a data set anew after its data or its dataset.toml changed; on any error the old data stay.

    Example: confide ingest survey.csv mysite people
    """
    with working(f"Reading {file.name}"):
        ingesting.ingest(file, site, name=dataset, table=table)
    typer.echo(f"The data of {dataset!r} are loaded.")


@app.command()
def safe(
    site: SiteFolder,
    dataset: DatasetName,
    by: Annotated[str, typer.Option(help="The variables of the base, with commas; coarser levels come with them.")],
    controlled: Annotated[int, typer.Option(min=1, help="Tables by up to so many variables stay near the truth.")] = 3,
    time_limit: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds to search; without it, until done.")
    ] = None,
) -> None:
    """Make the protected microdata from which counts come under counts.mechanism = "safe".

    Example: confide safe mysite people --by sex,age_group,region
    """
    names = [name.strip() for name in by.split(",") if name.strip()]
    with working("Searching"):
        base = answering.make_base(site, dataset, by=names, controlled=controlled, time_limit=time_limit)
    typer.echo(repr(base))
    for note in base.notes:
        typer.echo(note)


@app.command()
def check(site: SiteFolder, allow_open: AllowOpen = False) -> None:
    """Say what is missing, risky or unanswerable in a site, in plain words.

    Example: confide check mysite
    """
    with working("Looking at the site"):
        findings = answering.check(site, allow_open=allow_open)
    for finding in findings:
        typer.echo(f"{finding.kind:<12} {finding.text}")
    if not findings:
        typer.echo("Nothing is missing.")


@app.command()
def table(
    site: SitePlace,
    dataset: DatasetName,
    rows: Annotated[list[str] | None, typer.Option(help="Variables down the side; repeat, or put commas.")] = None,
    columns: Annotated[list[str] | None, typer.Option(help="Variables across the top; repeat, or put commas.")] = None,
    where: Where = None,
    measure: Annotated[list[str] | None, typer.Option(help="count, weighted_count, total, mean.")] = None,
    of: Annotated[str | None, typer.Option(help="The numeric variable of a total or mean.")] = None,
    format: Format = "text",
    output: Output = None,
    token: Token = None,
    allow_open: AllowOpen = False,
) -> None:
    """A protected table. Exit status: 0 answered, 2 your mistake, 3 refused by the policy, 1 our fault.

    Example: confide table mysite people --rows sex --columns region --where "age_group=20-29,30-39;sex=female"
    """
    pairs = [("rows", rows), ("columns", columns), ("where", where), ("measure", measure), ("of", [of] if of else None)]
    request = read_query(dataset, _given(pairs), Table)
    _Asking(site, token, allow_open).give(request, format, output)


@app.command()
def regression(
    site: SitePlace,
    dataset: DatasetName,
    formula: Annotated[str, typer.Argument(help="The model, as in 'log(income) ~ age + age^2 + sex + age:sex'.")],
    where: Where = None,
    family: Annotated[
        str, typer.Option(help="gaussian (numbers), binomial (yes or no) or poisson (counts).")
    ] = "gaussian",
    diagnostics: Annotated[bool, typer.Option("--diagnostics", help="Add plots of synthetic residuals.")] = False,
    format: Format = "text",
    output: Output = None,
    token: Token = None,
    allow_open: AllowOpen = False,
) -> None:
    """A protected regression. With --diagnostics, json holds the plots (Vega-Lite) and every format what they show.

    Example: confide regression mysite people "log(income) ~ age + sex" --where "employment=employed"
    """
    pairs = [("formula", [formula]), ("where", where), ("family", [family])]
    request = read_query(dataset, _given(pairs), Regression)
    _Asking(site, token, allow_open).give(request, format, output, diagnostics=diagnostics)


@app.command()
def correlation(
    site: SitePlace,
    dataset: DatasetName,
    variables: Annotated[list[str], typer.Argument(help="Two variables or more; several words, or commas.")],
    where: Where = None,
    format: Format = "text",
    output: Output = None,
    token: Token = None,
    allow_open: AllowOpen = False,
) -> None:
    """Protected correlations; a categorical variable enters by its classes.

    Example: confide correlation mysite people age,income,hours
    """
    request = read_query(dataset, _given([("variables", variables), ("where", where)]), Correlation)
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
            _write(f"import confide\n\n{write_python(request, site=self.site)}{more}\n", output)
            return
        if format not in _FORMATS:
            hint = nearest(format, _FORMATS) or ["Formats: text, csv, json, xlsx, python."]
            raise Mistake(f"There is no format {format!r}.", suggestions=hint)
        if format == "xlsx" and output is None:
            raise Mistake("An XLSX file needs a name.", suggestions=["Add -o table.xlsx."])
        with confide.open(self.site, token=self.token, allow_open=self.allow_open) as opened:
            release = opened.ask(request, diagnostics=diagnostics)
        _write(_written(release, format, width=None if output else _width()), output)


_FORMATS = ("text", "csv", "json", "xlsx")


def _written(release: Released, format: str, *, width: int | None) -> str | bytes:
    write = writers(release)
    if format == "text":
        return write.text(release, width=width)
    if format == "json":
        return json.dumps(write.json(release), ensure_ascii=False, separators=(",", ":"))
    return write.csv(release) if format == "csv" else write.xlsx(release)


def _width() -> int | None:
    """How wide a table may be: as the terminal, or, into a pipe, as it is."""
    return Console().width if sys.stdout.isatty() else None


def _write(content: str | bytes, output: Path | None) -> None:
    if output is None:
        typer.echo(content, nl=not str(content).endswith("\n"))
        return
    try:
        output.write_bytes(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise Mistake(f"{output} cannot be written ({error.strerror}).") from None


@app.command()
def codebook(site: SitePlace, dataset: DatasetName, token: Token = None) -> None:
    """The variables of a data set, with their first codes.

    Example: confide codebook mysite people
    """
    with confide.open(site, token=token, allow_open=True) as opened:
        book = opened[dataset].codebook
    typer.echo(f"{book['title']}\n{book['source']}\n")
    for variable in book["variables"]:
        codes = variable.get("codes", [])
        some = ", ".join(code["code"] for code in codes[:6]) + (", ..." if len(codes) > 6 else "")
        typer.echo(f"{variable['name']:<20} {variable['label']:<32} {variable['kind']:<12} {some}")


@app.command()
def serve(
    site: SiteFolder,
    host: Annotated[
        str, typer.Option(help="Where to listen; anything but this machine needs tokens, or a public site.")
    ] = "127.0.0.1",
    port: Port = 8000,
    proxy: Annotated[
        str | None, typer.Option(help="The address of a web server in front, to be believed who asks and how.")
    ] = None,
    allow_open: AllowOpen = False,
) -> None:
    """Serve the site over HTTP, to this machine; to others once there are tokens (confide token add).

    Example: confide serve mysite --port 8080
    """
    _serve(site, host, port, proxy=proxy, allow_open=allow_open)


def _serve(site: Path, host: str, port: int, *, proxy: str | None = None, allow_open: bool = False) -> None:
    try:
        import uvicorn

        from confide.web.api import create_app
    except ImportError:
        raise Mistake("Serving needs the extra 'web': pip install 'confide[web]'.") from None
    with Service.open(site, allow_open=allow_open) as service:
        must_be_loopback(service.access, host)
        shown = f"[{host}]" if ":" in host else host
        typer.echo(f"Serving {', '.join(service.datasets)} on http://{shown}:{port}  (Ctrl+C stops)", err=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that `kill` closes the site as Ctrl+C does
        settings: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False, "ws": "none"}
        settings |= {"proxy_headers": proxy is not None, "forwarded_allow_ips": proxy}
        try:
            uvicorn.run(create_app(service), host=host, port=port, **settings)
        except SystemExit:
            raise Fault(
                f"The server could not start on {host}:{port}. Is the port taken? Choose another with --port."
            ) from None


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to make the demo site.")] = Path("demo-site"),
    rows: Annotated[int, typer.Option(min=1000, help="Persons and establishments to generate.")] = 100_000,
    port: Port = 8000,
    serving: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve it when it is made.")] = True,
) -> None:
    """Make and serve a site with two generated data sets, people and firms.

    Example: confide demo demo-site --rows 20000
    """
    from confide import demo as generated

    for name, generate in (("people", generated.people), ("firms", generated.firms)):
        if not Folder(folder).catalog(name).exists():
            with working(f"Generating {name}"):
                text = resources.files("confide.demo").joinpath(f"{name}.toml").read_text(encoding="utf-8")
                ingesting.add(generate(rows), folder, name=name, catalog=text)
    typer.echo(f"The demo site is in {folder}.", err=True)
    _invite(folder, port)
    if serving:
        _serve(folder, "127.0.0.1", port)


def _invite(folder: Path, port: int) -> None:
    """Everybody may ask the demo; the custodian's pages open with a token, made and shown the first time."""
    place = f"The custodian's pages: http://127.0.0.1:{port}/custodian"
    if Folder(folder).access.exists():
        typer.echo(f"{place} (another token: confide token add {folder} NAME --role custodian)", err=True)
        return
    set_public(Folder(folder).access, public=True)
    token = add_token(Folder(folder).access, name="custodian", role=Role.CUSTODIAN)
    typer.echo(f"{place}\nLog in there with this token, which is shown once: {token}", err=True)


@app.command()
def policy(
    site: Annotated[Path | None, typer.Argument(help="A site's folder; without it, the defaults.")] = None,
) -> None:
    """Every field of a policy, with its value and one line of help.

    Example: confide policy mysite
    """
    for name, value, text in describe(Folder(site).policy() if site else None):
        typer.echo(f"{name:<26} {value:<18} {text}")


@app.command()
def enforce(site: SiteFolder) -> None:
    """Put the draft that a custodian wrote in the browser in force; the policy before it is kept in policies/.

    Example: confide enforce mysite
    """
    after = policies.enforce(Folder(site))
    typer.echo(f"The policy is now {after.title}. A running server learns of it when it is started again.")


@app.command()
def cutpoints(
    file: Annotated[Path, typer.Argument(help="The data.", metavar="FILE")],
    column: Annotated[str, typer.Argument(help="A numeric column.", metavar="COLUMN")],
    method: Annotated[str, typer.Option(help="fixed, minimum, increasing or partitioned.")] = "minimum",
    minimum: Annotated[int, typer.Option(min=1, help="Least records between two cutpoints.")] = 50,
    table: Annotated[str | None, typer.Option(help="Which table of a DuckDB file.")] = None,
) -> None:
    """Draft the cutpoints of a numeric variable, to paste into dataset.toml.

    Example: confide cutpoints survey.csv income --method partitioned --minimum 100
    """
    typer.echo("\n".join(draft_cutpoints(file, column, method=method, minimum=minimum, table=table)))


@app.command()
def frontier(
    site: SiteFolder,
    dataset: DatasetName,
    sensitive: Annotated[str, typer.Option(help="The numeric variable to protect.")],
    variables: Annotated[str | None, typer.Option(help="The other variables, with commas; all if not given.")] = None,
    risk: Annotated[str, typer.Option(help="released, attained or predicted.")] = "released",
    utility: Annotated[str, typer.Option(help="rsq, rsqwt or volume.")] = "rsqwt",
    threshold: Annotated[float | None, typer.Option(help="Choose the most useful with at most this risk.")] = None,
    slope: Annotated[float | None, typer.Option(help="Choose by slope x utility - risk.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the choice into policy.toml.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the map as a Vega-Lite chart.")] = None,
    allow_open: AllowOpen = False,
) -> None:
    """Which variables models may relate to a sensitive one: the best trades of risk for utility. Not protected.

    Example: confide frontier mysite people --sensitive income --variables age,sex,education --threshold 0.2
    """
    if write and threshold is None and slope is None:
        raise Mistake("There is no choice to write.", suggestions=["Add --threshold or --slope."])
    names = None if variables is None else [name.strip() for name in variables.split(",") if name.strip()]
    with working("Mapping models"):
        mapped = answering.frontier(
            site, dataset, sensitive=sensitive, variables=names, risk=risk, utility=utility,
            threshold=threshold, slope=slope, allow_open=allow_open,
        )  # fmt: skip
    typer.echo(mapped.text)
    if output is not None:
        _write(json.dumps(mapped.chart, ensure_ascii=False), output)
    if write and mapped.release is not None:
        before = Folder(site).policy().models.sensitive
        after = answering.write_choice(site, mapped.release)
        typer.echo(f"Written into policy.toml, now {after.title}; a running server learns of it when started again.")
        if before not in ("", sensitive):
            typer.echo(f"It replaces the choice for {before!r}, which is suppressed with nothing any more.")


@ledger_app.command("verify")
def ledger_verify(site: SiteFolder) -> None:
    """Check that no recorded question was changed, removed or inserted. Keep the head elsewhere to compare.

    Example: confide ledger verify mysite
    """
    found = ledger.verify(Folder(site).ledger)
    if found.problem:
        raise Fault(f"The ledger is damaged: {found.problem} {found.entries} entries before that are sound.")
    typer.echo(f"{found.entries} {'entry' if found.entries == 1 else 'entries'}, all sound. Head: {found.head}")


@ledger_app.command("show")
def ledger_show(site: SiteFolder, last: Annotated[int, typer.Option(min=1, help="How many.")] = 20) -> None:
    """The last questions and their outcomes.

    Example: confide ledger show mysite --last 50
    """
    for entry in deque(ledger.read(Folder(site).ledger), maxlen=last):
        rules = f" ({', '.join(entry.rules)})" if entry.rules else ""
        typer.echo(
            f"{entry.number:>6} {entry.time} {entry.who:<12} {entry.outcome}{rules}  {json.dumps(entry.request)}"
        )


@ledger_app.command("replay")
def ledger_replay(
    site: SiteFolder, policy: Annotated[Path, typer.Option(help="A draft policy.toml.")], allow_open: AllowOpen = False
) -> None:
    """What would change if the recorded questions were asked under a draft policy.

    Example: confide ledger replay mysite --policy draft.toml
    """
    try:
        draft = read_policy(policy.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"{policy} cannot be read.") from None
    asked = changed = 0
    for replayed in answering.replay(site, draft, allow_open=allow_open):
        asked += 1
        if replayed.changed:
            changed += 1
            typer.echo(f"{replayed.number:>6} {replayed.before} -> {replayed.after}  {json.dumps(replayed.request)}")
    typer.echo(f"{changed} of {asked} outcomes would change under {draft.title}.")


@token_app.command("add")
def token_add(
    site: SiteFolder,
    name: Annotated[str, typer.Argument(help="Who it is for.")],
    role: Annotated[Role, typer.Option(help="analyst or custodian.")] = Role.ANALYST,
) -> None:
    """Make a token; it is shown once and stored hashed. A running server knows it at once.

    Example: confide token add mysite ana --role analyst
    """
    Folder(site).names()
    typer.echo(add_token(Folder(site).access, name=name, role=role))


@token_app.command("remove")
def token_remove(site: SiteFolder, name: Annotated[str, typer.Argument(help="Whose token.")]) -> None:
    """Take a token back; a running server lets nobody in with it any more.

    Example: confide token remove mysite ana
    """
    Folder(site).names()
    remove_token(Folder(site).access, name=name)
    typer.echo(f"The token of {name!r} is removed.")


@token_app.command("public")
def token_public(
    site: SiteFolder, on: Annotated[bool, typer.Option("--on/--off", help="Whether they may.")] = True
) -> None:
    """Let people without a token ask, as analysts, wherever they are; or not any more.

    Example: confide token public mysite
    """
    Folder(site).names()
    set_public(Folder(site).access, public=on)
    typer.echo("People without a token may ask." if on else "Only people with a token may ask.")


@token_app.command("list")
def token_list(site: SiteFolder) -> None:
    """Who has a token.

    Example: confide token list mysite
    """
    Folder(site).names()
    access = Access.load(Folder(site).access)
    for token in access.tokens:
        typer.echo(f"{token.name:<30} {token.role:<10} {token.created}")
    if access.public:
        typer.echo("The site is public: people without a token may ask too.")
    elif not access.tokens:
        typer.echo("There are no tokens: the site answers on this machine only.")


app.command("measure")(measure.measure_command)
app.command("map")(measure.map_command)
