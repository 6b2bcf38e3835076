"""Policies: what is written is what is read, and no typo passes."""

from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.model.policy import PRESETS, SECTIONS, describe, preset_policy, read_policy, write_policy

STANDARD = PRESETS["standard"]
EVERY_FIELD = [(section, f.name) for section in SECTIONS for f in fields(getattr(STANDARD, section))]


def fails(text: str, *words: str) -> None:
    with pytest.raises(Mistake) as mistake:
        read_policy(text)
    for word in words:
        assert word in str(mistake.value)


@pytest.mark.parametrize("name", PRESETS)
def test_a_written_preset_reads_back_equal(name: str) -> None:
    assert read_policy(write_policy(PRESETS[name], preset=name)) == PRESETS[name]
    assert read_policy(f"preset = '{name}'") == PRESETS[name] == preset_policy(name)


def test_every_field_is_written_with_its_help() -> None:
    text = write_policy(STANDARD, preset="standard")
    for section, name in EVERY_FIELD:
        assert f"\n{name} = " in text.split(f"[{section}]")[1]
    for _, _, help_ in describe():
        assert help_.endswith(".")
        assert f"# {help_}\n" in text
    assert len(describe()) == len(EVERY_FIELD)


def test_nothing_said_is_the_standard_policy() -> None:
    assert read_policy("") == STANDARD


def test_a_field_that_differs_changes_that_field_only() -> None:
    policy = read_policy(
        "preset = 'tablebuilder'\nname = 'Büro \"1\"'\nversion = 3\n[counts]\ndistance = 4\nvariance = 1"
    )
    assert policy == replace(
        PRESETS["tablebuilder"],
        name='Büro "1"',
        version=3,
        counts=replace(PRESETS["tablebuilder"].counts, distance=4, variance=1.0),
    )
    assert read_policy(write_policy(policy, preset="tablebuilder")) == policy
    assert policy.title.endswith('Büro "1", version 3')


def other(value: Any, among: tuple[str, ...]) -> Any:
    """A value of the same kind that is allowed and different."""
    if isinstance(value, bool):
        return not value
    if among:
        return next(word for word in among if word != value)
    if isinstance(value, str):
        return f"{value}age"
    if isinstance(value, tuple):
        return value[:-1] or ("age",)
    return value + 1 if isinstance(value, int) else value / 2 + 0.1


@pytest.mark.parametrize(("section", "name"), EVERY_FIELD)
def test_the_mark_changes_with_any_field_on_which_an_answer_depends(section: str, name: str) -> None:
    part = getattr(STANDARD, section)
    [field] = [f for f in fields(part) if f.name == name]
    changed = replace(part, **{name: other(getattr(part, name), field.metadata["among"])})
    policy = replace(STANDARD, **{section: changed})
    apart = section in ("red_team", "audit", "updates", "review") or (section, name) == ("quota", "seconds")
    assert (policy.mark != STANDARD.mark) == (not apart)
    assert read_policy(write_policy(policy, preset="standard")) == policy


def test_the_mark_changes_with_name_and_version_and_with_nothing_else() -> None:
    assert len({STANDARD.mark, replace(STANDARD, name="x").mark, replace(STANDARD, version=2).mark}) == 3
    assert STANDARD.mark == read_policy("").mark
    assert read_policy("[totals]\nmagnitudes = [1, 0.5]").mark == read_policy("[totals]\nmagnitudes = [1.0, 0.5]").mark


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[universe]\ngama = 3", ("gama", "universe", "'gamma'")),
        ("[univers]\ngamma = 3", ("univers", "'universe'")),
        ("universe = 3", ("universe", "section")),
        ("preset = 'standart'", ("standart", "'standard'")),
        ("preset = 3", ("No preset called '3'",)),
        ("gamma = 3", ("Unknown section 'gamma'",)),
        ("[counts]\nmechanism = 'cell-keys'", ("counts.mechanism", "'cell-key'")),
        ("[counts", ("not valid TOML",)),
        ("name = 3", ("name must be text",)),
        ("name = ''", ("name must be text",)),
        ("version = '2'", ("version a whole number",)),
        ("version = true", ("version a whole number",)),
        ("version = 0", ("version a whole number",)),
    ],
)
def test_every_typo_is_a_mistake_with_the_nearest_word(text: str, words: tuple[str, ...]) -> None:
    fails(text, *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[universe]\ngamma = -1", ("universe.gamma", "at least 0")),
        ("[universe]\ngamma = 3.0", ("universe.gamma", "a whole number")),
        ("[universe]\ngamma = true", ("universe.gamma", "a whole number")),
        ("[universe]\nmarginals = 1", ("universe.marginals", "true or false")),
        ("[universe]\nmarginals = 'yes'", ("universe.marginals", "true or false")),
        ("[universe]\ndecide_on = 1", ("universe.decide_on", "text")),
        ("[drop]\nk = 51", ("drop.k", "at most 50")),
        ("[tables]\nsparsity = 1.5", ("tables.sparsity", "at most 1")),
        ("[tables]\nsparsity = nan", ("tables.sparsity", "a number")),
        ("[totals]\nrisk_limit = inf", ("totals.risk_limit", "a number")),
        ("[totals]\nmagnitudes = 0.4", ("totals.magnitudes", "a list of numbers")),
        ("[totals]\nmagnitudes = ['a']", ("totals.magnitudes", "a list of numbers")),
        ("[totals]\nmagnitudes = [0.4, -1]", ("totals.magnitudes", "at least 0")),
    ],
)
def test_what_is_out_of_range_or_of_another_kind_is_a_mistake(text: str, words: tuple[str, ...]) -> None:
    fails(text, *words)


def test_only_open_protects_nothing() -> None:
    assert {name for name, policy in PRESETS.items() if not policy.protects} == {"open"}
    assert replace(STANDARD, counts=replace(STANDARD.counts, mechanism="none")).protects
    assert replace(STANDARD, drop=replace(STANDARD.drop, k=0)).protects


@given(st.dictionaries(st.sampled_from(EVERY_FIELD), st.integers(-3, 40) | st.floats(0, 2) | st.booleans(), max_size=3))
def test_any_fields_give_a_policy_that_reads_back_or_a_mistake(changes: dict[tuple[str, str], Any]) -> None:
    sections: dict[str, dict[str, Any]] = {}
    for (section, name), value in changes.items():
        sections.setdefault(section, {})[name] = value
    try:
        policy = replace(STANDARD, **{s: replace(getattr(STANDARD, s), **c) for s, c in sections.items()})
    except Mistake:
        return
    assert read_policy(write_policy(policy, preset="standard")) == policy
    for (section, name), value in changes.items():
        assert asdict(policy)[section][name] == value
