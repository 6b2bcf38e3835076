"""Four attacks in miniature, each first shown to work where nothing protects, then to fail for the defence's own reason."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide
from confide.client import DatasetHandle


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory, town: Any) -> Iterator[dict[str, DatasetHandle]]:
    """The same people behind four policies, opened as an analyst opens them."""
    path: Path = tmp_path_factory.mktemp("sites")
    opened = {}
    for preset in ("open", "standard", "drop-q", "census-mas"):
        confide.add(town.people, path / preset, name="people", catalog=town.catalog, preset=preset)
        opened[preset] = confide.open(path / preset, allow_open=True)
    yield {preset: site["people"] for preset, site in opened.items()}
    for site in opened.values():
        site.close()


def total(people: DatasetHandle, where: Any) -> float:
    return float(people.table(rows="sex", where=where).release.columns["count"].values[-1])


TARGET = {"town": "a2", "age": "60-109", "sex": "f", "work": "yes"}
"""Few enough to be refused."""


def test_t1_a_tracker_is_refused_because_its_pieces_hold_the_target(sites: dict[str, DatasetHandle]) -> None:
    women, men = {"sex": "f"}, {"sex": "m"}
    exact = sites["open"]
    tracked = total(exact, [TARGET, women]) + total(exact, [TARGET, men]) - total(exact, women) - total(exact, men)
    assert 0 < tracked == total(exact, TARGET) < 30
    for preset in ("drop-q", "census-mas"):
        assert total(sites[preset], women) > 0
        for where in (TARGET, [TARGET, women], [TARGET, men]):
            with pytest.raises(confide.Refused) as refused:
                total(sites[preset], where)
            assert "universe.gamma" in [reason.rule for reason in refused.value.reasons]


def test_t3_asking_again_and_averaging_gains_nothing(sites: dict[str, DatasetHandle]) -> None:
    words = {"rows": "town", "columns": "trade", "where": {"sex": "f"}}
    truth = sites["open"].table(**words).release.columns["count"].values
    answers = [sites["standard"].table(**words).release.columns["count"].values for _ in range(10)]
    assert all(np.array_equal(answer, answers[0]) for answer in answers)
    assert np.abs(np.mean(answers, axis=0) - truth).max() >= 2


def test_t13_other_words_for_the_same_units_give_no_second_draw(sites: dict[str, DatasetHandle]) -> None:
    variants: list[Any] = [
        {"county": "A"},
        {"town": ["a1", "a2"]},
        {"county": "A", "sex": ["m", "f"]},
        {"county": "A", "age": ["0-19", "20-39", "40-59", "60-109"]},
        [{"town": "a1"}, {"town": "a2"}],
        [{"county": "A", "sex": "f"}, {"county": "A", "sex": "m"}],
        [{"county": "A"}, {"town": "a1", "work": "no"}],
    ]
    for preset in ("standard", "drop-q", "census-mas"):
        asked = [sites[preset].table(rows="ill", where=where).release.columns["count"].values for where in variants]
        assert len({tuple(answer) for answer in asked}) == 1
    assert total(sites["open"], variants[0]) != total(sites["census-mas"], variants[0])


def test_d2_padding_neither_absorbs_nor_redraws_the_units_dropped(sites: dict[str, DatasetHandle]) -> None:
    """The women of a1 with and without those of 60 and more, each padded in many ways: one difference, not many."""
    bins = ["0-19", "20-39", "40-59"]
    parts = [{"town": town, "sex": sex} for town in ("b1", "b2") for sex in ("f", "m")]
    pads = [list(some) for size in (0, 1, 2) for some in combinations(parts, size)]

    def women_of_a1(people: DatasetHandle, ages: dict[str, Any], pad: list[Any]) -> float:
        where = [{"town": "a1", "sex": "f", **ages}, *pad]
        values = people.table(rows="town", columns="sex", where=where).release.columns["count"].values
        return float(values[0, 0])

    exact, dropping = (
        {women_of_a1(sites[preset], {}, pad) - women_of_a1(sites[preset], {"age": bins}, pad) for pad in pads}
        for preset in ("open", "census-mas")
    )
    assert len(pads) == 11 and len(exact) == 1
    assert len(dropping) == 1
    with_all, without = (women_of_a1(sites["census-mas"], ages, []) for ages in ({}, {"age": bins}))
    lost = [women_of_a1(sites["open"], ages, []) - left for ages, left in (({}, with_all), ({"age": bins}, without))]
    assert all(2 <= number <= 5 for number in lost)
