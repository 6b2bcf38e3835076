"""The same units give the same answer, whatever words select them: unions, levels, recodes and complements."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asking import Desk, python_regression, python_table
from confide import demo
from confide.answering.mechanisms.safe.build import build_base, to_base
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.demo.texts import catalog_text
from confide.engines.memory.engine import MemoryEngine
from confide.model.catalog.dataset import Dataset
from confide.model.policy import PRESETS, Policy
from protecting import Protection, catalog_of, secret_of

Codes = tuple[str, ...]
Piece = Mapping[str, Codes]

BOOK: Dataset = catalog_of(catalog_text("people"))
BASE = ("municipality", "age", "age_group", "sex", "employment")


def lenient(policy: Policy) -> Policy:
    """The same protection of numbers, and no rule that looks at how many pieces and conditions the words have."""
    universe = replace(
        policy.universe, gamma=0, gamma_star=0, marginals=False, complement=False, remainder=0, variables=8, pieces=8
    )
    tables = replace(policy.tables, mean_cell=0.0, sparsity=1.0, class_disclosure=False)
    return replace(policy, universe=universe, tables=tables)


@cache
def desk(name: str) -> Desk:
    """A site of 1,000 people under a preset, or under `standard` with a SAFE base."""
    policy = lenient(PRESETS["standard" if name == "safe" else name])
    policy = replace(policy, counts=replace(policy.counts, mechanism="safe")) if name == "safe" else policy
    engine = MemoryEngine(Protection(demo.people(1_000), catalog_text("people"), policy).protected)
    found = build_base(BOOK, engine, secret_of(), by=BASE, controlled=1) if name == "safe" else None
    base = None if found is None else to_base(found, mark="m")
    return Desk(Road(BOOK, engine, Shield(policy, secret_of()), base=None if base is None else lambda: base))


def codes(name: str) -> Codes:
    found = BOOK.variables[name].codes
    assert found is not None
    return found.names


def rest(name: str, some: Codes) -> Codes:
    return tuple(code for code in codes(name) if code not in some)


def below(level: str, some: Codes, finer: str) -> Codes:
    """The codes of a finer level that lie in these."""
    places = {codes(level).index(code) for code in some}
    return tuple(codes(finer)[at] for at, up in enumerate(BOOK.lift(finer, level)) if up in places)


def tens(some: Codes) -> Codes:
    """The ages, in bins of five years where there are such, of these age groups."""
    starts = [float("-inf"), *BOOK.variables["age"].cutpoints]
    groups = [sum(cut <= start for cut in BOOK.variables["age_group"].cutpoints) for start in starts]
    return tuple(codes("age")[at] for at, group in enumerate(groups) if codes("age_group")[group] in some)


@st.composite
def some_of(draw: st.DrawFn, name: str) -> Codes:
    """Some codes of a variable, but not all."""
    picked = draw(st.sets(st.sampled_from(codes(name)), min_size=1, max_size=len(codes(name)) - 1))
    return tuple(sorted(picked))


@st.composite
def two_wordings(draw: st.DrawFn) -> tuple[list[Piece], list[Piece]]:
    """Two universes of the same people: one plain, the other changed by one to three ways to say the same."""
    names = draw(st.lists(st.sampled_from(("region", "age_group", "sex", "employment")), min_size=1, unique=True))
    piece = {name: draw(some_of(name)) for name in names}
    if len(names) > 1 and draw(st.booleans()):  # everybody but a box, and its complement put together
        first, *others = names
        outside = [{first: rest(first, piece[first])}]
        outside += [{first: piece[first], name: rest(name, piece[name])} for name in others[:1]]
        plain: list[Piece] = [{name: rest(name, piece[name])} for name in names[:2]]
        return plain, draw(changed(outside))
    return [piece], draw(changed([piece]))


@st.composite
def changed(draw: st.DrawFn, pieces: list[Any]) -> list[Piece]:
    """The same people in other words."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(pieces) - 1))
        piece, way = dict(pieces[at]), draw(st.sampled_from(sorted(WAYS)))
        name = draw(st.sampled_from(sorted(piece)))
        pieces = [*pieces[:at], *WAYS[way](draw, piece, name), *pieces[at + 1 :]]
    if draw(st.booleans()):  # two cuts of one number may not be used together
        pieces = [
            {"age" if n == "age_group" else n: tens(c) if n == "age_group" else c for n, c in p.items()} for p in pieces
        ]
    return draw(st.permutations(pieces))


def _split(draw: st.DrawFn, piece: Any, name: str) -> list[Piece]:
    if len(piece[name]) < 2:
        return [piece]
    cut = draw(st.integers(1, len(piece[name]) - 1))
    lapping = draw(st.integers(0, 1))
    return [piece | {name: piece[name][: cut + lapping]}, piece | {name: piece[name][cut:]}]


def _finer(draw: st.DrawFn, piece: Any, name: str) -> list[Piece]:
    finer = draw(st.sampled_from(("county", "municipality")))
    left = {n: c for n, c in piece.items() if n != name}
    return [left | {finer: below(name, piece[name], finer)}] if name == "region" else [piece]


def _idle(draw: st.DrawFn, piece: Any, name: str) -> list[Piece]:
    spare = draw(st.sampled_from(("sex", "employment", "region")))
    taken = {"region", "county", "municipality"} & set(piece) if spare == "region" else {spare} & set(piece)
    return [piece] if taken else [piece | {spare: codes(spare)}]


def _twice(draw: st.DrawFn, piece: Any, name: str) -> list[Piece]:
    return [piece, piece | {name: piece[name][:1]}]


WAYS: dict[str, Callable[[st.DrawFn, Any, str], list[Piece]]] = {
    "split": _split,
    "finer": _finer,
    "idle": _idle,
    "twice": _twice,
}


@pytest.mark.parametrize("policy", ["standard", "drop-q", "census-mas", "safe"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(words=two_wordings())
def test_the_same_people_in_other_words_have_the_same_numbers(policy: str, words: tuple[Any, Any]) -> None:
    plain, other = words
    asked = {"rows": "sex", "columns": "region", "measure": ["count", "mean"], "of": "income"}
    first, second = (desk(policy).consider(python_table("people", **asked, where=where)) for where in (plain, other))
    assert not first.reasons and not second.reasons
    assert all(np.array_equal(first.columns[n].values, second.columns[n].values, equal_nan=True) for n in first.columns)
    assert all(np.array_equal(first.columns[n].marks, second.columns[n].marks) for n in first.columns)


@pytest.mark.parametrize("policy", ["standard", "drop-q", "census-mas"])
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(words=two_wordings())
def test_the_same_people_in_other_words_have_the_same_model(policy: str, words: tuple[Any, Any]) -> None:
    found = [
        desk(policy).consider(python_regression("people", "income ~ marital + hours", where=where)) for where in words
    ]
    assert found[0].reasons == found[1].reasons
    assert found[0].grids == found[1].grids
