"""Variables of an analyst's own in a builder: each is a field of its form, and stands among the choices as soon as it fits."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from confide.errors import Mistake
from confide.model.admission.derived import with_definitions
from confide.model.catalog.dataset import Dataset
from confide.model.definition.definition import MOST_DEFINITIONS
from confide.model.definition.text import read_definition, read_definitions
from confide.site.access import Person
from confide.web.pages.context import Error, PageContext

__all__ = ["offered", "own_errors", "own_texts", "with_own"]


def own_texts(query: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The definitions of a form or an address, right or wrong; empty fields are none."""
    return tuple(dict.fromkeys(text.strip() for key, text in query if key == "define" and text.strip()))


def offered(context: PageContext, name: str, asker: Person, query: Sequence[tuple[str, str]]) -> Dataset:
    """A data set with the variables that a query defines and those that the asker keeps for it."""
    described = context.dataset(name, asker)
    kept = context.service.workspaces.of(asker).of(described.name.partition("@")[0])
    return with_own(described, query, tuple(kept.values()))


def with_own(dataset: Dataset, query: Sequence[tuple[str, str]], kept: Sequence[str] = ()) -> Dataset:
    """The data set with the variables that a query defines, and that are kept, as far as they fit."""
    found = {}
    for text in (*kept, *own_texts(query)[:MOST_DEFINITIONS]):
        with suppress(Mistake):
            definition = read_definition(text)
            with_definitions(dataset, [definition])
            found[definition.name] = definition
    return with_definitions(dataset, found.values())


def own_errors(texts: Sequence[str], dataset: Dataset) -> list[Error]:
    """What is wrong with definitions, each by itself or together."""
    found = []
    for text in texts:
        try:
            with_definitions(dataset.declared, [read_definition(text)])
        except Mistake as mistake:
            found.append(Error("own", str(mistake)))
    if not found:
        try:
            read_definitions(texts)
        except Mistake as mistake:
            found.append(Error("own", str(mistake)))
    return found
