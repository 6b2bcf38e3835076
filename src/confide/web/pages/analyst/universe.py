"""The universe while one builds it: pieces of conditions, some without codes yet, as fields of a form and as an address.

Beside them stand the variables of one's own that it may name, each as `define`.

In the address a piece is `where=variable=code,code;variable=`, as in a question, but what is not chosen yet stays empty. In the
form `piece` holds the numbers of the pieces, `on.N` the variables of piece N, `in.N.variable` their codes, `find.N.variable` a
search among them, and `add.N` the variable of one more condition; `do` is the button that was pressed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from confide.errors import Mistake
from confide.model.admission.universe import admit_universe
from confide.model.catalog.dataset import Code, CodeList, Dataset, Variable
from confide.model.universe import Condition, Piece, Universe
from confide.spelling.where import read_conditions, write_conditions
from confide.web.pages.analyst.levels import Option, by_subject, options
from confide.web.pages.analyst.own import own_errors, own_texts
from confide.web.pages.context import Error

__all__ = ["PieceView", "Query", "UniverseDraft", "naming", "show_pieces"]

Query = Sequence[tuple[str, str]]
Allows = Callable[[Universe], bool]
"""Whether a universe may be asked about, whatever the data are."""

LISTED = 200
"""So many codes of a variable are listed at once; of more, the chosen ones and those that a search finds."""


@dataclass(frozen=True)
class Choice:
    """A condition being made."""

    variable: str
    codes: tuple[str, ...] = ()


Choices = tuple[Choice, ...]


@dataclass(frozen=True)
class UniverseDraft:
    """A universe being made."""

    pieces: tuple[Choices, ...] = ()
    find: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    """Sentences about what could not be read."""
    define: tuple[str, ...] = ()
    """Variables of one's own, as text."""

    @classmethod
    def read(cls, query: Query, dataset: Dataset) -> "UniverseDraft":
        """The universe that an address or a form describes."""
        written, unread = [], []
        for key, text in query:
            if key == "where":
                try:
                    written.append(tuple(Choice(*pair) for pair in read_conditions(text)) if text else ())
                except Mistake as mistake:
                    unread.append(str(mistake))
        filled = [_filled(query, number, dataset) for key, number in query if key == "piece"]
        find = {key: text for key, text in query if key.startswith("find.") and text}
        return cls((*written, *filled), find, tuple(unread), own_texts(query))

    def write(self) -> list[tuple[str, str]]:
        """The parameters of the address."""
        where = [("where", write_conditions((c.variable, c.codes) for c in piece)) for piece in self.pieces]
        return [*where, *self.find.items(), *(("define", text) for text in self.define)]

    def press(self, button: str) -> tuple["UniverseDraft", str]:
        """What a button of this part of the form does, and the part of the page it belongs to; any other does nothing."""
        action, _, place = button.partition(".")
        if action == "define":
            return self, "own"
        if action == "piece":
            return replace(self, pieces=(*self.pieces, ())), f"piece-{len(self.pieces) + 1}"
        number, _, at = place.partition(".")
        if action not in ("add", "drop", "find", "remove") or not number.isdecimal():
            return self, "build"
        here = int(number[:6]) - 1
        if action == "drop":
            return replace(self, pieces=tuple(p for place, p in enumerate(self.pieces) if place != here)), "universe"
        if action == "remove":
            return self._without(here, at), f"piece-{here + 1}"
        return self, f"piece-{here + 1}"

    def _without(self, here: int, at: str) -> "UniverseDraft":
        """Without one condition of one piece."""
        kept = [
            tuple(choice for number, choice in enumerate(piece, 1) if place != here or str(number) != at)
            for place, piece in enumerate(self.pieces)
        ]
        return replace(self, pieces=tuple(kept))

    def errors(self, dataset: Dataset) -> list[Error]:
        """What is wrong or missing, each at its field."""
        found = [*own_errors(self.define, dataset), *(Error("universe", sentence) for sentence in self.unread)]
        for number, piece in enumerate(self.pieces, 1):
            if not piece:
                found.append(
                    Error(f"piece-{number}", f"Piece {number} has no condition. Add one, or remove the piece.")
                )
            for place, choice in enumerate(piece, 1):
                before = piece[: place - 1]
                found += [Error(f"piece-{number}-{place}", sentence) for sentence in _wrong(choice, before, dataset)]
        return found

    def names(self, dataset: Dataset) -> set[str]:
        """The variables that it names and that may be named."""
        return {c.variable for piece in self.pieces for c in piece if _usable(c.variable, dataset)}


def naming(names: Iterable[str], dataset: Dataset) -> Universe:
    """A universe that names these variables: rules on the shape of a request look at no more of it."""
    conditions = {name: (dataset.classifier(name).codes or CodeList(())).names[:1] for name in names}
    return Universe((Piece.of(conditions),)) if conditions else Universe()


def _filled(query: Query, number: str, dataset: Dataset) -> Choices:
    """A piece as the form gives it. A condition whose level was changed keeps what it said, as far as the level can."""
    chosen: dict[str, list[str]] = {}
    for key, text in query:
        if key.startswith(f"in.{number}."):
            chosen.setdefault(key.removeprefix(f"in.{number}."), []).append(text)
    names = dict.fromkeys(text for key, text in query if key in (f"on.{number}", f"add.{number}") and text)
    return tuple(Choice(name, _codes(name, chosen, dataset)) for name in names)


def _codes(name: str, chosen: Mapping[str, list[str]], dataset: Dataset) -> tuple[str, ...]:
    if name in chosen or not _usable(name, dataset):
        return tuple(chosen.get(name, ()))
    for other, codes in chosen.items():
        if _usable(other, dataset) and dataset.variables[other] in dataset.levels(name):
            return _moved(codes, other, name, dataset)
    return ()


def _moved(codes: Sequence[str], old: str, new: str, dataset: Dataset) -> tuple[str, ...]:
    """The classes above the chosen ones, or all below them; none between levels that do not contain each other."""
    above = [level.name for level in dataset.chain(old)]
    before, after = dataset.classifier(old).codes, dataset.classifier(new).codes
    assert before is not None and after is not None
    if new in above:
        up = dataset.lift(old, new)
        lifted = {up[place] for place, code in enumerate(before.names) if code in codes}
        return tuple(code for place, code in enumerate(after.names) if place in lifted)
    if old in [level.name for level in dataset.chain(new)]:
        up = dataset.lift(new, old)
        return tuple(code for place, code in enumerate(after.names) if before.names[up[place]] in codes)
    return ()


def _usable(name: str, dataset: Dataset) -> bool:
    return name in dataset.variables and dataset.variables[name].classifies


def _wrong(choice: Choice, before: Choices, dataset: Dataset) -> Iterator[str]:
    if choice.variable in [other.variable for other in before]:
        yield f"One piece has two conditions on {choice.variable!r}."
    elif not choice.codes and _usable(choice.variable, dataset):
        yield f"Choose a class of {dataset.variables[choice.variable].label}, or remove the condition."
    else:
        try:
            admit_universe(Universe((Piece((Condition(choice.variable, choice.codes or ("",)),)),)), dataset)
        except Mistake as mistake:
            yield str(mistake)


@dataclass(frozen=True)
class ConditionView:
    """A condition as the form shows it: its levels, and its codes in groups, each with whether it is chosen."""

    id: str
    place: int
    variable: str
    label: str
    levels: list[Option]
    groups: list[tuple[str, list[tuple[str, str, bool]]]]
    chosen: int
    more: int
    find: str


@dataclass(frozen=True)
class PieceView:
    """A piece as the form shows it, with what may still be added to it, under the headings of the codebook."""

    number: int
    conditions: list[ConditionView]
    offers: list[tuple[str, list[Option]]]


def show_pieces(draft: UniverseDraft, dataset: Dataset, allows: Allows) -> list[PieceView]:
    """The pieces as the form shows them."""
    free = list(_free(draft, dataset, allows))
    return [
        PieceView(
            number,
            [_condition(draft, dataset, number, place, allows) for place in range(1, len(piece) + 1)],
            [(s, options(dataset, group)) for s, group in by_subject(_beside(piece, free, dataset))],
        )
        for number, piece in enumerate(draft.pieces, 1)
    ]


def _free(draft: UniverseDraft, dataset: Dataset, allows: Allows) -> Iterator[Variable]:
    """The variables that the universe may still name, with one breakdown of each hierarchy."""
    named = draft.names(dataset)
    for variable in dataset.variables.values() if draft.pieces else ():
        if variable.classifies and variable.universe:
            kin = {level.name for level in dataset.levels(variable.name)} & named
            chained = all(_one_chain(dataset, variable.name, other) for other in kin)
            if chained and allows(naming({*named, variable.name}, dataset)):
                yield variable


def _beside(piece: Choices, free: list[Variable], dataset: Dataset) -> list[Variable]:
    """Those that a piece may still name: each thing at one level."""
    here = {level.name for c in piece if _usable(c.variable, dataset) for level in dataset.levels(c.variable)}
    return [variable for variable in free if variable.name not in here]


def _one_chain(dataset: Dataset, first: str, second: str) -> bool:
    return first in [v.name for v in dataset.chain(second)] or second in [v.name for v in dataset.chain(first)]


def _condition(draft: UniverseDraft, dataset: Dataset, number: int, place: int, allows: Allows) -> ConditionView:
    choice = draft.pieces[number - 1][place - 1]
    variable = dataset.variables[choice.variable] if _usable(choice.variable, dataset) else None
    find = draft.find.get(f"find.{number}.{choice.variable}", "")
    groups, more = _groups(variable, choice, find, dataset) if variable else ([], 0)
    unknown = [code for code in choice.codes if variable is None or not _has(variable, code)]
    if unknown:
        groups.append(("Unknown", [(code, code, True) for code in unknown]))
    return ConditionView(
        id=f"piece-{number}-{place}",
        place=place,
        variable=choice.variable,
        label=variable.label if variable else choice.variable,
        levels=options(dataset, _levels(variable, draft, dataset, allows)) if variable else [],
        groups=groups,
        chosen=len(choice.codes),
        more=more,
        find=find,
    )


def _levels(variable: Variable, draft: UniverseDraft, dataset: Dataset, allows: Allows) -> Iterator[Variable]:
    """The level that a condition has, and the others that it may have."""
    others = draft.names(dataset) - {variable.name}
    for level in dataset.levels(variable.name):
        if level == variable or (level.universe and allows(naming({*others, level.name}, dataset))):
            yield level


def _groups(
    variable: Variable, choice: Choice, find: str, dataset: Dataset
) -> tuple[list[tuple[str, list[tuple[str, str, bool]]]], int]:
    """The codes under their classes on the next coarser level, and how many are not listed."""
    codes = list(variable.codes or ())
    listed = [code for code in codes if code.code in choice.codes or _found(code, find)]
    kept = [code for code in listed if code.code in choice.codes]
    shown = kept + [code for code in listed if code.code not in choice.codes][: max(LISTED - len(kept), 0)]
    above = {c.code: c.label for c in dataset.variables[variable.parent].codes or ()} if variable.parent else {}
    groups: dict[str, list[tuple[str, str, bool]]] = {}
    if variable.nodes:
        groups["Wider classes"] = [(node, node, node in choice.codes) for node in variable.nodes]
    for code in sorted(shown, key=lambda code: variable.place(code.code)):
        heading = above.get(code.parent or "", "Single classes" if variable.nodes else "")
        groups.setdefault(heading, []).append((code.code, code.label.strip() or code.code, code.code in choice.codes))
    return list(groups.items()), len(codes) - len(shown)


def _has(variable: Variable, code: str) -> bool:
    return code in variable.nodes or code in (variable.codes or ())


def _found(code: Code, find: str) -> bool:
    return all(word in f"{code.code} {code.label}".casefold() for word in find.casefold().split())
