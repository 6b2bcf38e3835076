"""What is said beside the numbers: whom they are about, and how they were protected."""

from confide.model.catalog import Dataset
from confide.model.policy import Policy
from confide.model.request import Table
from confide.model.universe import Condition, Universe

__all__ = ["adds", "model_notes", "notes", "protections", "scope"]


def scope(universe: Universe, dataset: Dataset) -> str:
    """The universe in words, with labels."""
    pieces = [" and ".join(_condition(c, dataset) for c in piece.conditions) for piece in universe.pieces]
    return "; or ".join(pieces) or "Everyone"


def _condition(condition: Condition, dataset: Dataset) -> str:
    variable = dataset.variables[condition.variable]
    labels = {code.code: code.label for code in variable.codes or ()}
    order = {code.code: place for place, code in enumerate(variable.codes or ())}
    codes = sorted(condition.codes, key=lambda code: order.get(code, -1))
    return f"{variable.label}: {' or '.join(labels.get(code, code) for code in codes)}"


def adds(request: Table, policy: Policy) -> bool:
    """Whether every total is the sum of its parts: only where neither counts nor totals are changed one by one."""
    return policy.counts.mechanism == "none" and (request.of is None or policy.totals.mechanism == "none")


def notes(request: Table, policy: Policy) -> tuple[str, ...]:
    """How the numbers of a table were protected."""
    return protections(policy, totals=request.of is not None)


def protections(policy: Policy, *, totals: bool) -> tuple[str, ...]:
    """How counts, and totals if asked, are protected: the policy's parameters, which are public, and never a draw."""
    said = []
    counts, amounts = policy.counts, policy.totals
    if policy.drop.k >= 2:
        said.append(f"From each part of the universe 2 to {policy.drop.k} units, always the same, are left out.")
    if counts.mechanism == "cell-key":
        small = f"; counts of 1 to {counts.small} never appear" if counts.small else ""
        said.append(
            f"Counts are changed at random by at most {counts.distance} "
            f"(standard deviation {counts.variance**0.5:.2g}), the same change for the same units{small}."
        )
    if totals and amounts.mechanism == "ma":
        said.append(
            f"Totals are changed at random by {amounts.beta:.1%} on average and at most {2 * amounts.beta:.1%}."
        )
    if totals and amounts.mechanism == "thompson":
        said.append("Totals are changed at random by shares of their largest contributions.")
    return tuple(said) or ("These numbers are not protected.",)


def model_notes(policy: Policy) -> tuple[str, ...]:
    """How a model was protected."""
    said = []
    if policy.drop.k >= 2:
        said.append(f"From each part of the universe 2 to {policy.drop.k} units, always the same, are left out.")
    said.append(f"Classes with fewer than {policy.models.dummy} units stand with the reference, the most common class.")
    said.append(
        "Numbers are rounded to what the number of units supports; n is changed at random as counts are. "
        "Smaller p-values than 0.0001 are given as 0.0001."
    )
    return tuple(said)
