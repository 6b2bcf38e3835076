"""What in a description written by hand looks as a draft would not write it: by the names and codes that it declares alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.site.profiling import codes as said
from confide.site.profiling import names

__all__ = ["Suspicion", "suspicions"]


@dataclass(frozen=True)
class Suspicion:
    """What may be wrong, in words, how bad that is, and the variables it is said of."""

    kind: str
    words: str
    variables: tuple[Variable, ...]


def suspicions(dataset: Dataset) -> Iterator[Suspicion]:
    """Everything in a description that a custodian should look at again."""
    shown = [v for v in dataset.variables.values() if v.role is not Role.IDENTIFIER]
    replicate = names.replicates([v.name for v in shown])
    for kind, words, holds in _checks(dataset, replicate):
        found = tuple(v for v in shown if holds(v))
        if found:
            yield Suspicion(kind, words, found)
    yield from _spellings(shown)
    homes = [v for v in dataset.variables.values() if v.role is Role.IDENTIFIER and names.of_household(v.name)]
    if homes and dataset.household is None and homes[0].name != dataset.unit:
        yield Suspicion("missing", "seems to name households, and no household is declared", tuple(homes[:1]))
    if shown and not any(v.classifies and v.role is not Role.KEY for v in shown):
        yield Suspicion("note", "all codes are keys, so none can be the response of a model", ())


def _checks(dataset: Dataset, replicate: set[str]) -> list[tuple[str, str, Callable[[Variable], bool]]]:
    return [
        ("risky", "sounds like an identifier, and is shown", lambda v: v.of is None and names.of_unit(v.name)),
        ("risky", "numbers the records, by its name, and is shown", lambda v: names.of_index(v.name)),
        ("risky", "replicate weights tell who was sampled together, and are shown", lambda v: v.name in replicate),
        (
            "risky",
            "sounds like a weight, and is shown",
            lambda v: v.numeric and names.of_weight(v.name, v.label) and v.name not in replicate,
        ),
        ("risky", "a stratum or sampling unit, by its name, and is shown", lambda v: names.of_design(v.name, v.label)),
        ("risky", 'exact dates are codes (dates = "year" tells less)', lambda v: said.dates(_codes(v))),
        ("risky", "codes as long as remarks, which may be free text", lambda v: said.long_texts(_codes(v))),
        ("missing", "codes by their name, and declared as a number", lambda v: v.measurable and names.of_code(v.name)),
        ("missing", "codes that probably mean missing are not declared so", lambda v: bool(_lost(v))),
        ("missing", "a minimum that probably means missing", lambda v: v.numeric and _low(v)),
        ("note", "one code only, so that it tells nothing", lambda v: not v.numeric and len(_codes(v)) == 1),
    ]


def _codes(variable: Variable) -> list[str]:
    """The codes that are classes; bins are none."""
    return [] if variable.numeric else [code.code for code in variable.codes or () if not code.missing]


def _lost(variable: Variable) -> list[str]:
    """The codes that probably mean missing. Whom a question does not concern may stand beside one class: all whom it does."""
    codes, labels = _codes(variable), {c.code: c.label for c in variable.codes or ()}
    found = said.sentinels(codes, labels)
    if len(codes) == 2:
        found = [code for code in found if not (said.says_not_asked(code) or said.says_not_asked(labels[code]))]
    return found if len(found) < len(codes) else []


def _low(variable: Variable) -> bool:
    return variable.minimum is not None and said.sets_apart(variable.minimum)


def _spellings(shown: list[Variable]) -> Iterator[Suspicion]:
    for variable in shown:
        for group in said.variants(_codes(variable)):
            some = ", ".join(map(repr, group[:4]))
            yield Suspicion(
                "missing", f"one class in several spellings ({some}); make one code with synonyms", (variable,)
            )
