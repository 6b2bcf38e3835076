"""Households and the people in them, asked about side by side."""

from collections.abc import Callable

import numpy as np

from confide.attacks.counts.both_levels import BothLevels
from confide.attacks.intruder import values
from confide.attacks.runner import LocalField, Settings, carry_out
from confide.attacks.workload.generator import Generator
from confide.attacks.workload.measuring import measure_site
from confide.model.request import TableRequest

Homes = Callable[[str], LocalField]


def test_people_split_in_many_ways_tell_how_many_households_there_are_where_only_counts_have_noise(
    homes: Homes,
) -> None:
    result = carry_out(BothLevels(), homes("tablebuilder"), Settings(questions=150))
    assert result.claimed == 100
    assert result.success > 0.8
    assert result.lift > 0.4


def test_of_protected_records_they_tell_what_those_say(homes: Homes) -> None:
    """A regression guard: the lift was 0.20 to 0.32 under four secrets; `docs/explanation/limits.md` has it."""
    result = carry_out(BothLevels(), homes("standard"), Settings(questions=150))
    assert result.claimed == 100
    assert result.success < 0.75
    assert result.lift < 0.35


def test_one_table_of_people_tells_no_more_than_that_of_households(homes: Homes) -> None:
    """Who live together are one unit in both, and draw one noise."""
    with homes("standard").opened() as site:
        assert site is not None
        by = ("county", "household_size")
        homes_of, people = (np.array(values(site.ask(TableRequest(n, by)))) for n in ("people.homes", "people"))
    assert (people[:, :5] == homes_of[:, :5] * np.arange(1, 6)).all()


def test_without_households_there_is_nothing_to_compare(field: Callable[..., LocalField]) -> None:
    assert not carry_out(BothLevels(), field("standard", rows=5_000), Settings(questions=3)).applies


def test_honest_questions_are_asked_of_households_too(homes: Homes) -> None:
    place = homes("standard")
    found = measure_site(place.site, place.name, generator=Generator(questions=20, statistics=10))
    assert found.asked == 30 and not found.mistakes
    assert found.answered > 15
