"""The auditor: which questions isolate small sets, whoever asks them and in whatever words."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asking import python_correlation, python_regression, python_table
from confide.answering.auditing.asked import AskedTable, asked_of, asked_tables, told_tables
from confide.answering.auditing.audit import TOGETHER, QuestionAudit, audit_questions
from confide.answering.auditing.axes import axes_of
from confide.answering.auditing.information import TOLD, least_tables, posterior_spread
from confide.answering.auditing.limit import AskedSoFar
from confide.answering.road import Road
from confide.answering.universe.resolve import Resolved
from confide.model.catalog.toml import read_dataset
from confide.model.request import Request
from confide.site.ledger import Entry, Ledger, read
from confide.spelling.json import write_request

TOWNS = ["a1", "a2", "a9", "b1", "b2"]
AGES = ["0-19", "20-39", "40-59", "60-109", "110+"]


def entries(place: Path, asked: Sequence[tuple[str, Request[Any]]], outcome: Any = "released") -> list[Entry]:
    """The ledger of these questions, one a minute."""
    times: Iterator[datetime] = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=n) for n in range(10**6))
    path = place / f"{len(list(place.iterdir()))}.jsonl"
    with Ledger(path, clock=lambda: next(times)) as ledger:
        for who, request in asked:
            ledger.append(
                who=who, dataset="people", request=write_request(request), outcome=outcome, policy="p", data="d"
            )
    return list(read(path))


def audited(road: Road, asked: Sequence[Entry], **more: Any) -> QuestionAudit:
    return audit_questions(asked, road.store, road.admit, policy=road.policy, **more)


@pytest.fixture
def road(town) -> Road:
    return town.preset("tablebuilder").desk().road


def one_left_out(*rows: str) -> list[Request[Any]]:
    """A table of everyone, and without those of 20 to 39 in county A."""
    rest = [{"county": "B"}, {"age": [age for age in AGES if age != "20-39"]}]
    return [python_table("people", rows=rows), python_table("people", rows=rows, where=rest)]


# ---- differencing pairs


def crowd(town: Any, *, rare: int) -> Road:
    """The town's people with all but a few of age group 110+ younger."""
    people = town.people
    ages = people["age"].to_numpy().copy()
    ages[ages >= 110] = 99
    ages[:rare] = 111
    at = people.column_names.index("age")
    return town.of(people.set_column(at, "age", [ages])).preset("tablebuilder").desk().road


@pytest.mark.parametrize(("rare", "found"), [(0, False), (2, True), (400, False)])
def test_two_universes_that_differ_by_few_units_are_a_pair(town, tmp_path: Path, rare: int, found: bool) -> None:
    """Two units are seen; nobody is nothing to see, and a third of all is no narrow set."""
    road = crowd(town, rare=rare)
    asked = [python_table("people", rows="sex"), python_table("people", rows="sex", where={"age": AGES[:-1]})]
    audit = audited(road, entries(tmp_path, [("ana", request) for request in asked]))
    assert bool(audit.findings) == found
    if found:
        [pair] = audit.findings
        assert pair.kind == "pairs" and pair.entries == (0, 1) and 0 < pair.score <= 2
        assert audit.scores == {("ana", "people"): pair.score}


def test_the_words_that_select_a_set_do_not_matter(town, tmp_path: Path) -> None:
    """County A and its towns are one universe; the difference is found whatever variables select its sides."""
    road = crowd(town, rare=2)
    by_towns = python_table("people", rows="sex", where={"town": ["a1", "a2", "a9"]})
    by_county = python_table("people", rows="sex", where={"county": "A"})
    young = python_table("people", rows="sex", where={"county": "A", "age": AGES[:-1]})
    assert not audited(road, entries(tmp_path, [("ana", by_towns), ("ana", by_county)])).findings
    scores = [audited(road, entries(tmp_path, [("ana", one), ("ana", young)])).worst for one in (by_towns, by_county)]
    assert scores[0] == scores[1]


def test_one_table_of_two_askers_is_a_pair_of_everybody_only(town, tmp_path: Path) -> None:
    road = crowd(town, rare=2)
    asked = [python_table("people", rows="sex"), python_table("people", rows="sex", where={"age": AGES[:-1]})]
    audit = audited(road, entries(tmp_path, list(zip(["ana", "bén <b>"], asked, strict=True))))
    assert {finding.who for finding in audit.findings} == {TOGETHER}
    assert audit.scores["ana", "people"] == audit.scores["bén <b>", "people"] == 0 < audit.worst


def test_what_was_refused_isolates_nothing(town, tmp_path: Path) -> None:
    road = crowd(town, rare=2)
    asked = [python_table("people", rows="sex"), python_table("people", rows="sex", where={"age": AGES[:-1]})]
    refused = entries(tmp_path, [("ana", request) for request in asked], outcome="refused")
    assert audited(road, refused).worst == 0


# ---- least squares


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (6, 6)])
def test_the_spread_is_that_of_the_inverse(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        rows, prior = rng.random(shape) < 0.5, rng.uniform(1, 20, shape[1])
        expected = np.linalg.inv(rows.T.astype(float) @ rows / 2 + np.diag(1 / prior))
        assert np.allclose(posterior_spread(rows, prior=prior, noise=2.0), np.sqrt(np.diag(expected)))


def test_nothing_is_told_of_what_fewer_tables_than_the_least_tell_apart() -> None:
    """The bound that lets the auditor skip families: with one table fewer, however clever, nothing is told."""
    rng = np.random.default_rng(4)
    for noise in (0.5, 2.0, 5.0):
        few = least_tables(noise) - 1
        for _ in range(50):
            rows = np.vstack([np.ones((1, 4), bool)] * 9 + [rng.random((few, 4)) < 0.5])
            assert posterior_spread(rows, prior=np.full(4, 4.0), noise=noise).min() > TOLD


def halves(splits: int, *, seed: int = 5) -> list[Request[Any]]:
    """One table over random boxes of two variables."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(splits):
        ages, trades = (
            rng.permutation(codes)[: rng.integers(1, len(codes))].tolist() for codes in (AGES, ["p", "q", "r"])
        )
        found.append(python_table("people", rows=["town", "ill"], where=[{"age": ages}, {"trade": trades}]))
    return found


def test_many_splits_of_one_variable_are_found_by_least_squares(town, tmp_path: Path) -> None:
    road = crowd(town, rare=20)
    audit = audited(road, entries(tmp_path, [("ana", request) for request in halves(150)]))
    kinds = {finding.kind: finding for finding in audit.findings}
    assert kinds["cells"].score > 3 and kinds["cells"].variables == ("age", "county", "ill", "trade")
    assert kinds["cells"].spread is not None and kinds["cells"].spread <= TOLD
    assert "cut each other" in kinds["splits"].words


def test_a_question_asked_again_tells_nothing_new(town, tmp_path: Path) -> None:
    road = crowd(town, rare=20)
    few = halves(1)
    assert audited(road, entries(tmp_path, [("ana", request) for request in few * 40])).worst == 0


# ---- families and words


def test_a_model_tells_the_tables_of_its_class_part(town) -> None:
    model = python_regression("people", "income ~ sex * town + age + log(age)")
    assert told_tables(model, town.dataset) == {("sex",), ("town",), ("sex", "town")}
    binary = python_regression("people", "ill=yes ~ sex + age", family="binomial")
    assert told_tables(binary, town.dataset) == {("ill", "sex")}
    related = python_correlation("people", ["sex", "ill", "age"])
    assert told_tables(related, town.dataset) == {("ill", "sex")}


def test_recodes_of_one_number_are_cut_at_all_their_cutpoints() -> None:
    toml = """
    title = "Ages"
    [variables.age]
    kind = "numeric"
    minimum = 0
    cutpoints = [20, 40]
    [variables.age_b]
    of = "age"
    kind = "numeric"
    minimum = 0
    cutpoints = [30, 40]
    """
    book = read_dataset(toml, name="people", read_file=str)
    everyone = Resolved((), ((),), ())
    [axis] = axes_of([AskedTable(0, ("age",), everyone), AskedTable(1, ("age_b",), everyone)], book).values()
    assert axis.places["age"].tolist() == [0, 1, 1, 2] and axis.places["age_b"].tolist() == [0, 0, 1, 2]
    stored = np.stack([axis.places[name] for name in axis.columns], axis=1)
    assert axis.locate(stored).tolist() == [0, 1, 2, 3]


def test_a_burst_and_refusals_are_worth_a_look_but_score_nothing(town, tmp_path: Path) -> None:
    road = crowd(town, rare=0)
    times = iter(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=n) for n in range(1000))
    with Ledger(tmp_path / "l.jsonl", clock=lambda: next(times)) as ledger:
        for number in range(40):
            request = write_request(python_table("people", rows="sex", where={"town": TOWNS[number % 5]}))
            ledger.append(who="ana", dataset="people", request=request, outcome="refused", policy="p", data="d")
    audit = audited(road, list(read(tmp_path / "l.jsonl")))
    assert {finding.kind for finding in audit.findings} == {"burst", "refused"} and audit.worst == 0
    assert "100 % of 40 questions" in next(f.words for f in audit.findings if f.kind == "refused")


def test_what_no_longer_fits_the_codebook_is_counted_and_left_out(town, tmp_path: Path) -> None:
    road = crowd(town, rare=0)
    with Ledger(tmp_path / "l.jsonl") as ledger:
        for request in ({"ask": "riddle"}, write_request(python_table("people", rows="gone"))):
            ledger.append(who="ana", dataset="people", request=request, outcome="released", policy="p", data="d")
    audit = audited(road, list(read(tmp_path / "l.jsonl")))
    assert audit.unread == 2 and audit.worst == 0


# ---- the limit


def test_the_score_kept_question_by_question_is_that_of_the_audit(town, tmp_path: Path) -> None:
    road = crowd(town, rare=20)
    rng = np.random.default_rng(6)
    pool = [
        *halves(25),
        python_table("people", rows="sex"),
        python_table("people", rows="sex", where={"age": AGES[:-1]}),
        python_table("people", rows=["town", "ill"]),
        python_regression("people", "income ~ sex + town"),
    ]
    pool = [pool[at] for at in rng.permutation(len(pool))]
    sofar = AskedSoFar(road.store)
    for at, request in enumerate(pool):
        sofar = sofar.trial(asked_tables(road.admit(request), at))
        expected = audited(road, entries(tmp_path, [("ana", one) for one in pool[: at + 1]])).worst
        assert sofar.score == pytest.approx(expected, abs=0.5), "findings below half a set are not reported"
    assert sofar.score > 3


def test_ten_thousand_entries_need_few_tallies(town, tmp_path: Path) -> None:
    """What an audit costs is counted, not timed: tallies of the store, for the questions of five askers."""
    road = crowd(town, rare=20)
    pool = [*halves(60), *one_left_out("town"), *one_left_out("sex", "trade")]
    [*few] = asked_of(entries(tmp_path, [("ana", request) for request in pool]), road.admit)
    written = [entry for entry, _ in few]
    many = [Entry(**{**vars(written[n % len(written)]), "number": n, "who": f"asker {n % 5}"}) for n in range(10_000)]
    store, calls = road.store, 0

    def tally(by: tuple[str, ...]) -> Any:
        nonlocal calls
        calls += 1
        return store.tally(by)

    counted = type(store)(store.dataset, tally, store.decision, store.counts)
    audit = audit_questions(many, counted, road.admit, policy=road.policy)
    assert audit.asked == 10_000 and audit.worst > 0 and calls < 20
