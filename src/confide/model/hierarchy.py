"""Hierarchies in the τ-ARGUS `.hrc` format: one code a line, one leading `@` for each level of depth."""

from confide.errors import Mistake

__all__ = ["read_hrc"]


def read_hrc(text: str) -> list[dict[str, str | None]]:
    """The levels of a hierarchy, coarsest first: each maps its codes to their parents.

    A branch that ends early is carried down to the finest level under its own code, so every level is complete.

    >>> read_hrc("A\\n@A1\\n@A2\\nB\\n")
    [{'A': None, 'B': None}, {'A1': 'A', 'A2': 'A', 'B': 'B'}]
    """
    rows = [(len(line) - len(line.lstrip("@")), line.lstrip("@").strip()) for line in text.splitlines() if line.strip()]
    if not rows:
        raise Mistake("The hierarchy file is empty.")
    path: list[str] = []
    leaves: list[list[str]] = []
    seen: set[str] = set()
    for number, (depth, code) in enumerate(rows):
        if depth > len(path) or not code:
            raise Mistake(f"Line {number + 1} of the hierarchy file is deeper than its parent allows ({code!r}).")
        if code in seen:
            raise Mistake(f"Code {code!r} stands twice in the hierarchy file.")
        seen.add(code)
        path = [*path[:depth], code]
        if number + 1 == len(rows) or rows[number + 1][0] <= depth:
            leaves.append(path)
    deepest = max(len(leaf) for leaf in leaves)
    full = [leaf + [leaf[-1]] * (deepest - len(leaf)) for leaf in leaves]
    levels: list[dict[str, str | None]] = [{leaf[0]: None for leaf in full}]
    levels += [{leaf[d]: leaf[d - 1] for leaf in full} for d in range(1, deepest)]
    return levels
