"""Profiles: what a draft takes each column for, what it says of that, and that descriptions by hand are looked at alike."""

import stat
import tomllib
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import confide
from confide.answering.opening import open_roads
from confide.cli.main import app
from confide.errors import Mistake
from confide.model.catalog.dataset import Role
from confide.model.catalog.toml import read_dataset
from confide.model.request import TableRequest
from confide.site.coding.encode import encode
from confide.site.drafting.draft import Draft, draft
from confide.site.profiling.profile import Decision, profile
from confide.site.profiling.suspicions import suspicions
from confide.site.secret import Secret
from confide.sources.source import Source, read_source

SECRET = Secret(b"s" * 32)
ROWS = 1000
RNG = np.random.default_rng(11)
SEX = RNG.choice(["f", "m"], ROWS)
REGION = RNG.choice(["north", "south", "west"], ROWS)
AGE = RNG.integers(0, 90, ROWS)
USUAL = {"sex": SEX, "region": REGION, "age": AGE}


def drafted(columns: dict[str, Any], **facts: Any) -> Draft:
    """The draft of some columns beside usual ones, seen to code them."""
    table = pa.table({**USUAL, **columns})
    found = draft(Source(table, **facts), name="d")
    encode(read_dataset(found.catalog, name="d", read_file=str), table, secret=SECRET)
    return found


def decided(name: str, values: Any, **facts: Any) -> Decision:
    return profile(Source(pa.table({**USUAL, name: values}), **facts)).decisions[name]


def variable(name: str, values: Any, **facts: Any) -> dict[str, Any]:
    found = tomllib.loads(drafted({name: values}, **facts).catalog)["variables"][name]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (RNG.choice([-9, 1, 2, 3], ROWS), ["-9"]),
        (RNG.choice([-9, -8, *range(200)], ROWS), ["-9", "-8"]),
        (RNG.choice([1, 2, 3, 4, 9], ROWS), ["9"]),
        (RNG.choice([*range(1, 60), 999], ROWS), ["999"]),
        (np.where(RNG.random(ROWS) < 0.2, 99, RNG.integers(0, 90, ROWS)), ["99"]),
        (RNG.choice(["yes", "no", "No code required"], ROWS), ["No code required"]),
        (RNG.choice(["a", "b", "don't know"], ROWS), ["don't know"]),
        (RNG.choice([-2, -1, 0, 1, 2], ROWS), None),
        (RNG.choice([7, 8, 9], ROWS), None),
        (RNG.permutation(np.arange(ROWS)), None),
    ],
)
def test_what_stands_for_no_value_is_declared_missing(values: Any, missing: list[str] | None) -> None:
    found = variable("q", values)
    assert sorted(found.get("missing", [])) == sorted(missing or [])
    if missing and found["kind"] == "numeric":
        assert found["minimum"] == 0 and max(found["cutpoints"]) < 200


def test_codes_that_mean_missing_say_so_where_nothing_else_does() -> None:
    codes = {name: variable("q", RNG.choice(values, ROWS))["codes"] for name, values in MISSING_CODES.items()}
    assert codes["number"] == {"1": "1", "2": "2", "3": "3", "9": "Missing (9)"}
    assert codes["word"]["NA"] == "Missing (NA)" and codes["sentence"]["don't know"] == "don't know"
    told = variable("q", RNG.choice([1, 2, 9], ROWS), value_labels={"q": {"1": "Yes", "2": "No", "9": "Refused"}})
    assert told["codes"]["9"] == "Refused"


MISSING_CODES: dict[str, list[Any]] = {
    "number": [1, 2, 3, 9],
    "word": ["a", "b", "NA"],
    "sentence": ["a", "b", "don't know"],
}


def test_spellings_of_one_class_become_one_code_with_synonyms() -> None:
    values = RNG.choice(["FEMALE", "Female", "female", "male", "Male"], ROWS, p=[0.1, 0.1, 0.3, 0.4, 0.1])
    found = variable("gender", values)["codes"]
    assert set(found) == {"female", "male"}
    assert set(found["female"]["synonyms"]) == {"FEMALE", "Female"}
    assert set(variable("mark", RNG.choice(["A", "A-", "B", "B-"], ROWS))["codes"]) == {"A", "A-", "B", "B-"}


def test_synonyms_are_coded_as_their_code_and_are_declared_once() -> None:
    text = '[variables.x.codes]\nf = {{ label = "F", synonyms = {} }}\nm = "M"\n'
    table = pa.table({"x": ["f", "F", "m", "F"]})
    coded = encode(read_dataset(text.format('["F"]'), name="d", read_file=str), table, secret=SECRET)
    assert sorted(coded.records["c0"].to_pylist()) == [0, 0, 0, 1]
    for wrong, words in (
        ('["m"]', "twice"),
        ('["F", "F"]', "twice"),
        ('"F"', "list of texts"),
        ('[""]', "list of texts"),
    ):
        with pytest.raises(Mistake, match=words):
            read_dataset(text.format(wrong), name="d", read_file=str)


def test_exact_dates_are_drafted_as_years_and_never_as_codes() -> None:
    days = [date(1930 + int(i), 1 + int(i) % 12, 1 + int(i) % 28) for i in RNG.integers(0, 80, ROWS)]
    for values in (days, [d.isoformat() for d in days], [f"{d.day}.{d.month}.{d.year}" for d in days]):
        found = variable("birth_date", values)
        assert (found["kind"], found["dates"], found["role"], found["minimum"]) == ("numeric", "year", "key", 1900)
        assert all(1900 < cut < 2020 for cut in found["cutpoints"])


def test_days_written_as_numbers_are_dates_with_what_stands_for_none() -> None:
    days = 19000101 + 10000 * RNG.integers(30, 99, ROWS) + 100 * RNG.integers(0, 12, ROWS) + RNG.integers(0, 28, ROWS)
    for values in (days, days.astype(str)):
        found = variable("q7", np.where(np.arange(ROWS) % 10 == 0, type(values[0])(99999999), values))
        assert (found["kind"], found["dates"], found["missing"]) == ("numeric", "year", ["99999999"])
    assert variable("q7", np.append(days[1:], 19001341)).get("dates") is None
    assert variable("q7", RNG.integers(10_000_000, 20_000_000, ROWS)).get("dates") is None


@pytest.mark.parametrize(
    ("part", "numbers"), [("year", [1990, 1991]), ("month", [12, 1]), ("age 2020-12-30", [29, 29])]
)
def test_what_is_taken_of_a_date(part: str, numbers: list[int]) -> None:
    text = f'[variables.x]\nkind = "numeric"\ndates = "{part}"\nmissing = ["", "?"]\n'
    dataset = read_dataset(text, name="d", read_file=str)
    for days in (["1990-12-31", "1991-01-01"], ["31/12/1990", "1/1/1991"], ["12/31/1990", "1/1/1991"]):
        coded = encode(dataset, pa.table({"x": [*days, None, "?"]}), secret=SECRET)
        found = coded.records[coded.facts.numbers["x"]].drop_null().to_pylist()
        assert sorted(found) == sorted(numbers)
    with pytest.raises(Mistake, match="'soon' is none"):
        encode(dataset, pa.table({"x": ["1990-12-31", "soon"]}), secret=SECRET)


@pytest.mark.parametrize("part", ["day", "age", "age 2025-02-30"])
def test_a_date_is_taken_as_nothing_else(part: str) -> None:
    with pytest.raises(Mistake, match="'dates' takes"):
        read_dataset(f'[variables.x]\nkind = "numeric"\ndates = "{part}"\n', name="d", read_file=str)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("unnamed", np.arange(ROWS), "running index"),
        ("line", np.arange(ROWS) + 7, "running index"),
        ("pwgtp", RNG.random(ROWS) + 1, "weight"),
        ("stratum", RNG.integers(0, 30, ROWS), "sample design"),
        ("psu", RNG.integers(0, 300, ROWS), "sample design"),
        ("zip_code", RNG.integers(10_000, 99_999, 5000)[:ROWS], "categorical"),
        ("remark", [f"He said {i} things" for i in range(ROWS)], "free text"),
        ("note", [f"rare {i}" if i % 9 == 0 else "usual" for i in range(ROWS)], "free text"),
        ("sex_code", np.where(SEX == "f", 1, 2), "near-duplicate"),
        ("years", np.where(np.arange(ROWS) == 5, 1, AGE), "near-duplicate"),
    ],
)
def test_what_a_column_is_taken_for(name: str, values: Any, kind: str) -> None:
    found = decided(name, values)
    assert found.kind == kind
    if kind not in ("categorical", "weight"):
        assert found.role is Role.IDENTIFIER and found.why
        drafted({name: values})


def test_postcodes_of_few_records_each_are_hidden() -> None:
    codes = RNG.permutation(np.repeat(np.arange(10_000, 12_000), 3))
    table = pa.table({"sex": RNG.choice(["f", "m"], len(codes)), "postcode": codes})
    assert profile(Source(table)).decisions["postcode"].kind == "postcodes"


def test_replicate_weights_are_hidden_and_the_weight_is_not_one_of_them() -> None:
    weights = {f"pwgtp{i}": RNG.random(ROWS) + 1 for i in range(1, 6)}
    found = profile(Source(pa.table({**USUAL, **weights, "pwgtp": RNG.random(ROWS) + 1})))
    assert found.weight is not None and found.weight.name == "pwgtp"
    assert {found.decisions[name].kind for name in weights} == {"replicate weight"}


def test_a_household_of_persons_is_declared() -> None:
    columns = {"hh_id": np.arange(ROWS) // 3, "person_id": RNG.permutation(ROWS)}
    found = tomllib.loads(drafted(columns).catalog)
    assert (found["unit"], found["household"]) == ("person_id", "hh_id")


def test_seldom_classes_of_two_columns_are_no_duplicates() -> None:
    rare = RNG.random((2, ROWS)) < 0.01
    assert decided("ill", np.where(rare[0], "yes", "no")).kind == "categorical"
    both = {"ill": np.where(rare[0], "yes", "no"), "lame": np.where(rare[1], "yes", "no")}
    assert profile(Source(pa.table({**USUAL, **both}))).decisions["lame"].kind == "categorical"


def test_amounts_that_few_have_are_no_duplicates_though_most_have_none_of_either() -> None:
    few = [np.where(RNG.random(ROWS) < 0.05, RNG.permutation(ROWS) + 1, 0) for _ in range(2)]
    found = profile(Source(pa.table({**USUAL, "grant": few[0], "gift": few[1], "grant_again": few[0]})))
    assert [found.decisions[n].kind for n in ("gift", "grant_again")] == ["numeric", "near-duplicate"]


def test_roles_are_proposed_by_name_and_label_and_said() -> None:
    codes = RNG.choice(list("abc"), ROWS)
    found = profile(Source(pa.table({**USUAL, "q1": codes, "health": codes[::-1], "marital": np.roll(codes, 7)})))
    assert [found.decisions[n].role for n in ("q1", "health", "marital")] == [
        Role.CONFIDENTIAL,
        Role.CONFIDENTIAL,
        Role.KEY,
    ]
    labelled = Source(pa.table({**USUAL, "q1": codes}), labels={"q1": "Country of birth"})
    assert profile(labelled).decisions["q1"].role is Role.KEY
    told = " ".join(drafted({"q1": codes}).lines)
    assert "Proposed as confidential: q1. Make those 'key' that others may know" in told


def test_where_names_say_little_codes_stay_keys() -> None:
    columns = {f"v{i}": RNG.choice(list("abc"), ROWS) for i in range(4)}
    assert {d.role for d in profile(Source(pa.table(columns))).decisions.values()} == {Role.KEY}


def test_a_class_of_a_fresh_draft_can_be_a_response(tmp_path: Path) -> None:
    table = pa.table({**USUAL, "smokes": RNG.choice(["yes", "no"], ROWS)})
    confide.add(table, tmp_path, name="d")
    with confide.open(tmp_path) as site:
        assert site["d"].regression("smokes=yes ~ sex", family="binomial")


def test_the_profile_is_written_beside_the_draft_for_its_owner_alone(tmp_path: Path) -> None:
    table = pa.table({**USUAL, "note": ["<script>"] * ROWS})
    folder = confide.add(table, tmp_path / "site", name="d")
    page = folder.profile("d")
    for file in (page, folder.kept_profile("d")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = page.read_text()
    assert "For the custodian only" in text and "<script>" not in text and "█" in text
    assert (
        not confide.add(table, tmp_path / "site", name="e", catalog=folder.catalog("d").read_text())
        .profile("e")
        .exists()
    )


def test_init_says_what_it_decided(tmp_path: Path) -> None:
    lines = ["sex,region,age,hh", *(f"{s},{r},{a},x" for s, r, a in zip(SEX, REGION, AGE, strict=True))]
    (tmp_path / "in.csv").write_bytes("\n".join([*lines, "fé,south,3,x"]).encode("cp1252"))
    done = CliRunner().invoke(app, ["init", str(tmp_path / "in.csv"), "-o", str(tmp_path / "site")])
    for words in ("read as cp1252", "Codes, key: sex, region", "Numbers, key: age", "profile.html", "custodian only"):
        assert words in done.output


@pytest.mark.parametrize(
    ("text", "encoding", "names"),
    [
        ("a;b\n1,5;x\n2,5;y\n", "utf-8", ["a", "b"]),
        ("a,b|c\n1|2\n3|4\n", "utf-8", ["a,b", "c"]),
        (",a\n0,x\n1,y\n", "utf-8", ["unnamed", "a"]),
        ("größe\tb\n1\t2\n", "cp1252", ["größe", "b"]),
        ("größe,b\n1,2\n", "utf-16", ["größe", "b"]),
        ("größe,b\x81\n1,2\n", "latin-1", None),
    ],
)
def test_separators_and_encodings_are_tried(tmp_path: Path, text: str, encoding: str, names: list[str] | None) -> None:
    (tmp_path / "in.csv").write_bytes(text.encode(encoding))
    if names is None:
        with pytest.raises(Mistake, match="printable"):
            read_source(tmp_path / "in.csv", encoding="likely")
        return
    found = read_source(tmp_path / "in.csv", encoding="likely")
    assert found.table.column_names == names
    assert bool(found.notes) == (encoding != "utf-8")


BY_HAND = {
    "person_id": ('codes = { a = "A", b = "B" }', "sounds like an identifier"),
    "row_no": ('kind = "numeric"', "numbers the records"),
    "hh_weight": ('kind = "numeric"', "sounds like a weight"),
    "psu": ('codes = { 1 = "A", 2 = "B" }', "sampling unit"),
    "visit": ('codes = { 2020-01-01 = "A", 2020-01-02 = "B" }', "exact dates are codes"),
    "said": (f'codes = {{ "{"long " * 20}" = "A", b = "B" }}', "free text"),
    "zip": ('kind = "numeric"', "declared as a number"),
    "q1": ('codes = { -9 = "A", 1 = "B", 2 = "C" }', "mean missing"),
    "q2": ('codes = { 1 = "Yes", 2 = "No", 8 = "Don\'t know" }', "mean missing"),
    "q3": ('kind = "numeric"\nminimum = -9', "minimum that probably means missing"),
    "gender": ('codes = { FEMALE = "F", Female = "F", male = "M" }', "several spellings"),
    "same": ('codes = { x = "X" }', "one code only"),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_description_by_hand_is_looked_at_alike(name: str) -> None:
    body, words = BY_HAND[name]
    dataset = read_dataset(f"[variables.{name}]\nrole = 'other'\n{body}\n", name="d", read_file=str)
    assert words in " ".join(found.words for found in suspicions(dataset))
    hidden = read_dataset(f"[variables.{name}]\nrole = 'identifier'\n", name="d", read_file=str)
    assert not [found for found in suspicions(hidden) if found.kind != "missing"]


def test_replicate_weights_households_and_keys_alone_are_found_in_a_description() -> None:
    weights = "".join(f"[variables.repwt{i}]\nkind = 'numeric'\n" for i in range(5))
    home = "[variables.household_id]\nrole = 'identifier'\n"
    dataset = read_dataset(
        weights + home + "[variables.sex]\nrole = 'key'\ncodes = { f = 'F' }\n", name="d", read_file=str
    )
    told = " ".join(found.words for found in suspicions(dataset))
    for words in ("replicate weights", "no household is declared", "none can be the response"):
        assert words in told


def test_a_sound_description_raises_no_suspicion() -> None:
    text = "[variables.sex]\ncodes = { f = 'Female', m = 'Male' }\n[variables.age]\nkind = 'numeric'\nminimum = 0\n"
    assert not list(suspicions(read_dataset(text, name="d", read_file=str)))


def test_check_finds_variables_that_say_the_same(tmp_path: Path) -> None:
    text = "".join(f"[variables.{n}]\ncodes = {{ f = 'F', m = 'M' }}\n" for n in ("sex", "gender"))
    table = pa.table({"sex": SEX, "gender": np.where(np.arange(ROWS) == 3, "f", SEX), "region": REGION})
    text += "[variables.region]\ncodes = { north = 'N', south = 'S', west = 'W' }\n"
    confide.add(table, tmp_path, name="d", catalog=text)
    from confide.answering.service import check

    told = [finding.text for finding in check(tmp_path)]
    assert any("'gender' says nearly the same as 'sex'" in text for text in told)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": pa.array([], pa.string())}, "no records"),
        ({"a": pa.nulls(50), "b": [""] * 50}, "every column is empty"),
        ({f"c{i}": ["x", "y"] for i in range(10_000)}, "10000 columns.*at most 500"),
    ],
)
def test_data_that_cannot_be_described_are_a_mistake_and_nothing_is_left(
    tmp_path: Path, columns: dict[str, Any], words: str
) -> None:
    with pytest.raises(Mistake, match=words):
        confide.add(pa.table(columns), tmp_path / "site", name="d")
    assert not (tmp_path / "site").exists()


def test_one_category_is_described_as_constant() -> None:
    found = decided("land", ["here"] * ROWS)
    assert (found.role, found.why) == (Role.OTHER, "the same in every record")
    drafted({"land": ["here"] * ROWS})


def industries(rows: int, *, codes: int) -> Any:
    """Six-digit codes of a classification, few of which are common."""
    rng = np.random.default_rng(5)
    listed = [f"{11 + i % 8}{i // 8 % 4 + 1}{i:03d}" for i in range(codes)]
    return rng.choice(listed, rows, p=rng.dirichlet(np.full(codes, 0.3)))


def test_codes_too_many_for_tables_by_two_are_joined_where_few_have_them() -> None:
    values = industries(ROWS, codes=300)
    found = variable("industry_code", values)["codes"]
    spelt = {code: said.get("synonyms", [code]) for code, said in found.items()}
    assert len(found) <= 2 * np.sqrt(ROWS / 5) < len(set(values)) / 4
    assert sorted(c for codes in spelt.values() for c in codes) == sorted(set(values))
    assert all(c.startswith(said["parent"]) for code, said in found.items() for c in spelt[code])
    names, counts = np.unique(values, return_counts=True)
    assert names[counts.argmax()] in found
    assert "stand together" in " ".join(decided("industry_code", values).notes)
    assert not any(
        "synonyms" in said for said in variable("industry_code", values[:30].repeat(34)[:ROWS])["codes"].values()
    )


def test_a_class_of_joined_codes_is_named_as_no_code_of_another() -> None:
    towns = np.arange(1, 151)
    areas = towns % 3 + 1  # towns 1, 2 and 3 lie in areas 2, 3 and 1; area 1 has rare ones only, which join wholly
    drawn = np.random.default_rng(6).choice(
        150, ROWS, p=np.where(areas == 1, 0.2, 1.0) / np.where(areas == 1, 0.2, 1.0).sum()
    )
    columns = {"area": [f"{a}" for a in areas[drawn]], "town_code": [f"{t}" for t in towns[drawn]]}
    codes = tomllib.loads(drafted(columns).catalog)["variables"]["town_code"]["codes"]
    spelt = {code: said.get("synonyms", []) for code, said in codes.items()}
    assert any(spelt.values()) and not {o for others in spelt.values() for o in others} & set(codes)
    assert {*codes, *(o for others in spelt.values() for o in others)} >= set(columns["town_code"])


def test_codes_are_joined_within_the_level_above_them() -> None:
    town = np.random.default_rng(6).integers(1, 200, ROWS)
    area = np.array(["east", "mid", "west"])[town % 3]
    catalog = tomllib.loads(drafted({"area": area, "town": [f"t{t}" for t in town]}).catalog)["variables"]
    assert catalog["town"]["parent"] == "area"
    for name, said in catalog["town"]["codes"].items():
        inside = {["east", "mid", "west"][int(other[1:]) % 3] for other in said.get("synonyms", [name])}
        assert inside == {said["parent"]}


RATED = {"N": "N/A (never served)", "1": "low", "2": "mid", "3": "high", "4": "top", "6": "Not reported"}


def ratings(few: int, *, others: int = ROWS) -> Any:
    return np.array(["N"] * (others - few - 4) + list("1234") * (few // 4) + ["6"] * 4)


def test_of_a_question_that_few_were_asked_a_draft_tells_who_was() -> None:
    labels = {"rating": RATED}
    few = variable("rating", ratings(40), value_labels=labels)
    assert few["missing"] == ["6"]
    assert {code for code in few["codes"] if code not in few["missing"]} == {"N", "asked"}
    assert few["codes"]["asked"]["synonyms"] == list("1234")
    assert "who was asked" in " ".join(decided("rating", ratings(40), value_labels=labels).notes)
    drafted({"rating": ratings(40)}, value_labels=labels)


def test_who_was_not_asked_is_missing_where_many_were_or_the_file_says_so() -> None:
    labels = {"rating": RATED}
    many = variable("rating", ratings(400), value_labels=labels)
    assert sorted(many["missing"]) == ["6", "N"] and "asked" not in many["codes"]
    declared = variable("rating", ratings(40), value_labels=labels, missing={"rating": ["N", "6"]})
    assert sorted(declared["missing"]) == ["6", "N"] and "asked" not in declared["codes"]
    unknown = {"rating": {**RATED, "N": "Don't know"}}
    assert "N" in variable("rating", ratings(40), value_labels=unknown)["missing"]


def test_those_not_asked_may_be_a_class_beside_one_other_only() -> None:
    def found(codes: str) -> list[str]:
        text = f"[variables.q]\nrole = 'confidential'\ncodes = {{ {codes} }}\n"
        return [each.words for each in suspicions(read_dataset(text, name="d", read_file=str))]

    assert found("N = 'Not applicable', 1 = 'Asked'") == []
    assert found("N = 'Not reported', 1 = 'Asked'") == ["codes that probably mean missing are not declared so"]
    assert found("N = 'Not applicable', 1 = 'Yes', 2 = 'No'") == [
        "codes that probably mean missing are not declared so"
    ]


def test_most_tables_of_a_draft_with_long_code_lists_are_answered(tmp_path: Path) -> None:
    """As in files of firms and of persons: long lists of industries, and a question that concerns few."""
    rng, rows = np.random.default_rng(8), 8000
    table = pa.table(
        {
            "industry_code": industries(rows, codes=400),
            "sex": rng.choice(["f", "m"], rows),
            "region": rng.choice(list("abcdef"), rows),
            "health": rng.choice(["good", "fair", "bad"], rows),
            "rating": rng.choice(["Not applicable", *"12345"], rows, p=[0.99, *[0.002] * 5]),
        }
    )
    folder = confide.add(table, tmp_path, name="d")
    with open_roads(folder, None, allow_open=True) as roads:
        for size, least in ((2, 0.95), (3, 0.85)):
            variables = roads["d"].dataset
            names = [v.name for v in variables.variables.values() if v.classifies]
            asked = [
                by for by in combinations(names, size) if len({variables.levels(name)[0].name for name in by}) == size
            ]
            refused = [by for by in asked if roads["d"].consider(roads["d"].admit(TableRequest("d", by))).reasons]
            assert len(refused) <= (1 - least) * len(asked), refused
