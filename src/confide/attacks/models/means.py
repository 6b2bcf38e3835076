"""Means of a number by classes: what is published, and what models with a covariate beside the class say."""

import numpy as np

from confide.arrays import Floats
from confide.attacks.choosing import codes, keys, size
from confide.attacks.claims import NotApplicable
from confide.attacks.intruder import Intruder, values
from confide.attacks.models.reading import Fit, fit_of, quoted
from confide.model.catalog.dataset import Dataset, Role

__all__ = ["ask_means", "class_key", "covariates", "mean_table"]


def covariates(book: Dataset, secret: str) -> list[str]:
    """Numbers to stand beside a class: those that may be a response first; confidential ones never."""
    roles = (Role.OTHER, Role.KEY)
    found = [v for v in book.variables.values() if v.measurable and v.role in roles and v.name != secret]
    return [v.name for v in sorted(found, key=lambda v: v.role is Role.KEY)]


def class_key(book: Dataset) -> str:
    """The key of second most classes: that of most is often geography, which says less of a number."""
    found = [v.name for v in keys(book) if not v.measurable and size(v) > 2]
    if not found:
        raise NotApplicable("No key has more than two classes.")
    return found[min(1, len(found) - 1)]


def mean_table(intruder: Intruder, *by: str, of: str) -> Floats:
    """The published means by classes: the overall mean where one is withheld, nothing if the table is refused."""
    table = intruder.table(*by, measure="mean", of=of)
    if table is None:
        return np.full([len(codes(intruder.book, name)) for name in by], np.nan)
    cube = table.columns["mean"].values
    return np.where(np.isfinite(values(table, "mean")), values(table, "mean"), cube[(-1,) * cube.ndim])


def ask_means(intruder: Intruder, number: str, classes: str, covariate: str = "") -> Fit | None:
    """The model of a number by classes, with a covariate or without."""
    beside = f" + {quoted(covariate)}" if covariate else ""
    return fit_of(intruder.regression(f"{quoted(number)} ~ {quoted(classes)}{beside}"))
