"""A limit in a statistical test says where it comes from: a paper, a peer, a standard error, rounding; or that it guards."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOMS = ("microdata", "measures", "tables", "property")
SOURCES = re.compile(
    r"standard error|chi-square|1 in 1,000|p-?value|ndtr|guards?\b|round(s|ed|ing)\b|digits?\b|decimals?\b|\b(19|20)\d\d\b"
    r"|[Tt]able \d|[Ff]ormula|section|paper|published|peer|sdcMicro|statsmodels|SciPy|HiGHS|τ-ARGUS|bound|exact|proven|promise",
    re.IGNORECASE,
)
LOOSE = 1e-5
"""Below, a tolerance is that of arithmetic and needs no source."""


def loose(node: ast.AST) -> bool:
    """Whether a node compares within a stated tolerance, or with a fraction that somebody chose."""
    if isinstance(node, ast.Call):
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        given = [named[name] for name in ("abs", "rel", "rtol", "atol") if name in named]
        return any(not isinstance(value, ast.Constant) or float(value.value or 0) > LOOSE for value in given)
    if isinstance(node, ast.Compare) and any(isinstance(op, ast.Lt | ast.Gt | ast.LtE | ast.GtE) for op in node.ops):
        values = [side.value for side in (node.left, *node.comparators) if isinstance(side, ast.Constant)]
        return any(isinstance(value, float) and abs(value) > LOOSE and value % 1 for value in values)
    return False


def said(function: ast.FunctionDef, text: str) -> str:
    """What the function says of itself in words: its name, its docstring and the comments of its lines."""
    lines = text.splitlines()[function.lineno - 1 : function.end_lineno]
    comments = [line.partition("# ")[2] for line in lines]
    return " ".join([function.name.replace("_", " "), ast.get_docstring(function) or "", *comments])


def unsourced() -> Iterator[str]:
    """Test functions with such a limit and no word on it, in their text or the comments of their lines."""
    for room in ROOMS:
        for path in sorted((TESTS / room).glob("test_*.py")):
            text = path.read_text(encoding="utf-8")
            for function in ast.walk(ast.parse(text)):
                if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test_"):
                    continue
                asserted = [
                    n
                    for statement in ast.walk(function)
                    if isinstance(statement, ast.Assert)
                    for n in ast.walk(statement)
                ]
                checks = [
                    n for n in ast.walk(function) if isinstance(n, ast.Call) and "allclose" in ast.unparse(n.func)
                ]
                own = said(function, text)
                if any(loose(node) for node in [*asserted, *checks]) and not SOURCES.search(own):
                    yield f"{path.relative_to(TESTS)}::{function.name}"


def test_every_limit_names_its_source_or_says_that_it_guards() -> None:
    assert list(unsourced()) == []
