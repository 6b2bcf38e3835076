"""The command line: the same words as everywhere. Exit status 0 answered, 2 mistake, 3 refused, 1 fault."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import confide
from confide import ledger
from confide.access import Role, add_token, list_tokens, must_be_loopback, remove_token
from confide.check import check_site
from confide.client import Answer
from confide.errors import ConfideError, Fault, Mistake, Refused
from confide.model.policy import describe, read_policy
from confide.service import Service
from confide.site import ingest as ingesting
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

SiteFolder = Annotated[Path, typer.Argument(help="The site's folder.", metavar="SITE")]
SitePlace = Annotated[str, typer.Argument(help="The site's folder, or its address (http://...).", metavar="SITE")]
DatasetName = Annotated[str, typer.Argument(help="The data set.", metavar="DATASET")]
Words = Annotated[list[str] | None, typer.Option()]
AllowOpen = Annotated[bool, typer.Option("--allow-open", help="Run a policy that protects nothing (for teaching).")]


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
    lines.append(f"  rule   {', '.join(reason.rule for reason in error.reasons)}  ({error.policy})")
    for number, suggestion in enumerate(error.suggestions):
        lines.append(f"  {'try' if number == 0 else '   '}    {'or ' if number else ''}{suggestion}")
    return "\n".join(lines) + "\n"


@contextmanager
def _working(text: str) -> Iterator[None]:
    """Say what takes time, on stderr, and only to a person."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(text):
            yield
    else:
        yield


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
    with _working(f"Reading {file.name}"):
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
    """Load a data set anew after its data or its dataset.toml changed; on any error the old data stay."""
    with _working(f"Reading {file.name}"):
        ingesting.ingest(file, site, name=dataset, table=table)
    typer.echo(f"The data of {dataset!r} are loaded.")


@app.command()
def check(site: SiteFolder, allow_open: AllowOpen = False) -> None:
    """Say what is missing, risky or unanswerable in a site, in plain words."""
    with _working("Looking at the site"):
        findings = check_site(site, allow_open=allow_open)
    for finding in findings:
        typer.echo(f"{finding.kind:<12} {finding.text}")
    if not findings:
        typer.echo("Nothing is missing.")


@app.command()
def table(
    site: SitePlace,
    dataset: DatasetName,
    rows: Annotated[list[str] | None, typer.Option(help="Variables down the side; repeat, or put commas.")] = None,
    columns: Annotated[list[str] | None, typer.Option(help="Variables across the top.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="A piece, as in age_group=20-29,30-39;sex=female; repeat for a union.")
    ] = None,
    measure: Annotated[list[str] | None, typer.Option(help="count, weighted_count, total, mean.")] = None,
    of: Annotated[str | None, typer.Option(help="The numeric variable of a total or mean.")] = None,
    format: Annotated[str, typer.Option(help="text, csv, json, xlsx, or python for the code of the request.")] = "text",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file.")] = None,
    token: Annotated[str | None, typer.Option(envvar="CONFIDE_TOKEN", help="For a site that asks for one.")] = None,
    allow_open: AllowOpen = False,
) -> None:
    """A protected table.

    Example: confide table mysite people --rows sex --columns region --where age_group=20-29,30-39
    """
    pairs = [("rows", rows), ("columns", columns), ("where", where), ("measure", measure), ("of", [of] if of else None)]
    request = read_query(dataset, [(key, value) for key, values in pairs for value in values or []])
    if format == "python":
        typer.echo(write_python(request, site=site))
        return
    writers: dict[str, Callable[[Answer], str | bytes]] = {
        "text": Answer.to_text,
        "csv": Answer.to_csv,
        "json": lambda answer: json.dumps(answer.to_json(), ensure_ascii=False),
        "xlsx": Answer.to_xlsx,
    }
    if format not in writers:
        raise Mistake(f"There is no format {format!r}.", suggestions=["Formats: text, csv, json, xlsx, python."])
    if format == "xlsx" and output is None:
        raise Mistake("An XLSX file needs a name.", suggestions=["Add -o table.xlsx."])
    with confide.open(site, token=token, allow_open=allow_open) as opened:
        _write(writers[format](Answer(opened.ask(request))), output)


def _write(content: str | bytes, output: Path | None) -> None:
    if output is None:
        typer.echo(content, nl=not str(content).endswith("\n"))
        return
    try:
        output.write_bytes(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise Mistake(f"{output} cannot be written ({error.strerror}).") from None


@app.command()
def codebook(
    site: SitePlace, dataset: DatasetName, token: Annotated[str | None, typer.Option(envvar="CONFIDE_TOKEN")] = None
) -> None:
    """The variables of a data set, and what may be done with them."""
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
    host: Annotated[str, typer.Option(help="Where to listen; anything but this machine needs tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    allow_open: AllowOpen = False,
) -> None:
    """Serve the site over HTTP."""
    _serve(site, host, port, allow_open=allow_open)


def _serve(site: Path, host: str, port: int, *, allow_open: bool = False) -> None:
    try:
        import uvicorn

        from confide.web.api import create_app
    except ImportError:
        raise Mistake("Serving needs the extra 'web': pip install 'confide[web]'.") from None
    with Service.open(site, allow_open=allow_open) as service:
        must_be_loopback(service.access, host)
        typer.echo(f"Serving {', '.join(service.datasets)} on http://{host}:{port}  (Ctrl+C stops)", err=True)
        try:
            uvicorn.run(create_app(service), host=host, port=port, log_level="warning", server_header=False)
        except SystemExit:
            raise Fault(
                f"The server could not start on {host}:{port}. Is the port taken? Choose another with --port."
            ) from None


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to make the demo site.")] = Path("demo-site"),
    rows: Annotated[int, typer.Option(min=1000, help="Persons and establishments to generate.")] = 100_000,
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    serving: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve it when it is made.")] = True,
) -> None:
    """Make and serve a site with two generated data sets, people and firms."""
    from confide import demo as generated

    for name, generate in (("people", generated.people), ("firms", generated.firms)):
        if not Folder(folder).catalog(name).exists():
            with _working(f"Generating {name}"):
                text = resources.files("confide.demo").joinpath(f"{name}.toml").read_text(encoding="utf-8")
                ingesting.add(generate(rows), folder, name=name, catalog=text)
    typer.echo(f"The demo site is in {folder}.", err=True)
    if serving:
        _serve(folder, "127.0.0.1", port)


@app.command()
def policy() -> None:
    """Every field of a policy, with its default and one line of help."""
    for name, default, text in describe():
        typer.echo(f"{name:<26} {default:<18} {text}")


@ledger_app.command("verify")
def ledger_verify(site: SiteFolder) -> None:
    """Check that no recorded question was changed, removed or inserted."""
    found = ledger.verify(Folder(site).ledger)
    if found.problem:
        raise Fault(f"The ledger is damaged: {found.problem} {found.entries} entries before that are sound.")
    typer.echo(f"{found.entries} entries, all sound. Head: {found.head}")


@ledger_app.command("show")
def ledger_show(site: SiteFolder, last: Annotated[int, typer.Option(min=1, help="How many.")] = 20) -> None:
    """The last questions and their outcomes."""
    for entry in list(ledger.read(Folder(site).ledger))[-last:]:
        rules = f" ({', '.join(entry.rules)})" if entry.rules else ""
        typer.echo(
            f"{entry.number:>6} {entry.time} {entry.who:<12} {entry.outcome}{rules}  {json.dumps(entry.request)}"
        )


@ledger_app.command("replay")
def ledger_replay(
    site: SiteFolder, policy: Annotated[Path, typer.Option(help="A draft policy.toml.")], allow_open: AllowOpen = False
) -> None:
    """What would change if the recorded questions were asked under a draft policy."""
    try:
        draft = read_policy(policy.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"{policy} cannot be read.") from None
    asked = changed = 0
    with Service.open(site, allow_open=allow_open) as service:
        for replayed in service.replay(draft):
            asked += 1
            if replayed.changed:
                changed += 1
                typer.echo(
                    f"{replayed.number:>6} {replayed.before} -> {replayed.after}  {json.dumps(replayed.request)}"
                )
    typer.echo(f"{changed} of {asked} outcomes would change under {draft.title}.")


@token_app.command("add")
def token_add(
    site: SiteFolder,
    name: Annotated[str, typer.Argument(help="Who it is for.")],
    role: Annotated[Role, typer.Option(help="analyst or custodian.")] = Role.ANALYST,
) -> None:
    """Make a token; it is shown once and stored hashed."""
    Folder(site).names()
    typer.echo(add_token(Folder(site).access, name=name, role=role))


@token_app.command("remove")
def token_remove(site: SiteFolder, name: Annotated[str, typer.Argument(help="Whose token.")]) -> None:
    """Take a token back."""
    remove_token(Folder(site).access, name=name)
    typer.echo(f"The token of {name!r} is removed. A running server keeps it until it is started again.")


@token_app.command("list")
def token_list(site: SiteFolder) -> None:
    """Who has a token."""
    for token in list_tokens(Folder(site).access):
        typer.echo(f"{token.name:<30} {token.role:<10} {token.created}")
