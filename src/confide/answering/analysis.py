"""A kind of question as one object: how it is admitted, gathered, protected, judged and released."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from confide.answering.rules.rule import Rule
from confide.answering.universe.resolve import Resolved
from confide.model.catalog.dataset import Dataset
from confide.model.request import Request

if TYPE_CHECKING:
    from confide.answering.mechanisms.safe.base import Base
    from confide.answering.selection import Selection
    from confide.answering.shield import Shield

__all__ = ["Admitted", "Analysis", "Near", "ReleaseFacts"]

Q = TypeVar("Q", bound=Request[Any])
Q_co = TypeVar("Q_co", bound=Request[Any], covariant=True)
E = TypeVar("E")
P = TypeVar("P")


@dataclass(frozen=True)
class Admitted(Generic[Q_co]):
    """A question that fits the codebook of its data set. Only `Road.admit` makes one, so it is admitted once.

    `base` are the variables of the protected base that counts come from, if they come from one.
    """

    request: Q_co
    dataset: Dataset
    universe: Resolved
    base: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Near(Generic[Q_co]):
    """A question near a refused one, and the words for the way to it."""

    words: str
    request: Q_co


@dataclass(frozen=True)
class ReleaseFacts:
    """What every release says of itself, whatever was asked."""

    title: str
    scope: str
    policy: str
    receipt: str
    source: str


class Analysis(Protocol[Q, E, P]):
    """One kind of question. Adding one is a module that implements this, and a request: the road never asks which it has.

    `E` is its evidence (true numbers, which nothing outside `answering` sees), `P` what it has protected, which its rules
    look at and its release is made of.
    """

    @property
    def kind(self) -> type[Q]:
        """The requests it answers."""

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules that concern such requests, in the order in which they are told."""

    def admit(self, request: Q, dataset: Dataset) -> Q:
        """The request as it will be considered; a Mistake if it does not fit the codebook. Looks at public metadata only."""

    def cross(self, question: Admitted[Q]) -> Sequence[tuple[str, ...]]:
        """The sets of class variables that the question addresses together, each as `cross_of` gives it."""

    def gather(self, question: Admitted[Q], selection: "Selection", shield: "Shield") -> E:
        """The true numbers that the question needs; what to ask for is decided on protected numbers alone."""

    def protect(self, question: Admitted[Q], evidence: E, shield: "Shield") -> P:
        """Protected numbers."""

    def read(self, question: Admitted[Q], base: "Base", shield: "Shield") -> P | None:
        """The answer from a protected base alone, which no rule on universes need guard; None if it needs the records too."""

    def release(self, question: Admitted[Q], protected: P, facts: ReleaseFacts, *, diagnostics: bool) -> Any:
        """What leaves; with its diagnostics if they are wanted, which only a diagnosable kind has."""

    def instead(self, question: Admitted[Q], protected: P) -> Near[Q] | None:
        """What to answer in place of a question, if that may be asked, and the words that say so; most often nothing else."""

    def near(self, question: Admitted[Q]) -> Iterator[Near[Any]]:
        """What to ask instead, of this kind or another, nearest first. Found from public metadata alone."""
