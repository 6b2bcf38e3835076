"""What PostgreSQL says in its own way."""

from collections.abc import Sequence

from confide.engines import StoreFacts
from confide.engines.sql import Dialect
from confide.model.evidence import Tally

__all__ = ["POSTGRES", "largest"]


def _square(size: str, shift: int) -> str:
    """The shift keeps every product within BIGINT; the sum is made in 128 bits and fits again."""
    cut = f"({size} / {1 << shift})" if shift else size
    return f"CAST(sum({cut} * {cut}) AS BIGINT)"


def _largest(size: str, top: int) -> str:
    """The very largest; those after it are asked for by `largest`."""
    return f"max({size})"


POSTGRES = Dialect(_square, _largest)


def largest(tally: Tally, facts: StoreFacts, condition: str) -> str:
    """The largest contributions of each cell: its places and one contribution a row, in descending order."""
    assert tally.of
    by, column = [facts.classes[name] for name in tally.by], facts.numbers[tally.of]
    size = f"abs(CAST(sum({column}) AS BIGINT))" if facts.several else f"abs({column})"
    group = f" GROUP BY {_listed(by, 'unit')}" if facts.several else ""
    sizes = f"SELECT {_listed(by, f'{size} AS size')} FROM records{condition}{group}"
    partition = f"PARTITION BY {_listed(by)} " if by else ""
    ranked = f"SELECT *, row_number() OVER ({partition}ORDER BY size DESC) AS rank FROM ({sizes}) AS sizes"
    order = _listed(by, "rank")
    return f"SELECT {_listed(by, 'size')} FROM ({ranked}) AS ranked WHERE rank <= {tally.top} ORDER BY {order}"


def _listed(names: Sequence[str], *more: str) -> str:
    return ", ".join([*names, *more])
