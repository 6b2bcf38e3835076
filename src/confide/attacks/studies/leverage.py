"""R1 and R2, predictors made for one person: the fitted value is that person's (Gomatam et al. 2005; Bleninger et al. 2011)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.arrays import Bools, Floats
from confide.attacks.studies.study import StudyResult, figures

__all__ = ["HighLeverage"]


@dataclass(frozen=True)
class HighLeverage:
    """A server that answers any least squares of y on 1, x and a predictor z of the intruder's, exactly.

    outlier: z = 1 / (|x - x0| + eps), for a target whose x is known and alone. dummy: z is 1 for the target. three values: z is 0 or 1
    by a common variable and 10^9 for the target, where dummies are looked at and numbers are not. weight: no z, and a
    weight of 10^9 for the target.
    """

    title: ClassVar[str] = "Predictors made for one person"
    source: ClassVar[str] = "Gomatam et al. 2005; Bleninger et al. 2011"

    people: int = 2_000
    eps: float = 1e-8
    targets: int = 200
    seed: int = 1

    def run(self) -> StudyResult:
        """The median relative error of the fitted value at the target."""
        rng = np.random.default_rng(self.seed)
        x, noise = rng.lognormal(3, 1, self.people), rng.lognormal(0, 0.7, self.people)
        y, common = 100 * x**0.8 * noise, rng.random(self.people) < 0.5
        errors = np.array([self._errors(x, y, common, target) for target in range(self.targets)])
        words = ("outlier", "dummy", "three values", "weight")
        return StudyResult(
            self.title, figures("relative error", dict(zip(words, np.median(errors, axis=0), strict=True)))
        )

    def _errors(self, x: Floats, y: Floats, common: Bools, target: int) -> list[float]:
        one, even = np.arange(len(x)) == target, np.ones(len(x))
        outlier = 1 / (abs(x - x[target]) + self.eps)
        three = np.where(one, 1e9, common)
        told = [_fitted([x, z], y, even)[target] for z in (outlier, one, three)]
        told.append(_fitted([x], y, np.where(one, 1e9, 1.0))[target])
        return [abs(value - y[target]) / y[target] for value in told]


def _fitted(predictors: list[Floats], y: Floats, weights: Floats) -> Floats:
    """Weighted least squares with a constant, by QR: exact as far as doubles are."""
    design = np.column_stack([np.ones(len(y)), *predictors])
    design = design / abs(design).max(axis=0)
    root = np.sqrt(weights)
    orthogonal, upper = np.linalg.qr(design * root[:, None])
    fitted: Floats = design @ np.linalg.solve(upper, orthogonal.T @ (root * y))
    return fitted
