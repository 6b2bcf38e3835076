"""Where each command lives. Its module is imported when it runs, so that `confide --help` waits for no engine."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from confide.cli.spelled import spelling

__all__ = ["COMMANDS", "CommandsOnUse", "load"]

COMMANDS = {
    "init": (
        "site.datasets:init",
        "Turn a data file into a site: drafts dataset.toml and policy.toml, makes a secret, ingests the data.",
    ),
    "describe": (
        "site.serving:describe",
        "See and mend the description of a data set in a browser on this machine: labels, roles, codes, groups, cutpoints.",
    ),
    "ingest": (
        "site.datasets:ingest",
        "Load a new vintage of a data set, after its data or its dataset.toml changed; on any error the old data stay.",
    ),
    "vintages": ("site.vintages:vintages", "The vintages of a data set, the newest first, and what each is there for."),
    "records": (
        "site.records:records",
        "Show how the records of a data set were protected: who was exposed, who was touched, and what nobody can find out.",
    ),
    "safe": (
        "site.datasets:safe",
        'Make the protected microdata from which counts come under counts.mechanism = "safe".',
    ),
    "check": (
        "site.datasets:check",
        "Say what is missing, risky or unanswerable in a site, and what an honest analyst gets, in plain words.",
    ),
    "table": ("questions:table", "A protected table."),
    "regression": ("questions:regression", "A protected regression."),
    "correlation": ("questions:correlation", "Protected correlations; a categorical variable enters by its classes."),
    "codebook": ("questions:codebook", "The variables of a data set, with their first codes."),
    "serve": (
        "site.serving:serve",
        "Serve the site over HTTP, to those who may reach it (confide access).",
    ),
    "reload": (
        "site.vintages:reload",
        "Tell the running server to take up new data, policies and site.toml; questions under way end on the old ones.",
    ),
    "demo": ("site.serving:demo", "Make and serve a site with two generated data sets, people and firms."),
    "policy": ("site.policies:policy", "Every field of a policy, with its value and one line of help."),
    "enforce": (
        "site.policies:enforce",
        "Put the draft that a custodian wrote in the browser in force; the policy before it is kept in policies/.",
    ),
    "cutpoints": ("site.datasets:cutpoints", "Draft the cutpoints of a numeric variable, to paste into dataset.toml."),
    "frontier": (
        "site.policies:frontier",
        "Which variables models may relate to a sensitive one: the best trades of risk for utility.",
    ),
    "attack": (
        "red_team:attack",
        "Attack a site before others do: what would an intruder learn, beyond guessing and beyond statistics?",
    ),
    "attack-file": ("attack_files:attack_file_command", "Attack a file before it is released, as an intruder would."),
    "measure": ("measure:measure_command", "Measure the risk and the utility of a file before it is released."),
    "map": (
        "measure:map_command",
        "Mask a file in several ways and map risk against loss of utility; the best trades are marked.",
    ),
    "workload": (
        "workload:workload",
        "Ask what an honest analyst would ask: how much is answered, and how far from the truth are the answers?",
    ),
    "tune": (
        "tune:tune",
        "Find the policy that answers most within the red team's limit: vary its fields, attack and ask under each variant.",
    ),
    "audit": (
        "audit:audit",
        "Find families of recorded questions that together isolate small sets of units, and who asked them.",
    ),
    "ledger": ("site.ledger:app", "The record of questions and outcomes, and of what custodians did."),
    "doctor": ("site.operations:doctor", "Say whether a site can be served safely, and what to do if not."),
    "backup": (
        "site.operations:backup",
        "Copy a site while it is served: a consistent copy, checked, without the secret.",
    ),
    "restore": ("site.operations:restore", "Make a site from a copy, where there is none."),
    "access": (
        "site.access:access",
        "Declare who may reach the site: its own machine (local), people with a token, or the public.",
    ),
    "token": ("site.tokens:app", "Who may ask: tokens, stored hashed in access.toml."),
    "login": ("site.logins:app", "Where people log in (OpenID Connect), and who of them comes in."),
    "project": ("site.projects:app", "People who ask about some data sets together, for a purpose."),
    "review": ("site.reviews:app", "Results that wait for a custodian's yes or no."),
    "protect": ("protect.commands:app", "Publish tables: which cells say too much, and how they are protected."),
    "mask": ("mask:app", "Mask a file and release it: by a plan, or by one method."),
    "logs": (
        "logs.commands:app",
        "Query logs: clusters of k users with one log each, what that keeps, and what it does not hide.",
    ),
    "coprivacy": (
        "coprivacy.commands:app",
        "Coprivacy: keyword search through peers who hide each other, what it hides, and games of privacy.",
    ),
    "release": (
        "release:release",
        "Release a masked file: what it betrays beside its values is taken out, and a manifest tells what was done.",
    ),
}
"""A command or a group of them by name: the module and the object in it, and the line that help shows."""


def load(name: str) -> Any:
    """A command, or a group of commands, with its options."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found: Any = getattr(import_module(f"confide.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        alone.command(name)(found)
        found = alone
    command = get_command(found)
    command.name = name
    return spelling(command)


class CommandsOnUse(TyperGroup):
    """Lists commands by name and line; the one that was asked for is imported."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=line) for name, (_, line) in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names, and the other words."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and name and load(name), rest
