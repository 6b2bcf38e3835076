"""A sensitive variable, the variables that could predict it, and what the custodian wants to keep or to protect."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.arrays import Floats
from confide.errors import Mistake, nearest

__all__ = ["Setting", "Target"]


SINGULAR = 1e-10


@dataclass(frozen=True)
class Target:
    """Units whose sensitive values must not be predicted well: their number, or the sum of their weights, and their sums of products.

    Both the target's and the setting's products are taken about the means of all units.
    """

    cross: Floats
    units: float

    def __post_init__(self) -> None:
        if not self.units > 0:
            raise Mistake("A target set needs at least one unit.")


@dataclass(frozen=True)
class Setting:
    """The sums of products about the means, and the columns that each variable has in them.

    A categorical variable has one column for each category but one. `weights` are the R² points that it is worth to
    free a variable; without them, a variable is worth the R² of the sensitive variable on it alone.

    >>> Setting(np.eye(3), {"income": (0,), "age": (1,), "sex": (2,)}, "incom")
    Traceback (most recent call last):
    confide.errors.Mistake: No variable called 'incom'. Did you mean 'income'?
    """

    cross: Floats
    variables: Mapping[str, tuple[int, ...]]
    sensitive: str
    target: Target | None = None
    weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for name in [self.sensitive, *(self.weights or {})]:
            if name not in self.variables:
                raise Mistake(f"No variable called {name!r}.", suggestions=nearest(name, self.variables))
        self._check_columns()
        _check_products(self.cross)
        self._check_singular()
        if self.target is not None:
            self._check_target(self.target)
        if self.weights is not None and not np.all(np.isfinite(list(self.weights.values()))):
            raise Mistake("Weights are R² points. Give finite numbers.")

    @cached_property
    def others(self) -> tuple[str, ...]:
        """The variables that can be freed or suppressed."""
        return tuple(name for name in self.variables if name != self.sensitive)

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each of the other variables."""
        return tuple(tuple(self.variables[name]) for name in self.others)

    @property
    def response(self) -> int:
        return self.variables[self.sensitive][0]

    def _check_columns(self) -> None:
        if len(self.variables[self.sensitive]) != 1:
            raise Mistake(f"{self.sensitive!r} must be a number. A frontier protects one numeric variable.")
        if not self.others:
            raise Mistake(f"There is no variable besides {self.sensitive!r}. Give at least one.")
        columns = [column for block in self.variables.values() for column in block]
        inside = set(columns) <= set(range(len(self.cross)))
        if not inside or len(set(columns)) < len(columns) or not all(self.variables.values()):
            raise Mistake("Every variable needs columns of its own in the cross-product matrix.")

    def _check_singular(self) -> None:
        """Name the first variable that those before it determine; the sensitive variable comes last."""
        order = [column for block in self.blocks for column in block] + [self.response]
        names = [name for name in self.others for _ in self.variables[name]] + [self.sensitive]
        left = _correlation(self.cross)[np.ix_(order, order)]
        for name in names:
            if left[0, 0] < SINGULAR:
                raise Mistake(
                    f"The other variables determine {name!r}.",
                    suggestions=["Leave a variable out, and suppress it if it determines the sensitive one."],
                )
            left = left[1:, 1:] - np.outer(left[0, 1:], left[0, 1:]) / left[0, 0]

    def _check_target(self, target: Target) -> None:
        if target.cross.shape != self.cross.shape:
            raise Mistake("The target's cross-product matrix must have the columns of the whole one.")
        scale = np.sqrt(np.diag(self.cross))
        part = target.cross / np.outer(scale, scale)
        for matrix in (part, _correlation(self.cross) - part):
            if not np.all(np.isfinite(matrix)) or np.linalg.eigvalsh(matrix)[0] < -1e-8:
                raise Mistake("The target must be a part of all units. Centre its products on the means of all units.")


def _correlation(cross: Floats) -> Floats:
    scale = np.sqrt(np.diag(cross))
    return np.asarray(cross / np.outer(scale, scale))


def _check_products(cross: Floats) -> None:
    if cross.ndim != 2 or cross.shape[0] != cross.shape[1] or not np.all(np.isfinite(cross)):
        raise Mistake("A cross-product matrix is square and holds finite numbers.")
    if not np.all(np.diag(cross) > 0):
        raise Mistake("A variable does not vary. Leave constants out.")
    if not np.allclose(_correlation(cross), _correlation(cross).T, atol=1e-9):
        raise Mistake("A cross-product matrix is symmetric.")
    if np.linalg.eigvalsh(_correlation(cross))[0] < -1e-8:
        raise Mistake("This is not a cross-product matrix: it is not positive definite. Use records without gaps.")
