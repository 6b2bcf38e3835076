"""Every study is run once, with the parameters that it has in the registry."""

from collections.abc import Callable
from functools import cache

import pytest

from confide.attacks.studies import STUDIES, StudyResult


@pytest.fixture(scope="session")
def result_of() -> Callable[[str], StudyResult]:
    return cache(lambda name: STUDIES[name].run())
