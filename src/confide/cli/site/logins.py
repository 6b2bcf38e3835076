"""`confide login`: where people log in, and who of them comes in."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from confide.cli.arguments import SiteFolder
from confide.errors import Mistake
from confide.site.access import Admission, PersonRole, Provider, TokenTerms, declare_login, load_access
from confide.site.folder import Folder, must_be_datasets, write_whole
from confide.site.ledger import record_act
from confide.web.openid import discover

__all__ = ["app"]

app = typer.Typer(
    help="Where people log in (OpenID Connect), and who of them comes in.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("set")
def login_set(
    site: SiteFolder,
    issuer: Annotated[str, typer.Argument(help="The provider's address, as it writes it itself.")],
    client: Annotated[str, typer.Option(help="What the provider calls this site.")],
    secret: Annotated[
        Path | None,
        typer.Option(help="A file with what this site shows the provider to be known; - reads it from the input."),
    ] = None,
    label: Annotated[str, typer.Option(help="What people call the provider, for the button.")] = "",
    named_by: Annotated[
        str, typer.Option(help="The claim that names people; nobody may choose or share it.")
    ] = "email",
    scope: Annotated[
        list[str] | None, typer.Option(help="What the provider is asked to tell, beside openid; may be repeated.")
    ] = None,
) -> None:
    """Declare where people log in. Nobody comes in yet: see 'confide login admit'.

    Register the site at the provider with the address https://NAME/login/openid/return. Admissions that were declared stay.

    Example: confide login set mysite https://id.example.org --client confide --secret secret.txt --label "Office"
    """
    folder = Folder(site)
    folder.names()
    before = load_access(folder.access).login
    admits = before.admits if before else ()
    provider = Provider(issuer, client, label, named_by, tuple(scope or ("email",)), admits)
    shown = _read_secret(secret) if secret else ""
    declare_login(folder.access, provider)
    if shown:
        write_whole(folder.login_secret_file, shown + "\n")
    else:
        folder.login_secret_file.unlink(missing_ok=True)
    record_act(folder.ledger, "login declared", issuer=issuer, client=client, named_by=named_by)
    _tell(folder)


@app.command("admit")
def login_admit(
    site: SiteFolder,
    claim: Annotated[str, typer.Option(help="What the provider must say something about, as in groups.")] = "",
    value: Annotated[str, typer.Option(help="What it must say, as in researchers.")] = "",
    role: Annotated[PersonRole, typer.Option(help="analyst or custodian.")] = PersonRole.ANALYST,
    dataset: Annotated[
        list[str] | None, typer.Option(help="A data set they may ask about; may be repeated; all if not given.")
    ] = None,
    quota: Annotated[int, typer.Option(min=0, help="Questions a day each; 0: as the policies say.")] = 0,
    project: Annotated[str, typer.Option(help="The project in which they ask; it must name them.")] = "",
) -> None:
    """Admit people who log in: those of whom the provider says this, or everybody whom it knows.

    The first admission that fits somebody counts, in the order they were declared.

    Example: confide login admit mysite --claim groups --value researchers --dataset people
    """
    folder = Folder(site)
    must_be_datasets(folder, dataset or ())
    rule = Admission(role, claim, value, TokenTerms(datasets=tuple(dataset or ()), quota=quota, project=project))
    provider = _declared(folder)
    declare_login(folder.access, replace(provider, admits=(*provider.admits, rule)))
    record_act(folder.ledger, "login admitted", admission=rule.words)
    _tell(folder)


@app.command("remove")
def login_remove(
    site: SiteFolder,
    admission: Annotated[int | None, typer.Option(min=1, help="Only this admission, by its number.")] = None,
) -> None:
    """Take the login, or one admission, back; who came in by it is outside at once.

    Example: confide login remove mysite --admission 2
    """
    folder = Folder(site)
    folder.names()
    provider = _declared(folder)
    if admission is None:
        declare_login(folder.access, None)
        folder.login_secret_file.unlink(missing_ok=True)
        record_act(folder.ledger, "login removed", issuer=provider.issuer)
        typer.echo("People log in with a token only.")
        return
    if admission > len(provider.admits):
        raise Mistake(f"There is no admission {admission}.", suggestions=["See 'confide login show SITE'."])
    gone = provider.admits[admission - 1]
    kept = (*provider.admits[: admission - 1], *provider.admits[admission:])
    declare_login(folder.access, replace(provider, admits=kept))
    record_act(folder.ledger, "admission removed", admission=gone.words)
    _tell(folder)


@app.command("show")
def login_show(site: SiteFolder) -> None:
    """Where people log in and who comes in, and whether the provider answers.

    Example: confide login show mysite
    """
    folder = Folder(site)
    folder.names()
    _tell(folder)
    discover(_declared(folder).issuer)
    typer.echo("The provider answers.")


def _declared(folder: Folder) -> Provider:
    provider = load_access(folder.access).login
    if provider is None:
        raise Mistake("No login is declared.", suggestions=["Declare one: confide login set SITE ISSUER --client NAME"])
    return provider


def _read_secret(file: Path) -> str:
    try:
        text = (sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"{str(file)!r} cannot be read.") from None
    if not 1 <= len(text) <= 500 or not text.isprintable():
        raise Mistake("The secret of a login must be one line of 1 to 500 printable characters.")
    return text


def _tell(folder: Folder) -> None:
    provider = _declared(folder)
    shown = "with a secret" if folder.login_secret() else "without a secret"
    typer.echo(f"People log in at {provider.issuer}, which knows this site as {provider.client!r}, {shown}.")
    typer.echo(f"They are named by {provider.named_by!r}. Who comes in:")
    for place, rule in enumerate(provider.admits, 1):
        typer.echo(f"  {place}. {rule.words}")
    if not provider.admits:
        typer.echo("  nobody yet: see 'confide login admit --help'")
