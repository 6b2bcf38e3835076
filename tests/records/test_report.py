"""The report on what protecting the records did: its figures, its sentences, and that it reads back."""

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from confide.errors import Mistake
from confide.records.ceilings.ceiling import Ceiling
from confide.records.report import RecordsReport, ceiling_words, highest_ceilings
from protecting import Protection, people, records_policy


@pytest.fixture(scope="module")
def done() -> Protection:
    return Protection(people(3000, seed=1), policy=records_policy(mean_cell=1.0))


def test_the_figures_are_those_of_the_records(done: Protection) -> None:
    report = done.report
    assert report.records == 3000 and report.exposed == done.exposure.exposed.sum() > 0
    moved = {name: done.moved(name) for name in ("town", "age", "job", "sex")}
    assert report.touched == {name: int(done.touched(name).sum()) for name in done.plans}
    assert report.touched["town"] == moved["town"].sum() and report.touched["job"] == moved["job"].sum()
    assert report.touched_at_all == np.any([done.touched(name) for name in done.plans], axis=0).sum()
    assert report.exposed_numbers["income"] == done.exposure.numbers["income"].sum()
    assert 0 < report.margins[2] < report.touched_at_all and report.margins[3] > 0
    assert report.margins[1] == 0, "as many have each class as before"
    assert 0 < report.correlation < 1
    both = [np.corrcoef(*(coded.numbers(name)[there] for name in ("income", "tax")))[0, 1]
            for coded in (done.true, done.protected)
            for there in [np.isfinite(done.true.numbers("income"))]]  # fmt: skip
    assert report.correlation >= abs(both[1] - both[0]) - 1e-12


def test_a_report_reads_back_as_it_was_written(done: Protection) -> None:
    assert RecordsReport.read(done.report.write()) == done.report
    assert json.loads(done.report.write())["records"] == 3000


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", '{"ceilings": [{"variable": "x"}], "margins": {}}', '{"ceilings": [], "margins": 3}'],
)
def test_a_report_that_cannot_be_read_is_a_mistake(text: str) -> None:
    with pytest.raises(Mistake, match="report on the records"):
        RecordsReport.read(text)


def test_the_sentences_say_every_figure(done: Protection) -> None:
    lines = done.report.lines()
    text = "\n".join(lines)
    share = done.report.touched_at_all / 3000
    assert lines[0] == (
        f"{done.report.exposed} of 3,000 records are exposed by their keys; "
        f"{done.report.touched_at_all} exchanged a key ({share:.1%})."
    )
    for figure in (
        done.report.exposed_numbers["tax"],
        f"{done.report.margins[3]:.2f}",
        f"{done.report.correlation:.3f}",
    ):
        assert str(figure) in text
    assert text.count("Ceiling:") == len(done.report.ceilings) == 6


def test_a_ceiling_is_said_of_classes_and_of_numbers() -> None:
    assert ceiling_words(Ceiling("ill", 2, False, 10, 0.5, 0.4, 0.45)) == (
        "Ceiling: whoever had the whole protected file would know the class of 'ill' of a unit exposed on 2 keys or fewer "
        "in 50% of 10 cases; the best guess is right in 40%, statistics on the others in 45%."
    )
    assert ceiling_words(Ceiling("income", 0, True, 90, 0.25, 0.2, 0.2)) == (
        "Ceiling: whoever had the whole protected file would know 'income' to within 10 % of a unit that dominates a total "
        "in 25% of cases; the best guess is right in 20%."
    )


def test_numbers_with_as_many_noised_records_are_told_in_one_line(done: Protection) -> None:
    report = replace(done.report, exposed_numbers={"a": 5, "b": 5, "c": 7, "d": 5, "e": 5, "f": 5})
    assert [line for line in report.done() if "larger noise" in line] == [
        "5 records have larger noise in 'a', 'b', 'd' and 2 more.",
        "7 records have larger noise in 'c'.",
    ]


def test_records_that_are_only_noised_exchange_nothing() -> None:
    done = Protection(people(500, seed=1), policy=records_policy(keys=0, background=0.0))
    assert done.report.touched_at_all == done.report.exposed == 0
    assert set(done.report.margins.values()) == {0.0}
    assert isinstance(done.table, pa.Table) and not np.array_equal(
        done.true.numbers("tax"), done.protected.numbers("tax")
    )


def test_where_not_all_ceilings_are_asked_for_the_highest_are_told_and_the_others_counted(done: Protection) -> None:
    ceilings = [Ceiling(f"v{n}", 2, False, 100, 0.1 * n, 0.0, 0.05) for n in range(1, 6)]
    *told, rest = highest_ceilings(ceilings)
    assert [re.search(r"'(v\d)'", line)[1] for line in told] == ["v5", "v4", "v3"]  # type: ignore[index]
    assert rest == "2 more ceilings, lower or of fewer cases: see confide records."
    assert highest_ceilings(ceilings[:3]) == [ceiling_words(ceiling) for ceiling in ceilings[2::-1]]
    assert highest_ceilings([]) == []
    two = replace(ceilings[0], variable="two", exposed=2, right=1.0)
    assert highest_ceilings([two, *ceilings[:2]])[-1] == ceiling_words(two), "of two cases a share says little"
    assert len(done.report.short()) < len(done.report.lines()) and set(done.report.done()) <= set(done.report.short())
