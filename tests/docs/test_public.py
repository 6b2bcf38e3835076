"""How-tos and tutorials show public names only: what a reader copies from them keeps working."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for folder in ("how-to", "tutorials") for page in (DOCS / folder).glob("*.md"))
MODULES = (
    "confide",
    "confide.tables",
    "confide.microdata",
    "confide.measures",
    "confide.attacks",
    "confide.demo",
    "confide.querylogs",
    "confide.coprivacy",
)
PUBLIC = {*MODULES} | {f"{module}.{name}" for module in MODULES for name in import_module(module).__all__}


def internal(code: str) -> list[str]:
    """The names of the package that the code imports or reaches, and that are not public."""
    tree = ast.parse(code)
    bound = dict(_bound(tree))
    reached = [f"{bound[node.value.id]}.{node.attr}" for node in ast.walk(tree) if _of(node, bound)]  # type: ignore[attr-defined]
    return sorted({name for name in (*bound.values(), *reached) if name not in PUBLIC})


def _bound(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What imports from the package bind, and what they bind it to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((one.asname or one.name, one.name) for one in node.names if _ours(one.name))
        elif isinstance(node, ast.ImportFrom) and _ours(node.module or ""):
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)


def _ours(module: str) -> bool:
    return module.partition(".")[0] == "confide"


def _of(node: ast.AST, bound: dict[str, str]) -> bool:
    """Whether this reads a name of a module that was imported; what classes have is theirs to say."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and bound.get(node.value.id) in MODULES


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_a_page_to_follow_imports_public_names_only(page: Path) -> None:
    blocks = re.findall(r"^```python[^\n]*\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert not internal("\n".join(blocks))


@pytest.mark.parametrize(
    "code",
    [
        "from confide.site.cutpoints.draft import draft_cutpoints",
        "from confide import site",
        "import confide.answering.service",
        "import confide\nconfide.engines.Engine",
        "from confide import tables\ntables.perturbation.transitions",
        "from confide.measures.reports.report import report",
    ],
)
def test_an_internal_name_is_noticed(code: str) -> None:
    assert internal(code)
