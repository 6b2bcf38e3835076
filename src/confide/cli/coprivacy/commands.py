"""`confide coprivacy`: anonymous keyword search by peers, simulated and for real, and games of privacy."""

import asyncio
import signal
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli.terminal import write

if TYPE_CHECKING:  # scipy, numba and httpx are loaded by the commands that need them
    from confide.coprivacy import Game, SearchPeer, SimulatedSearch

__all__ = ["app"]

app = typer.Typer(
    help="Coprivacy: keyword search through peers who hide each other, what it hides, and games of privacy.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Settings = Annotated[Path, typer.Argument(help="The peer's settings: peer.toml.", metavar="SETTINGS")]
Json = Annotated[Path | None, typer.Option(help="Write the results here as well.")]


@app.command("peer")
def peer(settings: Settings) -> None:
    """Be a peer: submit for others the queries that hide your own, for as long as this runs.

    Only peers named in the settings are heard, by their certificates. Their queries are submitted by you or not at all; they
    are not passed on, not shown and not stored but as keyed hashes.

    Example: confide coprivacy peer peer.toml
    """
    from confide.coprivacy import PeerSettings, SearchPeer

    asyncio.run(_serve(SearchPeer.of(PeerSettings.read(settings))))


@app.command("search")
def search(
    settings: Settings,
    query: Annotated[str, typer.Argument(help="What to search for.", metavar="QUERY")],
    never_direct: Annotated[
        bool, typer.Option("--never-direct", help="Never submit it yourself; if no peer does, it is refused.")
    ] = False,
    json: Json = None,
) -> None:
    """Search through peers: the query is submitted by you or by another, whichever keeps your interests more private.

    Example: confide coprivacy search peer.toml "flu symptoms"
    """
    from confide.coprivacy import PeerSettings, SearchPeer

    one = SearchPeer.of(PeerSettings.read(settings))
    try:
        found = asyncio.run(one.search(query, never_direct=never_direct))
    finally:
        one.counts.close()
    seen = f"{found.asked} {'peer' if found.asked == 1 else 'peers'} saw it"
    typer.echo(f"Submitted by {found.by if found.by != one.settings.name else 'yourself'}; {seen}.", err=True)
    for hit in found.hits:
        typer.echo(f"{hit.title}\n  {hit.url}\n  {hit.text}")
    if not found.hits:
        typer.echo("Nothing was found.")
    if json is not None:
        write(dumps(asdict(found)), json)


@app.command("simulate")
def simulate(
    peers: Annotated[int, typer.Option(help="How many peers there are.")] = 100,
    topics: Annotated[int, typer.Option(help="How many different queries there are.")] = 50,
    queries: Annotated[int, typer.Option(help="How many queries each peer asks.")] = 200,
    attempts: Annotated[int, typer.Option(help="How many peers are asked for help at most.")] = 5,
    rule: Annotated[
        list[str] | None,
        typer.Option(help="coprivate, printed, uniform, direct, decoys; may be repeated. If not given: all."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="What everything is drawn from.")] = 1,
    json: Json = None,
) -> None:
    """Simulate search by peers: how even what they submit looks, and whom a database that knows interests finds all the same.

    Example: confide coprivacy simulate --peers 10 --rule coprivate --rule uniform
    """
    import numpy as np

    from confide.coprivacy import SearchSimulation
    from confide.coprivacy.simulation.simulate import RULES

    found: dict[str, SimulatedSearch] = {}
    for one in rule or RULES:
        told = SearchSimulation(peers=peers, topics=topics, queries=queries, attempts=attempts, rule=one)
        found[one] = told.run(np.random.default_rng(seed))
    first = next(iter(found.values()))
    typer.echo(f"Peers' own queries have an entropy of {first.asked:.2f} bits, of {first.largest:.2f} at most.")
    for one, result in found.items():
        typer.echo(f"{one}: {_told(result)}.")
    if json is not None:
        write(dumps({one: asdict(result) for one, result in found.items()}), json)


@app.command("game")
def game(
    file: Annotated[
        Path,
        typer.Argument(help="Payoffs, a line for each profile: ann,bob,payoff ann,payoff bob,help.", metavar="FILE"),
    ],
    epsilon: Annotated[float, typer.Option(help="What players may gain by leaving a recommendation.")] = 0.0,
) -> None:
    """Say what rational players do in a game: dominant strategies, equilibria, and whether there is coprivacy.

    Example: confide coprivacy game payoffs.csv
    """
    from confide.coprivacy import read_game

    one = read_game(file)
    typer.echo(f"Dominant strategies: {_profiles(one.dominant())}; strictly: {_profiles(one.dominant(strict=True))}.")
    typer.echo(f"Pure Nash equilibria: {_profiles(one.nash())}.")
    if one.players == 2:
        for some in one.mixed():
            typer.echo(f"Mixed: {some}.")
    for objective in ("welfare", "fair"):
        best = one.correlated(objective=objective, epsilon=epsilon)
        chances = ", ".join(f"{' '.join(profile)} {chance:.3f}" for profile, chance in best.chances.items())
        typer.echo(f"Correlated, by {objective}: {chances}; payoffs {' '.join(f'{paid:.3f}' for paid in best.values)}.")
    if one.help.any():
        _say_coprivacy(one, epsilon)


def _say_coprivacy(one: "Game", epsilon: float) -> None:
    from confide.coprivacy import help_probability

    kinds = (
        {"pure": 0.0, "mixed": 0.0, "correlated": epsilon} if one.players == 2 else {"pure": 0.0, "correlated": epsilon}
    )
    said = [f"{kind} {help_probability(one, kind=kind, epsilon=gain):.3f}" for kind, gain in kinds.items()]
    typer.echo(f"Coprivacy, as the chance of help in the equilibrium where it is likeliest: {', '.join(said)}.")


def _profiles(some: list[tuple[str, ...]]) -> str:
    return ", ".join(f"({' '.join(one)})" for one in some) or "none"


def _told(result: "SimulatedSearch") -> str:
    parts = [f"submitted {result.submitted:.2f} bits", f"{result.linked:.0%} of peers linked to their interests"]
    if result.forwarding is not None:
        parts.append(f"forwarding {result.forwarding:.2f} of even")
    if result.delta is not None:
        parts.append(f"δ {result.delta.share:.2f} ({result.delta.low:.2f} to {result.delta.high:.2f})")
    if result.peers_asked is not None:
        parts.append(f"{result.peers_asked:.1f} peers see a forwarded query")
    return ", ".join(parts)


async def _serve(one: "SearchPeer") -> None:
    stopped = asyncio.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(sign, stopped.set)
    async with one.serving():
        typer.echo(f"{one.settings.name} listens on {one.settings.listen}  (Ctrl+C stops)", err=True)
        await stopped.wait()
    one.counts.close()
