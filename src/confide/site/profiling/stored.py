"""What the records of a description written by hand look like: what a draft would have seen in its columns."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from confide.engines import Coded
from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.site.profiling import codes as said
from confide.site.profiling import names
from confide.site.profiling.column import EVIDENCE, FEW, ProfiledColumn, amount_sentinels
from confide.site.profiling.relations import bands, duplicates
from confide.site.profiling.suspicions import Suspicion
from confide.site.profiling.zeros import filled_zeros

__all__ = ["suspicions_of_records"]

SAMPLED = 200_000
"""So many records, spread over the data, show what a column looks like."""


def suspicions_of_records(dataset: Dataset, coded: Coded) -> Iterator[Suspicion]:
    """Everything in the true records that a custodian should look at again in their description."""
    seen = [_seen(v, coded) for v in dataset.variables.values() if _has_records(v, coded)]
    several = dataset.unit is not None and len(np.unique(coded.units)) < len(coded.units)
    yield from _lost(seen)
    for kind, words, found in (
        ("risky", "numbers the records, and is shown", [s for s in seen if _numbers_records(s, several=several)]),
        ("risky", "most codes are of one record each, as in free text or names", [s for s in seen if _free_text(s)]),
        ("risky", 'exact days written as numbers (dates = "year" tells less)', [s for s in seen if _days(s)]),
        ("note", "the same number in every record, so that it tells nothing", [s for s in seen if _constant(s)]),
    ):
        if found:
            yield Suspicion(kind, words, tuple(s.variable for s in found))
    yield from _told_by_others(seen)
    for words in filled_zeros(dataset, coded):
        yield Suspicion("risky", words, ())


@dataclass(frozen=True)
class _Seen:
    """A variable and its column as it looks."""

    variable: Variable
    column: ProfiledColumn


def _has_records(variable: Variable, coded: Coded) -> bool:
    """Whether a variable that is shown has a column of its own: not cut from another, nor taken of households."""
    if variable.role is Role.IDENTIFIER or variable.of is not None or variable.taken is not None:
        return False
    return variable.name in (coded.facts.values if variable.measurable else coded.facts.classes)


def _seen(variable: Variable, coded: Coded) -> _Seen:
    rows = slice(None, None, max(1, coded.records.num_rows // SAMPLED))
    return _Seen(variable, (_amounts if variable.measurable else _classes)(variable, coded, rows))


def _amounts(variable: Variable, coded: Coded, rows: slice) -> ProfiledColumn:
    values = coded.numbers(variable.name)[rows]
    there = ~np.isnan(values)
    different, of = np.unique(values[there], return_inverse=True)
    places = np.full(len(values), -1, np.int32)
    places[there] = of
    texts = pa.array([f"{value:.15g}" for value in different], pa.string())
    return _column(variable, texts, places, np.asarray(different, np.float64))


def _classes(variable: Variable, coded: Coded, rows: slice) -> ProfiledColumn:
    """The codes that records have, without those that mean missing."""
    codes = list(variable.codes or ())
    place = np.asarray(coded.classes(variable.name)[rows], np.int64)
    there = np.isin(place, [at for at, code in enumerate(codes) if not code.missing])
    used, of = np.unique(place[there], return_inverse=True)
    places = np.full(len(place), -1, np.int32)
    places[there] = of
    texts = [codes[at].code for at in used.tolist()]
    whole = all(text.isascii() and text.isdecimal() and (text == "0" or text[0] != "0") for text in texts)
    return _column(variable, pa.array(texts, pa.string()), places, np.array(texts, np.float64) if whole else None)


def _column(
    variable: Variable, texts: pa.StringArray, places: np.ndarray, amounts: np.ndarray | None
) -> ProfiledColumn:
    labels = {code.code: code.label for code in variable.codes or () if code.label != code.code}
    return ProfiledColumn(
        name=variable.name,
        label=variable.label,
        values=texts,
        places=places,
        numbers=amounts if len(texts) else None,
        marks=(),
        temporal=False,
        labels=labels,
        dates=bool(variable.dates),
    )


def _lost(seen: list[_Seen]) -> Iterator[Suspicion]:
    """Numbers that stand apart as those do that mean missing."""
    for each in seen:
        column = each.column
        if each.variable.measurable and column.numbers is not None and not column.dates:
            apart = [f"{value:.15g}" for value in amount_sentinels(column.numbers, column.counts)]
            if apart:
                words = f"numbers that probably mean missing ({', '.join(apart)}) are not declared so"
                yield Suspicion("missing", words, (each.variable,))


def _numbers_records(each: _Seen, *, several: bool) -> bool:
    named = names.of_index(each.variable.name) or names.of_unit(each.variable.name)
    return each.column.size > 1 and each.column.numbered and not several and not named


def _free_text(each: _Seen) -> bool:
    """Whether most codes are of one record, where a description says no more of them than the codes themselves."""
    column = each.column
    known = each.variable.measurable or column.numbered or column.labels or each.variable.parent is not None
    return not known and column.rows >= EVIDENCE and column.remarks and not names.of_unit(column.name)


def _days(each: _Seen) -> bool:
    """Whether all numbers are days of a calendar, as 19900531 is."""
    column = each.column
    return each.variable.measurable and not column.dates and column.size > FEW and said.dates(column.codes)


def _constant(each: _Seen) -> bool:
    return each.variable.measurable and each.column.rows >= EVIDENCE and each.column.size == 1


def _told_by_others(seen: list[_Seen]) -> Iterator[Suspicion]:
    """Numbers that are others once more, and classes that tell a confidential number."""
    amounts = [s for s in seen if s.variable.measurable and s.column.numbers is not None and s.column.size > 1]
    variables = {s.variable.name: s.variable for s in seen}
    for name, before in duplicates([s.column for s in amounts]).items():
        words = f"nearly the same as {before.name!r}, so that their few differences single units out; leave one out"
        yield Suspicion("risky", words, (variables[name],))
    classes = [s.column for s in seen if not s.variable.measurable and s.column.size > 1]
    secret = [s.column for s in amounts if s.variable.role is Role.CONFIDENTIAL]
    for name, number in bands(classes, secret).items():
        if variables[name].role is not Role.CONFIDENTIAL:
            words = f"tells the confidential {number.name!r} by its classes, and is not confidential"
            yield Suspicion("risky", words, (variables[name],))
