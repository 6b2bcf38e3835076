"""What an honest analyst gets, in figures: shares answered, errors, suggestions, margins; as data and as one sentence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from confide.arrays import Floats
from confide.attacks.workload.errors import Deviations
from confide.attacks.workload.generator import kind_of
from confide.attacks.workload.proportions import KINDS
from confide.model.request import Request

__all__ = ["Asked", "ErrorSummary", "MarginSummary", "ShareAnswered", "Usefulness", "median_error"]

MEASURED = (
    "counts",
    "shares",
    "weighted counts",
    "totals",
    "means",
    "deviations",
    "quantiles",
    "coefficients",
    "correlations",
    "percentages",
    "ratios",
    "index numbers",
    "standard errors",
    "coefficients of classes",
    "coefficients by design",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Asked:
    """One question and what came of it."""

    request: Request[Any]
    answered: bool
    rules: tuple[str, ...] = ()
    mistake: str = ""
    offered: int = 0
    """Suggestions that came with a refusal."""
    passed: int = 0
    """Suggestions that were answered."""
    errors: tuple[tuple[str, Deviations], ...] = ()
    margins: tuple[tuple[str, int, int], ...] = ()
    cells: int = 0
    withheld: int = 0

    @property
    def kind(self) -> str:
        return kind_of(self.request)

    @property
    def conditions(self) -> int:
        """How many variables define the universe."""
        return len(self.request.where.variables)


@dataclass(frozen=True)
class ShareAnswered:
    """How many questions of a kind, with so many universe variables or any (None), were answered."""

    kind: str
    conditions: int | None
    asked: int
    answered: int

    @property
    def share(self) -> float:
        return self.answered / self.asked if self.asked else 0.0


@dataclass(frozen=True)
class ErrorSummary:
    """Errors of numbers of one sort in units of their sampling errors, over all questions, each of which counts the same."""

    of: str
    questions: int
    numbers: int
    median: float
    ninth_decile: float
    relative: float
    """The median of the errors as shares of the truth."""


@dataclass(frozen=True)
class MarginSummary:
    """How many margins lie outside the range of their parts."""

    of: str
    margins: int
    outside: int


@dataclass(frozen=True, kw_only=True)
class Usefulness:
    """What an honest analyst gets of one data set under one policy."""

    dataset: str
    policy: str
    source: str
    """Where the questions are from: "generated" or "ledger"."""
    seed: int | None
    sizes: str
    """How universes of at least 1 % of the units were known: from the "truth" or from "published" tables."""
    aside: Mapping[str, int]
    """Drafts that were set aside: too few have the "numbers", or the model or correlation is "unfit", protection aside."""
    asked: int
    answered: int
    kinds: tuple[ShareAnswered, ...]
    conditions: tuple[ShareAnswered, ...]
    rules: Mapping[str, int]
    refused: int
    mistakes: int
    offered: int
    """Refusals that came with a suggestion."""
    led_on: int
    """Refusals with a suggestion that was answered."""
    errors: tuple[ErrorSummary, ...]
    margins: tuple[MarginSummary, ...]
    cells: int
    withheld: int
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, asked: Sequence[Asked], **more: Any) -> "Usefulness":
        """From all questions and what came of them."""
        refused = [one for one in asked if one.rules]
        return cls(
            asked=len(asked),
            answered=sum(one.answered for one in asked),
            kinds=tuple(_shares(asked)),
            conditions=tuple(_shares(asked, by_conditions=True)),
            rules=dict(Counter(rule for one in refused for rule in dict.fromkeys(one.rules)).most_common()),
            refused=len(refused),
            mistakes=sum(bool(one.mistake) for one in asked),
            offered=sum(one.offered > 0 for one in refused),
            led_on=sum(one.passed > 0 for one in refused),
            errors=tuple(_errors(asked)),
            margins=tuple(_margins(asked)),
            cells=sum(one.cells for one in asked),
            withheld=sum(one.withheld for one in asked),
            **more,
        )

    def error(self, of: str) -> ErrorSummary | None:
        return next((error for error in self.errors if error.of == of), None)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def sentence(self) -> str:
        """All of it in one line.

        >>> none = dict.fromkeys(("kinds", "conditions", "errors", "margins"), ())
        >>> zero = dict.fromkeys(("answered", "refused", "mistakes", "offered", "led_on", "cells", "withheld"), 0)
        >>> about = {"dataset": "people", "policy": "", "source": "", "seed": 1, "sizes": "", "rules": {}, "aside": {}}
        >>> Usefulness(asked=9, **none, **zero, **about).sentence()
        'people: of 9 honest questions 0 are answered.'
        """
        shares = ", ".join(f"{s.kind} {100 * s.share:.0f} %" for s in self.kinds)
        answered = f"of {self.asked} honest questions {self.answered} are answered" + (f" ({shares})" if shares else "")
        near = [f"{e.of} by {e.median:.1f}" for e in self.errors if e.of in ("counts", "means", "coefficients")]
        off = f"; {_listed(near)} sampling errors (median)".replace(" by", " are off by", 1) if near else ""
        return f"{self.dataset}: {answered}{off}."


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _shares(asked: Sequence[Asked], *, by_conditions: bool = False) -> Iterator[ShareAnswered]:
    found: dict[tuple[str, int | None], list[bool]] = {}
    for one in asked:
        found.setdefault((one.kind, one.conditions if by_conditions else None), []).append(one.answered)
    known = {kind: place for place, kind in enumerate(KINDS)}
    for kind, conditions in sorted(found, key=lambda key: (known.get(key[0], len(known)), key[0], key[1] or 0)):
        outcomes = found[kind, conditions]
        yield ShareAnswered(kind, conditions, len(outcomes), sum(outcomes))


def _errors(asked: Iterable[Asked]) -> Iterator[ErrorSummary]:
    by: dict[str, list[Deviations]] = {}
    for one in asked:
        for name, found in one.errors:
            if len(found.ratio):
                by.setdefault(name, []).append(found)
    for name in MEASURED:
        if name in by:
            median, ninth = _quantiles([d.ratio for d in by[name]], (0.5, 0.9))
            [relative] = _quantiles([d.relative for d in by[name]], (0.5,))
            numbers = sum(len(d.ratio) for d in by[name])
            yield ErrorSummary(name, len(by[name]), numbers, median, ninth, relative)


def _quantiles(samples: Sequence[Floats], levels: Sequence[float]) -> list[float]:
    """Quantiles of all values, each sample with the same weight however many it has."""
    kept = [values for sample in samples if len(values := sample[np.isfinite(sample)])]
    if not kept:
        return [0.0 for _ in levels]
    values = np.concatenate(kept)
    weights = np.concatenate([np.full(len(sample), 1 / len(sample)) for sample in kept])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    places = np.searchsorted(reached, np.array(levels) * reached[-1] * (1 - 1e-12))
    return [float(value) for value in values[order][places]]


def _margins(asked: Iterable[Asked]) -> Iterator[MarginSummary]:
    of: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    for one in asked:
        for name, wrong, number in one.margins:
            of[name] += number
            outside[name] += wrong
    yield from (MarginSummary(name, of[name], outside[name]) for name in MEASURED if of[name])


def median_error(asked: Iterable[Asked]) -> float:
    """The median error of all numbers in units of their sampling errors, each question and sort of number with one weight."""
    return _quantiles([found.ratio for one in asked for _, found in one.errors], (0.5,))[0]
