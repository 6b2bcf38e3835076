"""What is imported before it is needed: modules counted in a fresh interpreter, which no busy machine changes."""

import subprocess
import sys

import pytest

import confide
from confide.cli.registry import COMMANDS

ENGINES = {"duckdb", "numba", "scipy", "pandas", "polars", "highspy", "cvxpy", "sklearn"}
HEAVY = ENGINES | {"fastapi", "httpx", "jinja2", "numpy", "pyarrow", "rich", "uvicorn", "xlsxwriter"}
COMMAND = "import sys\nfrom confide.cli.main import main\nsys.argv = ['confide', *{words!r}]\ntry: main()\nexcept SystemExit: pass"
LINE = "\nimport sys\nprint(*sys.modules, file=sys.stderr)"


def imported(code):
    """The packages, and the modules of ours, that a fresh interpreter has after some code."""
    done = subprocess.run([sys.executable, "-c", code + LINE], capture_output=True, text=True, check=True)
    modules = done.stderr.split()
    return {name.partition(".")[0] for name in modules} | {name for name in modules if name.startswith("confide.")}


def test_importing_the_package_imports_two_modules_of_ours_at_most():
    found = imported("import confide")
    assert not found & (HEAVY | {"typer"})
    assert {name for name in found if name.startswith("confide.")} <= {"confide.errors"}


@pytest.mark.parametrize("words", [["--help"], ["--version"], []], ids=str)
def test_help_and_version_import_no_command(words):
    found = imported(COMMAND.format(words=words))
    assert not found & HEAVY
    assert found & {f"confide.cli.{home.partition(':')[0]}" for home, _ in COMMANDS.values()} == set()


def test_a_site_elsewhere_is_opened_without_an_engine():
    found = imported("import confide\nconfide.open('http://127.0.0.1:9').close()")
    assert not found & (ENGINES | {"pyarrow", "jinja2", "xlsxwriter", "typer"})
    assert not [name for name in found if name.startswith(("confide.engines", "confide.answering", "confide.site"))]


def test_the_command_line_asks_a_site_elsewhere_without_an_engine():
    words = ["table", "http://127.0.0.1:9", "people", "--rows", "sex"]
    found = imported(COMMAND.format(words=words))
    assert "confide.client.remote" in found and not found & (ENGINES | {"pyarrow"})


@pytest.mark.parametrize("name", ["tables", "microdata", "measures"])
def test_a_toolkit_is_entered_without_its_methods(name):
    found = imported(f"import confide.{name}")
    assert not found & HEAVY and not [each for each in found if each.startswith(f"confide.{name}.")]


def test_every_name_of_the_package_is_there_on_use():
    assert not [name for name in confide.__all__ if not callable(getattr(confide, name))]
    with pytest.raises(AttributeError):
        _ = confide.opne
