"""The risks of a report."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from confide.measures import risk
from confide.measures.aware import aware_risk
from confide.measures.reports.findings import Measurement, attempted
from confide.measures.roles import Files

__all__ = ["risks"]

SMALL = (3, 5)
HALF = 0.5
SIZE = 3
"""Special uniques are sought among sets of up to so many keys: larger ones add little, and take long."""


def risks(files: Files, holdout: Any = None) -> Iterator[Measurement]:
    """Every risk that these roles and files allow to be measured."""
    keys, about = files.roles.keys, "keys"
    finder = partial(attempted, "risk")
    if keys:
        yield from finder("k-anonymity", about, partial(_anonymity, files))
        yield from finder("individual risk", about, partial(_individual, files))
        yield from finder("special uniques", about, partial(_special, files))
    if keys and files.roles.household is not None:
        yield from finder("household risk", about, partial(_household, files))
    if keys and files.roles.weight is not None:
        yield from finder("population uniques", about, partial(_population, files))
    for name in files.roles.confidential if keys else ():
        yield from finder("l-diversity", name, partial(_classes, files, name))
        if name in files.numeric:
            yield from finder("dominance", name, partial(_dominance, files, name))
        yield from finder("attribute disclosure", name, partial(_attribute, files, name))
    if files.paired:
        standard = list(finder("distance linkage", about, partial(_linkage, files)))
        yield from standard
        if files.method is not None:
            aware = list(finder("aware attack", about, partial(_aware, files, holdout)))
            yield from aware
            yield from _worst([*standard, *aware])
        if files.numeric:
            yield from finder("interval disclosure", "numbers", partial(_intervals, files))
    elif files.method is not None and files.method.makes_new_records:
        yield from finder("aware attack", about, partial(_aware, files, holdout))
    if holdout is not None:
        yield from finder("membership", "all columns", partial(_membership, files, holdout))


def _risk(name: str, about: str, value: float, unit: str, meaning: str, before: float | None = None) -> Measurement:
    return Measurement("risk", name, about, value, unit, meaning, before)


def _anonymity(files: Files) -> Iterator[Measurement]:
    keys, about = files.roles.keys, "keys"
    before, after = (risk.k_anonymity(file, keys=keys) for file in (files.original, files.released))
    yield _risk("k-anonymity", about, after.k, "records", "The smallest class of records with equal keys.", before.k)
    words = "Records that are alone with their keys."
    yield _risk("sample uniques", about, after.unique, "percent", words, before.unique)
    for k in SMALL:
        words = f"Records in classes of fewer than {k}."
        yield _risk(f"below {k}", about, after.below(k), "percent", words, before.below(k))


def _individual(files: Files) -> Iterator[Measurement]:
    keys, weight = files.roles.keys, files.roles.weight
    before, after = (risk.individual_risk(f, keys=keys, weight=weight) for f in (files.original, files.released))
    words = "Records that an intruder who knows the keys is expected to re-identify"
    words += "." if weight else ", if the file is the whole population (no weight was named)."
    yield _risk("individual risk", "keys", after.percent, "percent", words, before.percent)


def _special(files: Files) -> Iterator[Measurement]:
    keys, weight = files.roles.keys, files.roles.weight
    size = min(SIZE, len(keys))
    before, after = (risk.suda(f, keys=keys, size=size, weight=weight) for f in (files.original, files.released))
    words = f"Records that up to {size} of the keys single out."
    yield _risk("special uniques", "keys", after.percent, "percent", words, before.percent)
    words = "The highest DIS-SUDA score: the chance that a match of the most special record is right."
    yield _risk("highest DIS-SUDA", "keys", 100 * after.dis.max(), "percent", words, 100 * before.dis.max())


def _household(files: Files) -> Iterator[Measurement]:
    home, weight = files.roles.household or "", files.roles.weight
    before, after = (
        risk.household_risk(file, keys=files.roles.keys, household=home, weight=weight)
        for file in (files.original, files.released)
    )
    words = "Records that are expected to be re-identified themselves or through a member of their household."
    yield _risk("household risk", "keys", after.percent, "percent", words, before.percent)


def _population(files: Files) -> Iterator[Measurement]:
    keys, weight = files.roles.keys, files.roles.weight or ""
    before, after = (risk.model_risk(f, keys=keys, weight=weight) for f in (files.original, files.released))
    words = (
        "Sample uniques that are expected to be unique in the population, by a log-linear model of all pairs of keys."
    )
    counts = after.population_uniques, before.population_uniques
    yield _risk("population uniques", "keys", counts[0], "records", words, counts[1])


def _classes(files: Files, name: str) -> Iterator[Measurement]:
    sides = (files.original, files.released)
    before, after = (risk.l_diversity(file, keys=files.roles.keys, confidential=name) for file in sides)
    words = "Records whose class has one known value only, so that it is disclosed without a link."
    yield _risk("class disclosure", name, after.disclosed, "percent", words, before.disclosed)
    if after.level < float("inf") and before.level < float("inf"):
        words = "The fewest different values in a class of records with equal keys."
        yield _risk("l-diversity", name, after.level, "values", words, before.level)
    before_t, after_t = (risk.t_closeness(file, keys=files.roles.keys, confidential=name).level for file in sides)
    words = "The largest distance of a class from the whole file, from 0 to 1."
    yield _risk("t-closeness", name, after_t, "distance", words, before_t)


def _dominance(files: Files, name: str) -> Iterator[Measurement]:
    sides = (files.original, files.released)
    before, after = (risk.dominance(file, keys=files.roles.keys, confidential=name).above(HALF) for file in sides)
    words = "Records in classes of whose total one record has more than half."
    yield _risk("dominance", name, after, "percent", words, before)


def _attribute(files: Files, name: str) -> Iterator[Measurement]:
    found = risk.attribute_disclosure(
        files.original, files.released, keys=files.roles.keys, confidential=name, identifier=files.identifier
    )
    words = "Values that an intruder learns (numbers within 10 percent) by looking up the nearest keys."
    yield _risk("attribute disclosure", name, found.percent, "percent", words)
    yield _risk(
        "attribute guessing", name, found.guessing, "percent", "Values that one guess for everybody gets right."
    )


def _linkage(files: Files) -> Iterator[Measurement]:
    columns = files.roles.keys or files.roles.measured
    about, both = "keys" if files.roles.keys else "all columns", (files.original, files.released)
    near = risk.distance_linkage(*both, columns=columns, identifier=files.identifier)
    words = f"Records linked correctly with the nearest original one; by guessing it would be {near.guessing:.2g}."
    yield _risk("distance linkage", about, near.percent, "percent", words)
    likely = risk.probabilistic_linkage(*both, columns=columns, identifier=files.identifier)
    words = "Records linked correctly by weight of evidence (Fellegi and Sunter)."
    yield _risk("probabilistic linkage", about, likely.percent, "percent", words)


def _aware(files: Files, holdout: Any) -> Iterator[Measurement]:
    columns = files.roles.keys or files.roles.measured
    assert files.method is not None
    found = aware_risk(
        files.original, files.released, method=files.method, columns=columns, by=files.by,
        identifier=files.identifier, holdout=holdout,
    )  # fmt: skip
    words = f"{found.words} Right about {found.percent:.3g} percent of the targets, a guess about {found.guessing:.2g}."
    yield _risk("aware attack", found.attack, found.advantage, "percent", words)


def _worst(findings: Sequence[Measurement]) -> Iterator[Measurement]:
    """The attack that gets most, whether it knows the method or not."""
    measured = [(each.value, each) for each in findings if each.value is not None]
    if measured:
        value, worst = max(measured, key=lambda pair: pair[0])
        name = worst.about if worst.name == "aware attack" else worst.name
        words = "The worst of the linkages and of the attack by an intruder who knows the method."
        yield _risk("worst attack", name, value, "percent", words)


def _intervals(files: Files) -> Iterator[Measurement]:
    found = risk.interval_disclosure(files.original, files.released, columns=files.numeric, identifier=files.identifier)
    words = "Original numbers within 1 to 10 percent of the ranks about the released one."
    yield _risk("interval disclosure", "numbers", found.percent, "percent", words)


def _membership(files: Files, holdout: Any) -> Iterator[Measurement]:
    columns = files.roles.measured
    found = risk.membership(files.original, files.released, holdout, columns=columns)
    words = f"Released records nearer to the original than to the holdout; fair is {found.fair:.3g}."
    yield _risk("nearer to members", "all columns", found.closer, "percent", words)
    words = f"How well members are told from outsiders: 50 is by chance; {found.auc_z:.1f} standard errors from it."
    yield _risk("membership", "all columns", 100 * found.auc, "percent", words)
