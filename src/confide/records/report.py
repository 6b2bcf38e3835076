"""What protecting the records did, for the custodian: who was exposed, who was touched, what it did to tables and correlations."""

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import ceil

import numpy as np

from confide.arrays import Floats
from confide.engines import Coded
from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset, Role
from confide.records.ceilings.ceiling import TOLD_FROM, Ceiling
from confide.records.cells import UnitCells, parts_of
from confide.records.covers import JOINT, covers
from confide.records.exchanges.exchange import Exchange
from confide.records.exposure import Exposure

__all__ = ["RecordsReport", "ceiling_words", "compare", "highest_ceilings"]

MOST_TABLES = 40
"""At most so many tables of each size are compared, spread over all there are."""


MOST_TOLD = 3
"""So many ceilings, or numbers alike, are told where not all are asked for: a file with twenty numbers has fifty ceilings."""

ROUNDING = 1e-12
"""A number varies if its squares about the mean are more than this share of those about what is usual."""


@dataclass(frozen=True)
class RecordsReport:
    """Figures about true records: for the custodian alone. `margins` are the mean absolute changes of the counts that are not
    empty, of tables by one, two and three variables; `correlation` is the largest change of one."""

    records: int
    exposed: int
    exposed_numbers: dict[str, int]
    sought: dict[str, int]
    touched: dict[str, int]
    touched_at_all: int
    margins: dict[int, float]
    correlation: float
    ceilings: tuple[Ceiling, ...]

    def lines(self) -> list[str]:
        """The report in sentences."""
        return [*self.done(), *map(ceiling_words, self.ceilings)]

    def short(self) -> list[str]:
        """The same with the highest ceilings alone."""
        return [*self.done(), *highest_ceilings(self.ceilings)]

    def done(self) -> list[str]:
        """What was done to the records, and what that did to tables and correlations."""
        said = [
            f"{self.exposed:,} of {self.records:,} records are exposed by their keys; "
            f"{self.touched_at_all:,} exchanged a key ({self.touched_at_all / max(self.records, 1):.1%})."
        ]
        said += [f"  {name}: {count:,} exchanged." for name, count in self.touched.items() if count]
        said += [f"{n:,} records have larger noise in {names}." for n, names in self._noised().items()]
        words = {1: "one variable", 2: "two variables", 3: "three variables"}
        said += [f"Counts by {words[k]} moved by {moved:.2f} on average." for k, moved in self.margins.items()]
        return [*said, f"No correlation of two numbers moved by more than {self.correlation:.3f}."]

    def _noised(self) -> dict[int, str]:
        """By how many records have larger noise, in which numbers: a file may have dozens of them, all alike."""
        alike: dict[int, list[str]] = {}
        for name, count in self.exposed_numbers.items():
            alike.setdefault(count, []).append(repr(name))
        return {count: _listed(names) for count, names in alike.items()}

    def write(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def read(cls, text: str) -> "RecordsReport":
        try:
            raw = json.loads(text)
            raw["ceilings"] = tuple(Ceiling(**one) for one in raw["ceilings"])
            raw["margins"] = {int(size): moved for size, moved in raw["margins"].items()}
            return cls(**raw)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Mistake("The report on the records cannot be read.", suggestions=["Protect them anew."]) from None


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_TOLD
    return f"{', '.join(names[:MOST_TOLD])} and {more} more" if more > 0 else ", ".join(names)


def ceiling_words(ceiling: Ceiling) -> str:
    """A ceiling as a sentence that a respondent can read."""
    whom = "a newcomer" if ceiling.newcomers else "a unit"
    whom += f" exposed on {ceiling.keys} keys or fewer" if ceiling.keys else " that dominates a total"
    file = "the protected files before and after" if ceiling.newcomers else "the whole protected file"
    what = f"{ceiling.variable!r} to within 10 %" if ceiling.number else f"the class of {ceiling.variable!r}"
    rest = "" if ceiling.number else f", statistics on the others in {ceiling.others:.0%}"
    return (
        f"Ceiling: whoever had {file} would know {what} of {whom} in {ceiling.right:.0%} of {_cases(ceiling)}; "
        f"the best guess is right in {ceiling.guess:.0%}{rest}."
    )


def _cases(ceiling: Ceiling) -> str:
    """So few cases say how few they are: a share of two of them says little."""
    return f"{ceiling.exposed} cases" if ceiling.exposed < TOLD_FROM else "cases"


def highest_ceilings(ceilings: Sequence[Ceiling]) -> list[str]:
    """The ceilings furthest above what could be guessed, those of a few cases last, and how many others there are."""
    ordered = sorted(ceilings, key=lambda ceiling: (ceiling.exposed < TOLD_FROM, -ceiling.lift))
    told = len(ordered) if len(ordered) <= MOST_TOLD + 1 else MOST_TOLD
    left = len(ordered) - told
    rest = [f"{left} more ceilings, lower or of fewer cases: see confide records."] if left else []
    return [*map(ceiling_words, ordered[:told]), *rest]


def compare(
    true: Coded,
    protected: Coded,
    dataset: Dataset,
    exposure: Exposure,
    plans: Sequence[Exchange],
) -> RecordsReport:
    """The report on what was done to records; ceilings are found apart."""
    touched = np.zeros(true.records.num_rows, bool)
    for plan in plans:
        touched[plan.rows] = True
    return RecordsReport(
        records=true.records.num_rows,
        exposed=int(exposure.exposed.sum()),
        exposed_numbers={name: int(rows.sum()) for name, rows in exposure.numbers.items()},
        sought={plan.trait.name: plan.sought for plan in plans},
        touched={plan.trait.name: len(plan.rows) for plan in plans},
        touched_at_all=int(touched.sum()),
        margins=_moved(true, protected, dataset),
        correlation=_largest_change(true, protected, dataset),
        ceilings=(),
    )


def _moved(true: Coded, protected: Coded, dataset: Dataset) -> dict[int, float]:
    """How far counts moved, over tables by one, two and three coarse variables; classes of noised numbers are left out."""
    shown = [v for v in dataset.variables.values() if v.classifies and v.role is not Role.CONFIDENTIAL]
    coarse = dict.fromkeys(dataset.levels(v.name)[0].name for v in shown)
    before, after = UnitCells(true, dataset), UnitCells(protected, dataset)
    sizes = {name: before.size((name,)) for name in coarse}
    moved, cells = (dict.fromkeys((1, 2, 3), 0) for _ in range(2))
    for cover in covers(itertools.chain(*(_some(coarse, size) for size in moved)), sizes, JOINT):
        shape = [sizes[name] for name in cover.variables]
        was, now = (cells_of.counts(cover.variables).reshape(shape) for cells_of in (before, after))
        for table in cover.tables:
            old, new = (counts.sum(axis=cover.left_out(table)) for counts in (was, now))
            moved[len(table)] += int(np.abs(new - old).sum())
            cells[len(table)] += int(((old > 0) | (new > 0)).sum())
    return {size: moved[size] / max(cells[size], 1) for size in moved}


def _some(names: Iterable[str], size: int) -> list[tuple[str, ...]]:
    """The tables of a size that are compared."""
    tables = list(itertools.combinations(names, size))
    return tables[:: max(1, ceil(len(tables) / MOST_TABLES))]


def _largest_change(true: Coded, protected: Coded, dataset: Dataset) -> float:
    """Of the correlations of two numbers."""
    names = [v.name for v in dataset.variables.values() if v.measurable and v.role is not Role.IDENTIFIER]
    if len(names) < 2 or true.records.num_rows <= 2:
        return 0.0
    before, after = (_correlations(coded, names) for coded in (true, protected))
    return float(np.abs(np.nan_to_num(after - before)).max())


def _correlations(coded: Coded, names: Sequence[str]) -> Floats:
    """Of every two numbers, over the records that have both; NaN where one does not vary, or hardly any are there."""
    sums, squares, products, both = (np.zeros((len(names), len(names))) for _ in range(4))
    usual: Floats | None = None
    for part in parts_of(coded.records.num_rows):
        values = np.array([coded.numbers(name, part) for name in names])
        there = np.isfinite(values)
        if (
            usual is None
        ):  # numbers are added up beside what is usual, or large ones would leave no digits for how they vary
            usual = np.where(there, values, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
        off, known = np.where(there, values - usual[:, np.newaxis], 0.0), there.astype(np.float64)
        both += known @ known.T
        sums += off @ known.T
        squares += off**2 @ known.T
        products += off @ off.T
    each = np.maximum(both, 1)
    spread = np.clip(squares - sums**2 / each, 0.0, None)
    scale, varies = np.sqrt(spread * spread.T), spread > ROUNDING * squares
    able = (both > 2) & varies & varies.T & (scale > 0)
    found: Floats = np.divide(products - sums * sums.T / each, scale, out=np.full(both.shape, np.nan), where=able)
    return found
