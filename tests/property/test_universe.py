"""A universe depends on the set of cells it selects, never on the words for it."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.answering.universe.census import Census
from confide.answering.universe.resolve import intersections, parts, resolve
from confide.answering.universe.strata import strata
from confide.errors import Mistake
from confide.model.catalog.toml import read_dataset
from confide.model.evidence import Box, Cells, Tally
from confide.model.universe import Condition, Piece, Universe

CATALOG = """
[variables.sex.codes]
f = "F"
m = "M"

[variables.area.codes]
N = "North"
S = "South"

[variables.county]
parent = "area"
[variables.county.codes]
n1 = { parent = "N" }
n2 = { parent = "N" }
s1 = { parent = "S" }

[variables.zone]
parent = "county"
[variables.zone.codes]
n1a = { parent = "n1" }
n1b = { parent = "n1" }
n2a = { parent = "n2" }
s1a = { parent = "s1" }
s1b = { parent = "s1" }

[variables.job.codes]
p = "P"
q = "Q"
r = "R"

[variables.age]
kind = "numeric"
cutpoints = [20, 40, 60]
minimum = 0
nodes = ["0-39", "20-59"]
"""
PEOPLE = read_dataset(CATALOG, name="people", read_file=str)
LEAVES = ("age", "job", "sex", "zone")
"""The finest variables: every unit is in one cell of their product."""
LEVELS = ("area", "county", "zone")
CODES = {name: PEOPLE.variables[name].codes.names for name in PEOPLE.variables}
CELLS = tuple(itertools.product(*(range(len(CODES[name])) for name in LEAVES)))


def holds(cell: tuple[int, ...], conditions: dict[str, set[str]]) -> bool:
    """Whether a cell of the finest table satisfies conditions on variables of any level."""
    for name, codes in conditions.items():
        leaf = "zone" if name in LEVELS else name
        place = PEOPLE.lift(leaf, name)[cell[LEAVES.index(leaf)]]
        if CODES[name][place] not in codes:
            return False
    return True


def selected(universe: Universe) -> frozenset[tuple[int, ...]]:
    pieces = [{c.variable: _leaves(c) for c in piece.conditions} for piece in universe.pieces]
    return frozenset(cell for cell in CELLS if not pieces or any(holds(cell, piece) for piece in pieces))


def _leaves(condition: Condition) -> set[str]:
    nodes = PEOPLE.variables[condition.variable].nodes
    return {leaf for code in condition.codes for leaf in nodes.get(code, (code,))}


def inside(box: Box) -> frozenset[tuple[int, ...]]:
    return frozenset(cell for cell in CELLS if holds(cell, {n: {CODES[n][p] for p in places} for n, places in box}))


def choice(name: str) -> st.SearchStrategy[tuple[str, ...]]:
    nodes = tuple(PEOPLE.variables[name].nodes)
    return st.sets(st.sampled_from(CODES[name] + nodes), min_size=1).map(lambda codes: tuple(sorted(codes)))


@st.composite
def universes(draw: st.DrawFn) -> Universe:
    pieces = []
    for _ in range(draw(st.integers(1, 3))):
        names = draw(
            st.lists(st.sampled_from(["age", "job", "sex", draw(st.sampled_from(LEVELS))]), min_size=1, unique=True)
        )
        pieces.append(Piece(tuple(Condition(name, draw(choice(name))) for name in names)))
    return Universe(tuple(pieces))


@st.composite
def reworded(draw: st.DrawFn, universe: Universe) -> Universe:
    """The same cells in other words: split pieces, idle conditions, finer levels, pieces said twice."""
    pieces = [{c.variable: set(_leaves(c)) for c in piece.conditions} for piece in universe.pieces]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(pieces) - 1))
        piece = dict(pieces[at])
        way = draw(st.sampled_from(["split", "idle", "finer", "narrower"]))
        name = draw(st.sampled_from(sorted(piece)))
        if way == "split" and len(piece[name]) > 1:
            some = set(draw(st.sets(st.sampled_from(sorted(piece[name])), min_size=1, max_size=len(piece[name]) - 1)))
            pieces[at : at + 1] = [piece | {name: some}, piece | {name: piece[name] - some}]
        elif way == "idle":
            spare = draw(st.sampled_from(sorted(CODES)))
            if spare not in piece:
                pieces[at] = piece | {spare: set(CODES[spare])}
        elif way == "finer" and name in LEVELS[:-1] and LEVELS[LEVELS.index(name) + 1] not in piece:
            finer = LEVELS[LEVELS.index(name) + 1]
            up = PEOPLE.lift(finer, name)
            codes = {c for place, c in enumerate(CODES[finer]) if CODES[name][up[place]] in piece[name]}
            pieces[at] = {n: c for n, c in piece.items() if n != name} | {finer: codes}
        elif way == "narrower":
            pieces.append(piece)
    return Universe(tuple(Piece.of({n: sorted(c) for n, c in piece.items()}) for piece in pieces))


class Everywhere:
    """A census of data in which each of the given cells holds one unit, whose key is the cell's number."""

    def __init__(self, cells: list[tuple[int, ...]]) -> None:
        self.cells = cells

    def tally(self, tally: Tally) -> Cells:
        groups: dict[tuple[int, ...], list[int]] = {}
        for cell in self.cells:
            groups.setdefault(tuple(self._place(cell, name) for name in tally.by), []).append(CELLS.index(cell))
        places = np.array(sorted(groups), dtype=np.int64).reshape(len(groups), len(tally.by))
        sizes = np.array([len(groups[place]) for place in sorted(groups)])
        keys = np.array([np.bitwise_xor.reduce([k * 7919 for k in groups[place]]) for place in sorted(groups)])
        return Cells(tally.by, places, sizes, sizes, keys)

    def _place(self, cell: tuple[int, ...], name: str) -> int:
        leaf = "zone" if name in LEVELS else name
        return PEOPLE.lift(leaf, name)[cell[LEAVES.index(leaf)]]

    def strata(self, universe: Universe) -> set[frozenset[tuple[int, ...]]]:
        """What Drop q samples from, as sets of occupied cells."""
        resolved = resolve(universe, PEOPLE)
        found = strata(resolved, Census(self.tally, resolved.variables, False), PEOPLE)
        return {units for box in found if (units := inside(box) & frozenset(self.cells))}


@settings(max_examples=150)
@given(universes())
def test_boxes_are_disjoint_and_cover_exactly_the_union(universe: Universe) -> None:
    boxes = resolve(universe, PEOPLE).boxes
    covered = [cell for box in boxes or ((),) for cell in inside(box)]
    assert len(covered) == len(set(covered))
    assert set(covered) == selected(universe)


@settings(max_examples=150)
@given(universes())
def test_pieces_are_as_asked(universe: Universe) -> None:
    pieces = resolve(universe, PEOPLE).pieces
    assert [inside(piece) for piece in pieces] == [selected(Universe((piece,))) for piece in universe.pieces]


@settings(max_examples=150)
@given(st.data())
def test_boxes_or_strata_do_not_depend_on_the_words(data: st.DataObject) -> None:
    universe = data.draw(universes())
    other = data.draw(reworded(universe))
    assert selected(universe) == selected(other)
    first, second = resolve(universe, PEOPLE), resolve(other, PEOPLE)
    if set(first.variables) == set(second.variables):
        assert first.boxes == second.boxes
    everywhere = Everywhere(list(CELLS))
    assert everywhere.strata(universe) == everywhere.strata(other)


@settings(max_examples=100)
@given(universes())
def test_strata_partition_the_universe(universe: Universe) -> None:
    found = Everywhere(list(CELLS)).strata(universe)
    assert sum(map(len, found)) == len(selected(universe))
    assert frozenset().union(*found) == selected(universe)


@settings(max_examples=150)
@given(universes())
def test_parts_partition_each_box_and_split_no_bins(universe: Universe) -> None:
    for box in resolve(universe, PEOPLE).boxes:
        found = parts(box, PEOPLE)
        cells = [cell for part in found for cell in inside(part)]
        assert len(cells) == len(set(cells)) and set(cells) == inside(box)
        ages = {places for part in found for name, places in part if name == "age"}
        assert ages == {places for name, places in box if name == "age"}


@settings(max_examples=100)
@given(universes())
def test_intersections_are_those_of_every_two_or_more_pieces(universe: Universe) -> None:
    resolved = resolve(universe, PEOPLE)
    cells = [inside(piece) for piece in resolved.pieces]
    expected = [
        common
        for size in range(2, len(cells) + 1)
        for some in itertools.combinations(cells, size)
        if (common := frozenset.intersection(*some))
    ]
    assert [inside(box) for box in intersections(resolved.pieces)] == expected


def test_codes_that_fill_a_class_are_one_part_and_others_are_parts_of_their_own() -> None:
    universe = Universe((Piece.of({"zone": ["n1a", "n1b", "n2a", "s1a"]}),))
    [box] = resolve(universe, PEOPLE).boxes
    assert parts(box, PEOPLE) == [(("zone", (0, 1, 2)),), (("zone", (3,)),)]


def _empty_towns() -> Iterator[tuple[str, list[str]]]:
    yield "zone", ["n1a"]
    yield "county", ["n1"]


def test_a_class_that_never_occurs_changes_no_stratum() -> None:
    """Zone n1b is deserted: asking for it or not, or for the county it is in, are the same units."""
    deserted = CODES["zone"].index("n1b")
    data = Everywhere([cell for cell in CELLS if cell[LEAVES.index("zone")] != deserted])
    for extra in ({}, {"sex": ["f"]}, {"age": ["0-39"], "job": ["p", "q"]}):
        words = [Universe((Piece.of({name: codes, **extra}),)) for name, codes in _empty_towns()]
        words.append(Universe((Piece.of({"zone": ["n1a", "n1b"], **extra}),)))
        found = [data.strata(universe) for universe in words]
        assert found[0] == found[1] == found[2]
    wider = [{"zone": ["n1a", "n2a"]}, {"zone": ["n1a", "n1b", "n2a"]}, {"area": ["N"]}, {"county": ["n1", "n2"]}]
    strata_of = [data.strata(Universe((Piece.of(words),))) for words in wider]
    assert all(found == strata_of[0] for found in strata_of)


@settings(max_examples=100)
@given(st.data())
def test_idle_words_about_classes_that_never_occur_change_no_stratum(data: st.DataObject) -> None:
    """Some classes are empty throughout; conditions may list them or not."""
    universe = data.draw(universes())
    empty = {"job": "r", "zone": "s1b"}
    occupied = Everywhere([c for c in CELLS if c[1] != CODES["job"].index("r") and c[3] != CODES["zone"].index("s1b")])
    pieces = []
    for piece in universe.pieces:
        conditions = {}
        for condition in piece.conditions:
            codes = set(condition.codes)
            if condition.variable in empty and data.draw(st.booleans()):
                codes = (codes ^ {empty[condition.variable]}) or codes
            conditions[condition.variable] = sorted(codes)
        pieces.append(Piece.of(conditions))
    assert occupied.strata(universe) == occupied.strata(Universe(tuple(pieces)))


def test_empty_combinations_of_classes_change_no_stratum() -> None:
    """No child has a job but p: asking for those of any age with job q adds nobody to the adults."""
    child, p = CODES["age"].index("0-19"), CODES["job"].index("p")
    data = Everywhere([cell for cell in CELLS if cell[0] != child or cell[1] == p])
    adults = Piece.of({"age": ["20-39", "40-59", "60+"]})
    for more in ({"job": ["q"]}, {"job": ["q", "r"]}, {"job": ["r"], "zone": ["n1a"]}, {"job": ["q"], "area": ["N"]}):
        assert data.strata(Universe((adults, Piece.of(more)))) == data.strata(Universe((adults,)))


def test_a_condition_that_the_other_conditions_imply_changes_no_stratum() -> None:
    """In zone n2a everybody has job p, so those with job q are elsewhere whether one says so or not."""
    n2a, p = CODES["zone"].index("n2a"), CODES["job"].index("p")
    data = Everywhere([cell for cell in CELLS if cell[3] != n2a or cell[1] == p])
    plain = data.strata(Universe((Piece.of({"job": ["q"]}),)))
    idle = data.strata(Universe((Piece.of({"job": ["q"], "zone": ["n1a", "n1b", "s1a", "s1b"]}),)))
    assert plain == idle and len(plain) == 1


def test_a_finer_level_splits_no_stratum_even_where_a_class_of_it_is_uniform() -> None:
    """In zone n1a everybody has job p: the county is one stratum whether its zones are named or not."""
    n1a, p = CODES["zone"].index("n1a"), CODES["job"].index("p")
    data = Everywhere([cell for cell in CELLS if cell[3] != n1a or cell[1] == p])
    county = data.strata(Universe((Piece.of({"job": ["p"], "county": ["n1"]}),)))
    zones = data.strata(Universe((Piece.of({"job": ["p"], "zone": ["n1a", "n1b"]}),)))
    assert county == zones and len(county) == 1


def test_conditions_that_exclude_each_other_are_a_mistake() -> None:
    with pytest.raises(Mistake, match="empty"):
        resolve(Universe((Piece.of({"area": ["N"], "zone": ["s1a"]}),)), PEOPLE)
