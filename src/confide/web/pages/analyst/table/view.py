"""How the page of a table shows it: as numbers or percentages, with or without zeros and noise. Only errors are a new question."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from confide.errors import Mistake, nearest
from confide.formats.views import with_noise
from confide.model.catalog.dataset import Dataset
from confide.model.release import Release
from confide.model.request import ErrorMeasure, Measure, Share, TableRequest
from confide.spelling.url import write_query
from confide.web.pages.analyst.universe import Query

__all__ = ["PARAMETERS", "View", "links"]

PARAMETERS = {"zeros": ("show", "hide"), "noise": ("hide", "show")}
"""The parameters of a view, each with what it may be; the first if it is not given."""

_WORDS = {None: "Numbers", Share.ROW: "% of row", Share.COLUMN: "% of column", Share.TOTAL: "% of total"}


@dataclass(frozen=True)
class View:
    """What is shown of a table."""

    zeros: bool = True
    noise: bool = False

    @classmethod
    def read(cls, query: Query) -> tuple["View", list[tuple[str, str]]]:
        """The view that an address names, and the rest of the address: the question."""
        named = {key: text for key, text in query if key in PARAMETERS}
        for key, text in named.items():
            if text not in PARAMETERS[key]:
                hint = nearest(text, PARAMETERS[key]) or [f"It may be {' or '.join(PARAMETERS[key])}."]
                raise Mistake(f"There is no view {key}={text[:60]}.", suggestions=hint)
        view = cls(zeros=named.get("zeros") != "hide", noise=named.get("noise") == "show")
        return view, [pair for pair in query if pair[0] not in PARAMETERS]

    def write(self) -> list[tuple[str, str]]:
        """The parameters of the view; what stands at its default is left out."""
        shown = [("zeros", "" if self.zeros else "hide"), ("noise", "show" if self.noise else "")]
        return [pair for pair in shown if pair[1]]

    def finish(self, shown: Release) -> Release:
        """With the noise beside the numbers, if asked."""
        return with_noise(shown) if self.noise else shown


Link = tuple[str, str, bool]
"""Words, address, and whether it is how the table is shown now."""


def links(
    view: View, asked: TableRequest, dataset: Dataset, address: Callable[[Iterable[tuple[str, str]]], str]
) -> dict[str, list[Link]]:
    """The other views of a table, in groups."""

    def link(words: str, *, request: TableRequest = asked, shown: View = view) -> Link:
        return words, address([*write_query(request), *shown.write()]), (request, shown) == (asked, view)

    plain = replace(asked, index=None)
    percents = [replace(plain, percent=share) for share in asked.shares]
    numbers = replace(plain, percent=None, interval=asked.interval if asked.error else None)
    shared = bool(asked.error) or (asked.percent is not None and Measure.COUNT in asked.measure)
    return {
        "Show": [link(_WORDS[one.percent], request=one) for one in ([numbers, *percents] if percents else [])],
        "Index, 100 is": [link(words, request=one) for words, one in _indexed(asked, dataset)],
        "Interval": [
            link(words, request=replace(asked, interval=level))
            for words, level in ((("Hide", None), ("95 %", "95")) if shared else ())
        ],
        "Error": [link(words, request=one) for words, one in _with_errors(plain, dataset)],
        "Zeros": [link("Show", shown=replace(view, zeros=True)), link("Hide", shown=replace(view, zeros=False))],
        "Noise": [
            link("Hide", shown=replace(view, noise=False)),
            link("Show its spread", shown=replace(view, noise=True)),
        ],
    }


MOST_INDEXED = 12
"""Of variables with more classes none is offered as 100; an address may name it."""


def _indexed(asked: TableRequest, dataset: Dataset) -> Iterator[tuple[str, TableRequest]]:
    """The table as percentages of each class of its first variable that is short, and of the class that is 100 now."""
    numbers = replace(asked, percent=None, interval=None, error=(), index=None)
    classes = {name: [code for code in dataset.classifier(name).codes or () if not code.missing] for name in asked.by}
    # an index names a class as name=code: what has an = in its name cannot be said
    short = next((name for name, of in classes.items() if 1 < len(of) <= MOST_INDEXED and "=" not in name), None)
    offered = {f"{short}={code.code}": code.label for code in classes[short]} if short else {}
    if asked.index is not None and asked.index not in offered:
        offered[asked.index] = asked.index_class[1]
    if offered:
        yield "None", replace(asked, index=None)
    yield from ((label, replace(numbers, index=index)) for index, label in offered.items())


_ERRORS: dict[str, tuple[ErrorMeasure, ...]] = {
    "Hide": (),
    "Standard error": (ErrorMeasure.SE,),
    "Variation in %": (ErrorMeasure.CV,),
    "All": tuple(ErrorMeasure),
}


def _with_errors(asked: TableRequest, dataset: Dataset) -> Iterator[tuple[str, TableRequest]]:
    """The table with its standard errors, which are a question of their own, where the data set can give them."""
    estimates = [m for m in asked.measure if not (m is Measure.COUNT and dataset.weight)]
    for words, errors in _ERRORS.items() if dataset.sampling and estimates else ():
        keeps = bool(errors) or (asked.percent is not None and Measure.COUNT in asked.measure)
        yield words, replace(asked, error=errors, interval=asked.interval if keeps else None)
