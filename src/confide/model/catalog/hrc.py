"""Hierarchies in the τ-ARGUS `.hrc` format: one code a line, one leading `@` for each level of depth."""

from confide.errors import Mistake

__all__ = ["read_hrc"]


def read_hrc(text: str, *, lead: str = "@") -> list[dict[str, str | None]]:
    """The levels of a hierarchy, coarsest first: each maps its codes to their parents.

    A branch that ends early is carried down to the finest level under its own code, so every level is complete. `lead`
    stands in the place of `@` where a file has another sign of depth. Of several totals with one code, those after the first
    have the number of their line in their names.

    >>> read_hrc("A\\n@A1\\n@A2\\nB\\n")
    [{'A': None, 'B': None}, {'A1': 'A', 'A2': 'A', 'B': 'B'}]
    """
    leaves = _leaves(_rows(text, lead))
    deepest = max(len(leaf) for leaf in leaves)
    full = [leaf + [leaf[-1]] * (deepest - len(leaf)) for leaf in leaves]
    levels: list[dict[str, str | None]] = [{leaf[0]: None for leaf in full}]
    return levels + [{leaf[d]: leaf[d - 1] for leaf in full} for d in range(1, deepest)]


def _rows(text: str, lead: str) -> list[tuple[int, int, str]]:
    """Each line that says something: its number, its depth and its code."""
    lines = [(number, line.strip()) for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1)]
    rows = [(number, *_depth(line, lead)) for number, line in lines if line]
    if not rows:
        raise Mistake("The hierarchy file is empty.")
    return rows


def _depth(line: str, lead: str) -> tuple[int, str]:
    """How deep a line stands, and its code."""
    depth = 0
    while lead and line.startswith(lead):
        depth, line = depth + 1, line.removeprefix(lead)
    return depth, line.strip()


def _leaves(rows: list[tuple[int, int, str]]) -> list[list[str]]:
    """The path from the top to each code that has none below it."""
    path: list[str] = []
    leaves: list[list[str]] = []
    names = _names(rows)
    for (number, depth, code), following in zip(rows, [*(row[1] for row in rows[1:]), 0], strict=True):
        if not code:
            raise Mistake(f"Line {number} of the hierarchy file has no code.")
        if depth > len(path):
            raise Mistake(f"Line {number} of the hierarchy file is deeper than its parent allows ({code!r}).")
        path = [*path[:depth], names[number]]
        if following <= depth:
            leaves.append(path)
    return leaves


def _names(rows: list[tuple[int, int, str]]) -> dict[int, str]:
    """What the code of each line is called: like the code, and with the number of the line if others are called so.

    τ-ARGUS takes the same code for several totals. Records have codes without parts, so only of those must each stand once.
    """
    deeper = [*(row[1] for row in rows[1:]), 0]
    leaf = {number: following <= depth for (number, depth, _), following in zip(rows, deeper, strict=True)}
    lines: dict[str, list[int]] = {}
    for number, _, code in sorted(rows, key=lambda row: (not leaf[row[0]], row[0])):
        lines.setdefault(code, []).append(number)
    for code, found in lines.items():
        if len(found) > 1 and leaf[found[1]]:
            raise Mistake(
                f"Code {code!r} stands twice in the hierarchy file, on the lines {found[0]} and {found[1]}, and has no parts there.",
                suggestions=["Nobody could say to which a record belongs. Delete or rename one."],
            )
    return {
        number: code if number == found[0] else f"{code} (line {number})"
        for code, found in lines.items()
        for number in found
    }
