"""Variables of an analyst's own in a data set: which classes they have, and of which declared classes each is made.

Promise: a class is a union of declared classes, and nothing finer. Of every variable it is made of the coarsest declared form is
taken that tells its classes apart, so that it is judged as what it is made of and no finer.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from math import prod

import numpy as np

from confide.arrays import Bools, Ints
from confide.errors import Mistake, nearest
from confide.model.admission.cutpoints import bins_of, must_be_cutpoints
from confide.model.catalog.bins import bin_codes
from confide.model.catalog.dataset import Code, CodeList, Dataset, Derivation, Kind, Role, Variable
from confide.model.definition.definition import (
    AgainstCutpoint,
    AllHold,
    Clause,
    Cut,
    Definition,
    InCodes,
    NotHeld,
    OneHolds,
)

__all__ = ["MOST_COMBINATIONS", "OWN_SUBJECT", "with_definitions"]

MOST_COMBINATIONS = 100_000
"""The codes of the variables that a definition names may have so many combinations."""

OWN_SUBJECT = "Your own"
"""The subject under which pages show such variables."""

Classes = list[tuple[Code, Bools]]


def with_definitions(dataset: Dataset, definitions: Iterable[Definition]) -> Dataset:
    """The data set with these variables too; a Mistake names what does not fit its codebook."""
    own = {definition.name: _variable(definition, dataset) for definition in definitions}
    return replace(dataset, variables={**dataset.variables, **own}, extends=dataset) if own else dataset


def _variable(definition: Definition, dataset: Dataset) -> Variable:
    if definition.name in dataset.variables:
        raise Mistake(f"{definition.name!r} is a variable of {dataset.name!r} already. Choose another name.")
    axes = _Axes(definition, dataset)
    classes = _classes(definition, axes)
    present = ~axes.missing
    _must_not_overlap(definition, classes, axes)
    _must_cover(definition, classes, axes)
    if axes.missing.any():
        classes.append((_missing_code(definition, classes, axes), axes.missing))
    places = np.zeros(axes.shape, np.int64)
    for place, (_, inside) in enumerate(classes):
        places[inside] = place
    if len(np.unique(places[present])) < 2:
        raise Mistake(f"{definition.name!r} puts everybody into one class.")
    sources, places = _coarsest(list(axes.names), places, dataset)
    named = [dataset.variables[name] for name in {*axes.names, *sources}]
    return Variable(
        name=definition.name,
        label=definition.label,
        kind=Kind.CATEGORICAL,
        role=_role(named),
        subject=OWN_SUBJECT,
        codes=CodeList(tuple(code for code, _ in classes)),
        universe=all(variable.universe for variable in named),
        made=Derivation(tuple(sources), places.shape, tuple(places.ravel().tolist())),
    )


@dataclass(frozen=True)
class _Axes:
    """The declared variables that a definition names, each with its codes on an axis of its own."""

    definition: Definition
    dataset: Dataset

    @cached_property
    def statements(self) -> list[InCodes | AgainstCutpoint]:
        body = self.definition.body
        if isinstance(body, Cut):
            return [AgainstCutpoint(body.variable, ">=", cutpoint) for cutpoint in body.cutpoints]
        clauses = [one.clause for one in body if one.clause] if isinstance(body, tuple) else [body]
        return [statement for clause in clauses for statement in _statements(clause)]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One form of each number, and of each hierarchy the finest level that is named."""
        found = dict.fromkeys(map(self.form, self.statements))
        sizes = [len(self.dataset.variables[name].codes or ()) for name in found]
        if prod(sizes) > MOST_COMBINATIONS:
            raise Mistake(
                f"The variables of {self.definition.name!r} have more than {MOST_COMBINATIONS} combinations of codes.",
                suggestions=["Name fewer of them, or coarser levels."],
            )
        return tuple(found)

    def form(self, statement: InCodes | AgainstCutpoint) -> str:
        """The classes in which a statement is read: of a number those that have all cutpoints it is compared with."""
        variable = self.dataset.variable(statement.variable)
        if isinstance(statement, InCodes) and not variable.numeric:
            named = [self.dataset.chain(self.dataset.variable(s.variable).name) for s in self.statements]
            below = [chain for chain in named if variable in chain]
            return max(below, key=len)[0].name
        same = [s for s in self.statements if self.dataset.variable(s.variable).column == variable.column]
        listed = {self.dataset.classifier(s.variable).name for s in same if isinstance(s, InCodes)}
        cutpoints = [must_be_cutpoints(s, self.dataset) for s in same if isinstance(s, AgainstCutpoint)]
        return bins_of(variable, cutpoints, listed, self.dataset)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.dataset.variables[name].codes or ()) for name in self.names)

    @cached_property
    def missing(self) -> Bools:
        """The combinations in which something is missing, unless its code is named."""
        lacking = np.zeros(self.shape, bool)
        for name in self.names:
            missing = np.array([code.missing for code in self.dataset.variables[name].codes or ()], bool)
            for statement in self.statements:
                if isinstance(statement, InCodes) and self.form(statement) == name:
                    missing &= ~self.members(statement)
            lacking |= self.along(name, missing)
        return lacking

    def along(self, name: str, values: Bools) -> Bools:
        """What holds of the codes of one variable, for all combinations."""
        at = self.names.index(name)
        return np.broadcast_to(values.reshape([-1 if axis == at else 1 for axis in range(len(self.shape))]), self.shape)

    def holds(self, clause: Clause) -> Bools:
        """The combinations in which a clause holds."""
        match clause:
            case AllHold(parts):
                return reduce(np.logical_and, map(self.holds, parts))
            case OneHolds(parts):
                return reduce(np.logical_or, map(self.holds, parts))
            case NotHeld(part):
                return ~self.holds(part)
            case InCodes():
                return self.along(self.form(clause), self.members(clause))
            case AgainstCutpoint():
                bins = self.dataset.variables[self.form(clause)]
                least = must_be_cutpoints(clause, self.dataset)
                over = clause.mark in (">", ">=")
                chosen = [(start >= least) == over for start in (float("-inf"), *bins.cutpoints)]
                chosen += [False] * (len(bins.codes or ()) - len(chosen))
                return self.along(bins.name, np.array(chosen))

    def members(self, statement: InCodes) -> Bools:
        """The codes of a statement, in the form in which it is read."""
        variable, form = self.dataset.classifier(statement.variable), self.form(statement)
        chosen = _members(statement, variable)
        return chosen if form == variable.name else chosen[np.array(self.dataset.lift(form, variable.name))]

    def words(self, combination: Iterable[int]) -> str:
        """A combination by its codes."""
        variables = [self.dataset.variables[name] for name in self.names]
        codes = [(v.name, v.codes.names[at]) for v, at in zip(variables, combination, strict=True) if v.codes]
        return " and ".join(f"{name} {code!r}" for name, code in codes)


def _statements(clause: Clause) -> Iterator[InCodes | AgainstCutpoint]:
    match clause:
        case AllHold(parts) | OneHolds(parts):
            for part in parts:
                yield from _statements(part)
        case NotHeld(part):
            yield from _statements(part)
        case _:
            yield clause


def _members(clause: InCodes, variable: Variable) -> Bools:
    assert variable.codes is not None
    known = [*variable.codes.names, *variable.nodes]
    for code in clause.codes:
        if code not in known:
            hint = nearest(code, known) or [f"Its codes begin with {', '.join(map(repr, known[:4]))}."]
            raise Mistake(f"{variable.name!r} has no code {code[:60]!r}.", suggestions=hint)
    chosen = {leaf for code in clause.codes for leaf in variable.nodes.get(code, (code,))}
    return np.array([code.code in chosen for code in variable.codes], bool)


def _classes(definition: Definition, axes: _Axes) -> Classes:
    """The classes that are not of missing values, each with its combinations."""
    body, there = definition.body, ~axes.missing
    if isinstance(body, Cut):
        return _cut(body, axes)
    if not isinstance(body, tuple):
        held = axes.holds(body)
        return [(Code("yes", "Yes"), held & there), (Code("no", "No"), ~held & there)]
    stated = [(Code(one.code, one.label), axes.holds(one.clause) & there) for one in body if one.clause]
    rest = there & ~reduce(np.logical_or, (inside for _, inside in stated), np.zeros(axes.shape, bool))
    stated += [(Code(one.code, one.label), rest) for one in body if one.clause is None]
    for code, inside in stated:
        if not inside.any():
            raise Mistake(f"Class {code.code!r} of {definition.name!r} holds no declared class. Leave it out.")
    return stated


def _cut(body: Cut, axes: _Axes) -> Classes:
    """The bins of fewer cutpoints, named as declared ones are."""
    [name] = axes.names
    fine = axes.dataset.variables[name]
    cutpoints = tuple(float(cutpoint) for cutpoint in body.cutpoints)
    codes = bin_codes(replace(fine, cutpoints=cutpoints, missing=()))
    bins = np.searchsorted(cutpoints, [float("-inf"), *fine.cutpoints], side="right")
    bins = np.append(bins, np.full(len(fine.codes or ()) - len(bins), -1))
    return [(code, bins == place) for place, code in enumerate(codes)]


def _must_not_overlap(definition: Definition, classes: Classes, axes: _Axes) -> None:
    for (first, one), (second, other) in combinations(classes, 2):
        if (both := one & other).any():
            held = axes.words(np.argwhere(both)[0].tolist())
            raise Mistake(
                f"Classes {first.code!r} and {second.code!r} of {definition.name!r} overlap: both have {held}."
            )


def _must_cover(definition: Definition, classes: Classes, axes: _Axes) -> None:
    held = reduce(np.logical_or, (inside for _, inside in classes))
    left = np.argwhere(~held & ~axes.missing)
    if len(left):
        others = f" and {len(left) - 1} more" if len(left) > 1 else ""
        raise Mistake(
            f"No class of {definition.name!r} has {axes.words(left[0].tolist())}{others}.",
            suggestions=["Add them to a class, or end the definition with '; else: other'."],
        )


def _missing_code(definition: Definition, classes: Classes, axes: _Axes) -> Code:
    """That of the only variable if it has but one, so that a form like a declared one is written like it."""
    codes = [c for name in axes.names for c in axes.dataset.variables[name].codes or () if c.missing]
    only = codes[0] if len(codes) == 1 else Code("missing", "Missing")
    if only.code in [code.code for code, _ in classes]:
        raise Mistake(f"Call class {only.code!r} of {definition.name!r} otherwise: it is that of missing values.")
    return Code(only.code, only.label, missing=True)


def _coarsest(names: list[str], places: Ints, dataset: Dataset) -> tuple[list[str], Ints]:
    """Each variable at the coarsest level that tells the classes apart; those that tell nothing are left out."""
    for axis in reversed(range(len(names))):
        for level in reversed(dataset.coarser(names[axis])):
            lifted = _lifted(places, axis, dataset.lift(names[axis], level.name), len(level.codes or ()))
            if lifted is not None and level.classifies:
                names[axis], places = level.name, lifted
                break
        if places.shape[axis] and (places == places.take([0], axis)).all():
            names, places = names[:axis] + names[axis + 1 :], np.asarray(places.take(0, axis))
    return names, places


def _lifted(places: Ints, axis: int, lift: tuple[int, ...], size: int) -> Ints | None:
    """The places by the classes of a coarser level; None where one of these holds several."""
    moved = np.moveaxis(places, axis, 0)
    up = np.array(lift)
    coarse = np.zeros((size, *moved.shape[1:]), np.int64)
    coarse[up] = moved
    if (coarse[up] != moved).any() or len(np.unique(up)) < size:
        return None
    return np.moveaxis(coarse, 0, axis)


def _role(variables: Iterable[Variable]) -> Role:
    """The most sensitive role of what it is made of."""
    roles: Mapping[Role, int] = {Role.CONFIDENTIAL: 0, Role.KEY: 1}
    return min((variable.role for variable in variables), key=lambda role: roles.get(role, 2))
