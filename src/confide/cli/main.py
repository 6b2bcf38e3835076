"""The command line: the same words as everywhere. Exit status 0 answered, 2 mistake, 3 refused, 4 above a limit, 1 fault."""

import os
import sys
from typing import Annotated

import typer

from confide import __version__
from confide.cli.registry import CommandsOnUse
from confide.errors import ConfideError, Refused

__all__ = ["app", "main"]

app = typer.Typer(
    cls=CommandsOnUse,
    help="Analyse confidential microdata without seeing it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    if version:
        typer.echo(f"confide {__version__}")
        raise typer.Exit()


def main() -> None:
    """Run the command line; every outcome that is ours becomes a sentence and an exit status."""
    try:
        status = app(standalone_mode=False)
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
    if isinstance(status, int):  # what a command left by typer.Exit
        sys.exit(status)


def _sentence(error: ConfideError) -> str:
    if not isinstance(error, Refused):
        return f"{error.title}: {error}\n"
    lines = [f"{error.title}: {error.reasons[0]}"]
    lines += [f"         {reason}" for reason in error.reasons[1:]]
    lines.append(f"  rule   {', '.join(reason.rule for reason in error.reasons)}  (policy {error.policy})")
    for number, suggestion in enumerate(error.suggestions):
        lines.append(f"  {'try' if number == 0 else '   '}    {'or ' if number else ''}{suggestion}")
    return "\n".join(lines) + "\n"
