"""Mending `dataset.toml` in places: comments and layout stay, what cannot be used is not written."""

import json
import pickle
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import confide
from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset
from confide.model.catalog.toml import read_dataset
from confide.model.toml import toml_key, toml_value
from confide.site.describing import changes
from confide.site.describing.document import TomlDocument
from confide.site.describing.saving import ChangedField, DescriptionFile, FieldMistake
from confide.site.folder import Folder
from confide.site.ledger import last
from confide.site.locking import alone

TEXT = """# ours
title = "People"

[variables.sex]
# drafted
label = "sex"
role = "key"   # others may know it of a person
missing = ["NA"]
[variables.sex.codes]
f = "f"   # women
F = "F"
m = { label = "Men", synonyms = ["M"] }

[variables.region]
label = "Region"
codes = { N = "North", S = "South", W = "West" }

[variables.county]
label = "County"
parent = "region"
[variables.county.codes]
n1 = { label = "N 1", parent = "N" }
w1 = { label = "W 1", parent = "W" }

[variables.age]
label = "Age"   # in # years
kind = "numeric"
minimum = 0
cutpoints = [
  20,
  40,  # the middle
]

[variables."né \\"e\\""]
label = "Odd"
codes = { a = "A", b = "B" }
"""


def changed(change: Callable[[TomlDocument], None], text: str = TEXT) -> str:
    document = TomlDocument.of(text, what="dataset.toml")
    change(document)
    return document.text()


def lines_of(change: Callable[[TomlDocument], None], text: str = TEXT) -> tuple[list[str], list[str]]:
    """The lines that a change takes away, and those that it brings."""
    before, after = text.split("\n"), changed(change, text).split("\n")
    return [line for line in before if line not in after], [line for line in after if line not in before]


ZEROS = """
[[structural_zeros]]   # nobody is there
sex = ["f"]
region = [
  "N",   # the north
  "W",
]

[[structural_zeros]]
sex = ["m"]
age = ["0-19"]
"""


def test_structural_zeros_stay_as_they_stand_whatever_is_changed() -> None:
    def change(document: TomlDocument) -> None:
        changes.set_text(document, "period", "2025")
        changes.set_role(document, "age", "key")
        changes.add_recode(document, described(TEXT + ZEROS).variables["age"], "wide", "Wide", [40])

    text = changed(change, TEXT + ZEROS)
    assert ZEROS in text and described(text).structural_zeros == described(TEXT + ZEROS).structural_zeros != ()


def described(text: str) -> Dataset:
    return read_dataset(text, name="d", read_file=str)


def variable(name: str, text: str = TEXT) -> dict[str, object]:
    found: dict[str, object] = tomllib.loads(text)["variables"][name]
    return found


def test_nothing_changes_where_nothing_is_asked_for() -> None:
    assert changed(lambda document: None) == TEXT
    same = [
        partial(changes.set_role, name="sex", role="key"),
        partial(changes.set_list, name="age", key="cutpoints", values=[20, 40]),
        partial(changes.set_words, name="sex", code="m", label="Men"),
        partial(changes.set_spellings, name="sex", code="m", spellings=["M"]),
        partial(changes.put_in_group, name="county", code="n1", group="N"),
    ]
    for change in same:
        assert changed(change) == TEXT


def test_one_line_changes_and_keeps_its_comment() -> None:
    assert lines_of(partial(changes.set_words, name="sex", code="f", label="Women")) == (
        ['f = "f"   # women'],
        ['f = "Women"   # women'],
    )
    assert lines_of(lambda d: d.set(("variables", "age"), "label", "Years")) == (
        ['label = "Age"   # in # years'],
        ['label = "Years"   # in # years'],
    )


def test_the_comment_on_a_role_is_told_of_the_role_before() -> None:
    once = changed(partial(changes.set_role, name="sex", role="confidential"))
    assert 'role = "confidential"   # was key: others may know it of a person\n' in once
    assert 'role = "other"   # was key: others may know' in changed(
        partial(changes.set_role, name="sex", role="other"), once
    )
    assert lines_of(partial(changes.set_role, name="region", role="key"))[1] == ['role = "key"']


def test_a_list_on_several_lines_is_replaced_whole() -> None:
    text = changed(partial(changes.set_list, name="age", key="cutpoints", values=[30]))
    assert variable("age", text)["cutpoints"] == [30] and "the middle" not in text and "  20," not in text
    assert "missing" not in variable("sex", changed(partial(changes.set_list, name="sex", key="missing", values=[])))


def test_codes_within_one_line_are_changed_too() -> None:
    text = changed(partial(changes.set_words, name="region", code="N", label="The north"))
    assert variable("region", text)["codes"] == {"N": "The north", "S": "South", "W": "West"}
    assert list(variable("region", text)["codes"]) == ["N", "S", "W"]  # type: ignore[call-overload]  # a table


def test_merging_makes_spellings_and_takes_finer_levels_along() -> None:
    text = changed(partial(changes.merge_code, name="sex", code="F", into="f"))
    assert variable("sex", text)["codes"]["f"] == {"label": "f", "synonyms": ["F"]}  # type: ignore[index]  # a table
    assert "# women" in text and "\nF = " not in text
    text = changed(partial(changes.merge_code, name="region", code="W", into="N"))
    assert variable("county", text)["codes"]["w1"] == {"label": "W 1", "parent": "N"}  # type: ignore[index]  # a table
    read_dataset(text, name="d", read_file=str)
    for into, words in (("F", "itself"), ("x", "no code"), ("", "no code")):
        with pytest.raises(Mistake, match=words):
            changed(partial(changes.merge_code, name="sex", code="F", into=into))


def test_a_coarser_level_is_a_variable_above() -> None:
    sex = read_dataset(TEXT, name="d", read_file=str).variables["sex"]
    groups = {"f": "women", "F": "women", "m": "men", "NA": ""}
    text = changed(lambda d: changes.add_level(d, sex, "gender", "", groups))
    dataset = read_dataset(text, name="d", read_file=str)
    assert [v.name for v in dataset.chain("sex")] == ["sex", "gender"] and dataset.variables["gender"].role == "key"
    assert dataset.lift("sex", "gender") == (0, 0, 1, 2)
    assert list(dataset.variables)[:3] == ["sex", "gender", "region"]
    bad: list[tuple[str, dict[str, str], str]] = [
        ("gender", groups | {"F": ""}, "in no group"),
        ("region", groups, "already"),
        ("", groups, "needs a name"),
        ("gender", dict.fromkeys(groups, "all"), "two groups"),
    ]
    for level, given_groups, words in bad:
        with pytest.raises(Mistake, match=words):
            changed(lambda d, a=level, b=given_groups: changes.add_level(d, sex, a, "", b))  # type: ignore[misc]


def test_windows_line_ends_stay() -> None:
    text = changed(partial(changes.set_role, name="sex", role="other"), TEXT.replace("\n", "\r\n"))
    assert text.count("\r\n") == text.count("\n") == TEXT.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        'variables.sex.label = "S"\nvariables.sex.codes = { f = "F" }\n',
        '[variables]\nsex.label = "S"\nsex.codes.f = "F"\n',
        'variables = { sex = { label = "S", codes = { f = "F" } } }\n',
    ],
)
def test_another_layout_is_left_alone_or_changed_rightly(text: str) -> None:
    try:
        after = changed(lambda d: d.set(("variables", "sex"), "label", "Sex"), text)
    except Mistake as mistake:
        assert "laid out" in mistake.message
    else:
        assert variable("sex", after) == {"label": "Sex", "codes": {"f": "F"}}


@settings(max_examples=100, deadline=None)
@given(
    st.text(max_size=20), st.dictionaries(st.text(max_size=5), st.lists(st.text(max_size=4), max_size=2), max_size=3)
)
def test_whatever_is_written_is_read_back(text: str, table: dict[str, list[str]]) -> None:
    try:
        (text + "".join(table) + "".join(t for ts in table.values() for t in ts)).encode()
    except UnicodeEncodeError:
        return
    assert tomllib.loads(f"{toml_key('k' + text)} = {toml_value(text)}") == {"k" + text: text}
    assert tomllib.loads(f"a = {toml_value(table)}") == {"a": table}
    odd = 'né "e"'
    after = changed(lambda d: d.set(("variables", odd), "label", text))
    assert variable(odd, after)["label"] == text and TEXT.split("[variables.sex]")[0] in after


@pytest.fixture
def made(tmp_path: Path) -> DescriptionFile:
    table = pa.table({"sex": ["f", "m", "F", "m"] * 120, "region": ["N", "S", "W", "S"] * 120, "age": [*range(96)] * 5})
    confide.add(table, tmp_path / "site", name="d")
    return DescriptionFile(Folder(tmp_path / "site"), "d")


def test_a_draft_keeps_what_it_saw_of_every_column(made: DescriptionFile) -> None:
    profile = made.profile()
    assert profile.records == 480 and list(profile.columns) == ["sex", "region", "age"]
    assert dict(profile.columns["region"].counts) == {"N": 120, "S": 240, "W": 120}
    assert profile.columns["sex"].role == "key" and sum(profile.columns["age"].counts.values()) == 480
    file = made.folder.kept_profile("d")
    for text in (
        "[]",
        "{",
        '{"columns": 1, "records": 2}',
        json.dumps({"records": 1, "columns": {"a": 3}}),
        "[" * 10**5,
    ):
        file.write_text(text)
        with pytest.raises(Mistake, match=r"profile\.json is not what 'confide init' wrote"):
            made.profile()
    file.unlink()
    assert made.profile().columns == {}


def test_what_is_saved_says_what_to_do_next(made: DescriptionFile) -> None:
    def save(change: Callable[[TomlDocument], None]) -> bool:
        return made.save([ChangedField("x", change)], mark=made.read().mark)

    assert made.next_step() == "" and not save(lambda document: None)
    assert save(partial(changes.set_text, key="label", text="Sex <b>", table=("variables", "sex")))
    assert made.next_step() == "" and made.read().dataset.variables["sex"].label == "Sex <b>"
    assert save(partial(changes.set_role, name="region", role="confidential"))
    assert made.next_step() == f"confide records {made.folder.path} d --renew"
    assert save(partial(changes.merge_code, name="region", code="W", into="N"))
    assert made.next_step() == f"confide ingest FILE {made.folder.path} d"
    assert [entry.request.get("act") for entry in last(made.folder.ledger, 5)].count("description changed") == 3
    table = pa.table(
        {
            "sex": ["f", "m", "F", "m"] * 120,
            "region": ["N", "S", "W", "S"] * 120,
            "age": [*range(96)] * 5,
        }
    )
    confide.ingest(table, made.folder.path, name="d")
    assert made.next_step() == ""
    with confide.open(made.folder.path) as site:
        assert site["d"].table(rows=["region"]).to_arrow()["region"].to_pylist()[:2] == ["N", "S"]


def test_a_mistake_names_its_field_and_nothing_is_written(made: DescriptionFile) -> None:
    before, mark = made.folder.catalog("d").read_bytes(), made.read().mark
    good = ChangedField("label", lambda d: d.set(("variables", "sex"), "label", "S"))
    bad = ChangedField("cutpoints", partial(changes.set_list, name="age", key="cutpoints", values=[9, 3]))
    also = ChangedField("role", partial(changes.set_role, name="sex", role="other"))
    with pytest.raises(FieldMistake, match="must increase") as caught:
        made.save([good, bad, also], mark=mark)
    assert caught.value.field == "cutpoints" and pickle.loads(pickle.dumps(caught.value)).field == "cutpoints"
    with pytest.raises(FieldMistake, match="no code") as caught:
        made.save([ChangedField("into", partial(changes.merge_code, name="sex", code="f", into="z"))], mark=mark)
    assert caught.value.field == "into"
    with pytest.raises(FieldMistake, match="was changed since"):
        made.save([good], mark="other")
    with alone(made.folder.home("d"), doing="loading"), pytest.raises(FieldMistake, match="Somebody else"):
        made.save([good], mark=mark)
    assert made.folder.catalog("d").read_bytes() == before


def test_only_a_data_set_that_is_there_and_can_be_read_is_described(made: DescriptionFile) -> None:
    with pytest.raises(Mistake, match="no data set called 'e'"):
        DescriptionFile(made.folder, "e")
    made.folder.catalog("d").write_bytes(b"\xff")
    with pytest.raises(Mistake, match="cannot be read as UTF-8"):
        made.read()
    made.folder.catalog("d").write_text("[variables.a]\nrole = 1\n")
    with pytest.raises(Mistake, match="must be text in quotes"):
        made.read()
