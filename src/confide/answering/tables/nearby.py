"""Tables near a refused one, nearest first: what a patient analyst would try next. Found from public metadata alone."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from confide.answering.analysis import Near
from confide.answering.nearby import coarser_forms, near_universes, one_or_two, without_missing
from confide.model.admission.table import table_classes
from confide.model.catalog.dataset import Dataset
from confide.model.request import Measure, TableRequest

__all__ = ["near_tables"]


def near_tables(request: TableRequest, dataset: Dataset) -> Iterator[Near[TableRequest]]:
    """Coarser levels, larger areas, wider bins, a condition less, a variable less, or two of these: with words for it."""
    return one_or_two(request, dataset, _moves)


def _moves(request: TableRequest, dataset: Dataset) -> Iterator[Near[TableRequest]]:
    yield from _coarser_variables(request, dataset)
    yield from near_universes(request, dataset)
    yield from _fewer_variables(request)
    if request.quantiles:
        for form in coarser_forms(table_classes(request, dataset)[-1], dataset):
            yield Near(f"quantiles by {form!r}", _simply(request, request.quantiles, form))
        of = dataset.variables[request.of or ""].column
        yield Near("the mean", _simply(request, (Measure.MEAN,), of))
    if request.measure != (Measure.COUNT,):
        yield Near("counts alone", _simply(request, (Measure.COUNT,), None))
    yield from without_missing(request, request.by, dataset)


def _simply(request: TableRequest, measure: tuple[Measure, ...], of: str | None) -> TableRequest:
    """The table with other measures, and with nothing that these may not have."""
    return replace(request, measure=measure, of=of, over=None, percent=None, error=())


def _coarser_variables(request: TableRequest, dataset: Dataset) -> Iterator[Near[TableRequest]]:
    """One variable a level up, then all that have one, then one variable two levels up or more."""
    above = {name: [form for form in coarser_forms(name, dataset) if form not in request.by] for name in request.by}
    one = {name: forms[0] for name, forms in above.items() if forms}
    yield from (_coarser(request, {name: form}) for name, form in one.items())
    if len(one) > 1 and len(set(one.values())) == len(one):
        yield _coarser(request, one)
    yield from (_coarser(request, {name: form}) for name, forms in above.items() for form in forms[1:])


def _coarser(request: TableRequest, forms: Mapping[str, str]) -> Near[TableRequest]:
    rows, columns = (tuple(forms.get(name, name) for name in side) for side in (request.rows, request.columns))
    words = " and ".join(f"{form!r} instead of {name!r}" for name, form in forms.items())
    return Near(words, replace(request, rows=rows, columns=columns))


def _fewer_variables(request: TableRequest) -> Iterator[Near[TableRequest]]:
    for name in reversed(request.by):
        if len(request.by) > 1:
            rows, columns = (tuple(n for n in side if n != name) for side in (request.rows, request.columns))
            yield Near(f"without {name!r}", replace(request, rows=rows or columns, columns=columns if rows else ()))
