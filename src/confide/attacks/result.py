"""What an attack achieved, scored against the truth."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any

__all__ = ["Result"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """One attack on one data set under one policy.

    `success` is the share of all targets about whom the intruder is right in the end: by the claim where one was made, by
    the best guess where none was. `guess` is the same by the best guess alone; `others` the same for the attack on the
    site without the targets: what is learnt there is learnt from other people, which is statistics. None: not to be had.
    """

    attack: str
    code: str
    words: str
    targets: int = 0
    claimed: int = 0
    right: int = 0
    success: float = 0.0
    guess: float = 0.0
    others: float | None = None
    questions: int = 0
    refusals: int = 0
    rules: Mapping[str, int] = field(default_factory=dict)
    curve: tuple[tuple[int, float], ...] = ()
    """Success by the number of questions."""
    notes: tuple[str, ...] = ()
    stopped: str = ""
    """Why the attack could not be carried to its end, or why it does not apply."""
    applies: bool = True
    seconds: float = 0.0

    @property
    def claim_rate(self) -> float:
        return self.claimed / self.targets if self.targets else 0.0

    @property
    def precision(self) -> float:
        """The share of claims that are right."""
        return self.right / self.claimed if self.claimed else 0.0

    @property
    def lift(self) -> float:
        """How much more often the intruder is right than guessing, or other people's data, explain."""
        return self.success - max(self.guess, self.others or 0.0) if self.targets else 0.0

    @property
    def standard_error(self) -> float:
        """Of the success, as a share of so many targets."""
        return sqrt(self.success * (1 - self.success) / self.targets) if self.targets else 0.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> "Result":
        tuples = {"curve": tuple((int(a), float(b)) for a, b in raw["curve"]), "notes": tuple(raw["notes"])}
        return cls(**{**raw, **tuples})
