"""What a draft makes of each column of a data file, and why: units, weights, the sample's design, codes, numbers, roles."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from confide.model.catalog.dataset import Role
from confide.site.profiling import codes as said
from confide.site.profiling import names
from confide.site.profiling.asking import asked_or_not, tells_asked
from confide.site.profiling.column import EVIDENCE, MANY, ProfiledColumn, column_of
from confide.site.profiling.grouping import Grouping, grouping
from confide.site.profiling.joining import Joined, join_levels
from confide.site.profiling.relations import bands, duplicates, parents
from confide.sources.households import names_people
from confide.sources.source import Source

__all__ = ["Decision", "Profile", "profile", "units_for_each"]

LEAST_KEYS = 3
"""Where fewer columns than this sound like what others know, their names say little, and codes are drafted as keys."""

KNOWN = "others may know it of a person"

MOST_HOUSEHOLD = 20
"""More records than this on average share no household."""


@dataclass(frozen=True)
class Decision:
    """What a column is taken for (`kind`), its role, and why; `notes` are what else a custodian should look at.

    Without a role it is no variable: the weight, or a column without values.
    """

    column: ProfiledColumn
    kind: str
    role: Role | None
    why: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """The columns with what was decided of each, the next coarser level of those that have one, or want one, and the codes of
    those that have too many even so."""

    columns: tuple[ProfiledColumn, ...]
    unit: ProfiledColumn | None
    household: ProfiledColumn | None
    weight: ProfiledColumn | None
    parents: Mapping[str, ProfiledColumn]
    groupings: Mapping[str, Grouping]
    joined: Mapping[str, Joined]
    decisions: Mapping[str, Decision]

    def named(self, role: Role, kind: str) -> list[str]:
        """The columns of a role and kind."""
        return [d.column.name for d in self.decisions.values() if d.role is role and d.kind == kind]


def profile(source: Source, household: str | None = None) -> Profile:
    """What the columns of a data file probably are; which names households may be known."""
    columns = tuple(
        asked_or_not(column_of(source, name), declared=tuple(source.missing.get(name, ())))
        for name in source.table.column_names
    )
    replicate = names.replicates([c.name for c in columns if c.numbers is not None])
    weights = [c for c in columns if c.weighs and c.name not in replicate]
    weight = min(weights, key=lambda c: names.of_household_weight(c.name), default=None)
    aside = [c for c in columns if c.missing or c.weighs or c.name in replicate or _design(c) or c.name == household]
    units = [c for c in columns if c not in aside and _names_units(c)]
    unit = max(units, key=lambda c: (c.named_unit, names_people(c.name), c.size), default=None)
    homes = [c for c in columns if (c.name == household if household else unit and _household(c, unit))]
    home = homes[0] if homes else None
    unit = home if home is not None and names_people(home.name) else unit  # records are jobs or visits of people
    hiding = _Hiding(unit, None if home is unit else home, replicate)
    shown = [c for c in columns if not c.empty and c is not weight and not hiding.why(c)[0]]
    twice = duplicates([c for c in shown if c.size > 1 and (c.categorical or not c.dates)])
    shown = [c for c in shown if c.name not in twice]
    classes = [c for c in shown if c.size > 1 and c.categorical]
    banded = bands(classes, [c for c in shown if not c.categorical and not c.dates])
    role = _roles(shown, banded)
    levels = parents(classes)
    columns = tuple(_placed(c) if c.name in levels else c for c in columns)
    classes = [_placed(c) if c.name in levels else c for c in classes]
    groups = _groupings([c for c in classes if c.name not in levels], columns, unit)
    joined = join_levels(classes, levels, groups, share=units_for_each(unit))
    decisions = {c.name: _with_levels(_decide(c, weight, hiding, twice, role), groups, joined) for c in columns}
    return Profile(columns, unit, home, weight, levels, groups, joined, decisions)


def _placed(column: ProfiledColumn) -> ProfiledColumn:
    """Without the codes of a codebook that no record has: records alone tell which code of the level above each lies in."""
    there = {*column.codes, *(column.marks if column.missing else ())}
    labels = {code: label for code, label in column.labels.items() if code in there}
    marks = tuple(mark for mark in column.marks if mark in there)
    if len(labels) == len(column.labels):
        return replace(column, marks=marks)
    return replace(column, labels=labels, marks=marks, larger=True)


def _groupings(
    classes: list[ProfiledColumn], columns: tuple[ProfiledColumn, ...], unit: ProfiledColumn | None
) -> dict[str, Grouping]:
    """A coarser level for each column of classes that has none and has too many codes."""
    taken, share = {c.name for c in columns}, units_for_each(unit)
    found = {c.name: grouping(c, share=share) for c in classes}
    return {name: group for name, group in found.items() if group is not None and group.name not in taken}


def _with_levels(decision: Decision, groups: Mapping[str, Grouping], joined: Mapping[str, Joined]) -> Decision:
    notes, group, shorter = [*decision.notes], groups.get(decision.column.name), joined.get(decision.column.name)
    if group is not None:
        notes.append(
            f"too many codes for most tables by three; {group.name!r} has their first {group.length} characters"
        )
    if shorter is not None:
        notes.append(
            f"{shorter.lost} codes that few have stand together in {len(shorter.labels)}, "
            "for tables by two to have room; list them apart if they may be that fine"
        )
    return replace(decision, notes=tuple(notes))


def units_for_each(unit: ProfiledColumn | None) -> float:
    """How many units there are for each record."""
    return 1.0 if unit is None else unit.size / max(1, unit.rows)


def _names_units(column: ProfiledColumn) -> bool:
    word = column.unique and column.rows >= EVIDENCE and column.single_words
    return column.named_unit or column.numbered or word


def _household(column: ProfiledColumn, unit: ProfiledColumn) -> bool:
    """Whether it names households of units: several in some, and not too many in each."""
    fewer = 0 < column.size < unit.size and column.rows <= MOST_HOUSEHOLD * column.size
    return fewer and not column.missing and names.of_household(column.name) and (column.named_unit or column.numbered)


@dataclass(frozen=True)
class _Hiding:
    """What keeps columns from view."""

    unit: ProfiledColumn | None
    household: ProfiledColumn | None
    replicate: set[str]

    def why(self, column: ProfiledColumn) -> tuple[str, str]:
        """The kind of a column that is never shown, and why; nothing if it may be."""
        reasons: list[tuple[str, str, Callable[[], bool]]] = [
            ("replicate weight", "a replicate weight", lambda: column.name in self.replicate),
            ("household", "it names households", lambda: column is self.household),
            ("sample design", "a stratum or sampling unit", lambda: _design(column)),
            ("running index", "it numbers the records", lambda: column.numbered and not column.named_unit),
            ("identifier", "it names records", lambda: column is self.unit or column.named_unit),
            ("weight", "another weight", lambda: column.weighs),
            ("dates", "exact times", lambda: column.temporal and column.identifies),
            ("postcodes", "postcodes of few records each; add a larger area", lambda: _postcodes(column)),
            ("free text", "free text", lambda: column.identifies and column.remarks and not column.single_words),
            ("identifier", "many different texts", lambda: column.identifies),
        ]
        return next(((kind, why) for kind, why, holds in reasons if holds()), ("", ""))


def _design(column: ProfiledColumn) -> bool:
    return names.of_design(column.name, column.label) and (column.whole or column.categorical)


def _postcodes(column: ProfiledColumn) -> bool:
    return column.identifies and names.of_postcode(column.name)


def _roles(
    shown: list[ProfiledColumn], banded: Mapping[str, ProfiledColumn]
) -> Callable[[ProfiledColumn], tuple[Role, str]]:
    """The role of a column that is shown, and why, in view of all of them."""
    known = sum(names.of_key(c.name, c.label) and not names.of_confidential(c.name, c.label) for c in shown)

    def role(column: ProfiledColumn) -> tuple[Role, str]:
        number = banded.get(column.name)
        if not column.categorical:
            return (
                (Role.KEY, KNOWN)
                if column.dates or names.of_age(column.name, column.label)
                else (Role.CONFIDENTIAL, "a number")
            )
        if column.size == 1:
            return Role.OTHER, "the same in every record"
        if number is not None and not names.of_age(number.name, number.label):
            return Role.CONFIDENTIAL, f"it tells {number.name!r}"
        if names.of_confidential(column.name, column.label):
            return Role.CONFIDENTIAL, "it sounds confidential"
        if names.of_key(column.name, column.label):
            return Role.KEY, KNOWN
        if known < LEAST_KEYS:
            return Role.KEY, "few names here say what others may know"
        return Role.CONFIDENTIAL, "nothing says that others know it; 'key' if they may"

    return role


def _decide(
    column: ProfiledColumn,
    weight: ProfiledColumn | None,
    hiding: _Hiding,
    twice: Mapping[str, ProfiledColumn],
    role: Callable[[ProfiledColumn], tuple[Role, str]],
) -> Decision:
    if column.empty:
        return Decision(column, "empty", None, "no values at all")
    if column is weight:
        return Decision(column, "weight", None, "its name is that of a survey weight")
    kind, why = hiding.why(column)
    if kind:
        return Decision(column, kind, Role.IDENTIFIER, why)
    if column.name in twice:
        return Decision(column, "near-duplicate", Role.IDENTIFIER, f"nearly the same as {twice[column.name].name!r}")
    kind = "dates" if column.dates else "categorical" if column.categorical else "numeric"
    return Decision(column, kind, *role(column), notes=tuple(_notes(column)))


def _notes(column: ProfiledColumn) -> list[str]:
    """What else was seen in a column that is shown."""
    notes = []
    if column.marks:
        notes.append(f"{', '.join(map(repr, column.marks[:5]))} taken for missing")
    if tells_asked(column):
        notes.append(
            "it tells only who was asked, since few were; to tell answers, list them, and declare the others missing"
        )
    for code, others in column.synonyms.items():
        notes.append(f"{', '.join(map(repr, others[:3]))} taken for {code!r}")
    if column.dates:
        notes.append("exact dates; the year of each is used")
    if column.categorical and column.numbers is not None and not column.labels:
        notes.append("numbers taken for codes")
    if column.larger:
        notes.append("of the codes in the codebook those are listed that records have; add what may come")
    if column.size == 1:
        notes.append("constant: leave it out, or list the other codes")
    if column.categorical and not column.labels and column.size <= MANY:
        slips = said.misspelt(dict(zip(column.codes, map(int, column.counts), strict=True)))
        notes += [f"{rare!r} may be a slip for {common!r}" for rare, common in list(slips.items())[:3]]
    return notes
