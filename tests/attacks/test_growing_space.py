"""The dynamic server of Gomatam et al. (2004), section 3: what may be related to the sensitive variable depends on what was."""

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import confide
from asking import python_table
from confide.answering.frontier.mapping import explained
from confide.answering.service import Service
from confide.errors import Refused
from confide.model.policy import PRESETS, AuditRules, write_policy
from confide.model.request import CorrelationRequest, RegressionRequest
from confide.site.folder import Folder
from confide.site.state.file import FileState, shared_file
from confide.spelling.python import read_arguments


@pytest.fixture
def site(demo_site: Callable[[int, str], Path], tmp_path: Path) -> Path:
    """Five thousand people, of whose income 15 % may be explained by all that is ever related to it."""
    made = Path(shutil.copytree(demo_site(5_000, "people"), tmp_path / "site"))
    limited(made, 0.15)
    return made


def limited(site: Path, share: float) -> None:
    before = Folder(site).policy()
    policy = replace(before, models=replace(before.models, sensitive="income"), audit=AuditRules(explained=share))
    (site / "policy.toml").write_text(write_policy(policy, preset="standard"), encoding="utf-8")


def model(formula: str, **more: object) -> RegressionRequest:
    return read_arguments(RegressionRequest, "people", {"formula": formula, **more})


def outcome(service: Service, request: object, who: str = "ana") -> str:
    try:
        service.answer(request, who=who)
    except Refused as refused:
        return refused.reasons[0].rule
    return "answered"


def test_first_come_first_served_until_too_much_would_be_explained(site: Path) -> None:
    with Service.open(site) as service:
        assert outcome(service, model("log(income) ~ marital + sex")) == "answered"
        for wider in (
            model("income ~ education"),
            model("wages ~ income + education"),
            python_table("people", rows=["education"], measure=["mean"], of="income"),
            python_table("people", rows=["sex"], measure=["mean"], of="income", where={"education": "primary"}),
            read_arguments(CorrelationRequest, "people", {"variables": ["income", "education"]}),
        ):
            assert outcome(service, wider) == "audit.explained", wider
        with pytest.raises(Refused, match="explain too much") as refused:
            service.answer(model("income ~ education"), who="ben")
        assert "'marital', 'sex'" in refused.value.suggestions[0]
        assert outcome(service, model("income ~ marital"), "ben") == "answered", "it tells nothing that was not told"
        assert outcome(service, model("wages ~ education")) == "answered", "the others are open"
        assert outcome(service, python_table("people", rows=["education", "sex"])) == "answered"


def test_the_order_of_questions_decides_and_opening_anew_forgets_nothing(site: Path) -> None:
    with Service.open(site) as service:
        assert outcome(service, model("income ~ marital")) == "answered"
        assert outcome(service, model("income ~ education")) == "audit.explained"
    with Service.open(site) as service:
        assert outcome(service, model("income ~ education")) == "audit.explained"
        assert outcome(service, model("income ~ marital")) == "answered"
    limited(site, 0.3)
    with Service.open(site) as service:
        assert outcome(service, model("income ~ education")) == "answered"


def test_processes_of_one_site_have_one_space(site: Path) -> None:
    state = site / "state.sqlite"
    with shared_file(state), ExitStack() as opened:
        one, two = (opened.enter_context(Service.open(site, state=FileState(state, worker=n))) for n in range(2))
        assert outcome(two, python_table("people", rows=["sex"], measure=["mean"], of="income")) == "answered"
        assert outcome(one, model("income ~ marital")) == "answered"
        assert outcome(two, model("income ~ education")) == "audit.explained"


def test_a_space_without_a_sensitive_variable_or_a_limit_is_as_wide_as_ever(site: Path) -> None:
    limited(site, 0.0)
    with Service.open(site) as service:
        assert outcome(service, model("income ~ marital + education + age + sex")) == "answered"


def test_what_is_explained_is_the_r_squared_of_the_regression_on_all_of_it(site: Path) -> None:
    with Service.open(site) as service:
        road = service._roads["people"]
        together = explained(road, "income", ["education", "sex", "age"])
        assert explained(road, "income", []) == 0 and explained(road, "income", ["county"]) < together < 1
        assert explained(road, "income", ["education", "sex", "age", "age_group"]) >= together
        assert explained(road, "sex", ["age"]) == 1.0, "what cannot be told is too much"


def test_data_set_1_of_the_paper_ends_where_no_question_is_left(tmp_path: Path) -> None:
    """Strong predictors are refused, weak ones are answered one after another until they together would explain too much."""
    x = data_set_1()
    names = [f"x{i}" for i in range(x.shape[1])]
    table = pa.table({"id": np.arange(len(x)), **{name: x[:, i].round(3) for i, name in enumerate(names)}})
    unit = 'unit = "id"\n\n[variables.id]\nkind = "categorical"\nrole = "identifier"\n'
    numbers = "".join(f'\n[variables.{name}]\nkind = "numeric"\ndecimals = 3\n' for name in names)
    (tmp_path / "site").mkdir()
    policy = replace(
        PRESETS["drop-q"], models=replace(PRESETS["drop-q"].models, sensitive="x0"), audit=AuditRules(explained=0.06)
    )
    confide.add(
        table, tmp_path / "site", name="people", catalog=unit + numbers,
        policy=write_policy(policy, preset="drop-q"),
    )  # fmt: skip
    with Service.open(tmp_path / "site") as service:
        asked = {name: outcome(service, model(f"x0 ~ {name}")) for name in names[1:]}
        again = {name: outcome(service, model(f"x0 ~ {name}")) for name in names[1:]}
        free = [name for name in names[1:] if asked[name] == "answered"]
        assert again == asked, "the server has reached its terminal state"
        assert {asked[name] for name in ("x1", "x2", "x3")} == {"audit.explained"} and free
        r_squared = explained(service._roads["people"], "x0", free)
        assert r_squared <= 0.06
        for name in set(names[1:]) - set(free):
            assert explained(service._roads["people"], "x0", [*free, name]) > 0.06


def data_set_1() -> np.ndarray:
    """As tests/unit/frontier has it: x1, x2 and x3 are highly correlated with each other and with x0, the others are not."""
    generator = np.random.default_rng(2004)
    x = generator.standard_normal((200, 10))
    shared = generator.standard_normal(200)
    x[:, 1:4] = shared[:, None] + 0.35 * x[:, 1:4]
    x[:, 0] = 75 + 12 * (0.7 * x[:, 1] + 0.15 * x[:, 2] + 0.15 * x[:, 3]) + 3 * x[:, 0]
    return x
