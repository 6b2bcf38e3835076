"""Honest questions: their proportions, what they never combine, and that any described data set has some."""

from collections import Counter
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from confide.attacks.truth.truth import truth_of_site
from confide.attacks.workload.generator import Generator, kind_of
from confide.attacks.workload.proportions import PROPORTIONS, STATISTICS, Proportions
from confide.attacks.workload.roads import true_answers
from confide.attacks.workload.sizes import TrueSizes
from confide.errors import Mistake
from confide.model.admission.derived import with_definitions
from confide.model.catalog.dataset import Dataset, Role
from confide.model.catalog.sampling import SampleDesign
from confide.model.catalog.toml import read_dataset
from confide.model.request import CorrelationRequest, RegressionRequest, Request, TableRequest
from confide.model.universe import Universe

SEX = "[variables.sex]\n[variables.sex.codes]\nf = 'F'\nm = 'M'\n"


class Anything:
    """Every universe is a fifth of the units, and nobody objects to anything."""

    def share(self, where: Universe) -> float:
        return 0.2

    def objection(self, request: Request[Any], proportions: Proportions) -> str:
        return ""


def drawn(book: Dataset, **settings: Any) -> tuple[Request[Any], ...]:
    return Generator(**settings).draw(book, Anything()).requests


def book(text: str) -> Dataset:
    return read_dataset("title = 'T'\n" + text, name="people", read_file=str)


def test_the_same_seed_gives_the_same_questions_and_another_others(people: Dataset) -> None:
    assert drawn(people, questions=40, seed=3) == drawn(people, questions=40, seed=3)
    assert drawn(people, questions=40, seed=3) != drawn(people, questions=40, seed=4)


def test_more_questions_begin_with_the_same(people: Dataset) -> None:
    assert drawn(people, questions=30)[:10] == drawn(people, questions=10)


def within(found: int, number: int, share: float, whole: float) -> bool:
    """Whether a count is within 4 standard errors of its share."""
    p = share / whole
    return abs(found / number - p) <= 4 * sqrt(p * (1 - p) / number)


def test_kinds_shapes_and_universes_come_in_the_proportions_declared(people: Dataset) -> None:
    requests = drawn(people, questions=3000)
    kinds = Counter(map(kind_of, requests))
    medians = kinds.pop("medians")
    kinds["means"] += medians
    assert 0 < medians < 0.2 * kinds["means"] + 3 * (0.16 * kinds["means"]) ** 0.5, "not every number has cutpoints"
    assert all(within(kinds[kind], 3000, share, 1.0) for kind, share in PROPORTIONS.kind.items())
    where = Counter(len(request.where.variables) for request in requests)
    assert all(within(where[number], 3000, share, 1.0) for number, share in PROPORTIONS.conditions.items())
    tables = [request for request in requests if isinstance(request, TableRequest)]
    by = Counter(len(request.by) for request in tables)
    assert all(within(by[number], len(tables), share, 1.0) for number, share in PROPORTIONS.by.items())
    models = [request for request in requests if isinstance(request, RegressionRequest)]
    predictors = Counter(len(request.predictors) for request in models)
    assert all(within(predictors[n], len(models), share, 1.0) for n, share in PROPORTIONS.predictors.items())


def test_no_question_combines_two_levels_or_two_confidential_variables_of_one_subject(people: Dataset) -> None:
    for request in drawn(people, questions=1000, seed=2):
        dataset = with_definitions(people, request.define)
        names = [source for name in (*request.names, *request.where.variables) for source in dataset.sources(name)]
        names += [request.of] if isinstance(request, TableRequest) and request.of else []
        used = [people.variable(name) for name in names]
        roots = [v.column if v.numeric else people.root(v.name) for v in used]
        assert len(set(roots)) == len(roots), request
        secrets = [v.subject for v in used if v.role is Role.CONFIDENTIAL]
        assert isinstance(request, CorrelationRequest) or len(set(secrets)) == len(secrets), request


def test_a_table_has_one_variable_at_a_finer_level_at_most(people: Dataset) -> None:
    tables = [r for r in drawn(people, questions=1000) if isinstance(r, TableRequest)]
    tables = [table for table in tables if not table.define]
    finer = [sum(people.levels(name)[0].name != name for name in table.by) for table in tables]
    assert max(finer) == 1 and 0 < sum(finer) < len(tables) / 2


def test_some_tables_are_by_groups_of_the_askers_own(people: Dataset) -> None:
    tables = [r for r in drawn(people, questions=1000) if isinstance(r, TableRequest)]
    grouped = [table for table in tables if table.define]
    assert 0.02 < len(grouped) / len(tables) < 0.12
    for table in grouped:
        [own] = table.define
        variable = with_definitions(people, table.define).variable(own.name)
        assert own.name in table.by and [code.code for code in variable.codes or ()][:3] == ["first", "second", "rest"]


def surveyed(people: Dataset) -> Dataset:
    return replace(people, sampling=SampleDesign())


def test_statistics_are_asked_for_after_the_usual_kinds_which_stay_as_they_are(people: Dataset) -> None:
    both = drawn(surveyed(people), questions=20, statistics=30)
    assert both[:20] == drawn(people, questions=20)
    assert len(both) == 50 and both[20:30] == drawn(surveyed(people), questions=5, statistics=10)[5:]
    assert not {kind_of(request) for request in both[:20]} & set(STATISTICS)


def test_statistics_come_in_the_proportions_declared(people: Dataset) -> None:
    requests = drawn(surveyed(people), questions=0, statistics=1500)
    kinds = Counter(map(kind_of, requests))
    # a model whose response has no common class is a table of counts instead
    others = kinds.pop("counts", 0) + kinds.pop("correlations", 0)
    kinds["models by design"] += others
    assert all(within(kinds[kind], 1500, PROPORTIONS.statistic[kind.replace(" ", "_")], 1.0) for kind in STATISTICS)
    shares = Counter(str(r.percent) for r in requests if isinstance(r, TableRequest) and r.percent and r.columns)
    assert all(within(shares[part], shares.total(), share, 1.0) for part, share in PROPORTIONS.share.items())
    families = {str(r.family) for r in requests if kind_of(r) == "models of classes"}
    assert families == {"multinomial", "ordered"}, "these people have no yes or no that could end a duration"
    designed = Counter(r.family.several for r in requests if isinstance(r, RegressionRequest) and r.by_design)
    assert within(designed[True], designed.total(), PROPORTIONS.designed["of_classes"], 1.0)


def test_errors_are_asked_for_only_where_the_design_is_declared(people: Dataset) -> None:
    kinds = {kind_of(request) for request in drawn(people, questions=0, statistics=300)}
    assert kinds == {"percentages", "ratios", "index numbers", "models of classes"}


def test_durations_are_explained_where_something_may_end_them() -> None:
    months = "[variables.months]\nkind = 'numeric'\nminimum = 0\nmaximum = 48\ncutpoints = [12, 24]\n"
    ended = SEX.replace("sex", "ended").replace("f = 'F'\nm = 'M'", "yes = 'Yes'\nno = 'No'")
    keys = SEX.replace("[variables.sex]\n", "[variables.sex]\nrole = 'key'\n", 1)
    models = [
        r for r in drawn(book(months + ended + keys), questions=0, statistics=300) if isinstance(r, RegressionRequest)
    ]
    survival = [model for model in models if str(model.family) == "survival"]
    assert survival and {model.formula.response.variable for model in survival} == {"months"}
    assert {model.event.variable for model in survival if model.event} == {"ended"}


def test_nothing_more_is_asked_of_what_has_no_classes() -> None:
    number = "[variables.age]\nkind = 'numeric'\n[variables.pay]\nkind = 'numeric'\n"
    assert {kind_of(request) for request in drawn(book(number), questions=2, statistics=20)} <= {
        "correlations",
        "models",
    }


def test_no_key_is_the_response_of_a_model(people: Dataset) -> None:
    models = [r for r in drawn(people, questions=1000) if isinstance(r, RegressionRequest)]
    assert {str(model.family) for model in models} == {"gaussian", "binomial", "poisson"}
    assert not [m for m in models if people.variable(m.formula.response.variable).role is Role.KEY]


def test_only_amounts_enter_by_their_logarithm(people: Dataset) -> None:
    models = [r.formula for r in drawn(people, questions=1000) if isinstance(r, RegressionRequest)]
    factors = [factor for f in models for factor in (f.response, *(one for term in f.terms for one in term))]
    logs = {factor.variable for factor in factors if factor.transform == "log"}
    assert logs == {"income", "wages", "taxes"}


def test_universes_hold_one_percent_of_the_units_and_numbers_are_there(site: Path) -> None:
    truth = truth_of_site(site, "people")
    with true_answers(truth) as true:
        sizes = TrueSizes(true)
        requests = Generator(questions=60, seed=5).draw(truth.dataset, sizes).requests
    shares = [truth.within(request.where).mean() for request in requests]
    assert min(shares) >= 0.01 and sum(share < 1 for share in shares) > 20
    assert not [request for request in requests if sizes.objection(request, PROPORTIONS)]


def test_what_nobody_would_ask_is_set_aside_and_counted(people: Dataset) -> None:
    class NoTables(Anything):
        def objection(self, request: Request[Any], proportions: Proportions) -> str:
            return "numbers" if isinstance(request, TableRequest) and request.of == "income" else ""

    found = Generator(questions=200).draw(people, NoTables())
    asked = [r for r in found.requests if isinstance(r, TableRequest)]
    assert found.aside["numbers"] > 10 and not [r for r in asked if r.of == "income"]
    before = [r for r in drawn(people, questions=200) if isinstance(r, TableRequest)]
    assert len(asked) == len(before), "the kind is drawn first, so that proportions stay"


def test_without_numbers_only_classes_are_asked_about() -> None:
    ill = SEX.replace("sex", "ill") + SEX.replace("sex", "town")
    kinds = {kind_of(request) for request in drawn(book(SEX + ill), questions=200)}
    assert kinds == {"counts", "models", "correlations"}


def test_one_variable_with_classes_can_be_counted() -> None:
    assert {kind_of(request) for request in drawn(book(SEX), questions=20)} == {"counts"}


def test_a_number_with_bins_and_nothing_else_is_asked_for_by_its_bins() -> None:
    age = "[variables.age]\nkind = 'numeric'\nminimum = 0\ncutpoints = [20, 40]\n"
    assert {kind_of(request) for request in drawn(book(age), questions=60)} == {"counts", "totals", "means"}


def test_where_nothing_can_be_asked_it_is_said() -> None:
    with pytest.raises(Mistake, match="Nothing can be asked of 'people'"):
        drawn(book("[variables.age]\nkind = 'numeric'\n"))


def test_every_proportion_is_described_and_shares_are_of_a_whole() -> None:
    described = dict(PROPORTIONS.described())
    assert described["Variables of a table"] == "1 30 %, 2 50 %, 3 20 %"
    assert described["Least share of all units in a universe"] == "1 %"
    assert len(described) == 29
