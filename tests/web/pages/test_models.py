"""Regressions and correlations in a browser without scripts: built step by step, answered in words, mistakes at their field."""

import html
import json
import re
import shutil
from dataclasses import replace
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import numpy as np
import pyarrow as pa
import pytest

from confide.answering.service import Service
from confide.formats.models.words import coefficients
from confide.model.catalog.dataset import Role
from confide.model.formula import Factor, Formula, read_formula, read_term, write_formula, write_term
from confide.model.policy import PRESETS
from confide.records.ingest import add
from confide.spelling.url import read_url
from confide.web.pages.analyst.regression.draft import ModelDraft
from confide.web.pages.analyst.regression.offers import predictors, responses, show_terms

BUILD = "/people/regression/build"
MODEL = "/people/regression?formula=" + quote("log(income) ~ age + square(age) + sex + education + age:sex")


@pytest.fixture(scope="module")
def service(made, tmp_path_factory):
    with Service.open(shutil.copytree(made, tmp_path_factory.mktemp("models") / "site")) as opened:
        yield opened


@pytest.fixture(scope="module")
def people(service):
    return service.datasets["people"]


def draft(text, people, family="gaussian"):
    return ModelDraft.read([("formula", text), ("family", family)], people)


def formula(page):
    return next(t.strip() for t in page.texts if " ~ " in t)


# Building


def test_the_class_to_compare_with_is_chosen_in_the_form(look):
    page = look(f"{BUILD}?response=gaussian+income&term=age&term=education")
    page = look(page.send("predictors", changed={"relevel": "relevel(education, none)"}))
    assert formula(page) == "income ~ age + relevel(education, none)"
    assert page.chosen("relevel") == ["relevel(education, none)"] and "education" not in page.choices("predictor")
    page = look(page.send("cross", changed={"tick": ["age", "relevel(education, none)"]}))
    assert formula(page).endswith("age:relevel(education, none)")
    answer = look(page.send("show"))
    assert (
        answer.status == 200
        and "compared with No completed education" in answer.text
        and "How to read this table" in answer.text
    )
    assert "every class is compared with No completed education, the reference" in answer.text
    page = look(page.send("predictors", changed={"relevel": "education"}))
    assert formula(page) == "income ~ age + education + age:education"
    page = look(look(f"{BUILD}?formula=income~relevel(education%2C+none)").send("without.relevel(education, none)"))
    assert "nothing yet" in page.text


def test_what_is_told_beside_the_coefficients_is_ticked_in_the_form(look):
    page = look(f"{BUILD}?response=binomial+employment=unemployed&term=age&term=education")
    sent = {"also": ["covariance", "deviance", "effects"], "against": "employment=unemployed ~ age"}
    answer = look(page.send("show", changed=sent))
    assert answer.status == 200, answer.text[:300]
    for words in (
        "Analysis of deviance", "Comparison of two models", "Average marginal effects", "Covariance of the coefficients"
    ):  # fmt: skip
        assert words in answer.text
    again = look(answer.links["Change the model"])
    assert again.chosen("also") == sent["also"] and sent["against"] in again.html
    wrong = look(page.send("show", changed={"against": "employment=unemployed ~ sex"}))
    assert wrong.status == 422 and "some of the terms" in wrong.text
    gaussian = look(look(f"{BUILD}?response=gaussian+income&term=age").send("show", changed={"also": ["effects"]}))
    assert gaussian.status == 422 and "binomial" in gaussian.text


def test_several_classes_of_a_response_are_ticked_in_the_form(look):
    page = look(f"{BUILD}?response=binomial+employment=unemployed&term=age")
    page = look(page.send("classes", changed={"class": ["unemployed", "retired"]}))
    assert formula(page) == "employment in (retired, unemployed) ~ age"
    assert sorted(page.chosen("class")) == ["retired", "unemployed"]
    answer = look(page.send("show"))
    assert answer.status == 200 and "Unemployed or Retired" in answer.text
    none = look(page.send("classes", changed={"class": []}))
    assert none.status == 422 and "Tick at least one class" in none.text
    every = look(page.send("classes", changed={"class": page.choices("class")}))
    assert every.status == 422 and "leave one out" in every.text


def test_a_model_is_built_with_buttons_alone(look):
    page = look(BUILD)
    assert "Choose a response first" in page.text
    page = look(page.send("response", changed={"response": "gaussian log(income)"}))
    page = look(page.send("predictors", changed={"predictor": "age"}))
    assert formula(page) == "log(income) ~ age"
    page = look(page.send("with.square(age)"))
    page = look(page.send("predictors", changed={"predictor": "sex"}))
    page = look(page.send("cross", changed={"tick": ["age", "sex"]}))
    assert formula(page) == "log(income) ~ age + square(age) + sex + age:sex"
    assert dict(parse_qsl(urlsplit(page.address).query)) == {"formula": formula(page)}, "the state is the question"
    page = look(page.send("without.sex"))
    assert formula(page) == "log(income) ~ age + square(age)", "the interaction leaves with its part"
    answer = look(page.send("show"))
    assert answer.status == 200 and urlsplit(answer.address).path == "/people/regression"
    assert "Income a year, in crowns (logarithm)" in answer.text


def test_the_universe_is_part_of_the_builder(look):
    page = look(f"{BUILD}?formula=income~age")
    page = look(page.send("piece"))
    page = look(page.send("add.1", changed={"add.1": "sex"}))
    page = look(page.send("update", changed={"in.1.sex": ["female"]}))
    assert ("where", "sex=female") in parse_qsl(urlsplit(page.address).query)
    answer = look(page.send("show"))
    assert answer.status == 200 and "Sex: Female" in answer.text


def test_every_choice_offered_is_admitted(people, service):
    policy = service.policy
    for text in ("log(income) ~ age + sex", "hours ~ region", "children ~ age_group + sex + age_group:sex"):
        made = draft(text, people)
        assert not made.errors and made.formula is not None
        offered = [value for _, group in predictors(made, policy).offered for value, _, _ in group]
        assert offered and len(set(offered)) == len(offered)
        for value in offered:
            wider = made.wider(read_term(value)[0])
            assert not wider.errors and not wider.reasons(policy), value
            assert write_term(read_term(value)) == value


def test_what_is_not_offered_is_explained(people, service):
    made = draft("income ~ age + county", people)
    told = dict(predictors(made, service.policy).others)
    offered = {value for _, group in predictors(made, service.policy).offered for value, _, _ in group}
    assert "age_group" not in offered and "another form" in told["Age group"]
    assert all(told.values()) and not {v.label for v in people.variables.values() if v.role is Role.IDENTIFIER} & set(
        told
    )


def test_only_responses_that_a_family_can_explain_are_offered(people):
    groups = {words: [value for value, _, _ in group] for words, group in responses(draft("income ~ age", people))}
    number, yes, count, *several = groups.values()
    assert "gaussian log(income)" in number and "binomial employment=employed" in yes and "poisson children" in count
    for family, group in zip(("multinomial", "ordered", "survival"), several, strict=True):
        assert f"{family} employment" in group
    listed = [value.partition(" ")[2] for group in groups.values() for value in group]
    keys = {v.name for v in people.variables.values() if v.role in (Role.KEY, Role.IDENTIFIER)}
    assert not {read_term(text)[0].variable for text in listed} & keys
    assert not [text for text in count if "(" in text], "counts are not transformed"


def test_transformations_that_the_declared_domain_forbids_are_not_offered(people):
    signed = replace(people.variables["hours"], minimum=-1.0)
    dataset = replace(people, variables={**people.variables, "hours": signed})
    [hours] = show_terms(draft("income ~ hours", dataset))
    assert [text for text, _ in hours.forms] == ["square(hours)"]
    listed = [value for _, group in responses(ModelDraft.read([], dataset)) for value, _, _ in group]
    assert "gaussian hours" in listed and "gaussian log(hours)" not in listed and "poisson hours" not in listed


def test_an_interaction_brings_its_parts(people):
    made = draft("income ~ age:sex:region", people)
    assert write_formula(made.formula) == (
        "income ~ age + region + sex + age:region + age:sex + region:sex + age:region:sex"
    )
    assert not made.reasons(PRESETS["standard"])


def test_removing_an_interaction_removes_what_is_made_of_it(people):
    made, part = draft("income ~ age*sex*region", people).press("without.age:sex", [])
    assert part == "predictors"
    assert write_formula(made.formula) == "income ~ age + sex + region + age:region + region:sex"


@pytest.mark.parametrize(
    ("ticked", "told"), [([], "Tick two"), (["age"], "Tick two"), (["age", "sex", "region", "hours"], "Tick two")]
)
def test_an_interaction_needs_two_or_three(people, ticked, told):
    made, part = draft("income ~ age + sex + region + hours", people).press("cross", ticked)
    assert (
        part == "interaction" and [e.field for e in made.errors] == ["interaction"] and told in made.errors[0].message
    )


def test_a_number_does_not_interact_with_its_square(people):
    made, _ = draft("income ~ age + square(age)", people).press("cross", ["age", "square(age)"])
    assert made.errors and "interact with itself" in made.errors[0].message


def test_changing_the_response_keeps_what_can_stay(people):
    made = ModelDraft.read(
        [("response", "gaussian hours"), ("term", "income"), ("term", "sex"), ("term", "hours")], people
    )
    assert [write_term(t) for t in made.terms] == ["income", "sex"]
    assert [e.field for e in made.errors] == ["predictors"] and "both sides" in made.errors[0].message


# Typing, and mistakes


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("incme ~ age", "Did you mean 'income'?"),
        ("income ~ aeg", "Did you mean 'age'?"),
        ("income ~ age + income", "both sides"),
        ("income", "Expected '~'"),
        ("~", "Expected a variable"),
        ("income ~ exp(age)", "no transformation 'exp'"),
        ("income ~ person_id", "No variable called 'person_id'"),
        ("age ~ income", "cannot be the response"),
        ("income ~ log(sex)", "Only numeric"),
        ("income ~ age:sex:region:marital", "more than three"),
        ("__import__('os').system('true') ~ age", "Cannot read the formula"),
        ("income ~ age; DROP TABLE people", "Cannot read the formula"),
        ("<script>alert(1)</script> ~ age", "Cannot read the formula"),
        ("income ~ `<img src=x onerror=alert(1)>`", "No variable called"),
    ],
)
def test_a_mistake_in_a_typed_formula_stands_at_the_field_and_nothing_is_cleared(look, typed, told):
    for address in (f"{BUILD}?", "/people/regression?"):
        page = look(address + urlencode([("formula", typed), ("where", "sex=female")]))
        assert page.status == 422 and told in page.text
        assert "formula-error" in page.ids and ("formula", typed) in [
            (p.get("name"), p.get("value")) for f in page.forms for p in f
        ]
        assert page.chosen("in.1.sex") == ["female"], "the universe is still there"
        assert "<script>alert" not in page.html and "<img src=x" not in page.html


def test_a_typed_formula_with_a_mistake_keeps_its_family_and_asks_for_what_ends_a_duration(look):
    def typed(address, **given):
        page = look(f"{address}?{urlencode(given)}")
        assert page.status == 422
        [form] = [form for form in page.forms if any(field.get("name") == "formula" for field in form)]
        return page, {field["name"]: field.get("chosen", field.get("value")) for field in form if "name" in field}

    page, form = typed(BUILD, formula="sexx ~ age", family="ordered")
    assert form["family"] == "ordered" and "event" not in page.ids
    page, form = typed("/people/regression", formula="hours ~ sex", family="survival")
    assert "'event' that ends them" in page.text and "event" in page.ids
    assert form == {"formula": "hours ~ sex", "family": "survival", "event": ""}
    assert typed(BUILD, formula="hours ~ sexx", family="nonsense")[1]["family"] == "gaussian"


def test_a_class_to_model_is_written_as_it_can_be_typed(look):
    page = look(f"{BUILD}?{urlencode([('formula', 'employment ~ age')])}")
    assert "employment=employed, or all classes with family='multinomial'" in page.text
    own = [("define", "working = employment in (employed)"), ("formula", "working ~ age")]
    page = look(f"{BUILD}?{urlencode(own)}")
    assert "Model a class with family='binomial': working=yes." in page.text


def test_a_mistake_while_building_keeps_the_model(look):
    page = look(f"{BUILD}?formula=income~age%2Bsex")
    page = look(page.send("cross"))
    assert page.status == 422 and "Tick two or three" in page.text and "interaction-error" in page.ids
    assert formula(page) == "income ~ age + sex"


def test_a_model_that_is_not_finished_says_what_is_missing(look):
    page = look(look(BUILD).send("show"))
    assert page.status == 422 and "Choose what the model shall explain" in page.text
    page = look(page.send("show", changed={"response": "gaussian income"}))
    assert page.status == 422 and "Add at least one predictor" in page.text and "predictor-error" in page.ids


@pytest.mark.parametrize(
    "query",
    [
        "response=nothing",
        "response=cubic+income",
        "response=gaussian+`",
        "response=gaussian+income&term=%00",
        "response=gaussian+income&term=" + "a:" * 3000,
        "&".join(f"term=age:x{i}" for i in range(500)),
        "do=without.~~~",
        "do=with.",
        "do=cross&tick=a&tick=b",
        "do=" + "9" * 5000,
        "formula=" + "x" * 7000,
        "family=cubic&formula=income~age",
        "where=&where=;&where==&formula=income~age",
        "predictor=age&predictor=age&response=gaussian+income&do=predictors",
    ],
)
def test_no_address_of_the_builder_breaks_it(look, query):
    page = look(f"{BUILD}?{query}")
    assert page.status in (200, 422), page.text[:300]
    assert "Something went wrong" not in page.text


def test_too_many_predictors_are_said_to_be_too_many(people, service):
    made = draft("income ~ " + " + ".join(["age", "sex", "hours"]), people)
    strict = replace(service.policy, models=replace(service.policy.models, predictors=3))
    assert not made.reasons(strict)
    assert [
        group
        for _, group in predictors(made, strict).offered
        if any("age" not in v and "hours" not in v for v, _, _ in group)
    ] == []
    assert made.wider(read_term("region")[0]).reasons(strict)[0].rule == "models.predictors"


# The answer


def test_the_answer_names_terms_and_references_in_words(look, service):
    page = look(MODEL)
    assert page.status == 200
    for words in (
        "Age in years (squared)",
        "Sex compared with Female",
        "Age in years × Sex",
        "95 % interval",
        "Whole terms",
    ):
        assert words in page.text, words
    assert "compared with" in page.text and "sex=male" not in page.text
    release = service.answer(read_url(unquote(MODEL[1:]).replace("+", "%2B")))
    rows = [row for group in coefficients(release, service.datasets["people"]) for row in group.rows]
    assert len(rows) == len(release.grids["coefficients"].rows), "every coefficient has its row"
    for row in rows:
        assert row.shown[0] in page.text and row.low < row.estimate < row.high


def test_each_part_of_the_question_has_a_change_link(look):
    page = look(MODEL + "&where=sex=female")
    changes = {words: address for words, address in page.links.items() if words.startswith("Change the ")}
    assert {"Change the response", "Change the predictors", "Change the universe"} <= set(changes)
    for address in changes.values():
        built = look(address.partition("#")[0])
        assert built.status == 200 and urlsplit(address).fragment in {*built.ids, ""}
        assert formula(built) == write_formula(read_formula(dict(parse_qsl(urlsplit(MODEL).query))["formula"]))
        assert built.chosen("in.1.sex") == ["female"]


@pytest.mark.parametrize("address", [MODEL, MODEL + "&diagnostics=true", "/people/correlation?variables=age,income"])
def test_downloads_hold_the_same_answer(look, server, address):
    page = look(address)
    receipt = re.search(r"cfd-[0-9a-f]{32}", page.text)[0]
    for words in ("CSV", "JSON", "XLSX"):
        answer = server.get(page.links[words])
        assert answer.status_code == 200 and answer.headers["etag"] == f'"{receipt}"'
    assert ("plot: age" in server.get(page.links["CSV"]).text) == ("diagnostics" in address)


def test_residuals_are_shown_as_synthetic_and_told_how_to_read(look):
    page = look(MODEL)
    assert "synthetic" not in page.text
    page = look(page.links["Look at the residuals"].partition("#")[0])
    assert page.status == 200 and "No point here is real" in page.text and "How to read them" in page.text
    assert {"Residuals along the fitted values", "Residuals along Highest completed education"} <= set(
        re.findall(r"<strong>([^<]+)</strong>", page.html)
    )
    pictures = [a for tag, a in page.tags if tag == "img" and a["src"].startswith("/charts/")]
    assert len(pictures) == 6 and all(len(a["alt"]) > 40 for a in pictures)
    assert page.html.count("<details>") >= 5 and len(page.html.encode()) < 60_000


@pytest.mark.parametrize(
    ("query", "column"),
    [("employment%3Demployed~age%2Bsex&family=binomial", "Odds ratio"), ("children~age&family=poisson", "Rate ratio")],
)
def test_ratios_are_given_where_they_mean_something(look, query, column):
    page = look(f"/people/regression?formula={query}")
    assert page.status == 200 and column in page.text and "[z]" in page.text
    assert "Odds ratio" not in look(MODEL).text


SEVERAL = "/people/regression?formula={}&family={}&where=" + quote("age_group=20-29,30-39,40-49,50-59")
PAY = "&define=" + quote("pay = cut(income, 10000, 20000, 40000)")


def test_a_model_of_several_classes_tells_each_against_the_one_compared_with(look):
    page = look(SEVERAL.format(quote("employment ~ sex"), "multinomial"))
    assert page.status == 200 and "against Employed" in page.text and "Odds ratio" in page.text
    assert re.search(r"odds 0\.\d", page.text), "beside an intercept stand the odds"
    assert "employment ~ sex" in look(page.links["Change the model"]).text


def test_a_model_of_classes_in_order_tells_its_thresholds(look):
    page = look(SEVERAL.format(quote("pay ~ sex"), "ordered") + PAY)
    assert page.status == 200 and "Thresholds" in page.text and "higher class" in page.text


def test_a_model_of_several_classes_tells_tests_effects_and_comparisons(look, server):
    more = "&also=deviance,effects&against=" + quote("employment ~ sex")
    address = SEVERAL.format(quote("employment ~ sex + education"), "multinomial") + more
    page = look(address)
    assert page.status == 200 and "Analysis of deviance" in page.text and "Comparison of two models" in page.text
    assert re.search(r"Employed Sex: Male −?0\.0\d", page.text.replace("-", "−")), "in the words of labels"
    for code in ("also=['deviance', 'effects']", 'also = "deviance,effects"', "--also=deviance,effects"):
        assert code in html.unescape(page.html), "in Python, in R and on the command line"
    answer = server.get(address.replace("regression?", "regression.json?")).json()
    assert answer["grids"]["effects"]["columns"][:3] == ["response", "term", "effect"]
    assert len(answer["grids"]["deviance"]["rows"]) == 3 and len(answer["grids"]["comparison"]["rows"]) == 2


def test_a_model_of_several_classes_has_residuals_of_each(look, server):
    address = SEVERAL.format(quote("employment ~ age + sex"), "multinomial")
    page = look(address)
    page = look(page.links["Look at the residuals"])
    assert page.status == 200 and "mean residual of a group" in page.text
    captions = set(re.findall(r"<strong>([^<]+)</strong>", page.html))
    assert {"Residuals along the fitted values (Employed)", "Residuals along Age in years (Student)"} <= captions
    assert "plot: student: age" in server.get(page.links["CSV"]).text
    pay = look(SEVERAL.format(quote("pay ~ age"), "survival") + PAY + "&diagnostics=true&event=employment%3Demployed")
    assert pay.status == 200 and "while a person was seen" in pay.text


def test_a_model_of_durations_asks_for_what_ends_them(look):
    page = look(SEVERAL.format(quote("pay ~ sex"), "survival") + PAY)
    assert page.status == 422 and "event" in page.text
    page = look(SEVERAL.format(quote("pay ~ sex"), "survival") + PAY + "&event=" + quote("employment=employed"))
    assert page.status == 200 and "hazard" in page.text.lower()


def test_a_refused_model_is_refused_in_words_and_its_suggestions_answer(look):
    page = look("/people/regression?formula=income~age%2Bmunicipality*occupation")
    assert page.status == 403 and "What to try" in page.text
    built = look(page.links["Change the question"])
    assert formula(built).startswith("income ~ age + municipality")
    offers = [a for words, a in page.links.items() if a.startswith("/people/regression?")]
    for address in offers:
        assert look(address).status == 200


def test_pages_and_data_agree(look, server):
    answer = server.get(MODEL.replace("regression?", "regression.json?")).json()
    page = look(MODEL)
    for name, value in answer["grids"]["statistics"]["rows"]:
        shown = f"{value:,.15g}"
        assert shown in page.text or name == "f_p_value", name


# Correlations


def test_rank_correlations_are_built_and_shown(look):
    page = look("/people/correlation/build?variables=age,income")
    answer = look(page.send("show", changed={"method": "spearman"}))
    assert answer.status == 200 and urlsplit(answer.address).query == "variables=age,income&method=spearman"
    assert "Rank correlations of Age in years, Income a year, in crowns" in answer.text
    assert "Ranks (Spearman)" in answer.text and "method='spearman'" in answer.text
    page = look("/people/correlation?variables=age,log(income)&method=spearman")
    assert "name it without log(...)" in page.text


def test_correlations_are_built_and_shown(look):
    page = look("/people/correlation/build")
    page = look(page.send("variables", changed={"variable": "age"}))
    page = look(page.send("variables", changed={"variable": "income"}))
    page = look(page.send("variables", changed={"variable": "sex"}))
    assert page.chosen("variables") == ["age", "income", "sex"] and "age_group" not in page.choices("variable")
    page = look(page.send("without.sex"))
    answer = look(page.send("show"))
    assert answer.status == 200 and "Correlations of Age in years, Income a year, in crowns" in answer.text
    assert urlsplit(answer.address).query == "variables=age,income"


def test_classes_stand_under_their_variable(look):
    page = look("/people/correlation?variables=age,sex")
    heads = [a for tag, a in page.tags if tag == "th" and a.get("scope") in ("colgroup", "rowgroup")]
    assert page.status == 200 and [a["scope"] for a in heads] == ["colgroup", "rowgroup"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "variables=age",
        "variables=age,aeg",
        "variables=age,person_id",
        "variables=age,age",
        "what=x&variables=age,income",
    ],
)
def test_a_mistake_in_a_correlation_leads_to_the_builder(look, query):
    page = look(f"/people/correlation?{query}")
    assert page.status == 422 and "Correlate variables" in page.text and page.html.count('class="notice error"') == 1


# Hostile names


NAME = "a`b\"<b>'\\,;=:~"
LABEL = "Label <script>alert(1)</script>"
CODES = ["x=1:y=2", "<img src=x onerror=alert(1)>", "a`b"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory, made, start_server):
    site = tmp_path_factory.mktemp("odd") / "site"
    rng = np.random.default_rng(1)
    codes = "\n".join(f"{json.dumps(c)} = {json.dumps('label ' + c)}" for c in CODES)
    catalog = f"""
title = {json.dumps("Title <script>alert(1)</script>")}
[variables.{json.dumps(NAME)}]
label = {json.dumps(LABEL)}
[variables.{json.dumps(NAME)}.codes]
{codes}
[variables.{json.dumps("n " + NAME)}]
label = {json.dumps("Number " + LABEL)}
kind = "numeric"
minimum = 0
maximum = 100
[variables.y]
label = {json.dumps("y" * 10_000)}
kind = "numeric"
minimum = 0
maximum = 1000
"""
    x = rng.integers(0, 100, 3000)
    data = pa.table({NAME: rng.choice(CODES, 3000), "n " + NAME: x, "y": x + rng.integers(0, 300, 3000)})
    add(data, site, name="odd", catalog=catalog)
    (site / "policy.toml").write_text((made / "policy.toml").read_text())
    return start_server(site)


def test_hostile_names_can_be_modelled_and_shown_as_text(odd, page, wait_for):
    def see(address):
        return page(wait_for(odd, address.removeprefix(odd.url)))

    shown = see("/odd/regression/build?response=gaussian+y")
    number = next(v for v in shown.choices("predictor") if v.startswith("`n "))
    shown = see(shown.send("predictors", changed={"predictor": number}))
    classes = next(v for v in shown.choices("predictor") if v == write_term((Factor(NAME),)))
    shown = see(shown.send("predictors", changed={"predictor": classes}))
    shown = see(shown.send("cross", changed={"tick": [number, classes]}))
    assert len(shown.chosen("term")) == 3
    answer = see(shown.send("show"))
    assert answer.status == 200, answer.text[:400]
    assert "label x=1:y=2" in answer.text or "label a`b" in answer.text
    diagnosed = see(answer.links["Look at the residuals"].partition("#")[0])
    correlated = see("/odd/correlation?" + urlencode({"variables": "y,n " + re.sub(r"([\\,;=])", r"\\\1", NAME)}))
    for each in (shown, answer, diagnosed, correlated):
        assert each.status == 200
        assert "<script>alert" not in each.html and "<img src=x" not in each.html
        for address in re.findall(r'src="(/charts/[^"]+)"', each.html):
            svg = odd.get(address)
            assert svg.status_code == 200 and "<script" not in svg.text and "<img" not in svg.text


def test_an_address_of_ten_thousand_characters_is_turned_away_in_words(look):
    page = look("/people/regression?formula=" + "a" * 10_000)
    assert page.status == 414 and "longer than" in page.text


def test_a_formula_and_its_terms_are_read_as_they_are_written():
    for text in ("income ~ age + `n x` + age:`n x`", "`a``b` ~ log(x)"):
        made = read_formula(text)
        assert Formula(made.response, tuple(read_term(write_term(t)) for t in made.terms)) == made
