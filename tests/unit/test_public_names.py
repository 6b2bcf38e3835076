"""What is public is what `__all__` says, everywhere: sorted, present, and nothing else."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import confide

MODULES = [module.name for module in pkgutil.walk_packages(confide.__path__, "confide.")]


def test_the_public_names_of_the_package_are_these():
    assert confide.__all__ == [
        "Answer",
        "Denied",
        "Fault",
        "Mistake",
        "Refused",
        "ReleaseKey",
        "Site",
        "add",
        "ingest",
        "open",
    ]
    assert confide.__version__.count(".") == 2


def test_every_public_name_says_what_it_gives():
    for name in confide.__all__:
        assert inspect.getdoc(getattr(confide, name)), name


@pytest.mark.parametrize("name", MODULES)
def test_the_names_a_module_declares_are_there_and_sorted(name):
    module = importlib.import_module(name)
    declared = getattr(module, "__all__", [])
    assert all(hasattr(module, each) for each in declared)
    constants, classes, others = (
        [n for n in declared if n.isupper()],
        [n for n in declared if not n.isupper() and n[0].isupper()],
        [n for n in declared if not n[0].isupper()],
    )
    as_ruff_sorts = sorted(constants) + sorted(classes) + sorted(others)
    assert list(declared) in (as_ruff_sorts, sorted(declared)), "the second where names are imported on use"


@pytest.mark.parametrize("name", MODULES)
def test_every_module_but_an_empty_package_says_what_it_is_for(name):
    module = importlib.import_module(name)
    assert module.__doc__ or Path(module.__file__).read_text() == ""
