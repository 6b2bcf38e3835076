"""What protection has at hand: the policy, and everything that is drawn from the secret."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from confide.answering.mechanisms.additive import additive, restores
from confide.answering.mechanisms.counts import CellKey
from confide.answering.mechanisms.decision import DecisionNoise
from confide.answering.mechanisms.magnitudes import Magnitudes
from confide.errors import Mistake
from confide.model.policy import Policy
from confide.site.draws import Draws
from confide.site.secret import Secret

__all__ = ["Shield"]


@dataclass(frozen=True)
class Shield:
    """The mechanisms of a policy under a secret. It knows no data.

    `by_unit` is for people whose households may be asked about too (see `Draws`).
    """

    policy: Policy
    secret: Secret
    by_unit: bool = False

    @property
    def draws(self) -> Draws:
        return Draws(self.secret, self.by_unit)

    @property
    def decision(self) -> DecisionNoise:
        """The noise of the counts that rules look at."""
        return DecisionNoise(self.policy.universe, self.draws)

    @property
    def counts(self) -> CellKey:
        return CellKey(self.policy.counts)

    @property
    def totals(self) -> Magnitudes:
        return Magnitudes(self.policy.totals)

    def prepare(self) -> None:
        """Make ready what the mechanisms need: one that cannot be carried out is a Mistake now, not in an answer."""
        policy = self.policy
        parts: dict[str, Callable[[], object]] = {
            "counts.distance, counts.variance, counts.small and counts.stay": lambda: self.counts.matrix,
            "universe.noise_distance and universe.noise_variance": lambda: self.decision.matrix,
            "tables.additive and the fields of counts": lambda: (
                additive(np.zeros((2, 2)), policy.counts, self.secret) if restores(policy, (2, 2)) else None
            ),
            "the fields of totals": lambda: (self.totals.mechanism, self.totals.tests),
        }
        for names, make in parts.items():
            try:
                make()
            except Mistake as mistake:
                raise Mistake(f"In the policy, {names} do not go together. {mistake}") from None
