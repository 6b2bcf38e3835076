"""The utility of a report, and the score."""

from collections.abc import Iterator
from functools import partial

from confide.measures import utility
from confide.measures.reports.findings import Measurement, attempted
from confide.measures.roles import Files
from confide.measures.scores import score

__all__ = ["losses", "scored"]

PARTS = {
    "values": "Mean variation of the values themselves.",
    "means": "Mean variation of means.",
    "covariances": "Mean variation of covariances.",
    "variances": "Mean variation of variances.",
    "correlations": "Mean absolute error of correlations, times 100.",
    "loadings": "Mean variation of the correlations with principal components.",
    "communalities": "Mean variation of what the first component explains.",
    "scores": "Mean variation of score coefficients.",
}


def losses(files: Files) -> Iterator[Measurement]:
    """Every loss that these roles and files allow to be measured."""
    finder = partial(attempted, "utility")
    if files.numeric and files.paired:
        yield from finder("information loss", "numbers", partial(_matrices, files))
    if files.numeric:
        yield from finder("probabilistic loss", "numbers", partial(_probabilistic, files))
    if files.categorical and files.paired:
        yield from finder("changes", "categories", partial(_changes, files))
    coded = tuple(name for name, kind in files.kinds.items() if kind != "numbers")
    if coded and files.paired:
        yield from finder("entropy loss", "categories", partial(_entropy, files, coded))
    if files.categorical:
        yield from finder("tables", "categories", partial(_tables, files))
    yield from _whole(files)
    for name in files.roles.confidential:
        if (
            name in files.numeric
            and set(files.roles.keys) <= set(files.numeric + files.categorical)
            and files.roles.keys
        ):
            yield from finder("regression overlap", name, partial(_regression, files, name))
    for name in (key for key in files.roles.keys if key in files.categorical and files.numeric):
        yield from finder("subdomains", name, partial(_subdomains, files, name))


def _loss(name: str, about: str, value: float, meaning: str, unit: str = "percent") -> Measurement:
    return Measurement("utility", name, about, value, unit, meaning)


def _matrices(files: Files) -> Iterator[Measurement]:
    found = utility.discrepancies(
        files.original, files.released, columns=files.numeric, weight=files.roles.weight, identifier=files.identifier
    )
    about = "numbers"
    yield _loss("information loss", about, found.loss, "The mean of the next five (Domingo-Ferrer and Torra).")
    for part, words in PARTS.items():
        one = getattr(found, part)
        yield _loss(part, about, 100 * (one.absolute if part == "correlations" else one.variation), words)


def _probabilistic(files: Files) -> Iterator[Measurement]:
    found = utility.probabilistic_loss(files.original, files.released, columns=files.numeric, weight=files.roles.weight)
    words = "How far statistics moved, seen against sampling error: 68 is one standard error, 100 far out."
    yield _loss("probabilistic loss", "numbers", found.percent, words)


def _changes(files: Files) -> Iterator[Measurement]:
    found = utility.changes(
        files.original,
        files.released,
        columns=files.categorical,
        weight=files.roles.weight,
        identifier=files.identifier,
    )
    about = "categories"
    yield _loss("suppressed", about, float(found.suppressed.mean()), "Categories that were made missing.")
    yield _loss("changed", about, float(found.changed.mean()), "Categories that became another one.")


def _entropy(files: Files, names: tuple[str, ...]) -> Iterator[Measurement]:
    found = utility.entropy_loss(
        files.original, files.released, columns=names, weight=files.roles.weight, identifier=files.identifier
    )
    words = "Information about the original categories that the released ones do not give."
    yield _loss("entropy loss", "categories", found.percent, words)


def _tables(files: Files) -> Iterator[Measurement]:
    names, weight = files.categorical, files.roles.weight
    found = utility.table_distance(files.original, files.released, columns=names, weight=weight)
    yield _loss("tables", "categories", found, "Records in another cell of one- and two-way tables.")


def _whole(files: Files) -> Iterator[Measurement]:
    names = files.numeric + files.categorical
    about, both = "all columns", (files.original, files.released)
    if not names:
        return
    distance = utility.hellinger(*both, columns=names, weight=files.roles.weight)
    yield _loss("Hellinger distance", about, distance.percent, "Mean distance of the distributions of columns.")
    finder = partial(attempted, "utility")
    yield from finder("propensity", about, partial(_propensity, files, names))


def _propensity(files: Files, names: tuple[str, ...]) -> Iterator[Measurement]:
    found = utility.propensity(files.original, files.released, columns=names)
    about, words = (
        "all columns",
        "pMSE in percent of its largest value: how well a model of main effects tells the files apart.",
    )
    yield _loss("propensity", about, found.percent, words)
    yield _loss("pMSE ratio", about, found.ratio, "pMSE over its mean for a perfect synthetic file.", "ratio")


def _regression(files: Files, name: str) -> Iterator[Measurement]:
    found = utility.regression_overlap(
        files.original, files.released, response=name, predictors=files.roles.keys, weight=files.roles.weight
    )
    words = "Overlap of the confidence intervals of a regression on the keys: 100 is the same, 0 nothing in common."
    yield _loss("regression overlap", name, found.percent, words)


def _subdomains(files: Files, name: str) -> Iterator[Measurement]:
    found = utility.subdomains(
        files.original, files.released, by=name, columns=files.numeric, weight=files.roles.weight
    )
    words = "Parts of the file in which means vary by at most 10 percent: high is good."
    yield _loss("valid subdomains", name, found.valid(10), words)


def scored(files: Files) -> Iterator[Measurement]:
    """The score of the numbers of a paired file."""
    if not files.numeric or not files.paired:
        return
    yield from attempted("score", "score", "numbers", partial(_scored, files))


def _scored(files: Files) -> Iterator[Measurement]:
    about = "numbers"
    found = score(
        files.original, files.released, columns=files.numeric, identifier=files.identifier, method=files.method,
        by=files.by,
    )  # fmt: skip
    words = "Numbers linked by distance and by evidence, and disclosed by intervals, if an intruder knows all of them"
    words += "." if found.aware is None else ", and how they were masked."
    yield Measurement("score", "disclosure risk", about, found.risk, "percent", words)
    words = "The mean of information loss and this disclosure risk (Domingo-Ferrer and Torra): low is good."
    yield Measurement("score", "score", about, found.value, "percent", words)
