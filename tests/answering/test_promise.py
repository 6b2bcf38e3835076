"""No unprotected number reaches a page: pages that try are written into a copy of the package, and are rejected."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import confide

ROOT = Path(confide.__file__).parents[2]
BIN = Path(sys.executable).parent

IMPORTS = {
    "an engine": "from confide.engines.duckdb.engine import DuckDBEngine\n",
    "a road": "from confide.answering.road import Road\n",
    "the opening of roads": "from confide.answering.opening import open_roads\n",
    "evidence": "from confide.model.evidence import Tally\n",
    "a selection": "from confide.answering import selection\n",
    "the secret": "from confide.site.secret import read_secret\n",
    "the database": "import duckdb\n",
    "the truth of the red team": "from confide.attacks.red_team import open_field\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its contracts, where a page may be added."""
    copy = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def run(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(tree / "src"), "PATH": "/usr/bin:/bin", "NO_COLOR": "1"}
    return subprocess.run([*words], cwd=tree, capture_output=True, text=True, env=environment, check=False)


def rejected(tree: Path, page: str, *words: str, room: str = "web/pages") -> str:
    """What a checker says of the package with this module in it; it must not be content."""
    file = tree / "src" / "confide" / room / "leak.py"
    file.write_text(f'"""A page that shows what it should not."""\n\n{page}')
    try:
        done = run(tree, *words)
    finally:
        file.unlink()
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def test_the_contracts_hold_without_the_page(tree: Path) -> None:
    assert run(tree, str(BIN / "lint-imports"), "--no-cache").returncode == 0


@pytest.mark.parametrize("what", IMPORTS)
def test_a_page_that_imports_what_counts_breaks_a_contract(tree: Path, what: str) -> None:
    said = rejected(tree, IMPORTS[what], str(BIN / "lint-imports"), "--no-cache")
    assert "confide.web.pages.leak" in said


@pytest.mark.parametrize(
    "what", ["attacks.truth.truth", "attacks.runner", "engines", "site.secret", "answering.service"]
)
def test_an_attack_that_imports_the_truth_or_a_way_around_the_client_breaks_a_contract(tree: Path, what: str) -> None:
    said = rejected(tree, f"import confide.{what}\n", str(BIN / "lint-imports"), "--no-cache", room="attacks/counts")
    assert "confide.attacks.counts.leak" in said


TRUE_SUMS = '''from confide.answering.service import Service
from confide.model.design import Design


def page(service: Service, dataset: str, design: Design) -> str:
    """True sums of everyone."""
    return str(service.desk(dataset).products(design))
'''


def test_a_page_that_asks_the_service_for_true_sums_finds_no_such_thing(tree: Path) -> None:
    said = rejected(tree, TRUE_SUMS, str(BIN / "mypy"), "--cache-dir", str(tree / ".mypy_cache"))
    assert '"Service" has no attribute "desk"' in said


@pytest.mark.parametrize("hidden", ["service._roads", "service._secret", "service._ledger"])
def test_a_page_that_reaches_behind_the_service_is_rejected(tree: Path, hidden: str) -> None:
    page = f"from confide.answering.service import Service\n\n\ndef page(service: Service) -> str:\n    return str({hidden})\n"
    said = rejected(tree, page, str(BIN / "ruff"), "check", "--no-cache", "src")
    assert "SLF001" in said
