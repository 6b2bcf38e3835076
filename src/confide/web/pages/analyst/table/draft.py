"""A table while one builds it: as fields of a form, as an address, and as the question it becomes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import quote, urlencode

from confide.errors import Mistake
from confide.model.admission.table import check_variables
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.request import Measure
from confide.spelling.where import read_names, write_names
from confide.web.pages.analyst.levels import Option, by_subject, options
from confide.web.pages.analyst.universe import Query, UniverseDraft, naming
from confide.web.pages.context import Error

__all__ = ["SHOW", "TableDraft", "address", "offers", "show_side"]

SHOW = "show"
"""The button that leads to the answer."""

_SIDES = ("rows", "columns")

OF_NUMBERS = tuple(measure for measure in Measure if measure.of_variable)


@dataclass(frozen=True)
class TableDraft:
    """A table being made; nothing of it need be right yet."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    measure: tuple[str, ...] = ()
    of: str = ""
    over: str = ""
    who: UniverseDraft = field(default_factory=UniverseDraft)

    @classmethod
    def read(cls, query: Query, dataset: Dataset) -> "TableDraft":
        """The table that an address or a form describes. What is chosen to be added is added, whatever button is pressed."""
        rows, columns, measure = (_names(query, key) for key in (*_SIDES, "measure"))
        rows += tuple(name for name in _names(query, "add.rows") if name not in rows + columns)
        columns += tuple(name for name in _names(query, "add.columns") if name not in rows + columns)
        of, over = (next((text for key, text in query if key == name), "") for name in ("of", "over"))
        return cls(rows, columns, measure, of, over, UniverseDraft.read(query, dataset))

    def press(self, button: str) -> tuple["TableDraft", str]:
        """What a button of the form does, and the part of the page that it belongs to."""
        side, _, action = button.partition(".")
        if side in _SIDES:
            return self._arrange(side, action), side
        if button == "swap":
            return replace(self, rows=self.columns, columns=self.rows), "rows"
        who, part = self.who.press(button)
        return replace(self, who=who), part

    def _arrange(self, side: str, action: str) -> "TableDraft":
        """A variable of a side taken away, moved up, or put on the other side."""
        names, other = getattr(self, side), _SIDES[side == "rows"]
        verb, _, place = action.partition(".")
        if not place.isdecimal() or int(place[:6]) >= len(names):
            return self
        at = int(place[:6])
        rest = names[:at] + names[at + 1 :]
        if verb == "up":
            above = max(at - 1, 0)
            return self.having(side, (*rest[:above], names[at], *rest[above:]))
        without = self.having(side, rest)
        if verb == "move":
            return without.having(other, (*getattr(self, other), names[at]))
        return without if verb == "remove" else self

    def having(self, side: str, names: tuple[str, ...]) -> "TableDraft":
        return replace(self, rows=names) if side == "rows" else replace(self, columns=names)

    def write(self) -> list[tuple[str, str]]:
        """The parameters of the builder's own address: everything, finished or not."""
        named = [(key, write_names(names)) for key in _SIDES if (names := getattr(self, key))]
        measure = [] if self.measure in ((), (Measure.COUNT,)) else [("measure", write_names(self.measure))]
        numbers = [(key, text) for key, text in (("of", self.of), ("over", self.over)) if text]
        return [*named, *self.who.write(), *measure, *numbers]

    def question(self) -> list[tuple[str, str]]:
        """The parameters of the answer's address: without searches, and without a number that no measure needs."""
        needed = {"of": any(name in OF_NUMBERS for name in self.measure), "over": Measure.RATIO in self.measure}
        return [(key, text) for key, text in self.write() if not key.startswith("find.") and needed.get(key, True)]

    def errors(self, dataset: Dataset) -> list[Error]:
        """What is wrong or missing, each at its field."""
        return [*self._side_errors(dataset), *self._measure_errors(dataset), *self.who.errors(dataset)]

    def _side_errors(self, dataset: Dataset) -> Iterator[Error]:
        named = self.rows + self.columns
        if not named:
            yield Error("rows", "Choose at least one variable for the rows or the columns.")
        for side in _SIDES:
            for name in dict.fromkeys(getattr(self, side)):
                if named.count(name) > 1:
                    yield Error(side, f"{name!r} stands twice in the table. Name each variable once.")
                try:
                    dataset.classifier(name)
                except Mistake as mistake:
                    yield Error(side, str(mistake))

    def _measure_errors(self, dataset: Dataset) -> Iterator[Error]:
        for name in dict.fromkeys(self.measure):
            if name not in tuple(Measure):
                yield Error("measure", f"There is no measure {name[:60]!r}.")
            elif self.measure.count(name) > 1:
                yield Error("measure", f"The measure {name!r} stands twice.")
        needed = [name for name in self.measure if name in OF_NUMBERS]
        known = self.of in dataset.variables and dataset.variables[self.of].measurable
        if needed and not self.of:
            yield Error("of", f"Choose the number that the {needed[0]} is of.")
        elif self.of and not known:
            yield Error("of", f"{self.of[:60]!r} is not a number that totals, means and quantiles can be of.")
        elif self.of and not needed:
            yield Error("of", "A number goes with a total, a mean or a quantile. Choose one of these, or no number.")
        if Measure.RATIO in self.measure and not (self.over in dataset.variables and self.over != self.of):
            yield Error("over", "Choose the other number, which the total of the first is divided by.")

    def known(self, dataset: Dataset, *sides: str) -> list[str]:
        """The variables of both sides, or of one, that there are."""
        named = dict.fromkeys(name for side in sides or _SIDES for name in getattr(self, side))
        return [name for name in named if name in dataset.variables and dataset.variables[name].classifies]


def address(dataset: Dataset, query: Iterable[tuple[str, str]], *, build: bool, part: str = "") -> str:
    """Where a table is built or answered; `part` is where on the page."""
    path = f"/{quote(dataset.name, safe='')}/table{'/build' if build else ''}"
    text = urlencode(list(query), quote_via=quote, safe=",=;")
    return path + (f"?{text}" if text else "") + (f"#{part}" if part else "")


def offers(draft: TableDraft, dataset: Dataset, policy: Policy) -> list[tuple[str, list[Option]]]:
    """The variables that may still be added to the rows or columns: each thing at one level, and what the policy allows."""
    named, where = draft.known(dataset), naming(draft.who.names(dataset), dataset)
    taken = {level.name for name in named for level in dataset.levels(name)}
    free = [v for v in dataset.variables.values() if v.classifies and v.name not in taken]
    fitting = [v for v in free if not check_variables([*named, v.name], where, dataset, policy)]
    return [(subject, options(dataset, group)) for subject, group in by_subject(fitting)]


@dataclass(frozen=True)
class Placed:
    """A variable in the rows or columns as the form shows it: the levels it may be told at."""

    place: int
    name: str
    label: str
    levels: list[Option]


def show_side(side: str, draft: TableDraft, dataset: Dataset, policy: Policy) -> list[Placed]:
    """The variables of a side; what is not known is shown too, so that it can be taken away."""
    return [_placed(place, name, draft, dataset, policy) for place, name in enumerate(getattr(draft, side))]


def _placed(place: int, name: str, draft: TableDraft, dataset: Dataset, policy: Policy) -> Placed:
    variable = dataset.variables.get(name)
    if variable is None or not variable.classifies:
        return Placed(place, name, name, [(name, name, 0)])
    others, where = [n for n in draft.known(dataset) if n != name], naming(draft.who.names(dataset), dataset)
    free = [level for level in dataset.levels(name) if level.name not in others]
    fitting = [v for v in free if v.name == name or not check_variables([*others, v.name], where, dataset, policy)]
    return Placed(place, name, variable.label, options(dataset, fitting))


def _names(query: Query, key: str) -> tuple[str, ...]:
    return tuple(name for found, text in query if found == key for name in read_names(text))
