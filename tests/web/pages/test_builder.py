"""The table builder without scripts: every state is an address, only what is allowed is offered, nothing is lost."""

import re
from urllib.parse import unquote, urlsplit

import pytest


def query(page):
    return unquote(urlsplit(page.address).query)


def test_a_newcomer_makes_a_table_by_pressing_buttons(look):
    page = look("/people/table/build")
    page = look(page.send("rows.add", changed={"add.rows": "education"}))
    page = look(page.send("columns.add", changed={"add.columns": "sex"}))
    page = look(page.send("piece"))
    page = look(page.send("add.1", changed={"add.1": "county"}))
    page = look(page.send("update", changed={"in.1.county": ["N1", "N2"]}))
    assert query(page) == "rows=education&columns=sex&where=county=N1,N2"
    assert page.chosen("in.1.county") == ["N1", "N2"] and "8 × 2 = 16" in page.text
    answer = look(page.send("show"))
    assert answer.status == 200 and urlsplit(answer.address).path == "/people/table"
    assert query(answer) == "rows=education&columns=sex&where=county=N1,N2"
    assert "County: Nordvik or Isfjell" in answer.text


def test_a_press_leads_to_an_address_without_the_button_at_its_part_of_the_page(server, look):
    page = look("/people/table/build?rows=sex")
    for button, part in {"rows.remove.0": "rows", "rows.move.0": "rows", "piece": "piece-1", "update": "build"}.items():
        sent = server.get(page.send(button).removeprefix(server.url))
        assert sent.status_code == 303 and "do=" not in sent.headers["location"]
        assert sent.headers["location"].endswith(f"#{part}")


def test_what_is_chosen_to_be_added_is_added_whatever_button_is_pressed(look):
    page = look("/people/table/build").send("show", changed={"add.rows": "sex", "add.columns": "region"})
    assert query(look(page)) == "rows=sex&columns=region"


def test_variables_are_moved_removed_and_swapped(look):
    page = look("/people/table/build?rows=sex,region&columns=marital")
    assert query(look(page.send("rows.up.1"))) == "rows=region,sex&columns=marital"
    assert query(look(page.send("rows.move.0"))) == "rows=region&columns=marital,sex"
    assert query(look(page.send("rows.remove.1"))) == "rows=sex&columns=marital"
    assert query(look(page.send("columns.move.0"))) == "rows=sex,region,marital"
    assert query(look(page.send("swap"))) == "rows=marital&columns=sex,region"


def test_pieces_and_conditions_are_added_and_removed(look):
    page = look("/people/table/build?rows=sex&where=region=N;age_group=20-29&where=county=S1")
    assert query(look(page.send("remove.1.2"))) == "rows=sex&where=region=N&where=county=S1"
    assert query(look(page.send("drop.1"))) == "rows=sex&where=county=S1"
    more = look(page.send("piece"))
    assert query(more).endswith("where=county=S1&where=") and "piece-3" in more.ids
    assert query(look(more.send("add.3", changed={"add.3": "marital"}))).endswith("&where=marital=")


def test_an_unfinished_universe_is_kept_in_the_address(look):
    page = look("/people/table/build?rows=sex&where=region=;age_group=20-29&where=")
    assert page.chosen("on.1") == ["region", "age_group"] and page.chosen("in.1.region") == []
    assert query(look(page.send("update"))) == "rows=sex&where=region=;age_group=20-29&where="


def test_each_thing_is_offered_at_every_level_and_the_suggested_level_is_marked(look):
    page = look("/people/table/build?rows=county")
    options = next(part for part in page.form if part.get("name") == "rows")
    assert options["values"] == ["region", "county", "municipality"] and options["chosen"] == "county"
    assert [value for value, words in options["words"].items() if "suggested" in words] == ["county"]
    assert not {"region", "county", "municipality"} & set(page.choices("add.rows"))
    assert query(look(page.send("update", changed={"rows": "region"}))) == "rows=region"


def test_another_level_of_a_condition_keeps_what_was_said(look):
    page = look("/people/table/build?rows=sex&where=county=N1,S2")
    up = look(page.send("update", changed={"on.1": "region"}))
    assert query(up) == "rows=sex&where=region=N,S"
    down = look(up.send("update", changed={"on.1": "county"}))
    assert down.chosen("in.1.county") == ["N1", "N2", "N3", "N4", "N5", "S1", "S2", "S3", "S4"]


def test_what_the_policy_forbids_is_not_offered(look):
    offered = look("/people/table/build").choices("add.rows")
    assert "person_id" not in offered and {"sex", "occupation", "municipality", "income"} <= set(offered)
    large = look("/people/table/build?rows=municipality&columns=occupation").choices("add.rows")
    assert "sex" in large and "education" not in large and "country_of_birth" not in large
    full = look("/people/table/build?rows=sex,region&columns=marital,education")
    assert full.choices("add.rows") == [] and "at most 4 variables" in full.text


def test_recodes_of_one_number_are_not_offered_together(look):
    page = look("/people/table/build?rows=age&where=")
    assert "age_group" not in page.choices("add.rows") and "age_group" not in page.choices("add.1")
    assert "age" in page.choices("add.1")
    assert look("/people/table/build?rows=age&where=age=").choices("on.1") == []
    assert look("/people/table/build?rows=sex&where=age=").choices("on.1") == ["age_group", "age"]


def test_no_more_variables_and_pieces_are_offered_than_may_define_a_universe(look):
    page = look("/people/table/build?where=sex=male;region=N;marital=&where=education=")
    assert page.choices("add.1") == ["education"] and set(page.choices("add.2")) == {"sex", "region", "marital"}
    four = look("/people/table/build?where=&where=&where=&where=")
    assert "piece" not in [part["value"] for part in four.form if part.get("button") == "do"]


def test_a_level_that_would_be_too_large_is_not_offered(look):
    page = look("/people/table/build?rows=county,education&columns=country_of_birth")
    assert page.choices("rows") == ["region", "county"]


def test_what_rules_of_shape_refuse_is_said_before_the_question_is_asked(look):
    page = look("/people/table/build?rows=age,sex,education,marital,region")
    assert "A table may have at most 4 variables." in page.text


MISTAKES = {
    "": ("rows", "Choose at least one variable"),
    "rows=eduction": ("rows", "Did you mean 'education'?"),
    "columns=wages&rows=nothing": ("rows", "No variable called 'nothing'"),
    "rows=sex,sex": ("rows", "stands twice"),
    "rows=sex&measure=mean": ("of", "Choose the number"),
    "rows=sex&measure=mean&of=sex": ("of", "not a number"),
    "rows=sex&of=income": ("of", "goes with a total, a mean or a quantile"),
    "rows=sex&measure=cout": ("measure", "no measure 'cout'"),
    "rows=sex&where=region=Q9": ("piece-1-1", "'region' has no code 'Q9'"),
    "rows=sex&where=region=": ("piece-1-1", "Choose a class of Region"),
    "rows=sex&where=": ("piece-1", "has no condition"),
    "rows=sex&where=region": ("universe", "Cannot read the condition"),
    "rows=sex&where=regin=N": ("piece-1-1", "Did you mean 'region'?"),
    "rows=sex&where=region=N;region=S": ("piece-1-2", "two conditions"),
    "rows=sex&where=region=N;county=S1": ("build", "so the universe would be empty"),
    "rows=sex&colums=region": ("build", "Unknown parameter 'colums'"),
    "rows=sex&percent=rows": ("build", "There is no percentage of 'rows'"),
}


@pytest.mark.parametrize("asked", MISTAKES)
def test_a_mistake_is_shown_on_top_and_at_its_field_and_nothing_is_lost(look, asked):
    field, words = MISTAKES[asked]
    page = look(f"/people/table?{asked}")
    assert page.status == 422 and page.html.count("<title>Error:") == 1
    summary = [(text, address) for text, address in page.links.items() if words in text]
    assert [address for _, address in summary] == [f"#{field}"] and field in page.ids
    assert field == "build" or f'id="{field}-error"' in page.html
    kept = [pair for pair in asked.split("&") if pair.split("=")[0] in ("rows", "columns", "where", "measure", "of")]
    again = look(page.send("update"))
    for pair in kept:
        if field != "universe":
            assert re.split("[,;]", pair.split("=", 1)[1])[0] in query(again)


def test_a_number_that_no_measure_needs_waits_in_the_builder_and_not_in_the_question(look):
    page = look("/people/table/build?rows=sex&of=income")
    assert page.chosen("of") == ["income"] and query(look(page.send("update"))) == "rows=sex&of=income"
    assert query(look(page.send("show"))) == "rows=sex"


def test_measures_are_those_the_data_set_can_give(look):
    page = look("/people/table/build")
    quantiles = ["median", "p10", "p25", "p75", "p90"]
    assert page.choices("measure") == ["count", "weighted_count", "total", "mean", "sd", "ratio", *quantiles]
    assert page.chosen("measure") == ["count"]
    assert "income" in page.choices("of") and "age_group" not in page.choices("of")
    page = look(page.send("show", changed={"add.rows": "sex", "measure": ["count", "mean"], "of": "income"}))
    assert page.status == 200 and query(page) == "rows=sex&measure=count,mean&of=income"


@pytest.mark.parametrize("button", ["", "rows", "rows.up", "rows.remove.99", "rows.remove.-1", "drop.0", "drop.x", "remove.1.9",
                                    "remove.9.1", "add.", "find.7", "rows.fly.0", "9" * 400, "drop." + "9" * 400, "\x00"])  # fmt: skip
def test_a_button_that_is_none_changes_nothing(server, button):
    start = "rows=sex&where=region=N"
    sent = server.get("/people/table/build", params={"rows": "sex", "where": "region=N", "do": button})
    assert sent.status_code == 303 and unquote(urlsplit(sent.headers["location"]).query) == start


def test_an_unknown_data_set_is_not_found(look):
    assert look("/peple/table/build").status == 404 and look("/peple/table?rows=sex").status == 404
