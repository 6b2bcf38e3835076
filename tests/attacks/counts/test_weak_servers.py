"""Attacks that no policy of Confide is open to succeed against servers that are: fresh noise, noise by words, rounding.

The servers stand in for those: each takes the answers of a site without protection, and changes them as such a server would.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import numpy as np
import pytest

from confide import demo
from confide.answering.rounding import significant
from confide.attacks.counts.exact_means import ExactMeans
from confide.attacks.counts.repeating import Repeating
from confide.attacks.counts.rounding_edges import RoundingEdges
from confide.attacks.counts.sampling_errors import SamplingErrors
from confide.attacks.counts.syntactic_variants import SyntacticVariants
from confide.attacks.result import Result
from confide.attacks.runner import LocalField, RemoteField, Settings, carry_out
from confide.attacks.truth.truth import truth_of_site
from confide.client import Site
from confide.model.policy import preset_policy
from confide.model.release import Release
from confide.model.request import TableRequest
from confide.records.ingest import add


@dataclass
class Server:
    """A site whose answers are changed on their way."""

    site: Site
    change: Callable[[TableRequest, Release], Release]

    def codebook(self, name: str) -> Any:
        return self.site.codebook(name)

    def ask(self, request: TableRequest, *, diagnostics: bool = False) -> Release:
        return self.change(request, self.site.ask(request))


def _with_counts(release: Release, counts: np.ndarray) -> Release:
    column = replace(release.columns["count"], values=np.maximum(counts, 0.0))
    return replace(release, columns={**release.columns, "count": column})


@dataclass
class FreshNoise:
    rng: np.random.Generator

    def __call__(self, request: TableRequest, release: Release) -> Release:
        counts = release.columns["count"].values
        return _with_counts(release, counts + self.rng.integers(-3, 4, counts.shape))


def noise_by_words(request: TableRequest, release: Release) -> Release:
    """Noise drawn from the text of the universe."""
    rng = np.random.default_rng(zlib.crc32(repr(request.where).encode()))
    counts = release.columns["count"].values
    return _with_counts(release, counts + rng.integers(-2, 3, counts.shape))


def rounding(request: TableRequest, release: Release) -> Release:
    """Counts rounded to fives."""
    return _with_counts(release, 5.0 * np.rint(release.columns["count"].values / 5))


@contextmanager
def remote(of: LocalField, change: Callable[[TableRequest, Release], Release]) -> Iterator[RemoteField]:
    with of.opened() as site:
        yield RemoteField(Server(site, change), of.name, of.policy, of.truth)


def attacked(of: LocalField, attack: Any, change: Callable[[TableRequest, Release], Release], questions: int) -> Result:
    with remote(of, change) as weak:
        return carry_out(attack, weak, Settings(questions=questions))


def test_repeating_averages_fresh_noise_away(field) -> None:
    # Noise uniform on -3..3 has a standard deviation of 2; the mean of 60 is off by 0.26 (one in 20 cells by half or more).
    result = attacked(field("open", rows=5_000), Repeating(), FreshNoise(np.random.default_rng(7)), 60)
    assert result.success > 0.85
    assert result.guess < 0.5


@pytest.mark.parametrize("preset", ["standard", "tablebuilder", "census-mas", "open"])
def test_repeating_finds_that_nothing_is_drawn_afresh(field, preset) -> None:
    result = carry_out(Repeating(), field(preset, rows=5_000), Settings(questions=60))
    assert (result.claimed, result.questions) == (0, 3)


def test_variants_average_noise_that_depends_on_words(field) -> None:
    # Four or five draws of standard deviation 1.4 leave one of 0.65: rounded right in more than half of the cells.
    result = attacked(field("open", rows=5_000), SyntacticVariants(), noise_by_words, 60)
    assert result.claimed > 5
    assert result.success > result.guess + 0.1


@pytest.mark.parametrize("preset", ["standard", "tablebuilder", "census-mas"])
def test_other_words_for_the_same_units_give_the_same_answer(field, preset) -> None:
    result = carry_out(SyntacticVariants(), field(preset, rows=5_000), Settings(questions=60))
    assert result.targets == 10
    assert result.claimed == 0


def test_unions_undo_rounding(field) -> None:
    result = attacked(field("open", rows=5_000), RoundingEdges(), rounding, 60)
    assert result.success > 0.5
    assert result.success > result.guess + 0.2


def test_there_is_no_edge_where_counts_are_not_rounded(field) -> None:
    result = carry_out(RoundingEdges(), field("tablebuilder", rows=5_000), Settings(questions=60))
    assert (result.claimed, result.questions) == (0, 1)


@pytest.fixture(scope="module")
def unweighted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], LocalField]:
    """The demo people without weights, under a fixed secret."""
    site = tmp_path_factory.mktemp("unweighted")
    (site / "secret").touch(0o600)
    (site / "secret").write_text("5e" * 32 + "\n", encoding="ascii")
    text = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    catalog = text.replace('weight = "weight"\n', "")
    add(demo.people(5_000).drop_columns(["weight"]), site, name="people", catalog=catalog)
    truth = truth_of_site(site, "people")
    return lambda preset: LocalField(site, "people", preset_policy(preset), truth)


def test_exact_means_give_noisy_counts_away(unweighted) -> None:
    with unweighted("open").opened() as means:

        def beside(request: TableRequest, release: Release) -> Release:
            columns = {**release.columns, "mean": means.ask(request).columns["mean"]}
            return replace(release, columns=columns)

        result = attacked(unweighted("tablebuilder"), ExactMeans(), beside, 1)
    assert result.precision > 0.9
    assert result.success > result.guess + 0.5


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], LocalField]:
    """The same people, each drawn by themselves."""
    site = tmp_path_factory.mktemp("drawn")
    (site / "secret").touch(0o600)
    (site / "secret").write_text("5e" * 32 + "\n", encoding="ascii")
    text = resources.files("confide.demo").joinpath("people.toml").read_text(encoding="utf-8")
    catalog = text.replace('weight = "weight"\n', "").replace(
        "[variables.person_id]", "[sampling]\n[variables.person_id]"
    )
    add(demo.people(5_000).drop_columns(["weight"]), site, name="people", catalog=catalog)
    truth = truth_of_site(site, "people")
    return lambda preset: LocalField(site, "people", preset_policy(preset), truth)


def test_errors_of_true_counts_give_noisy_counts_away(drawn) -> None:
    with drawn("open").opened() as errors:

        def beside(request: TableRequest, release: Release) -> Release:
            told, noise = errors.ask(request).columns["count_se"], release.columns["count"].noise
            joined = significant(np.hypot(np.nan_to_num(told.values), noise), 2)
            told = replace(told, values=np.where(told.marks == "", joined, np.nan))
            return replace(release, columns={**release.columns, "count_se": told})

        result = attacked(drawn("tablebuilder"), SamplingErrors(("county", "age_group")), beside, 1)
    assert result.success > result.guess + 0.1


@pytest.mark.parametrize("preset", ["standard", "tablebuilder"])
def test_errors_of_protected_counts_give_nothing_away(drawn, preset) -> None:
    result = carry_out(SamplingErrors(("county", "age_group")), drawn(preset), Settings(questions=1))
    assert result.success <= result.guess


def test_without_a_design_there_are_no_errors_to_read(unweighted) -> None:
    result = carry_out(SamplingErrors(), unweighted("standard"), Settings(questions=1))
    assert result.questions == 0 and not result.applies


@pytest.mark.parametrize("preset", ["standard", "tablebuilder"])
def test_means_of_protected_numbers_give_nothing_away(field, preset) -> None:
    result = carry_out(ExactMeans(), field(preset), Settings(questions=1))
    assert result.right <= 0.1 * result.targets
