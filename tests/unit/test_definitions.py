"""Variables of an analyst's own: how they are written, which classes they have, and what is no definition."""

from typing import Any

import numpy as np
import pytest

from confide.errors import Mistake
from confide.model.admission.cross import cross_of
from confide.model.admission.derived import MOST_COMBINATIONS, with_definitions
from confide.model.admission.universe import declared_universe
from confide.model.catalog.dataset import Dataset, Role
from confide.model.catalog.derivation import combinations_of, table_of
from confide.model.catalog.toml import read_dataset
from confide.model.definition.definition import MOST_CLASSES, MOST_DEFINITIONS
from confide.model.definition.text import LONGEST_DEFINITION, read_definition, read_definitions, write_definition
from confide.spelling.where import read_where

CATALOG = """
[variables.person]
role = "identifier"

[variables.sex.codes]
f = "Women"
m = "Men"

[variables.region.codes]
N = "North"
S = "South"

[variables.town]
role = "key"
parent = "region"
[variables.town.codes]
n1 = { label = "North one", parent = "N" }
n2 = { label = "North two", parent = "N" }
s1 = { label = "Söuth, one", parent = "S" }

[variables.work]
role = "confidential"
universe = false
missing = ["?", "-"]
[variables.work.codes]
paid = "Paid"
own = "Self-employed"
none = "None"

[variables.age]
kind = "numeric"
minimum = 0
maximum = 120
missing = [""]
cutpoints = [10, 18, 30, 65]
nodes = ["18-64"]

[variables.age_wide]
of = "age"
cutpoints = [18, 65]

[variables.age_odd]
of = "age"
cutpoints = [20, 50]

[variables.height]
kind = "numeric"

[variables.rate]
kind = "numeric"
decimals = 1
minimum = -10
maximum = 10
cutpoints = [-2.5, 0, 2.5]
"""


@pytest.fixture(scope="module")
def people() -> Dataset:
    return read_dataset(CATALOG, name="people", read_file=str)


def derived(people: Dataset, *texts: str) -> Dataset:
    return with_definitions(people, read_definitions(texts))


def one(people: Dataset, text: str) -> Any:
    definition = read_definition(text)
    return derived(people, text).variables[definition.name]


def classes(variable: Any) -> list[tuple[str, str]]:
    return [(code.code, code.label) for code in variable.codes]


@pytest.mark.parametrize(
    "text",
    [
        "adult = age >= 18",
        'adult "Grown up" = age >= 18 and not (sex in (f) or town in (n1, "s1, or so"))',
        'work = paid "In paid work": x in (20-29, 60+, employed); "a ""b""": y < -2.5; else: rest "Ëverybody else"',
        "stage = cut(`age in years`, 18, 64.5)",
        "`in` = `and` in (not, or)",
        "a = not not b in (c)",
        "a = (b in (c) and d in (e)) and f in (g)",
    ],
)
def test_a_definition_is_read_as_written(text: str) -> None:
    assert write_definition(read_definition(text)) == text


def test_spaces_do_not_matter_nor_does_the_order_of_codes_and_cutpoints() -> None:
    assert read_definition(" a=b  in(c , d,c) ") == read_definition("a = b in (d, c)")
    assert read_definition("a=cut( b,3 ,1)") == read_definition("a = cut(b, 1, 3)")
    assert read_definition("a = b >= 18.0") == read_definition("a = b >= 18")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expected a variable"),
        ("adult", "Expected '='"),
        ("adult = ", "Expected a variable at the end"),
        ("adult = age", "in (codes)"),
        ("adult = age >= old", "Expected a number"),
        ("adult = age >= 18 years", "Expected the end"),
        ("adult = age in ()", "Expected a code"),
        ("adult = age in (a", "Expected ')'"),
        ("adult = cut(age)", "no cutpoint"),
        ("a = b: c in (d); b: e in (f)", "is there twice"),
        ("a = b: c in (d);", "Expected a code"),
        ("a = " + "(" * 40 + "b in (c)" + ")" * 40, "stand in one another"),
        ("a = b in (" + "c" * LONGEST_DEFINITION + ")", "longer than"),
        (f'a "{"l" * 121}" = b in (c)', "cannot be a label"),
        (f"{'n' * 61} = b in (c)", "cannot be a name"),
        ('a = "=1+1": b in (c); else: d', "spreadsheet"),
        ('a "@SUM(A1)" = b in (c)', "spreadsheet"),
        ('a "two\nlines" = b in (c)', "printable"),
        ('a "\u202egnp.exe" = b in (c)', "printable"),
        ('a "  " = b in (c)', "cannot be a label"),
        ("__import__('os') = b in (c)", "Expected"),
    ],
)
def test_nonsense_is_a_mistake_that_says_what_is_wanted(text: str, words: str) -> None:
    with pytest.raises(Mistake) as mistake:
        read_definition(text)
    assert words in str(mistake.value) and len(str(mistake.value)) < 400


def test_there_are_limits_on_definitions_and_classes() -> None:
    with pytest.raises(Mistake, match=f"at most {MOST_DEFINITIONS}"):
        read_definitions(f"v{i} = a in (b)" for i in range(MOST_DEFINITIONS + 1))
    with pytest.raises(Mistake, match="'a' is defined twice"):
        read_definitions(["a = b in (c)", "a = b in (d)"])
    with pytest.raises(Mistake, match=f"more than {MOST_CLASSES} classes"):
        read_definition("a = " + "; ".join(f"c{i}: b in (x)" for i in range(MOST_CLASSES + 1)))
    assert len(read_definitions(["a = b in (c)", "a = b in (c)"])) == 1


def test_a_condition_makes_yes_and_no_and_what_is_missing_stays_so(people: Dataset) -> None:
    adult = one(people, "adult = age >= 18")
    assert classes(adult) == [("yes", "Yes"), ("no", "No"), ("missing", "Missing")]
    assert [code.missing for code in adult.codes] == [False, False, True]
    assert adult.made.sources == ("age_wide",)  # the coarsest form of the number that tells
    assert adult.made.places == (1, 0, 0, 2)


def test_above_and_below_mean_the_same_cutpoint(people: Dataset) -> None:
    same = {one(people, f"a = age {text}").made for text in (">= 18", "> 17", "in (18-64, 65+)")}
    assert len(same) == 1 and one(people, "a = age < 18").made == one(people, "a = age <= 17").made
    assert one(people, "a = rate > -2.6").made == one(people, "a = rate >= -2.5").made


def test_a_node_stands_for_its_bins(people: Dataset) -> None:
    assert one(people, "a = age in (18-64)").made == one(people, "a = age >= 18 and age < 65").made


def test_groups_have_their_labels_and_the_rest_is_where_it_is_said_to_be(people: Dataset) -> None:
    place = one(people, 'place = a "Ärea <b>": town in (n1, s1); else: b "The & rest"')
    assert classes(place) == [("a", "Ärea <b>"), ("b", "The & rest")]
    assert place.made.places == (0, 1, 0) and place.role is Role.KEY and place.universe
    with pytest.raises(Mistake, match=r"No class of 'place' has town 'n2' and 1 more\..*else: other"):
        one(people, "place = a: town in (n1)")


def test_groups_along_a_coarser_level_are_made_of_that_level(people: Dataset) -> None:
    assert one(people, "north = town in (n1, n2)").made.sources == ("region",)
    assert one(people, "north = town in (n1)").made.sources == ("town",)
    assert one(people, "north = region in (N) and town in (n1, n2)").made.sources == ("region",)


def test_codes_that_stand_for_missing_stay_missing_unless_they_are_named(people: Dataset) -> None:
    work = one(people, "w = in: work in (paid, own); else: out")
    assert classes(work)[-1] == ("missing", "Missing") and work.made.places == (0, 0, 1, 2, 2)
    told = one(people, 'w = in: work in (paid, own); refused: work in ("-"); else: out')
    assert told.made.places == (0, 0, 2, 3, 1) and [c.missing for c in told.codes] == [False, False, False, True]
    with pytest.raises(Mistake, match="that of missing values"):
        one(people, "w = missing: work in (paid); else: out")


def test_what_is_made_of_what_may_not_define_a_universe_may_not_either(people: Dataset) -> None:
    assert not one(people, "w = work in (paid) and sex in (f)").universe
    assert one(people, "w = work in (paid) and sex in (f)").role is Role.CONFIDENTIAL


def test_a_number_is_cut_coarser_and_its_bins_are_named_as_declared_ones(people: Dataset) -> None:
    stage = one(people, "stage = cut(age, 18, 65)")
    assert [code.code for code in stage.codes] == [code.code for code in people.variables["age_wide"].codes or ()]
    assert stage.made.sources == ("age_wide",) and stage.made.places == (0, 1, 2, 3)


def test_variables_are_combined_and_missing_in_one_is_missing(people: Dataset) -> None:
    young = one(people, "young = age < 30 and sex in (f)")
    assert young.made.sources == ("age", "sex")
    table = table_of(young.made)
    assert table[:, 0].tolist() == [0, 0, 0, 1, 1, 2] and table[:, 1].tolist() == [1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sex = age >= 18", "is a variable of 'people' already"),
        ("person = age >= 18", "is a variable of 'people' already"),
        ("a = aeg >= 18", "Did you mean 'age'?"),
        ("a = person in (1)", "No variable called 'person'"),
        ("a = age >= 21", "21 is no declared cutpoint of 'age'. Take age >= 18 or age >= 20."),
        ("a = age > 18", "19 is no declared cutpoint"),
        ("a = age >= 18 and age < 50", "age_odd: 20, 50"),
        ("a = age_wide in (18-64) and age >= 30", "No one recode of 'age'"),
        ("a = height >= 3", "has no declared cutpoints"),
        ("a = height in (3)", "has no declared cutpoints"),
        ("a = sex >= 3", "is no number"),
        ("a = cut(sex, 3)", "is no number"),
        ("a = cut(age, 21)", "no declared cutpoint"),
        ("a = town in (n22)", "Did you mean 'n2'?"),
        ("a = age >= 18 or age < 18", "puts everybody into one class"),
        ("a = x: sex in (f); y: sex in (f, m)", "overlap: both have sex 'f'"),
        ("a = x: sex in (f); y: sex in (m); else: z", "Class 'z' of 'a' holds no declared class"),
        ("a = else: z", "puts everybody into one class"),
    ],
)
def test_what_does_not_fit_the_codebook_is_named_with_what_is_near(people: Dataset, text: str, words: str) -> None:
    with pytest.raises(Mistake) as mistake:
        one(people, text)
    assert words in str(mistake.value)


def test_too_many_combinations_are_a_mistake_before_they_are_looked_at() -> None:
    codes = "\n".join(f'c{i} = "{i}"' for i in range(400))
    catalog = "".join(f"[variables.{name}.codes]\n{codes}\n" for name in "ab")
    with pytest.raises(Mistake, match=str(MOST_COMBINATIONS)):
        one(read_dataset(catalog, name="wide", read_file=str), "c = a in (c1) and b in (c2)")


def test_the_cross_is_of_what_a_variable_is_made_of(people: Dataset) -> None:
    dataset = derived(people, "place = a: town in (n1, s1); else: b", "adult = age >= 18", "north = town in (n1, n2)")
    assert cross_of(["place", "sex"], dataset) == cross_of(["town", "sex"], people)
    assert cross_of(["place", "north"], dataset) == ("town",)
    assert cross_of(["adult"], dataset) == cross_of(["age_wide"], people)


@pytest.mark.parametrize(
    ("own", "declared"),
    [
        ("adult=yes", {"age_wide": ["18-64", "65+"]}),
        ("adult=no,missing;sex=f", {"age_wide": ["0-17", "missing"], "sex": "f"}),
        ("place=a", {"town": ["n1", "s1"]}),
        ("place=a;town=n1,n2", {"town": ["n1"]}),
        ("adult=yes,no,missing", None),
    ],
)
def test_a_universe_is_put_into_declared_words(people: Dataset, own: str, declared: Any) -> None:
    dataset = derived(people, "place = a: town in (n1, s1); else: b", "adult = age >= 18")
    assert declared_universe(read_where(own), dataset) == read_where(declared)


def test_either_of_two_conditions_becomes_pieces_that_do_not_overlap(people: Dataset) -> None:
    dataset = derived(people, "some = sex in (f) or region in (N)")
    where = declared_universe(read_where("some=yes"), dataset)
    assert where == read_where([{"sex": "f"}, {"sex": "m", "region": "N"}])
    with pytest.raises(Mistake, match="would be empty"):
        declared_universe(read_where("some=yes;sex=m;region=S"), dataset)


def test_boxes_of_classes_are_disjoint_and_cover_just_them(people: Dataset) -> None:
    made = one(people, "odd = a: age < 18 and sex in (f) or region in (N) and sex in (m); else: b").made
    table = table_of(made)
    for places in ([0], [1], [2], [0, 2]):
        covered = np.zeros(table.shape, int)
        for box in combinations_of(made, places):
            allowed = [dict(box).get(name, range(size)) for name, size in zip(made.sources, made.sizes, strict=True)]
            covered[np.ix_(*map(list, allowed))] += 1
        assert (covered == np.isin(table, places)).all()
