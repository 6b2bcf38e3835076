"""Reading dataset.toml: what is declared is what is public, and every typo is a Mistake."""

from collections.abc import Mapping
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import confide
from confide.errors import Mistake
from confide.model.catalog.dataset import MOST_CODES, Code, CodeList, Dataset, Role
from confide.model.catalog.toml import read_dataset
from confide.model.policy import PRESETS
from confide.model.universe import Piece
from confide.site.coding.encode import catalog_mark, roles_mark
from confide.spelling.codebook import write_codebook
from confide.spelling.ddi import write_ddi

SOUND = """
title = "People"
unit = "id"
weight = "w"

[variables.id]
role = "identifier"

[variables.region.codes]
N = "North"
S = "South"

[variables.town]
parent = "region"
[variables.town.codes]
n1 = { label = "N one", parent = "N" }
s1 = { label = "S one", parent = "S" }

[variables.age]
kind = "numeric"
minimum = 0
cutpoints = [20, 60]

[variables.age_wide]
of = "age"
cutpoints = [60]
"""


def read(text: str, files: Mapping[str, str] | None = None) -> Dataset:
    return read_dataset(text, name="people", read_file=lambda file: (files or {})[file])


def fails(text: str, *words: str, files: Mapping[str, str] | None = None) -> None:
    with pytest.raises(Mistake) as mistake:
        read(text, files)
    for word in words:
        assert word in str(mistake.value), str(mistake.value)


def codes(text: str, name: str = "x", files: Mapping[str, str] | None = None) -> list[str]:
    found = read(text, files).variables[name].codes
    assert found is not None
    return list(found.names)


def test_a_sound_catalog_is_read() -> None:
    dataset = read(SOUND)
    assert (dataset.title, dataset.unit, dataset.weight, dataset.weight_decimals) == ("People", "id", "w", 2)
    assert dataset.variables["id"].role is Role.IDENTIFIER
    assert [v.name for v in dataset.chain("town")] == ["town", "region"]
    assert dataset.lift("town", "region") == (0, 1)
    assert dataset.variables["age_wide"].minimum == 0
    assert dataset.variables["age_wide"].column == "age"
    assert not dataset.variables["age_wide"].measurable


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('title = "People"', 'titel = "People"', ("'titel'", "'title'")),
        ('title = "People"', "title = 3", ("'title'", "text in quotes")),
        ('unit = "id"', "unit = 3", ("'unit'", "text in quotes")),
        ('weight = "w"', "weight = 1.5", ("'weight'", "text in quotes")),
        ('weight = "w"', "weight_decimals = 10", ("'weight_decimals'", "0 to 9")),
        ('weight = "w"', "weight_decimals = true", ("'weight_decimals'", "0 to 9")),
        ('role = "identifier"', 'roll = "identifier"', ("'roll'", "'id'", "'role'")),
        ('role = "identifier"', 'role = "identifer"', ("'identifer'", "identifier, key", "'identifier'")),
        ('role = "identifier"', "role = 1", ("'role'", "text in quotes")),
        ('role = "identifier"', "", ("'id' declares no codes",)),
        ('kind = "numeric"', 'kind = "numerical"', ("'numerical'", "'numeric'")),
        ('kind = "numeric"', "", ("'age' is categorical", "numeric")),
        ('parent = "region"', 'parent = "regoin"', ("'regoin'", "'region'")),
        ('parent = "region"', 'parent = "id"', ("'id'", "not a variable with codes")),
        ('parent = "region"', "", ("'town'", "names none")),
        ('parent = "N"', 'parent = "M"', ("'n1'", "'M'", "'region'")),
        ('parent = "N"', "parent = 1", ("'n1'", "text in quotes")),
        (', parent = "N"', "", ("'n1'", "no parent")),
        ('label = "N one"', 'lable = "N one"', ("'lable'", "'label'")),
        ('N = "North"', "N = 1", ("'N'", "text in quotes")),
        ('N = "North"', '"_T" = "North"', ("'region'", "'_T'", "reserved")),
        ('N = "North"', '"" = "North"', ("reserved",)),
        ("cutpoints = [20, 60]", "cutpoints = 20", ("'cutpoints'", "list")),
        ("cutpoints = [20, 60]", "cutpoints = ['a']", ("cutpoint of 'age'", "number")),
        ("cutpoints = [20, 60]", "cutpoints = [20, inf]", ("cutpoint of 'age'", "number")),
        ("cutpoints = [20, 60]", "cutpoints = [60, 20]", ("'age'", "increase")),
        ("cutpoints = [20, 60]", "cutpoints = [20, 20]", ("'age'", "increase")),
        ("cutpoints = [20, 60]", "cutpoints = [0, 60]", ("'age'", "inside")),
        ("cutpoints = [20, 60]", "cutpoints = [20.5, 60]", ("'age'", "decimals")),
        ("cutpoints = [20, 60]", "maximum = 60\ncutpoints = [20, 61]", ("'age'", "inside")),
        ("cutpoints = [20, 60]", "maximum = -1", ("'age'", "above its maximum")),
        ("minimum = 0", "minimum = '0'", ("minimum of 'age'", "number")),
        ("minimum = 0", "minimum = true", ("minimum of 'age'", "number")),
        ("minimum = 0", "decimals = -1", ("'decimals'", "'age'")),
        ("minimum = 0", "universe = 'no'", ("'universe'", "true or false")),
        ("minimum = 0", "missing = 'NA'", ("'missing'", "list")),
        ("minimum = 0", "minimun = 0", ("'minimun'", "'minimum'")),
        ("minimum = 0", "codes = {a = 'A'}", ("'age' is numeric", "categorical")),
        ('of = "age"', 'of = "aeg"', ("'aeg'", "'age'")),
        ('of = "age"', 'of = "region"', ("'region'", "numeric")),
        ('of = "age"', 'of = "age_wide"', ("'age_wide'",)),
        ("cutpoints = [60]", "", ("'age_wide'", "needs cutpoints")),
        ("[variables.region.codes]", "[variables.region]\ncodes = 3\n[oops]", ("'oops'",)),
        ("[variables.id]", "[variables", ("not valid TOML",)),
        ("[variables.id]", "[variables.'']", ("cannot name a variable",)),
        ("[variables.id]", '[variables."a\\nb"]', ("cannot name a variable",)),
        ("[variables.id]", f"[variables.{'x' * 101}]", ("cannot name a variable",)),
        ("[variables.id]", "[variable.id]", ("'variable'", "'variables'")),
    ],
)
def test_every_typo_is_a_mistake_that_names_it_and_offers_the_nearest(
    old: str, new: str, words: tuple[str, ...]
) -> None:
    assert SOUND.count(old) >= 1
    fails(SOUND.replace(old, new, 1), *words)


@pytest.mark.parametrize(
    "text", ["", "title = 'x'", "variables = 3", "[variables]", "[variables]\nx = 3", "[variables.x]\ncodes = 3"]
)
def test_a_catalog_without_variables_is_a_mistake(text: str) -> None:
    fails(text)


def test_levels_may_not_run_in_a_circle() -> None:
    level = "[variables.{0}]\nparent = '{1}'\n[variables.{0}.codes]\nx = {{label = 'X', parent = 'x'}}\n"
    fails(level.format("a", "b") + level.format("b", "c") + level.format("c", "a"), "circle")
    fails(level.format("a", "a"), "circle")
    fails(level.format("a", "b") + level.format("b", "b"), "circle")


def test_a_missing_code_lies_under_the_missing_code_above() -> None:
    text = SOUND.replace("[variables.region.codes]", "[variables.region]\nmissing = ['NA']\n[variables.region.codes]")
    dataset = read(text.replace('parent = "region"', 'parent = "region"\nmissing = ["?"]'))
    assert dataset.variables["town"].codes.codes[-1] == Code("?", "Missing", "NA", missing=True)
    assert dataset.lift("town", "region") == (0, 1, 2)
    fails(SOUND.replace('parent = "region"', 'parent = "region"\nmissing = ["?"]'), "'region' has none")


def test_missing_codes_that_are_not_listed_come_last_as_declared() -> None:
    text = "[variables.x]\nmissing = ['z', 9, 'a', '']\n[variables.x.codes]\nb = 'B'\na = 'No answer'\n"
    found = read(text).variables["x"].codes
    assert [(c.code, c.label, c.missing) for c in found] == [
        ("b", "B", False),
        ("a", "No answer", True),
        ("z", "Missing", True),
        ("9", "Missing", True),
    ]


def test_codes_may_stand_in_a_csv_file() -> None:
    text = "[variables.x]\ncodes_file = 'x.csv'\nmissing = ['9']"
    files = {"x.csv": '\ufeffcode,label,extra\r\n1,"One, or\r\nso",z\r\n2,,\r\n9,None,\r\n'}
    found = read(text, files).variables["x"].codes
    assert [(c.code, c.label, c.missing) for c in found] == [
        ("1", "One, or\r\nso", False),
        ("2", "2", False),
        ("9", "None", True),
    ]
    fails(text, "'x'", "header with 'code'", files={"x.csv": "kode,label\n1,One\n"})
    fails(text, "header", files={"x.csv": ""})
    fails(text, "'1'", "twice", files={"x.csv": "code\n1\n1\n"})
    fails(text, "reserved", files={"x.csv": "code,label\n,One\n"})


HRC = "A\n@A1\n@@A11\n@@A12\n@A2\nB\n"


def test_a_hierarchy_file_gives_one_variable_a_level() -> None:
    text = "[variables.x]\nlabel = 'Trade'\nhierarchy_file = 'x.hrc'\nrole = 'key'\ngroup = 'g'\n"
    dataset = read(text, {"x.hrc": HRC})
    assert {name: v.codes.names for name, v in dataset.variables.items()} == {
        "x": ("A11", "A12", "A2", "B"),
        "x_2": ("A1", "A2", "B"),
        "x_1": ("A", "B"),
    }
    assert [v.name for v in dataset.chain("x")] == ["x", "x_2", "x_1"]
    assert [v.label for v in dataset.chain("x")] == ["Trade", "Trade: x_2", "Trade: x_1"]
    assert dataset.lift("x", "x_1") == (0, 0, 0, 1)
    assert {v.group for v in dataset.variables.values()} == {"g"}


def test_levels_of_a_hierarchy_file_may_be_named_and_labelled_and_have_missing_codes() -> None:
    text = (
        "[variables.x]\nhierarchy_file = 'x.hrc'\nlevels = ['section', 'division']\nmissing = ['NA']\n"
        "[variables.x.codes]\nA11 = 'Wheat'\nA = 'Farming'\n"
    )
    dataset = read(text, {"x.hrc": HRC})
    assert list(dataset.variables) == ["x", "division", "section"]
    assert dataset.variables["x"].codes.codes[0].label == "Wheat"
    assert dataset.variables["section"].codes.codes[0].label == "Farming"
    assert [v.codes.names[-1] for v in dataset.variables.values()] == ["NA"] * 3
    assert dataset.lift("x", "section") == (0, 0, 0, 1, 2)
    fails(text.replace("'division'", ""), "2 coarser levels", files={"x.hrc": HRC})
    fails(
        "[variables.x]\nhierarchy_file = 'x.hrc'\n[variables.x_1.codes]\na = 'A'",
        "declared twice",
        files={"x.hrc": HRC},
    )


NUMBER = "[variables.x]\nkind = 'numeric'\n"


@pytest.mark.parametrize(
    ("domain", "bins"),
    [
        ("cutpoints = [20, 60]", ["<20", "20-59", "60+"]),
        ("cutpoints = [20, 21, 60]\nminimum = 0", ["0-19", "20", "21-59", "60+"]),
        ("cutpoints = [1]\nminimum = 0\nmissing = ['']", ["0", "1+", "missing"]),
        ("cutpoints = [-10, 0, 5]", ["<-10", "-10 to -1", "0-4", "5+"]),
        ("cutpoints = [-1, 0]\nminimum = -20", ["-20 to -2", "-1", "0+"]),
        ("cutpoints = [0.5, 2.0]\ndecimals = 1\nminimum = 0", ["0-0.4", "0.5-1.9", "2+"]),
        ("cutpoints = [0.05, 10]\ndecimals = 2", ["<0.05", "0.05-9.99", "10+"]),
        ("cutpoints = [0.05, 10]\ndecimals = 3\nminimum = 0", ["0 to <0.05", "0.05 to <10", "10+"]),
        (
            "cutpoints = [1e6, 1e20]\nminimum = 0",
            ["0-999999", "1000000-99999999999999999999", "100000000000000000000+"],
        ),
    ],
)
def test_bins_are_named_by_what_they_hold(domain: str, bins: list[str]) -> None:
    assert codes(NUMBER + domain) == bins


@pytest.mark.parametrize(
    ("node", "bins"),
    [
        ("0-29", ("0-9", "10-29")),
        ("<30", ("0-9", "10-29")),
        ("10-59", ("10-29", "30-59")),
        ("10 to 59", ("10-29", "30-59")),
        ("30+", ("30-59", "60+")),
        ("30-120", ("30-59", "60+")),
    ],
)
def test_a_node_is_some_neighbouring_bins(node: str, bins: tuple[str, ...]) -> None:
    dataset = read(NUMBER + f"minimum = 0\nmaximum = 120\ncutpoints = [10, 30, 60]\nnodes = ['{node}']")
    assert dataset.variables["x"].nodes == {node: bins}


@pytest.mark.parametrize(
    "node", ["10-19", "5+", "11-29", "<31", "30-120", "10", "ten-20", "10+20", "", "<", "1.2.3-4", "29-10"]
)
def test_a_node_that_cuts_a_bin_is_a_mistake(node: str) -> None:
    fails(NUMBER + f"cutpoints = [10, 30, 60]\nnodes = ['{node}']", "Node", "'x'")


@given(
    cuts=st.lists(st.integers(-10_000, 10_000), min_size=1, max_size=12, unique=True).map(sorted),
    decimals=st.integers(0, 4),
    missing=st.booleans(),
)
def test_bins_of_any_cutpoints_have_different_names(cuts: list[int], decimals: int, missing: bool) -> None:
    text = NUMBER + f"decimals = {decimals}\ncutpoints = {[cut / 10**decimals for cut in cuts]}\n"
    found = codes(text + ("missing = ['']" if missing else ""))
    assert len(set(found)) == len(found) == len(cuts) + 1 + missing


def test_labels_may_be_long_and_in_any_script() -> None:
    label = "Größe 日本 🙂 " * 700
    dataset = read(f"[variables.'größe.x y']\nlabel = '{label}'\n[variables.'größe.x y'.codes]\n'日本' = '{label}'\n")
    assert dataset.variables["größe.x y"].codes.codes[0].label == label == dataset.variables["größe.x y"].label


def test_forty_thousand_codes_are_read_in_so_many_steps_for_each(calls_of) -> None:
    """The limit guards: there are 75 calls a code, however many codes."""
    lines = [f"k{i} = {{ label = 'Class {i}', parent = 'p{i % 1000}' }}" for i in range(40_000)]
    above = "\n".join(f"p{i} = 'P {i}'" for i in range(1000))
    text = f"[variables.up.codes]\n{above}\n[variables.x]\nparent = 'up'\n[variables.x.codes]\n" + "\n".join(lines)
    assert calls_of(lambda: read(text).lift("x", "up")) < 100 * 40_000
    assert read(text).lift("x", "up")[39_999] == 999
    fails(text.replace("parent = 'p999' }", "parent = 'q999' }", 1), "'q999'", "'p999'")


def test_more_codes_than_fit_their_integers_are_a_mistake() -> None:
    CodeList(tuple(Code(str(i), "") for i in range(MOST_CODES)))
    with pytest.raises(Mistake, match="at most 65535"):
        CodeList(tuple(Code(str(i), "") for i in range(MOST_CODES + 1)))


ZERO = """
[[structural_zeros]]
region = ["S"]
age = ["0-19"]

[[structural_zeros]]
town = ["n1"]
age_wide = ["60+"]
"""


def test_structural_zeros_are_conjunctions_of_classes() -> None:
    zeros = read(SOUND + ZERO).structural_zeros
    assert zeros == (
        Piece.of({"region": ["S"], "age": ["0-19"]}),
        Piece.of({"town": ["n1"], "age_wide": ["60+"]}),
    )
    assert [zero.words for zero in zeros] == ["age=0-19 and region=S", "age_wide=60+ and town=n1"]
    assert read(SOUND).structural_zeros == ()
    assert len(read(SOUND + ZERO + ZERO).structural_zeros) == 2, "said twice is said once"


def test_a_structural_zero_may_name_missing_codes_and_any_script() -> None:
    text = '[variables.työ]\nmissing = ["?"]\ncodes = { kyllä = "Kyllä" }\n'
    zero = '[[structural_zeros]]\n"työ" = ["kyllä", "?"]\nregion = ["N"]\n'
    text = text.replace("työ]", '"työ"]').replace("kyllä =", '"kyllä" =')
    assert read(SOUND + text + zero).structural_zeros == (Piece.of({"työ": ["kyllä", "?"], "region": ["N"]}),)


@pytest.mark.parametrize(
    ("zero", "words"),
    [
        ('regio = ["S"]\nage = ["0-19"]', ["No variable called 'regio'", "Did you mean 'region'?"]),
        ('region = ["S"]\nage = ["0-18"]', ["'age'", "has no code '0-18'", "Did you mean '0-19'?"]),
        ('region = ["S"]', ["two variables or more; one names 1"]),
        ("", ["two variables or more; one names 0"]),
        ('region = ["S"]\nid = ["7"]', ["'id'", "is an identifier"]),
        ('region = ["S"]\npay = ["7"]', ["'pay' is numeric and has no declared cutpoints"]),
        ('region = ["S"]\nage = "0-19"', ["'age'", "must be a list of codes"]),
        ('region = ["S"]\nage = []', ["'age'", "must be a list of codes"]),
        ('region = ["S"]\nage = [0]', ["'age'", "must be a list of codes"]),
        ('region = ["S"]\ntown = ["n1"]', ["'region' and 'town'", "one variable at two levels"]),
        ('age = ["0-19"]\nage_wide = ["60+"]', ["'age' and 'age_wide'", "one variable at two levels"]),
    ],
)
def test_a_structural_zero_that_cannot_be_names_what_is_wrong(zero: str, words: list[str]) -> None:
    pay = '[variables.pay]\nkind = "numeric"\n'
    fails(f"{SOUND}{pay}[[structural_zeros]]\n{zero}\n", "[[structural_zeros]] of dataset.toml of 'people'", *words)


def test_structural_zeros_are_sections_in_double_brackets() -> None:
    fails(f'{SOUND}[structural_zeros]\nregion = ["S"]\n', "must be sections, each [[structural_zeros]]")
    fails(f'structural_zeros = ["S"]\n{SOUND}', "must be sections, each [[structural_zeros]]")


def test_the_codebook_tells_structural_zeros_if_there_are_any() -> None:
    book = write_codebook(read(SOUND + ZERO), PRESETS["standard"])
    assert book["structural_zeros"] == [
        {"age": ["0-19"], "region": ["S"]},
        {"age_wide": ["60+"], "town": ["n1"]},
    ]
    assert "structural_zeros" not in write_codebook(read(SOUND), PRESETS["standard"])
    assert write_ddi(book) == write_ddi(write_codebook(read(SOUND), PRESETS["standard"]))


def test_structural_zeros_decide_how_records_are_protected_and_not_how_they_are_coded() -> None:
    without, declared = read(SOUND), read(SOUND + ZERO)
    assert catalog_mark(without) == catalog_mark(declared) and roles_mark(without) != roles_mark(declared)


PEOPLE = SOUND.replace('unit = "id"\nweight = "w"\n', "").replace('[variables.id]\nrole = "identifier"\n', "")


@settings(max_examples=8)
@given(st.lists(st.tuples(st.sampled_from(["n1", "s1"]), st.integers(0, 130)), min_size=1, max_size=8))
def test_sites_with_the_same_catalog_and_any_data_have_the_same_codebook(rows: list[tuple[str, int]]) -> None:
    table = pa.table({"town": [town for town, _ in rows], "age": [age for _, age in rows]})
    with TemporaryDirectory() as folder:
        confide.add(table, folder, name="people", catalog=PEOPLE)
        with confide.open(folder) as site:
            assert site["people"].codebook == BOOK


BOOK = write_codebook(read(PEOPLE), PRESETS["standard"])


def test_the_codebook_shows_declared_domains_and_no_identifiers() -> None:
    book = write_codebook(read(SOUND), PRESETS["standard"])
    assert [v["name"] for v in book["variables"]] == ["region", "town", "age", "age_wide"]
    age = book["variables"][2]
    assert (age["minimum"], age["cutpoints"], [c["code"] for c in age["codes"]]) == (
        0,
        [20, 60],
        ["0-19", "20-59", "60+"],
    )
    assert "maximum" not in age
