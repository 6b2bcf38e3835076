"""What is said beside the numbers: whom they are about, and how they were protected."""

from collections.abc import Iterable

from confide.answering.mechanisms.additive import restores, table_shape
from confide.model.admission.table import table_classes
from confide.model.catalog.dataset import Dataset, Role
from confide.model.definition.definition import Definition
from confide.model.definition.text import write_definition
from confide.model.policy import Policy
from confide.model.request import Measure, RegressionRequest, TableRequest
from confide.model.universe import Condition, Universe

__all__ = [
    "BASE_NOTE",
    "ZEROS_NOTE",
    "adds",
    "definition_notes",
    "design_notes",
    "model_notes",
    "notes",
    "protections",
    "rank_notes",
    "scope",
]

BASE_NOTE = (
    "Counts are of protected microdata (SAFE), near the true ones: every combination has no record or at least three."
)
"""How counts from a SAFE base were protected."""

ZEROS_NOTE = "Where nobody can be, as the custodian declares, stands [z]."
"""What is said under a table that has declared structural zeros."""


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


def definition_notes(definitions: Iterable[Definition]) -> tuple[str, ...]:
    """What the asker's own variables are."""
    return tuple(f"Defined by the asker: {write_definition(definition)}." for definition in definitions)


def adds(request: TableRequest, dataset: Dataset, policy: Policy) -> bool:
    """Whether every total is the sum of its parts: not where weighted counts or totals are changed or rounded one by one."""
    if policy.counts.mechanism == "none":
        return request.of is None or not policy.protects
    return request.measure == (Measure.COUNT,) and restores(policy, table_shape(request, dataset))


def notes(request: TableRequest, dataset: Dataset, policy: Policy) -> tuple[str, ...]:
    """How the numbers of a table were protected."""
    said = protections(policy, totals=request.of is not None)
    if Measure.COUNT in request.measure and restores(policy, table_shape(request, dataset)):
        said += ("Counts are then changed a little more, in each table on its own, so that they add up.",)
    said += _moved_classes(request, dataset, policy)
    if request.quantiles:
        bins = dataset.variables[table_classes(request, dataset)[-1]]
        said += (
            f"Quantiles are read off protected counts and means of the {len(bins.cutpoints) + 1} classes of {bins.name!r}: "
            "they are as fine as these. Where one lies in an open class stands [x].",
        )
    if request.error and (design := dataset.sampling) is not None:
        said += (
            f"Standard errors are {design.words}; the noise of protection is in them, and they have two digits. "
            "Of cells with few units they are as of a simple sample with such weights.",
            f"Reliability is 1 (good), 2 (with care: coefficient of variation above {design.caution:g} %) "
            f"or 3 (not reliable: above {design.unreliable:g} %).",
        )
    return said


def _moved_classes(request: TableRequest, dataset: Dataset, policy: Policy) -> tuple[str, ...]:
    """What is said where a table, or its universe, has classes of numbers that carry noise."""
    if not (policy.records.noise or policy.records.noise_exposed):
        return ()
    numbers = [v for v in dataset.variables.values() if v.measurable and v.role is Role.CONFIDENTIAL]
    named = [*request.by, *(c.variable for piece in request.where.pieces for c in piece.conditions)]
    behind = {column for name in named for column in dataset.columns(name)}
    moved = [v.name for v in numbers if v.column in behind]
    if not moved:
        return ()
    return (
        f"Classes of {' and '.join(moved)} are of the changed numbers: noise moves units between them, and the spread stated for "
        "counts, totals and means of such classes does not include that.",
    )


def protections(policy: Policy, *, totals: bool) -> tuple[str, ...]:
    """How counts, and totals if asked, are protected: the policy's parameters, which are public, and never a draw."""
    said = _of_units(policy)
    counts, amounts = policy.counts, policy.totals
    if counts.mechanism == "safe":
        said.append(BASE_NOTE)
    if counts.mechanism == "cell-key":
        few = "1" if counts.small == 1 else f"1 to {counts.small}"
        small = f"; counts of {few} never appear" if counts.small else ""
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
    if totals and policy.protects:
        said.append(
            "Totals and means are rounded to the second digit of their standard error, which sampling and protection make up."
        )
    return tuple(said) or ("These numbers are not protected.",)


def _of_units(policy: Policy) -> list[str]:
    """What was done to the units themselves, and so concerns every number."""
    records, said = policy.records, []
    if records.exchanges:
        said.append("some units exchanged a characteristic with others alike")
    if records.noise or records.noise_exposed:
        more = f", and by {records.noise_exposed:.0%} for units that stand out" if records.noise_exposed else ""
        said.append(
            "confidential numbers were changed at random, once for each unit, "
            f"by {records.noise:.0%} (standard deviation){more}"
        )
    notes = [f"Answers come from protected records: {', and '.join(said)}."] if said else []
    if policy.drop.k >= 2:
        notes.append(f"From each part of the universe 2 to {policy.drop.k} units, always the same, are left out.")
    return notes


def rank_notes(policy: Policy) -> tuple[str, ...]:
    """How rank correlations were protected."""
    return (
        *protections(policy, totals=False),
        "Ranks are read off the protected table of each two variables: numbers are ranked by their declared classes, other "
        "variables by the order of their codes, and all in a class have its middle rank. Who lacks one of the two is left out.",
        "Correlations are rounded to what the number of units supports.",
    )


def design_notes(request: RegressionRequest, dataset: Dataset) -> tuple[str, ...]:
    """What the errors of a model are, if they are by the design of the sample."""
    design = dataset.sampling
    if not request.by_design or design is None:
        return ()
    noise = "they carry noise as the errors of tables do, the same for the same units"
    return (
        f"Standard errors are {design.words}; {noise}. P-values are of t, with the degrees of freedom of the design.",
    )


def model_notes(policy: Policy) -> tuple[str, ...]:
    """How a model was protected."""
    said = _of_units(policy)
    said.append(f"Classes with fewer than {policy.models.dummy} units stand with the reference, the most common class.")
    said.append(
        "Numbers are rounded to what the number of units supports; n is changed at random as counts are. "
        "Smaller p-values than 0.0001 are given as 0.0001."
    )
    return tuple(said)
