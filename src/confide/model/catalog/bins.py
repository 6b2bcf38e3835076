"""The bins that cutpoints make of a number, as codes, and the nodes above them that may be chosen at once."""

import re
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from confide.errors import Mistake
from confide.model.catalog.dataset import Code, CodeList, Variable

__all__ = ["bin_codes", "span", "with_bins"]

Edge = Decimal | None

_NODE = re.compile(r"(?:(?P<low>-?\d+(?:\.\d+)?)(?P<to>\+| to <| to |-)|<)(?P<high>-?\d+(?:\.\d+)?)?")


def with_bins(variable: Variable, nodes: tuple[str, ...]) -> Variable:
    """A numeric variable with its bins as codes; one without cutpoints stays as it is."""
    cuts = [_decimal(c) for c in variable.cutpoints]
    if not cuts:
        return variable
    if any(b <= a for a, b in pairwise(cuts)):
        raise Mistake(f"The cutpoints of {variable.name!r} must increase.")
    if any(cut % _step(variable) for cut in cuts):
        raise Mistake(
            f"The cutpoints of {variable.name!r} have more decimals than the {variable.decimals} declared.",
            suggestions=["Declare 'decimals', or round the cutpoints."],
        )
    codes = CodeList(tuple(bin_codes(variable)))
    return replace(variable, codes=codes, nodes={node: _node(variable, node, codes) for node in nodes})


def bin_codes(variable: Variable) -> list[Code]:
    """The bins that cutpoints make, as codes: below the first, between, from the last; then missing, if declared."""
    cuts = [_decimal(c) for c in variable.cutpoints]
    low = None if variable.minimum is None else _decimal(variable.minimum)
    high = None if variable.maximum is None else _decimal(variable.maximum)
    if (low is not None and low >= cuts[0]) or (high is not None and high < cuts[-1]):
        raise Mistake(f"The cutpoints of {variable.name!r} must lie inside its declared minimum and maximum.")
    names = [span(a, b, decimals=variable.decimals) for a, b in pairwise([low, *cuts, None])]
    codes = [Code(n, n) for n in names]
    return [*codes, Code("missing", "Missing", missing=True)] if variable.missing else codes


def span(low: Edge, high: Edge, *, decimals: int) -> str:
    """What stands for the values from `low` to just below `high`; None is an open end.

    >>> span(Decimal(20), Decimal(30), decimals=0), span(None, Decimal(-5), decimals=0), span(Decimal(60), None, decimals=1)
    ('20-29', '<-5', '60+')
    >>> span(Decimal("0.5"), Decimal(2), decimals=2), span(Decimal("0.5"), Decimal(2), decimals=4)
    ('0.5-1.99', '0.5 to <2')
    """
    if low is None:
        return f"<{_plain(high or Decimal(0))}"
    if high is None:
        return f"{_plain(low)}+"
    if decimals > 2:
        return f"{_plain(low)} to <{_plain(high)}"
    last = high - Decimal(1).scaleb(-decimals)
    if low == last:
        return _plain(low)
    return f"{_plain(low)} to {_plain(last)}" if low < 0 else f"{_plain(low)}-{_plain(last)}"


def _decimal(number: float) -> Decimal:
    return Decimal(str(number))


def _step(variable: Variable) -> Decimal:
    return Decimal(1).scaleb(-variable.decimals)


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _node(variable: Variable, node: str, codes: CodeList) -> tuple[str, ...]:
    """The bins below a node of a partition tree, which is written as a bin is: 20-39, <20, 40+."""
    low, high = _edges(variable, node)
    cuts = [_decimal(c) for c in variable.cutpoints]
    starts, ends = [None, *cuts], [*cuts, None]
    if low is not None and variable.minimum is not None and low <= _decimal(variable.minimum):
        low = None
    if high is not None and variable.maximum is not None and high > _decimal(variable.maximum):
        high = None
    if low not in starts or high not in ends:
        raise Mistake(f"Node {node!r} of {variable.name!r} must begin and end where its bins do.")
    return codes.names[starts.index(low) : ends.index(high) + 1]


def _edges(variable: Variable, node: str) -> tuple[Edge, Edge]:
    """From where, and up to below which value, a node reaches."""
    read = _NODE.fullmatch(node)
    low, to, high = read.group("low", "to", "high") if read else (None, None, None)
    if (high is None) != (to == "+"):
        raise Mistake(f"Node {node!r} of {variable.name!r} must be written low-high, <high or low+.")
    first = None if low is None else Decimal(low)
    last = None if high is None else Decimal(high)
    return first, last + _step(variable) if last is not None and to in (" to ", "-") else last
