"""What an engine answers, as tables that every engine must reproduce. Keys are powers of two, so that their xor can be read."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from confide.engines import Coded, Engine, StoreFacts
from confide.engines.squares import square_shifts
from confide.model.catalog.toml import read_dataset
from confide.model.evidence import Box, Cells, Tally
from confide.site.coding.encode import encode
from confide.site.secret import Secret

EngineOf = Callable[[Coded], Engine]

CODES = {"sex": "fm", "town": "xyz", "band": "lh", "place": "abc"}
NUMBERS = ("income", "debt", "cost")


def microdata(text: str, *, several: bool = False) -> Coded:
    """Coded records from a table: unit, key, weight, classes by letter, numbers with '.' where missing."""
    header, *lines = [line.split() for line in text.strip().splitlines()]
    columns = {name: [line[i] for line in lines] for i, name in enumerate(header)}
    classes = {name: f"c{i}" for i, name in enumerate(header) if name in CODES}
    numbers = {name: f"n{i}" for i, name in enumerate(header) if name in NUMBERS}
    arrays = {name: pa.array([int(v) for v in columns[name]], pa.int64()) for name in ("unit", "weight")}
    arrays["key"] = pa.array([int(v) for v in columns["key"]], pa.int32())
    arrays |= {c: pa.array([CODES[n].index(v) for v in columns[n]], pa.uint8()) for n, c in classes.items()}
    arrays |= {c: pa.array([None if v == "." else int(v) for v in columns[n]], pa.int64()) for n, c in numbers.items()}
    return Coded(StoreFacts("spec", "", "", "", several, True, 2, classes, numbers), pa.table(arrays))


def box(**conditions: str) -> Box:
    """A box from letters: box(sex="f", town="xy")."""
    return tuple((name, tuple(CODES[name].index(code) for code in codes)) for name, codes in conditions.items())


def shown(cells: Cells) -> list[list[str]]:
    """The cells as the rows of a specification, in the order the engine gave them."""
    top = [] if cells.top is None else list(cells.top.T)
    arrays = [cells.records, cells.units, cells.key, cells.weight, cells.total, cells.size, cells.square, *top]
    numbers = [array.tolist() for array in arrays if array is not None]
    letters = [[CODES[n][p] for p in column] for n, column in zip(cells.by, cells.places.T.tolist(), strict=True)]
    return [list(map(str, row)) for row in zip(*letters, *numbers, strict=True)]


PEOPLE = microdata("""
    unit  key  weight  sex  town  band  income  debt
    101     1     100    f     x     l      10    -5
    102     2     150    f     x     h      40     7
    103     4     100    f     y     l       .     0
    104     8     200    m     x     l      20   -30
    105    16     100    m     y     h      90     .
    106    32      50    m     y     h      15    -1
   -107    64     100    m     z     l       0     2
""")

VISITS = microdata(
    """
    unit  key  weight  place  cost
       1    1      10      a     5
       1    2      10      a    -3
       1    4      20      b     4
       2    8      10      a     .
       2   16      30      b     6
       3   32      10      b    -6
       3   64      10      b     6
    """,
    several=True,
)

SPECS = [
    ("everyone", PEOPLE, Tally(()), "7 7 127"),
    ("everyone, weighted", PEOPLE, Tally((), weighted=True), "7 7 127 800"),
    ("one variable", PEOPLE, Tally(("sex",), weighted=True), "f 3 3 7 350 / m 4 4 120 450"),
    (
        "two variables leave out the empty cell",
        PEOPLE,
        Tally(("town", "sex")),
        "x f 2 2 3 / x m 1 1 8 / y f 1 1 4 / y m 2 2 48 / z m 1 1 64",
    ),
    (
        "three variables in the order asked",
        PEOPLE,
        Tally(("band", "sex", "town"), weighted=True),
        "l f x 1 1 1 100 / l f y 1 1 4 100 / l m x 1 1 8 200 / l m z 1 1 64 100 / h f x 1 1 2 150 / h m y 2 2 48 150",
    ),
    ("within a box", PEOPLE, Tally(("sex",), (box(town="xy"),)), "f 3 3 7 / m 3 3 56"),
    ("within a box on the variable itself", PEOPLE, Tally(("town",), (box(town="xz"),)), "x 3 3 11 / z 1 1 64"),
    (
        "within the union of two boxes",
        PEOPLE,
        Tally(("sex",), (box(sex="f", town="x"), box(sex="m", band="h"))),
        "f 2 2 3 / m 2 2 48",
    ),
    ("within a box of three variables", PEOPLE, Tally((), (box(sex="m", town="xy", band="l"),)), "1 1 8"),
    ("within a box that nobody is in, by class", PEOPLE, Tally(("sex",), (box(sex="f", town="z"),)), ""),
    ("within a box that nobody is in", PEOPLE, Tally((), (box(sex="f", town="z"),), weighted=True), ""),
    ("nobody in the box, in three variables", PEOPLE, Tally((), (box(sex="f", town="z", band="l"),), of="income"), ""),
    ("without two units", PEOPLE, Tally(("sex",), without=(-107, 102), weighted=True), "f 2 2 5 200 / m 3 3 56 350"),
    (
        "a cell whose every unit is left out disappears",
        PEOPLE,
        Tally(("town",), without=(-107,)),
        "x 3 3 11 / y 3 3 52",
    ),
    ("without everyone", PEOPLE, Tally((), without=(101, 102, 103, 104, 105, 106, -107)), ""),
    ("without a unit that is not there", PEOPLE, Tally((), without=(999,)), "7 7 127"),
    (
        "without a unit outside the box",
        PEOPLE,
        Tally(("sex",), (box(town="x"),), (105, 101)),
        "f 1 1 2 / m 1 1 8",
    ),
    (
        "a missing value leaves its record out",
        PEOPLE,
        Tally(("sex",), of="income", weighted=True),
        "f 2 2 3 250 50 50 1700 / m 4 4 120 450 125 125 8725",
    ),
    (
        "negative values: size sums absolute values, square their squares",
        PEOPLE,
        Tally(("sex",), of="debt"),
        "f 3 3 7 2 12 74 / m 3 3 104 -29 33 905",
    ),
    (
        "top contributors are absolute and padded with zero",
        PEOPLE,
        Tally(("town",), of="debt", top=3),
        "x 3 3 11 -28 42 974 30 7 5 / y 2 2 36 -1 1 1 1 0 0 / z 1 1 64 2 2 4 2 0 0",
    ),
    (
        "top contributors without the largest",
        PEOPLE,
        Tally(("sex",), of="income", top=2, without=(105, 102)),
        "f 1 1 1 10 10 100 10 0 / m 3 3 104 35 35 625 20 15",
    ),
    (
        "top contributors within a box, without a unit",
        PEOPLE,
        Tally((), (box(town="xy", band="h"),), (106,), of="income", top=2),
        "2 2 18 130 130 9700 90 40",
    ),
    (
        "a cell of one record whose value is zero",
        PEOPLE,
        Tally((), (box(town="z"),), of="income", top=2),
        "1 1 64 0 0 0 0 0",
    ),
    ("units with several records count once", VISITS, Tally(()), "7 3 127"),
    (
        "units with several records, by class",
        VISITS,
        Tally(("place",), weighted=True),
        "a 3 2 11 30 / b 4 3 116 70",
    ),
    (
        "contributions are of units: those of one unit are added before their size is taken",
        VISITS,
        Tally(("place",), of="cost", top=2),
        "a 2 1 3 2 2 4 2 0 / b 4 3 116 10 10 52 6 4",
    ),
    ("a unit left out takes all its records along", VISITS, Tally(("place",), without=(1,)), "a 1 1 8 / b 3 2 112"),
    (
        "several records, within a box, without a unit",
        VISITS,
        Tally((), (box(place="b"),), (2,), of="cost", weighted=True, top=3),
        "3 2 100 40 4 4 16 4 0 0",
    ),
    (
        "several records, nobody in the box, by class",
        VISITS,
        Tally(("place",), (box(place="c"),), of="cost", top=2),
        "",
    ),
    ("several records, nobody in the box", VISITS, Tally((), (box(place="c"),), of="cost", top=2), ""),
]


@pytest.mark.parametrize(("title", "coded", "tally", "expected"), SPECS, ids=[spec[0] for spec in SPECS])
def test_an_engine_answers_as_specified(
    engine_of: EngineOf, title: str, coded: Coded, tally: Tally, expected: str
) -> None:
    rows = [row.split() for row in expected.split("/") if row.split()]
    assert shown(engine_of(coded).tally(tally)) == rows


def test_fields_not_asked_for_are_absent(engine_of: EngineOf) -> None:
    engine = engine_of(PEOPLE)
    plain, summed = engine.tally(Tally(("sex",))), engine.tally(Tally((), of="debt"))
    assert [plain.weight, plain.total, plain.size, plain.square, plain.top] == [None] * 5
    assert [summed.weight, summed.top] == [None] * 2 and summed.total is not None


def test_every_field_is_a_64_bit_integer_and_an_empty_answer_keeps_its_shape(engine_of: EngineOf) -> None:
    for within in ((), (box(sex="f", town="z"),)):
        cells = engine_of(PEOPLE).tally(Tally(("sex", "town"), within, of="debt", weighted=True, top=3))
        fields = [cells.places, cells.records, cells.units, cells.key, cells.weight]
        fields += [cells.total, cells.size, cells.square, cells.top]
        rows = 0 if within else 5
        assert {array.dtype for array in fields} == {np.dtype(np.int64)}
        assert [array.shape for array in fields] == [(rows, 2), *[(rows,)] * 7, (rows, 3)]


@pytest.mark.parametrize(
    ("within", "low", "high", "expected"),
    [
        ((), -(2**63), 2**63 - 1, [-107, 101, 102, 103, 104, 105, 106]),
        ((), 102, 104, [102, 103, 104]),
        ((), 107, 2**63 - 1, []),
        ((box(sex="f"), box(sex="m", town="z")), -(2**63), 102, [-107, 101, 102]),
    ],
)
def test_units_are_listed_once_in_order_from_low_to_high(
    engine_of: EngineOf, within: tuple[Box, ...], low: int, high: int, expected: list[int]
) -> None:
    assert engine_of(PEOPLE).units(within, low=low, high=high).tolist() == expected


def test_a_unit_with_several_records_is_listed_once(engine_of: EngineOf) -> None:
    engine = engine_of(VISITS)
    assert engine.units((), low=0, high=10).tolist() == [1, 2, 3]
    assert engine.units((box(place="a"),), low=0, high=10).tolist() == [1, 2]


@pytest.mark.parametrize("coded", [PEOPLE, VISITS], ids=["a record each", "several records"])
def test_no_records_give_no_cells(engine_of: EngineOf, coded: Coded) -> None:
    engine = engine_of(replace(coded, records=coded.records.slice(0, 0)))
    measure = next(iter(coded.facts.numbers))
    for tally in (Tally(()), Tally(tuple(coded.facts.classes)[:1], of=measure, weighted=True, top=2)):
        assert shown(engine.tally(tally)) == []
    assert engine.units((), low=-(2**63), high=2**63 - 1).tolist() == []


def test_one_record_is_a_table_of_one_cell(engine_of: EngineOf) -> None:
    engine = engine_of(replace(PEOPLE, records=PEOPLE.records.slice(4, 1)))
    assert shown(engine.tally(Tally(("sex", "town"), of="income", weighted=True, top=2))) == [
        ["m", "y", "1", "1", "16", "100", "90", "90", "8100", "90", "0"]
    ]
    assert shown(engine.tally(Tally(("sex",), of="debt"))) == []


def test_sums_stay_exact_beyond_the_precision_of_doubles(engine_of: EngineOf) -> None:
    large = 2**61 - 1
    values = pa.array([large, -large, large, 1, None, None, None], pa.int64())
    index = PEOPLE.records.column_names.index(PEOPLE.facts.numbers["income"])
    records = PEOPLE.records.set_column(index, PEOPLE.records.column_names[index], values)
    [shift] = square_shifts(records, {"income": PEOPLE.facts.numbers["income"]}).values()
    coded = Coded(replace(PEOPLE.facts, shifts={"income": shift}), records)
    cells = engine_of(coded).tally(Tally((), of="income", top=2))
    assert (cells.total.tolist(), cells.size.tolist()) == ([large + 1], [3 * large + 1])
    assert cells.square.tolist() == [3 * (large >> shift) ** 2] and cells.square[0] < 2**58
    assert cells.top.tolist() == [[large, large]]


def test_squares_of_large_contributions_are_cut_by_the_shift_and_of_the_unit_not_the_record(
    engine_of: EngineOf,
) -> None:
    coded = Coded(replace(VISITS.facts, shifts={"cost": 1}), VISITS.records)
    cells = engine_of(coded).tally(Tally(("place",), of="cost"))
    assert cells.square.tolist() == [1, 2**2 + 3**2 + 0]


def test_forty_thousand_codes_are_told_apart(engine_of: EngineOf) -> None:
    codes = "\n".join(f"k{i} = 'Class {i}'" for i in range(40_000))
    dataset = read_dataset(
        f"[variables.job.codes]\n{codes}\n[variables.sex.codes]\nf='F'\nm='M'", name="d", read_file=str
    )
    table = pa.table({"job": ["k39999", "k0", "k39999", "k255", "k256"], "sex": ["f", "f", "m", "m", "m"]})
    engine = engine_of(encode(dataset, table, secret=Secret(b"s" * 32)))
    alone, crossed = engine.tally(Tally(("job",))), engine.tally(Tally(("job", "sex")))
    assert (alone.places[:, 0].tolist(), alone.records.tolist()) == ([0, 255, 256, 39_999], [1, 1, 1, 2])
    assert crossed.places.tolist() == [[0, 0], [255, 1], [256, 1], [39_999, 0], [39_999, 1]]
    chosen = engine.tally(Tally(("sex",), ((("job", tuple(range(300, 40_000))),),)))
    assert chosen.places.tolist() == [[0], [1]] and chosen.records.tolist() == [1, 1]


def test_codes_of_any_script_are_told_apart(engine_of: EngineOf) -> None:
    codes = ["é", "e\u0301", "Ω", "'; DROP TABLE records; --", "日本", "🙂"]
    lines = "\n".join(f'"{code}" = "label"' for code in codes)
    dataset = read_dataset(f"[variables.c.codes]\n{lines}", name="d", read_file=str)
    table = pa.table({"c": [code for i, code in enumerate(codes) for _ in range(i + 1)]})
    cells = engine_of(encode(dataset, table, secret=Secret(b"s" * 32))).tally(Tally(("c",)))
    assert cells.records.tolist() == [1, 2, 3, 4, 5, 6]
