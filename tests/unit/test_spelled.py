"""Messages speak of options as they are typed on the command line, and of arguments in Python."""

import pytest
import typer
from typer.main import get_command

from confide.cli.spelled import spelled, spelling
from confide.errors import Mistake

app = typer.Typer()


@app.command()
def command(
    keep: str = "",
    top_share: float = 0.0,
    replace: bool = typer.Option(False, "--replace"),
    paired: bool = typer.Option(True, " /--unpaired"),
    key: str = typer.Option("", "-k", "--key"),
) -> None:
    raise Mistake("It is there.", suggestions=["Say replace=True.", f"Not {keep}=True."])


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        ("say keep=['id'].", "say --keep id."),
        ("keep=['a', 'b']", "--keep a,b"),
        ("keep=['größe']", "--keep größe"),
        ("keep=['net income']", "--keep 'net income'"),
        ('keep=["it\'s ]"]', "--keep 'it'\"'\"'s ]'"),
        ("Take top_share=0.5.", "Take --top-share 0.5."),
        ("replace=True, paired=False", "--replace, --unpaired"),
        ("replace=False, paired=True", "replace=False, paired=True"),
        ("as in key=ReleaseKey.kept('survey.key').", "as in --key survey.key."),
        ("by=['region'], a == b, 'keep'", "by=['region'], a == b, 'keep'"),
    ],
)
def test_arguments_that_are_options_are_written_as_they_are_typed(python: str, typed: str) -> None:
    assert spelled(python, {one.name: one for one in get_command(app).params}) == typed


def test_a_mistake_of_a_command_speaks_of_its_own_options_alone() -> None:
    with pytest.raises(Mistake, match=r"^It is there\. Say --replace\. Not other=True\.$"):
        spelling(get_command(app)).main(["--keep", "other"], standalone_mode=False)
