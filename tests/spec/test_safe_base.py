"""`counts.mechanism = "safe"`: counts from protected microdata, and no others."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import confide
from asking import Desk, python_regression, python_table
from confide import tables
from confide.answering.mechanisms.safe.build import build_base, make_base, to_base
from confide.answering.road import Road
from confide.answering.shield import Shield
from confide.cli.main import app
from confide.engines.memory.engine import MemoryEngine
from confide.errors import Mistake
from confide.model.policy import TableRules, preset_policy, write_policy
from confide.site.folder import Folder
from confide.spelling.url import read_url

LENIENT = TableRules(sparsity=1.0, mean_cell=0.0, class_disclosure=False)
POLICY = replace(
    preset_policy("drop-q"), counts=replace(preset_policy("drop-q").counts, mechanism="safe"), tables=LENIENT
)


@pytest.fixture(scope="module")
def town(town: Any, people_of: Any) -> Any:
    """So few people that many combinations have one or two."""
    return town.of(people_of(size=300, seed=1))


@pytest.fixture(scope="module")
def found(town: Any) -> Any:
    return build_base(town.dataset, MemoryEngine(town.coded()), town.secret(), by=["sex", "town", "age", "work"])


@pytest.fixture(scope="module")
def desk(town: Any, found: Any) -> Desk:
    return Desk(
        Road(
            town.dataset,
            MemoryEngine(town.coded()),
            Shield(POLICY, town.secret()),
            base=lambda: to_base(found, mark="m"),
        )
    )


def asked(desk: Desk, **words: Any) -> Any:
    answer = desk.consider(python_table("people", **words))
    assert not answer.reasons, answer.reasons
    return answer.release


def counts(desk: Desk, **words: Any) -> np.ndarray:
    return asked(desk, **words).columns["count"].values


def test_every_combination_has_no_record_or_at_least_three(found: Any) -> None:
    assert not np.isin(found.count, (1, 2)).any()
    assert set(found.by) == {"sex", "town", "county", "age", "work"}
    assert np.isin(found.before, (1, 2)).any()
    assert 1 <= found.largest <= 7


def test_where_every_combination_is_common_the_base_is_the_truth(town: Any) -> None:
    """Said in the documentation: SAFE takes away rare combinations and nothing else."""
    base = build_base(town.dataset, MemoryEngine(town.coded()), town.secret(), by=["sex", "county"])
    assert (base.count == base.before).all()


def test_tables_of_the_base_add_up_agree_and_say_so(desk: Desk) -> None:
    by_town, by_county = (asked(desk, rows=place, columns=["sex", "age"]) for place in ("town", "county"))
    towns, counties = (release.columns["count"].values for release in (by_town, by_county))
    assert by_town.totals_add
    assert "SAFE" in by_town.notes[0]
    assert (towns[:-1].sum(axis=0) == towns[-1]).all()
    assert (towns[-1] == counties[-1]).all()
    assert (towns[:3].sum(axis=0) == counties[0]).all()
    assert counts(desk, rows="sex", where={"county": "A"})[-1] == counties[0, -1, -1]


def test_own_classes_are_sums_of_the_base(desk: Desk) -> None:
    fine = asked(desk, rows="town", columns="sex").columns["count"]
    own = asked(desk, rows="place", columns="sex", define="place = a: town in (a1, b1); else: b").columns["count"]
    assert own.values[0].tolist() == (fine.values[0] + fine.values[3]).tolist()
    assert own.values[-1].tolist() == fine.values[-1].tolist()
    assert (own.noise >= fine.noise.min()).all()
    both = asked(desk, rows="some", define="some = sex in (f) and town in (a1, b1)").columns["count"]
    assert both.values[0] == fine.values[0, 0] + fine.values[3, 0]
    refused = desk.consider(python_table("people", rows="who", define="who = trade in (p)")).reasons
    assert [reason.rule for reason in refused] == ["counts.base"]


def test_a_union_counts_everybody_once(desk: Desk) -> None:
    union = counts(desk, rows="work", where=[{"sex": "f"}, {"county": "A"}])
    parts = [
        counts(desk, rows="work", where=where) for where in ({"sex": "f"}, {"county": "A"}, {"sex": "f", "county": "A"})
    ]
    assert (union == parts[0] + parts[1] - parts[2]).all()


def test_counts_are_near_the_truth_and_the_spread_said_is_that_of_the_deviations(
    desk: Desk, town: Any, found: Any
) -> None:
    open_desk = Desk(Road(town.dataset, MemoryEngine(town.coded()), Shield(preset_policy("open"), town.secret())))
    words = {"rows": "town", "columns": ["sex", "age"]}
    ours, true = asked(desk, **words).columns["count"], counts(open_desk, **words)
    assert abs(ours.values - true).max() <= 2 * found.largest
    assert 0.3 < ours.noise.max() < 6


def test_the_spread_said_of_the_total_is_not_its_own() -> None:
    small = tables.safe({"a": np.arange(4)}, by=["a"], controlled=1, teaching_seed=1)
    assert small.count.sum() in (3, 6)  # one or two from the truth
    assert to_base(small, mark="m").spread == (1.32, 1.32)


def test_universes_that_differ_differ_by_three_records_or_more(desk: Desk) -> None:
    """Differencing: all pairs of universes of which one has a code more."""
    ages = ["0-19", "20-39", "40-59", "60-109"]
    for sex, town_ in itertools.product("fm", ["a1", "a2", "b1", "b2"]):
        for some in itertools.combinations(ages, 3):
            for fewer in itertools.combinations(some, 2):
                more, less = (
                    counts(desk, rows="work", where={"sex": sex, "town": town_, "age": list(codes)})
                    for codes in (some, fewer)
                )
                assert not np.isin(more - less, (1, 2)).any()


BEYOND = (
    {"rows": "trade"},
    {"rows": "sex", "columns": "trade"},
    {"rows": "sex", "where": {"trade": ["p", "q"]}},
    {"rows": "sex", "measure": ["count", "weighted_count"]},
    {"rows": "sex", "measure": "mean", "of": "income"},
)
"""Questions that name a variable or want a measure which the base does not have."""


@pytest.mark.parametrize("words", BEYOND)
def test_what_the_base_does_not_have_is_refused(desk: Desk, words: dict[str, Any]) -> None:
    request = python_table("people", **words)
    assert [reason.rule for reason in desk.consider(request).reasons] == ["counts.base"]
    alone = words == {"rows": "trade"}
    assert alone or any(not desk.consider(read_url(near.address)).reasons for near in desk.suggest(request))


@pytest.mark.parametrize("formula", ["income ~ sex", "income ~ trade"])
def test_models_of_records_that_nothing_protects_are_refused(desk: Desk, formula: str) -> None:
    reasons = desk.consider(python_regression("people", formula)).reasons
    assert [reason.rule for reason in reasons] == ["counts.base"]


@pytest.fixture(scope="module")
def noisy(town: Any, found: Any) -> Desk:
    """Where the records are protected too, so that more than counts is answered."""
    policy = replace(POLICY, records=replace(POLICY.records, noise=0.15), universe=preset_policy("standard").universe)
    engine, shield = MemoryEngine(town.coded()), Shield(policy, town.secret())
    return Desk(Road(town.dataset, engine, shield, base=lambda: to_base(found, mark="m")))


@pytest.mark.parametrize("where", [None, {"age": ["20-39", "40-59"]}, [{"sex": "f"}, {"county": "A"}]])
@pytest.mark.parametrize("measure", [["count", "weighted_count"], ["count", "total"], ["mean", "count"]])
def test_counts_beside_other_measures_are_those_of_the_base(noisy: Desk, where: Any, measure: list[str]) -> None:
    of = {"of": "income"} if {"total", "mean"} & set(measure) else {}
    words = {"rows": "town", "columns": "sex", "where": where}
    alone = asked(noisy, **words).columns["count"]
    beside = asked(noisy, **words, **of, measure=measure)
    assert beside.columns["count"] == alone
    assert any("SAFE" in note for note in beside.notes)
    assert not any("changed at random by at most" in note for note in beside.notes)


def test_a_condition_that_all_fulfil_does_not_lead_out_of_the_base(desk: Desk) -> None:
    assert (counts(desk, rows="sex", where={"trade": ["p", "q", "r"]}) == counts(desk, rows="sex")).all()


def test_weighted_counts_are_nought_where_the_base_has_nobody_and_nowhere_else(noisy: Desk) -> None:
    release = asked(noisy, rows="town", columns="sex", measure=["count", "weighted_count"])
    count, weighted = (release.columns[name].values for name in ("count", "weighted_count"))
    assert ((weighted > 0) == (count > 0)).all()


def test_models_within_the_base_are_answered_from_protected_records(noisy: Desk) -> None:
    def rules(formula: str, **words: Any) -> list[str]:
        return [reason.rule for reason in noisy.consider(python_regression("people", formula, **words)).reasons]

    assert rules("income ~ sex") == []
    assert rules("income ~ trade") == ["counts.base"]
    assert rules("income ~ sex", where={"trade": "p"}) == ["counts.base"]


def test_small_universes_are_answered_from_the_base(desk: Desk, town: Any) -> None:
    """No rule on universes stands in the way: there is nobody to protect."""
    words = {"rows": "work", "where": {"sex": "f", "town": "a2", "age": "60-109"}}
    plain = Desk(Road(town.dataset, MemoryEngine(town.coded()), Shield(town.policy, town.secret())))
    assert plain.consider(python_table("people", **words)).reasons
    assert counts(desk, **words).shape == (3,)


def test_rules_on_tables_look_at_the_base(town: Any, found: Any) -> None:
    strict = replace(POLICY, tables=replace(LENIENT, mean_cell=1e6))
    desk = Desk(
        Road(
            town.dataset,
            MemoryEngine(town.coded()),
            Shield(strict, town.secret()),
            base=lambda: to_base(found, mark="m"),
        )
    )
    reasons = desk.consider(python_table("people", rows="sex")).reasons
    assert [reason.rule for reason in reasons] == ["tables.mean_cell"]


def test_receipts_name_the_base(town: Any, found: Any) -> None:
    request = python_table("people", rows="sex")
    engine = MemoryEngine(town.coded())
    marks = [
        Desk(
            Road(town.dataset, engine, Shield(POLICY, town.secret()), base=lambda m=m: to_base(found, mark=m))
        ).receipt(request)
        for m in "ab"
    ]
    assert marks[0] != marks[1]


def test_a_unit_with_several_records_is_a_mistake(town: Any, people_of: Any) -> None:
    twice = town.of(people_of(size=100, seed=2, visits=2))
    with pytest.raises(Mistake, match="several"):
        build_base(twice.dataset, MemoryEngine(twice.coded()), twice.secret(), by=["sex"])


@pytest.mark.parametrize("by", [[], ["aeg"], ["income"]])
def test_variables_that_cannot_span_a_base_are_a_mistake(town: Any, by: list[str]) -> None:
    with pytest.raises(Mistake):
        build_base(town.dataset, MemoryEngine(town.coded()), town.secret(), by=by)


@pytest.fixture
def site(tmp_path: Path, town: Any) -> Iterator[Path]:
    confide.add(town.people, tmp_path / "site", name="people", catalog=town.catalog, preset="drop-q")
    (tmp_path / "site" / "policy.toml").write_text(write_policy(POLICY, preset="drop-q"))
    yield tmp_path / "site"


def test_a_site_needs_a_base_of_its_data_before_it_opens(site: Path, town: Any, people_of: Any) -> None:
    with pytest.raises(Mistake, match="has no SAFE base") as missing, confide.open(site):
        pass
    assert "confide safe" in str(missing.value.suggestions[0])
    result = CliRunner().invoke(app, ["safe", str(site), "people", "--by", "sex, town", "--controlled", "2"])
    assert result.exit_code == 0, result.output
    assert "SafeBase" in result.output
    with confide.open(site) as opened:
        first = opened["people"].table(rows="sex", columns="town")
    with confide.open(site) as opened:
        assert opened["people"].table(rows="sex", columns="town") == first
    confide.ingest(people_of(size=600, seed=5), site, name="people")
    with pytest.raises(Mistake, match="other data"), confide.open(site):
        pass


def test_the_same_site_gives_the_same_base(site: Path) -> None:
    one, other = (make_base(site, "people", by=["sex", "town"]) for _ in range(2))
    assert (one.count == other.count).all()


def test_the_file_has_no_truth_in_it_and_is_for_its_owner(site: Path) -> None:
    import pyarrow.parquet as pq

    make_base(site, "people", by=["sex", "town"])
    file = Folder(site).base("people")
    assert pq.read_table(file).column_names == ["sex", "town", "county", "count"]
    assert file.stat().st_mode & 0o077 == 0


def test_a_broken_file_is_a_mistake(site: Path) -> None:
    (Folder(site).base("people")).write_bytes(b"no parquet")
    with pytest.raises(Mistake, match="cannot be read"), confide.open(site):
        pass
    with pytest.raises(Mistake, match="no data set"):
        make_base(site, "poeple", by=["sex"])
