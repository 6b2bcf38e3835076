"""Games from files of payoffs."""

from pathlib import Path
from typing import Any

from confide.coprivacy.games.game import Game
from confide.errors import Mistake
from confide.sources.source import read_source

__all__ = ["read_game"]

PAYOFF = "payoff "


def read_game(path: str | Path) -> Game:
    """A game from a file with a line for each profile.

    For each player there is a column of strategies, and another, named `payoff` and the same, of what they get. A column
    `help` says `yes` where somebody helps another.
    """
    table = read_source(path).table
    players = [name.removeprefix(PAYOFF) for name in table.column_names if name.startswith(PAYOFF)]
    if not players or set(table.column_names) - {"help"} != {*players, *(PAYOFF + name for name in players)}:
        raise Mistake(
            f"{Path(path).name} is not a game: it needs, for each player, a column of strategies and one of payoffs.",
            suggestions=["Call them as in: ann,bob,payoff ann,payoff bob,help."],
        )
    rows = table.to_pylist()
    payoffs = {_profile(row, players): [_payoff(row, name) for name in players] for row in rows}
    if len(payoffs) < len(rows):
        raise Mistake(f"{Path(path).name}: a profile stands there twice.")
    return Game.of(payoffs, help=[_profile(row, players) for row in rows if _helps(row)])


def _profile(row: dict[str, Any], players: list[str]) -> tuple[str, ...]:
    if missing := [name for name in players if row[name] is None]:
        raise Mistake(f"A strategy of {missing[0]} is missing.")
    return tuple(str(row[name]) for name in players)


def _payoff(row: dict[str, Any], player: str) -> float:
    try:
        return float(row[PAYOFF + player])
    except (TypeError, ValueError):
        raise Mistake(f"A payoff of {player} is missing or is not a number.") from None


def _helps(row: dict[str, Any]) -> bool:
    said = str(row.get("help") or "no").strip().lower()
    if said not in ("yes", "no", "true", "false"):
        raise Mistake(f"The column help says yes or no, not {said!r}.")
    return said in ("yes", "true")
