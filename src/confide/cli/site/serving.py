"""Serving a site over HTTP, the page of a description, and the demo site."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from confide.answering.service import Service
from confide.cli.arguments import AllowOpen, DatasetName, SiteFolder
from confide.cli.terminal import working
from confide.data.private import only_mine
from confide.errors import Mistake
from confide.records import ingest as ingesting
from confide.site.access import PersonRole, add_token, list_tokens, load_access, must_be_servable
from confide.site.describing.saving import DescriptionFile
from confide.site.folder import Folder

__all__ = ["demo", "describe", "serve"]

Port = Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")]


def serve(
    site: SiteFolder,
    host: Annotated[
        str, typer.Option(help="Where to listen; a local site listens on its own machine only.")
    ] = "127.0.0.1",
    port: Port = 8000,
    path: Annotated[
        str,
        typer.Option(
            help="Below which path of its host the site is reached, as in /stats. Otherwise it has all of it."
        ),
    ] = "",
    workers: Annotated[
        int,
        typer.Option(
            min=1, max=64, help="By how many processes; people are spread over them, and each has a part of the memory."
        ),
    ] = 1,
    allow_open: AllowOpen = False,
) -> None:
    """Serve the site over HTTP, to those who may reach it (confide access).

    Example: confide serve mysite --port 8080
    """
    _serve(site, host, port, path, workers=workers, allow_open=allow_open)


def _serve(site: Path, host: str, port: int, path: str = "", *, workers: int = 1, allow_open: bool = False) -> None:
    try:
        from confide.web.api import create_app
        from confide.web.serving.server import listen, serve_app
        from confide.web.serving.workers import ServedSite, serve_workers
        from confide.web.subpath import SubPath
    except ImportError:
        raise Mistake("Serving needs the extra 'web': pip install 'confide[web]'.") from None
    folder, shown = Folder(site), f"[{host}]" if ":" in host else host
    names, access = folder.names(), load_access(folder.access)
    must_be_servable(access, host)

    def tell() -> None:
        typer.echo(f"Serving {', '.join(names)} on http://{shown}:{port}{path}  (Ctrl+C stops)", err=True)
        typer.echo(f"Who may reach the site: {access.words}.", err=True)

    if workers > 1 and not sys.platform.startswith("linux"):
        raise Mistake("Several workers need Linux.", suggestions=["Leave --workers out."])
    if workers > 1:
        served = ServedSite(folder=str(site), path=path, allow_open=allow_open)
        serve_workers(served, listening=listen(host, port), workers=workers, ready=tell)
        return
    with only_mine(), Service.open(site, allow_open=allow_open) as service:
        app = create_app(service, path=SubPath(path))
        tell()
        serve_app(app, service, host=host, port=port)


def describe(
    site: SiteFolder,
    dataset: DatasetName,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; any free one if 0.")] = 0,
) -> None:
    """See and mend the description of a data set in a browser on this machine: labels, roles, codes, groups, cutpoints.

    It prints an address that opens the page once, in one browser. What is saved is checked and written to dataset.toml; comments
    and all else in it stay. The pages show true figures.

    Example: confide describe mysite people
    """
    try:
        from confide.web.describing.app import create_describing_app
        from confide.web.describing.context import OpenDescription
        from confide.web.serving.server import listen, run_server
    except ImportError:
        raise Mistake("Describing in a browser needs the extra 'web': pip install 'confide[web]'.") from None
    opened = OpenDescription(DescriptionFile(Folder(site), dataset))
    opened.file.read(), opened.file.profile()
    sockets = listen("127.0.0.1", port)
    address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/open?token={opened.token}"
    typer.echo(f"Open this in a browser, once: {address}  (Ctrl+C ends)", err=True)
    run_server(create_describing_app(opened), opened, sockets=sockets)
    if step := opened.file.next_step():
        typer.echo(f"Next: {step}")


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to make the demo site.")] = Path("demo-site"),
    rows: Annotated[int, typer.Option(min=1000, help="Persons and establishments to generate.")] = 100_000,
    port: Port = 8000,
    serving: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve it when it is made.")] = True,
) -> None:
    """Make and serve a site with two generated data sets, people and firms.

    People follow the site's policy, the preset standard. Firms have theirs: fewer exchange their
    industry or place, and their numbers carry more noise.

    Example: confide demo demo-site --rows 20000
    """
    from confide import demo as generated
    from confide.demo.texts import catalog_text, policy_text

    for name, generate in (("people", generated.people), ("firms", generated.firms)):
        if not Folder(folder).catalog(name).exists():
            with working(f"Generating {name}"):
                catalog, policy = catalog_text(name), policy_text(name)
                ingesting.add(generate(rows), folder, name=name, catalog=catalog, policy=policy)
    typer.echo(f"The demo site is in {folder}.", err=True)
    _invite(folder, port)
    if serving:
        _serve(folder, "127.0.0.1", port)


def _invite(folder: Path, port: int) -> None:
    """Everybody on this machine may ask the demo; the custodian's pages open with a token, made and shown the first time."""
    place = f"The custodian's pages: http://127.0.0.1:{port}/custodian"
    if list_tokens(Folder(folder).access):
        typer.echo(f"{place} (another token: confide token add {folder} NAME --role custodian)", err=True)
        return
    token = add_token(Folder(folder).access, name="custodian", role=PersonRole.CUSTODIAN)
    typer.echo(f"{place}\nLog in there with this token, which is shown once: {token}", err=True)
