"""A run without the reference data says how many tests did not run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.reference
@pytest.mark.parametrize("number", range(3))
def test_of_reference_data(number):
    raise AssertionError("there are no data to read")

def test_of_ours(): ...
"""
LINE = "3 reference tests were deselected and did NOT run: ../shared/data is not there."


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the same conftest, three tests that need reference data and one that does not."""
    folder = tmp_path_factory.mktemp("beside nothing") / "project"
    (folder / "tests").mkdir(parents=True)
    for name in ("conftest.py", "asking.py", "postgres_server.py", "spark_cluster.py"):
        shutil.copy(Path(__file__).parents[1] / name, folder / "tests" / name)
    (folder / "tests" / "test_some.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = reference: needs ../shared/data\npythonpath = tests")
    return folder


def said(project, *options):
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(words, cwd=project, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["here", "in a worker"])
def test_tests_that_did_not_run_are_counted_aloud(project, options):
    lines = said(project, *options)
    assert LINE in lines and lines[-1].startswith("1 passed")


def test_nothing_is_said_where_the_data_are(project):
    data = project.parent / "shared" / "data"
    data.mkdir(parents=True)
    (data / "README.md").touch()
    try:
        lines = said(project, "-k", "ours")
    finally:
        shutil.rmtree(project.parent / "shared")
    assert lines[-1].startswith("1 passed") and not [line for line in lines if "did NOT run" in line]
