"""What rules on models and correlations look at, their edges apart; bad input; and that causes in the data sound alike."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asking import python_correlation, python_regression, python_table
from confide.answering.regressions.grids import digits
from confide.answering.rules.models import UNFIT
from confide.errors import Mistake
from confide.spelling.url import read_url

TABLES_OPEN = {"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False}
UNIVERSE_OPEN = {"gamma": 0, "gamma_star": 0, "marginals": False, "complement": False}
LEVERAGE_OPEN = {"models": {"leverage_units": 1}}


@pytest.fixture
def exact(town: Any) -> Any:
    """Decided on true counts, nobody dropped, and only the rules on models in force."""
    return town.preset("census-mas").under(tables=TABLES_OPEN, drop={"k": 0}, universe=UNIVERSE_OPEN)


def changed(people: pa.Table, **columns: Any) -> pa.Table:
    for name, values in columns.items():
        people = people.set_column(people.schema.get_field_index(name), name, pa.array(values))
    return people


def crowd(size: int = 400, **columns: Any) -> pa.Table:
    """Equal shares of everything, crossed, weights of 1, and incomes that nothing explains."""
    rng, at = np.random.default_rng(5), np.arange(size)
    towns = np.array(["a1", "a2", "b1", "b2"])[at // 12 % 4]
    people = pa.table(
        {
            "id": at.astype(str),
            "w": np.ones(size),
            "sex": np.array(["f", "m"])[at % 2],
            "county": np.char.upper(towns.astype("<U1")),
            "town": towns,
            "age": rng.integers(0, 100, size).astype(float),
            "ill": rng.choice(["no", "yes"], size),
            "work": np.array(["yes", "no"])[at // 2 % 2],
            "trade": np.array(["p", "q", "r"])[at // 4 % 3],
            "income": rng.integers(500, 1500, size).astype(float),
        }
    )
    return changed(people, **columns)


def first(size: int, number: int, some: Any, rest: Any) -> np.ndarray:
    """`some` for so many people, `rest` for the others."""
    return np.where(np.arange(size) < number, some, rest)


def consider(town: Any, formula: str, **words: Any) -> Any:
    return town.desk().consider(python_regression("people", formula, **words))


def rules(town: Any, formula: str, **words: Any) -> list[str]:
    return [reason.rule for reason in consider(town, formula, **words).reasons]


def correlated(town: Any, *names: str, **words: Any) -> list[str]:
    answer = town.desk().consider(python_correlation("people", list(names), **words))
    return [reason.rule for reason in answer.reasons]


def terms(town: Any, formula: str, **words: Any) -> list[str]:
    """The columns of a model that is released."""
    answer = consider(town, formula, **words)
    assert not answer.reasons, answer.reasons
    return [row[0] for row in answer.grids["coefficients"].rows]


# Shape: whatever the data are


@pytest.mark.parametrize(("most", "refused"), [(3, True), (4, False)])
def test_predictors_are_counted_once_and_interactions_not_at_all(exact: Any, most: int, refused: bool) -> None:
    few = exact.under(models={"predictors": most}).of(crowd())
    assert rules(few, "income ~ age + age^2 + sex*ill + work") == (["models.predictors"] if refused else [])
    assert correlated(few, "income", "age", "sex", "ill") == (["models.predictors"] if refused else [])


@pytest.mark.parametrize(
    ("formula", "refused"),
    [
        ("income ~ age:sex", True),
        ("income ~ age + age:sex", True),
        ("income ~ age + sex + age:sex", False),
        ("income ~ age*sex", False),
        ("income ~ log(age) + sex + age:sex", True),
        ("income ~ age + sex + work + ill + age:sex:work", True),
        ("income ~ age*sex + age*work + ill + age:sex:work", True),
        ("income ~ age*sex*work + ill", False),
    ],
)
def test_an_interaction_needs_all_its_parts(exact: Any, formula: str, refused: bool) -> None:
    assert rules(exact.of(crowd()), formula) == (["models.hierarchy"] if refused else [])


@pytest.mark.parametrize(
    ("formula", "refused"),
    [
        ("income ~ sex*work", True),
        ("income ~ sex*work*ill", True),
        ("income ~ sex*work + ill", False),
        ("income ~ sex*work + age", True),
        ("income ~ sex*work*age", True),
        ("income ~ sex*age", False),
        ("income ~ sex", False),
    ],
)
def test_classes_with_all_their_interactions_are_a_table_whatever_stands_beside_them(
    exact: Any, formula: str, refused: bool
) -> None:
    assert rules(exact.of(crowd()), formula) == (["models.saturated"] if refused else [])


def test_a_predictor_without_a_column_does_not_hide_a_saturated_model(exact: Any) -> None:
    """County is constant in the universe, or almost: nothing of it is left in the model."""
    assert rules(exact.of(crowd()), "income ~ sex*work + county", where={"county": "A"}) == ["models.saturated"]
    towns = first(400, 19, "b1", "a1")
    few = exact.of(crowd(town=towns, county=np.char.upper(towns.astype("<U1"))))
    assert rules(few, "income ~ sex*work + county") == ["models.saturated"]


def test_what_excludes_each_other_in_tables_does_so_in_models_and_correlations(exact: Any) -> None:
    people = exact.of(crowd())
    assert rules(people, "income ~ work + trade + age") == ["tables.exclusion"]
    assert rules(people, "income ~ trade", where={"work": "yes"}) == ["tables.exclusion"]
    assert rules(people, "work=yes ~ trade + age", family="binomial") == ["tables.exclusion"]
    assert correlated(people, "work", "trade") == ["tables.exclusion"]
    assert rules(people, "income ~ trade + county + town", where={"sex": "f"}) != ["tables.exclusion"]
    assert correlated(people, "work", "sex") == []


def test_the_sensitive_variable_is_not_related_to_suppressed_ones(exact: Any) -> None:
    kept = exact.of(crowd()).under(models={"sensitive": "income", "suppressed": ("town",)})
    assert rules(kept, "income ~ town") == ["models.suppressed"]
    assert rules(kept, "income ~ age", where={"county": "A"}) == ["models.suppressed"]
    assert correlated(kept, "income", "town") == ["models.suppressed"]
    mean = {"measure": "mean", "of": "income"}
    for words in (
        {"rows": "town", **mean},
        {"rows": "sex", "columns": "county", **mean},
        {"rows": "sex", "where": {"county": "A"}, **mean},
    ):
        answer = kept.desk().consider(python_table("people", **words))
        assert [reason.rule for reason in answer.reasons] == ["models.suppressed"], words
    aged = kept.under(models={"sensitive": "age"}).desk().consider(python_table("people", rows="age", columns="town"))
    assert [reason.rule for reason in aged.reasons] == ["models.suppressed"]
    assert not kept.desk().consider(python_table("people", rows="town", measure="mean", of="age")).reasons
    assert rules(kept, "income ~ age") == rules(kept, "age ~ town") == correlated(kept, "income", "age") == []


# Classes


def test_the_most_common_class_is_the_reference(exact: Any) -> None:
    for common, other in (("f", "m"), ("m", "f")):
        people = exact.of(crowd(sex=first(400, 300, common, other)))
        assert terms(people, "income ~ sex") == ["(Intercept)", f"sex={other}"]


def test_under_noise_the_reference_is_the_most_common_by_protected_counts(town: Any) -> None:
    """200 women and 200 men: over secrets either is the reference, in about half the cases (4 standard errors of 30)."""
    quiet = town.under(drop={"k": 0}).of(crowd())
    women = sum("sex=m" in terms_of for terms_of in (_columns(quiet, number) for number in range(30)))
    assert 4 <= women <= 26


def _columns(town: Any, secret: int) -> list[Any]:
    answer = town.desk(secret).consider(python_regression("people", "income ~ sex + age"))
    return [row[0] for row in answer.grids["coefficients"].rows]


@pytest.mark.parametrize(("number", "absorbed"), [(19, True), (20, False)])
def test_a_class_with_too_few_units_is_absorbed_into_the_reference(exact: Any, number: int, absorbed: bool) -> None:
    people = exact.of(crowd(trade=np.where(np.arange(400) < number, "r", np.where(np.arange(400) % 3, "p", "q"))))
    assert terms(people, "income ~ trade") == ["(Intercept)", "trade=q", *([] if absorbed else ["trade=r"])]
    two = exact.of(crowd(sex=first(400, number, "m", "f")))
    assert rules(two, "income ~ sex") == (["models.classes"] if absorbed else [])


@pytest.mark.parametrize(("number", "absorbed"), [(9, True), (10, False)])
def test_a_sparse_cell_of_an_interaction_takes_its_class_with_it(exact: Any, number: int, absorbed: bool) -> None:
    """Of b2 there are so many women and 100 men. Without b2 the model can be had: further absorption before refusal."""
    at = np.arange(600)
    place = np.where((at % 2 == 0) & (at < 2 * number), "b2", np.where((at % 2 == 1) & (at < 200), "b2", "a1"))
    place = np.where((place == "a1") & (at % 3 == 0), "a2", place)
    people = exact.of(crowd(600, town=place, county=np.char.upper(place.astype("<U1")))).under(**LEVERAGE_OPEN)
    found = terms(people, "income ~ sex*town + ill + age")
    assert ("sex=m:town=b2" in found or "sex=f:town=b2" in found) != absorbed
    assert ("town=b2" in found) != absorbed and "town=a2" in found


@pytest.mark.parametrize(("number", "refused"), [(9, True), (10, False)])
def test_an_interaction_that_cannot_be_thinned_is_refused(exact: Any, number: int, refused: bool) -> None:
    at = np.arange(400)
    works = np.where((at % 2 == 0) & (at >= 2 * number), "yes", np.where(at % 4 == 1, "yes", "no"))
    found = rules(exact.of(crowd(work=works)).under(**LEVERAGE_OPEN), "income ~ sex*work + ill + age")
    assert found == (["models.interaction"] if refused else [])


def test_absorbed_classes_count_in_the_cells_of_the_reference(exact: Any) -> None:
    """No man lives in a1, the reference; of the 15 people of b2, too few for a dummy, three are men. Joined, they are a
    cell of three, and it is sparse."""
    at = np.arange(600)
    place = np.where(at < 15, "b2", np.where(at < 400, "a1", "a2"))
    sex = np.where(at < 3, "m", np.where(at < 400, "f", np.array(["f", "m"])[at % 2]))
    people = crowd(600, town=place, county=np.char.upper(place.astype("<U1")), sex=sex)
    open_ = exact.under(**LEVERAGE_OPEN)
    assert rules(open_.of(people), "income ~ sex*town + ill + age") == ["models.interaction"]
    assert rules(open_.under(models={"interaction": 3}).of(people), "income ~ sex*town + ill + age") == []


def one_sided(number: int) -> pa.Table:
    """In b1 there are 100 people of whom so many are ill; elsewhere half of them."""
    at = np.arange(600)
    place = np.where(at < 100, "b1", np.where(at < 250, "a2", "a1"))
    ill = np.where(at < number, "yes", np.where(at < 100, "no", np.array(["no", "yes"])[at % 2]))
    return crowd(600, town=place, county=np.char.upper(place.astype("<U1")), ill=ill)


ILL = python_regression("people", "ill=yes ~ town + age", family="binomial")
LEFT_OUT = "Records of town b1 are left out: nearly all of their units have the same outcome"


@pytest.mark.parametrize(("number", "absorbed"), [(0, True), (1, True), (9, True), (10, False)])
def test_a_class_with_too_few_other_outcomes_is_absorbed(exact: Any, number: int, absorbed: bool) -> None:
    """Where it may not be left out, since towns may define no universe: and it is warned of."""
    catalog = exact.catalog.replace("[variables.town]\n", "[variables.town]\nuniverse = false\n")
    people = replace(exact, catalog=catalog).of(one_sided(number))
    found = terms(people, "ill=yes ~ town + age", family="binomial")
    assert ("town=b1" in found) != absorbed and "town=a2" in found
    notes = people.desk().consider(ILL).notes
    warned = [note for note in notes if note.startswith("Beware: of town, b1 has hardly any unit of one outcome")]
    assert len(warned) == absorbed and all("may not be asked" in note for note in warned)
    assert not any("Beware" in note for note in people.desk().consider(python_regression("people", "age ~ town")).notes)


@pytest.mark.parametrize(("number", "gone"), [(0, True), (9, True), (10, False), (90, False), (91, True), (100, True)])
def test_a_class_in_which_nearly_all_have_one_outcome_is_left_out(exact: Any, number: int, gone: bool) -> None:
    """The answer is the one to the question without the class, which the asker could have asked."""
    desk = exact.of(one_sided(number)).desk()
    answer = desk.consider(ILL)
    assert not answer.reasons and dict(answer.grids["statistics"].rows)["n"] == (500 if gone else 600)
    assert answer.notes[0].startswith(LEFT_OUT) == gone
    assert not any("Beware" in note for note in answer.notes)
    stated = {"town": ["a1", "a2", "a9", "b2"]}
    plain = desk.consider(python_regression("people", "ill=yes ~ town + age", family="binomial", where=stated))
    assert ((answer.grids, answer.release.receipt) == (plain.grids, plain.release.receipt)) == gone
    assert answer.release.request.where == (plain.release.request.where if gone else ILL.where)


def test_the_most_common_class_is_left_out_too(exact: Any) -> None:
    """Or its odds, of which there are none, would be those that all others are compared with."""
    at = np.arange(600)
    place = np.where(at < 300, "b1", np.where(at < 450, "a2", "a1"))
    ill = np.where(at < 300, np.where(at < 5, "yes", "no"), np.array(["no", "yes"])[at % 2])
    answer = exact.of(crowd(600, town=place, county=np.char.upper(place.astype("<U1")), ill=ill)).desk().consider(ILL)
    assert answer.notes[0].startswith(LEFT_OUT) and dict(answer.grids["statistics"].rows)["n"] == 300


def test_two_variables_lose_no_more_classes_than_they_must(exact: Any) -> None:
    """Who lives in b1 has trade r, and nobody else: without b1 there is nobody with r, and no second condition."""
    people = one_sided(5).to_pandas()
    people["trade"] = np.where(people.town == "b1", "r", np.array(["p", "q"])[people.index // 2 % 2])
    people = pa.Table.from_pandas(people, preserve_index=False)
    open_ = exact.under(**LEVERAGE_OPEN, tables={"sparsity": 1.0, "mean_cell": 0.0, "class_disclosure": False})
    asked = python_regression("people", "ill=yes ~ trade + sex + age", family="binomial")
    both = python_regression("people", "ill=yes ~ town + age + sex", family="binomial")
    for request in (asked, both):
        answer = open_.of(people).desk().consider(request)
        assert sum(note.startswith("Records of ") for note in answer.notes) == 1
        assert len(answer.release.request.where.variables) == 1


def test_what_class_disclosure_withholds_is_not_told_by_leaving_a_class_out(exact: Any) -> None:
    """That nearly all of b1 have one outcome is what the table may not tell: the model is refused as it was."""
    strict = exact.under(tables={"class_disclosure": True})
    people = strict.of(one_sided(0))
    table = people.desk().consider(python_table("people", rows="town", columns="ill"))
    answer = people.desk().consider(ILL)
    assert bool(table.reasons) and [reason.rule for reason in answer.reasons] == ["models.implied"]


def test_whether_a_class_is_left_out_is_decided_on_protected_counts(exact: Any) -> None:
    """At the limit of ten it depends on the secret: the same records, both ways."""
    town = exact.under(counts={"mechanism": "cell-key"}, universe={"decide_on": "protected"}).of(one_sided(10))
    found = {town.desk(secret).consider(ILL).notes[0].startswith(LEFT_OUT) for secret in range(16)}
    assert found == {True, False}


@pytest.mark.parametrize(("family", "more"), [("multinomial", {}), ("ordered", {}), ("survival", {"event": "ill=yes"})])
def test_families_of_several_classes_leave_out_classes_of_one_outcome(exact: Any, family: str, more: Any) -> None:
    people = one_sided(0).to_pandas()
    people["trade"] = np.where(people.town == "b1", "p", np.array(["p", "q", "r"])[people.index % 3])
    desk = exact.of(pa.Table.from_pandas(people, preserve_index=False)).desk()
    answer = desk.consider(python_regression("people", "trade ~ town + age", family=family, **more))
    assert not answer.reasons and answer.notes[0].startswith(LEFT_OUT)
    assert not any(note.startswith("Beware") for note in answer.notes)


def test_a_class_that_lacks_one_class_of_several_is_warned_of_and_stays(exact: Any) -> None:
    people = one_sided(50).to_pandas()
    two, three = np.array(["p", "q"])[people.index % 2], np.array(["p", "q", "r"])[people.index % 3]
    people["trade"] = np.where(people.town == "b1", two, three)
    desk = exact.of(pa.Table.from_pandas(people, preserve_index=False)).desk()
    answer = desk.consider(python_regression("people", "trade ~ town + age", family="multinomial"))
    assert dict(answer.grids["statistics"].rows)["n"] == 600
    assert any(note.startswith("Beware: of town, b1 has") and "'where'" in note for note in answer.notes)


# Implied tables


def test_models_of_classes_alone_imply_tables_and_these_obey_the_rules(exact: Any) -> None:
    people = exact.of(crowd(ill=np.where(np.arange(400) % 2, "yes", np.where(np.arange(400) % 3, "yes", "no"))))
    ruled = people.under(tables={"class_disclosure": True})
    assert rules(ruled, "income ~ sex + ill") == ["models.implied"], "all men are ill"
    assert correlated(ruled, "sex", "ill") == ["models.implied"]
    assert rules(ruled, "income ~ sex + work") == correlated(ruled, "sex", "work") == []
    assert rules(people, "income ~ sex + ill") == correlated(people, "sex", "ill") == []


def test_the_table_of_a_response_with_a_predictor_is_implied(exact: Any) -> None:
    """That of two predictors has no confidential class; all men are ill."""
    people = exact.of(crowd(ill=np.where(np.arange(400) % 2, "yes", np.where(np.arange(400) % 3, "yes", "no"))))
    ruled = people.under(tables={"class_disclosure": True}, models={"interaction": 0, "dummy": 0})
    assert rules(ruled, "ill=yes ~ work + sex", family="binomial") == ["models.implied"]
    assert rules(ruled, "ill=yes ~ work", family="binomial") == []


# The fit


@pytest.mark.parametrize(("noise", "refused"), [(0.17, False), (0.11, True), (1e-6, True), (0.0, True)])
def test_models_that_explain_nearly_everything_are_refused(exact: Any, noise: float, refused: bool) -> None:
    """R² is about 1 / (1 + noise²): 0.972, which the leeway of a tenth of 0.02 lets pass, then 0.988 and 1."""
    rng, people = np.random.default_rng(3), crowd()
    ages = people["age"].to_numpy()
    incomes = 5000 + 100 * (ages + noise * ages.std() * rng.standard_normal(400))
    assert rules(exact.of(changed(people, income=incomes.round())), "income ~ age") == (
        ["models.unfit"] if refused else []
    )


@pytest.mark.parametrize(("spread", "refused"), [(0.0, True), (0.03, True), (0.08, False)])
def test_a_class_predicted_much_better_than_the_rest_is_refused(exact: Any, spread: float, refused: bool) -> None:
    """The incomes of women vary by this share of those of men; the limit is 0.05 of the overall spread, which is 0.71."""
    people = crowd()
    earned = people["income"].to_numpy()
    incomes = np.where(np.arange(400) % 2 == 0, 10_000 + (10 * spread * (earned - 1000)).round(), 10 * earned)
    found = rules(exact.of(changed(people, income=incomes)), "income ~ sex")
    assert found == (["models.unfit"] if refused else [])


@pytest.mark.parametrize(("number", "refused"), [(1, True), (3, True), (8, True), (12, False)])
def test_no_coefficient_rests_on_fewer_than_k_units(exact: Any, number: int, refused: bool) -> None:
    """A number that is 0 but for a few is a dummy; so is one of three values with its square. The limit is 10, to a tenth."""
    two = exact.of(crowd(age=first(400, number, 1.0, 0.0)))
    assert rules(two, "income ~ age") == (["models.unfit"] if refused else [])
    three = np.where(np.arange(400) < number, 100.0, np.arange(400) % 2)
    assert rules(exact.of(crowd(age=three)), "income ~ age + age^2") == (["models.unfit"] if refused else [])


@pytest.mark.parametrize(("number", "few"), [(2, True), (19, True), (20, False)])
def test_classes_are_supported_by_the_records_that_enter(exact: Any, number: int, few: bool) -> None:
    """Hundred riggers, but the incomes of only so many of them are known: missing values must not make a dummy of few."""
    at, people = np.arange(400), crowd()
    trade = np.where(at < 100, "r", np.where(at % 2, "p", "q"))
    income = pa.array(people["income"].to_numpy(), mask=(at < 100) & (at >= number))
    people = exact.of(changed(people, trade=trade, income=income))
    assert ("trade=r" not in terms(people, "income ~ trade + age")) == few
    assert correlated(people, "trade", "income") == [], "classes too small for a column have none"


ABSENT = {"work": 'missing = ["-9"]\n[variables.work.codes]', "trade": 'missing = ["-9"]\n[variables.trade.codes]'}


def with_absent(exact: Any, idle: int, *, apart: int = 0) -> Any:
    """So many have neither work nor trade, by codes that mean missing, some of them (`apart`) work but no trade."""
    catalog = exact.catalog.replace('group = "job"\n', "")
    for name, head in ABSENT.items():
        catalog = catalog.replace(f"[variables.{name}.codes]", head)
    people, at = crowd(), np.arange(400)
    trade = np.where(at < idle, "-9", people["trade"])
    work = np.where((at >= apart) & (at < idle), "-9", people["work"])
    return replace(exact, catalog=catalog).of(changed(people, trade=trade, work=work))


def test_a_missing_code_is_never_the_reference(exact: Any) -> None:
    assert terms(with_absent(exact, 300), "income ~ trade + age") == [
        "(Intercept)",
        "trade=q",
        "trade=r",
        "trade=-9",
        "age",
    ]


@pytest.mark.parametrize(("apart", "told"), [(0, True), (5, True), (15, False)])
def test_a_missing_class_that_another_tells_joins_its_reference(exact: Any, apart: int, told: bool) -> None:
    """Who has no work has no trade: one column for both, also where fewer than about 10 units tell them apart."""
    found = terms(with_absent(exact, 100, apart=apart), "income ~ work + trade + age")
    assert "work=-9" in found and ("trade=-9" not in found) == told


def test_classes_that_only_records_without_the_number_are_in_do_not_count(exact: Any) -> None:
    """Those without work have no income: the model of income by work and trade is the one of those who work."""
    town = with_absent(exact, 300)
    income = pa.array(town.people["income"].to_numpy(), mask=np.arange(400) < 300)
    found = terms(town.of(changed(town.people, income=income)), "income ~ work + trade + age")
    assert found == ["(Intercept)", "work=no", "trade=q", "trade=r", "age"]


@pytest.mark.parametrize("number", [2, 9, 10, 19])
def test_a_class_that_nearly_all_whose_number_is_known_are_in_is_not_correlated(exact: Any, number: int) -> None:
    """Two trades of fifteen have no column; of these thirty so few incomes are known that plumbers are all but these."""
    at, people = np.arange(400), crowd()
    trade = np.where(at < 15, "q", np.where(at < 30, "r", "p"))
    income = pa.array(people["income"].to_numpy(), mask=(at >= number) & (at < 30))
    found = correlated(exact.of(changed(people, trade=trade, income=income)), "trade", "income")
    assert found == ["models.classes"]


@pytest.mark.parametrize(("outlier", "refused"), [(1e5, True), (1500.0, False)])
def test_no_unit_makes_up_the_residuals(exact: Any, outlier: float, refused: bool) -> None:
    people = crowd()
    incomes = np.where(np.arange(400) == 7, outlier, people["income"])
    assert rules(exact.of(changed(people, income=incomes)), "income ~ age") == (["models.unfit"] if refused else [])


# One refusal for every cause in the data

CAUSES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a constant predictor": ({"age": np.full(400, 30.0)}, "income ~ age", "gaussian"),
    "a constant response": ({"income": np.full(400, 9.0)}, "income ~ age", "gaussian"),
    "all zero counts": ({"income": np.zeros(400)}, "income ~ age", "poisson"),
    "dependent columns": ({"age": np.arange(400) % 2 * 1.0}, "income ~ age + sex", "gaussian"),
    "square of a dummy": ({"age": np.arange(400) % 2 * 1.0}, "income ~ age + age^2", "gaussian"),
    "nested classes": ({}, "income ~ county + town", "gaussian"),
    "separation by a number": ({"age": np.arange(400) // 4 * 1.0, "ill": first(400, 200, "no", "yes")}, "ill=yes ~ age", "binomial"),
    "an all-missing response": ({"income": pa.nulls(400, pa.float64())}, "income ~ age", "gaussian"),
    "no logarithm": ({"income": np.zeros(400)}, "age ~ log(income)", "gaussian"),
    "a perfect fit": ({"age": np.arange(400) // 4 * 1.0, "income": np.arange(400) // 4 * 2.0}, "income ~ age", "gaussian"),
    "weights of zero": ({"w": np.zeros(400)}, "income ~ age", "gaussian"),
    "one unit has all the weight": ({"w": first(400, 1, 1e6, 1.0)}, "income ~ age", "gaussian"),
    "one unit has all the spread": ({"age": first(400, 1, 99.0, 1.0)}, "income ~ age + age^2", "gaussian"),
    "fewer records than columns": (
        {"income": pa.array(np.arange(400.0), mask=np.arange(400) > 1)}, "income ~ age + age^2", "gaussian"),
}  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES)
def test_causes_in_the_data_all_sound_alike(exact: Any, cause: str) -> None:
    columns, formula, family = CAUSES[cause]
    answer = consider(exact.of(crowd(**columns)), formula, family=family)
    assert answer.reasons == [UNFIT] and answer.reasons[0].rule == "models.unfit" and answer.grids == {}


CORRELATED = {
    "a constant": {"age": np.full(400, 30.0)},
    "all missing": {"income": pa.nulls(400, pa.float64())},
    "dependent": {"age": np.arange(400) % 90, "income": np.arange(400) % 90 * 2.0},
    "an outlier": {"age": first(400, 1, 99.0, 1.0)},
    "weights of zero": {"w": np.zeros(400)},
}


@pytest.mark.parametrize("cause", CORRELATED)
def test_causes_in_the_data_sound_alike_for_correlations(exact: Any, cause: str) -> None:
    answer = exact.of(crowd(**CORRELATED[cause])).desk().consider(python_correlation("people", ["age", "income"]))
    assert [reason.rule for reason in answer.reasons] in (["models.unfit"], ["models.units"]) and answer.grids == {}
    assert answer.reasons[0] == UNFIT or cause == "all missing"


# What leaves


def test_digits_follow_the_number_of_units(exact: Any) -> None:
    answer = consider(exact.of(crowd(1000)), "income ~ age + sex")
    statistics = dict(answer.grids["statistics"].rows)
    assert digits(statistics["n"]) == 3
    for row in answer.grids["anova"].rows:
        assert row[2] == float(f"{row[2]:.3g}")
    for _, estimate, error, *_ in answer.grids["coefficients"].rows:
        assert error == float(f"{error:.2g}")
        place = np.floor(np.log10(error)) - 1
        assert estimate == pytest.approx(round(estimate / 10**place) * 10**place, abs=1e-9)


def test_correlations_have_the_digits_of_their_standard_error(exact: Any) -> None:
    """Of 400 units a correlation near 0 has a standard error of .05, of which the second digit is the third decimal."""
    answer = exact.of(crowd()).desk().consider(python_correlation("people", ["age", "income", "sex"]))
    values = np.array([row[1:] for row in answer.grids["correlations"].rows])
    assert np.array_equal(values, values.round(3)) and not np.array_equal(values, values.round(2))


# Suggestions

REFUSED = [
    ("income ~ sex*work", "gaussian", None),
    ("income ~ town*work*ill", "gaussian", None),
    ("income ~ age:sex", "gaussian", None),
    ("income ~ town + county", "gaussian", None),
    ("county=A ~ town:age", "binomial", None),
    ("income ~ work + trade", "gaussian", None),
    ("income ~ age + sex", "gaussian", {"town": "a9"}),
]


@pytest.mark.parametrize(("formula", "family", "where"), REFUSED)
def test_suggestions_pass_when_they_are_followed(town: Any, formula: str, family: str, where: Any) -> None:
    desk = town.preset("drop-q").desk()
    request = python_regression("people", formula, family=family, where=where)
    assert desk.consider(request).reasons
    offered = list(desk.suggest(request))
    assert offered
    for suggestion in offered:
        assert not desk.consider(read_url(suggestion.address)).reasons


# Bad input

CATALOG_KEY = '\n[variables.region]\nrole = "key"\n[variables.region.codes]\nn = "North"\ns = "South"\n'

MISTAKES = [
    ("incom ~ age", "gaussian", "incom"),
    ("income ~ aeg", "gaussian", "age"),
    ("income ~ id", "gaussian", "id"),
    ("id ~ age", "gaussian", "id"),
    ("w ~ age", "gaussian", "w"),
    ("income ~ log(sex)", "gaussian", "numeric"),
    ("log(sex) ~ age", "gaussian", "not numeric"),
    ("sex ~ age", "gaussian", "not numeric"),
    ("sex=f ~ age", "gaussian", "binomial"),
    ("income ~ age", "binomial", "yes or no"),
    ("ill=perhaps ~ age", "binomial", "no code"),
    ("income=1 ~ age", "binomial", "no code"),
    ("log(income) ~ age", "poisson", "transformed"),
    ("income ~ age:log(age) + age", "gaussian", "itself"),
    ("income ~ `x'); DROP TABLE records; --`", "gaussian", "DROP"),
    ("income ~ 年齢", "gaussian", "年齢"),
    ("income ~ `\ud800`", "gaussian", "ud800"),
    ("income ~ age_group", "gaussian", "age"),
]


@pytest.mark.parametrize(("formula", "family", "said"), MISTAKES)
def test_what_the_codebook_does_not_have_is_a_mistake(town: Any, formula: str, family: str, said: str) -> None:
    with pytest.raises(Mistake) as mistake:
        consider(town, formula, family=family)
    assert said in str(mistake.value)


@pytest.mark.parametrize("family", ["", "gamma", "Gaussian ", "__class__"])
def test_families_are_three(town: Any, family: str) -> None:
    with pytest.raises(Mistake):
        consider(town, "income ~ age", family=family)


def test_a_key_is_never_a_response(town: Any) -> None:
    regions = replace(town, catalog=town.catalog + CATALOG_KEY)
    regions = regions.of(crowd().append_column("region", pa.array(np.array(["n", "s"])[np.arange(400) % 2])))
    with pytest.raises(Mistake, match="keys cannot be the response"):
        consider(regions, "region=n ~ age", family="binomial")
    assert rules(regions.under(drop={"k": 0}), "income ~ region + age") == []


@pytest.mark.parametrize("formula", ["log(income) ~ age", "age ~ log(income)", "age ~ sqrt(income)"])
def test_what_may_be_negative_by_its_declaration_has_no_logarithm_or_root(town: Any, formula: str) -> None:
    """Otherwise which records are left out would depend on the data alone."""
    signed = replace(
        town, catalog=town.catalog.replace('kind = "numeric"\nminimum = 0\nmissing', 'kind = "numeric"\nmissing')
    )
    assert signed.dataset.variables["income"].signed
    with pytest.raises(Mistake, match="may be negative"):
        consider(signed, formula)
    assert not consider(town, formula).reasons


def test_a_recode_of_the_response_does_not_explain_it(town: Any) -> None:
    recoded = replace(town, catalog=town.catalog + '\n[variables.generation]\nof = "age"\ncutpoints = [50]\n')
    with pytest.raises(Mistake, match="made of the response"):
        consider(recoded, "age ~ generation")
    assert rules(recoded, "income ~ generation") == []


def test_the_code_of_one_variable_alone_may_stand_for_its_indicator(town: Any) -> None:
    assert terms(town, "f ~ age", family="binomial") == terms(town, "sex=f ~ age", family="binomial")
    with pytest.raises(Mistake):
        consider(town, "yes ~ age", family="binomial")


@pytest.mark.parametrize("names", [["sex"], [], ["age", "age"], ["age", "nothing"], ["age", "id"]])
def test_bad_correlations_are_mistakes(town: Any, names: list[str]) -> None:
    with pytest.raises(Mistake):
        town.desk().consider(python_correlation("people", names))
