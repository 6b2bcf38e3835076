"""Predictors, and variables to correlate, that are classes of a number that carries noise."""

from dataclasses import dataclass

from confide.answering.regressions.compile import Levels
from confide.answering.regressions.misclassification import apart, noisy_classes
from confide.answering.regressions.sums import Sums
from confide.arrays import Floats
from confide.model.design import Number

__all__ = ["NoisyPredictor", "noisy_predictor"]


@dataclass(frozen=True)
class NoisyPredictor:
    """What is said of it, in a model and elsewhere, and what tells its classes `apart` as true ones would be, if that can be had."""

    put_right: str
    left: str
    apart: Floats | None

    @property
    def words(self) -> str:
        """What is said of it in a model."""
        return self.left if self.apart is None else self.put_right


def noisy_predictor(
    name: str, levels: Levels, sums: Sums, *, complete: tuple[Number, ...] = ()
) -> NoisyPredictor | None:
    """What noise does to a variable that enters by its classes; none if it moves nobody between them."""
    dataset = sums.selection.dataset
    places = [level + 1 for level in levels.map(len(dataset.classifier(name).codes or ()))]
    noisy = noisy_classes(name, places, dataset, sums.selection.facts.noise, sums.shield.policy.records)
    if noisy is None:
        return None
    in_truth = noisy.in_truth(sums.published_counts(noisy.name, complete=complete))
    said = [noisy.words_of_predictor(name, in_truth, put_right=right) for right in (True, False)]
    return NoisyPredictor(said[0], said[1], apart(in_truth))
