"""T9, deterministic rounding: groups of known size push a rounded count over its edge."""

from dataclasses import dataclass
from typing import ClassVar

from confide.attacks.studies.study import StudyResult, figures

__all__ = ["DeterministicRounding"]


@dataclass(frozen=True)
class DeterministicRounding:
    """Counts rounded to the nearest multiple of a base; the intruder joins the cell with people they know not to be in it.

    The rounded count leaves `base` values. Each further question joins so many known people that half of those values would be
    rounded up: a search by halving, 1 + log2(base) questions in all.
    """

    title: ClassVar[str] = "Deterministic rounding"
    source: ClassVar[str] = "search by halving"

    bases: tuple[int, ...] = (3, 5, 10, 20)
    largest: int = 500

    def run(self) -> StudyResult:
        """For each base the share of the counts 0 to `largest` that are found exactly, and the most questions it took."""
        told = {str(base): [_search(count, base) for count in range(self.largest + 1)] for base in self.bases}
        exact = {case: sum(c == got for c, (got, _) in enumerate(found)) / len(found) for case, found in told.items()}
        most = {case: max(questions for _, questions in found) for case, found in told.items()}
        return StudyResult(
            self.title, (*figures("counts exact, by base", exact), *figures("questions at most, by base", most))
        )


def _search(count: int, base: int) -> tuple[int, int]:
    """What the intruder finds of a count, asking only for rounded counts of it with known people; and how often they asked."""
    shown, questions = _rounded(count, base), 1
    low, high = max(0, shown - base // 2), shown + (base - 1) // 2
    while low < high:
        middle = (low + high + 1) // 2
        # With so many more, `middle` and all above it are rounded to another multiple than all below it.
        known = (-middle - base // 2) % base
        questions += 1
        if _rounded(count + known, base) >= _rounded(middle + known, base):
            low = middle
        else:
            high = middle - 1
    return low, questions


def _rounded(count: int, base: int) -> int:
    return (count + base // 2) // base * base
