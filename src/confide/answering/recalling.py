"""Variables and questions that people keep: checked when they are kept, and named in later questions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from confide.answering.analysis import Admitted
from confide.model.admission.derived import with_definitions
from confide.model.catalog.dataset import Dataset
from confide.model.definition.definition import Definition, as_definitions
from confide.model.definition.text import read_definition, write_definition
from confide.model.request import Request
from confide.site.access import Person
from confide.site.vintages import parse
from confide.site.workspaces import Workspace, Workspaces
from confide.spelling.json import read_request, write_request

__all__ = ["Keeping", "recalled"]

Q = TypeVar("Q", bound=Request[Any])


def recalled(request: Q, dataset: Dataset, workspace: Workspace) -> Q:
    """The request with the kept definitions of the names in it that are neither declared nor defined.

    So a question says all by itself: its address, its receipt and the ledger hold what was kept when it was asked.
    """
    named = dict.fromkeys((*request.names, *request.where.variables))
    known = {*dataset.variables, *(one.name for one in request.define)}
    kept = workspace.of(parse(dataset.name)[0])
    wanted = [read_definition(kept[name]) for name in named if name not in known and name in kept]
    if not wanted:
        return request
    return replace(request, define=as_definitions((*request.define, *wanted)))  # type: ignore[type-var]  # a dataclass


class Keeping:
    """What people keep on a site. A definition fits the codebook when it is kept, a question could be asked."""

    def __init__(
        self, store: Workspaces, *, dataset: Callable[..., Dataset], admit: Callable[..., Admitted[Request[Any]]]
    ) -> None:
        self._store, self._dataset, self._admit = store, dataset, admit

    def has(self, person: Person) -> bool:
        """Whether somebody can keep something."""
        return self._store.has(person)

    def of(self, person: Person) -> Workspace:
        """What somebody keeps in their project."""
        return self._store.of(person)

    def keep_definition(self, person: Person, dataset: str, text: str) -> Definition:
        """Keep a variable for a data set; a Mistake if it does not fit its codebook."""
        definition, described = read_definition(text), self._dataset(dataset, person=person)
        with_definitions(described, [definition])
        name, written = parse(described.name)[0], write_definition(definition)
        self._store.change(person, lambda kept: kept.with_definition(name, definition.name, written))
        return definition

    def keep_question(self, person: Person, name: str, request: Request[Any]) -> None:
        """Keep a question under a name; a Mistake if it does not fit the codebook. It is not asked."""
        self._dataset(request.dataset, person=person)
        written = write_request(self._admit(request, who=person.asking).request)
        self._store.change(person, lambda kept: kept.with_question(name.strip(), written))

    def question(self, person: Person, name: str) -> Request[Any]:
        """A question that is kept."""
        kept = self.of(person)
        kept.without_question(name)  # a Mistake if there is none
        return read_request(kept.questions[name])

    def forget_definition(self, person: Person, dataset: str, name: str) -> None:
        self._store.change(person, lambda kept: kept.without_definition(dataset, name))

    def forget_question(self, person: Person, name: str) -> None:
        self._store.change(person, lambda kept: kept.without_question(name))
