"""Hierarchies: trees whatever they are made of, and mistakes where they are not."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.tables import Hierarchy
from confide.tables.files.hrc import read_hierarchy, write_hrc

NACE = {"A": None, "A1": "A", "A11": "A1", "A12": "A1", "A2": "A", "B": None}


@st.composite
def trees(draw: st.DrawFn) -> Hierarchy:
    """A hierarchy of up to 20 codes."""
    above = [draw(st.integers(-1, place - 1)) for place in range(draw(st.integers(1, 20)))]
    return Hierarchy.of({f"c{place}": f"c{parent}" if parent >= 0 else None for place, parent in enumerate(above)})


def test_totals_stand_before_their_parts_and_parts_in_the_order_given():
    shuffled = {"A12": "A1", "B": None, "A1": "A", "A": None, "A11": "A1"}
    assert Hierarchy.of(shuffled).codes == ("Total", "B", "A", "A1", "A12", "A11")


def test_parts_leaves_depths_and_ancestors_follow_the_parents():
    nace = Hierarchy.of(NACE)
    assert nace.codes == ("Total", "A", "A1", "A11", "A12", "A2", "B")
    assert {total: parts.tolist() for total, parts in nace.parts.items()} == {0: [1, 6], 1: [2, 5], 2: [3, 4]}
    assert [code for code, leaf in zip(nace.codes, nace.leaves, strict=True) if leaf] == ["A11", "A12", "A2", "B"]
    assert nace.depths.tolist() == [0, 1, 2, 3, 3, 2, 1]
    assert nace.ancestors[3].tolist() == [0, 1, 2, 3]
    assert nace.ancestors[6].tolist() == [0, 6, -1, -1]


@given(trees())
def test_every_code_descends_from_the_total(tree):
    for place in range(len(tree.codes)):
        line = tree.ancestors[place]
        assert line[0] == 0
        assert line[tree.depths[place]] == place
        steps = line[line >= 0]
        assert [tree.parents[step] for step in steps[1:]] == steps[:-1].tolist()


@given(trees())
def test_a_hierarchy_survives_its_file(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("hrc") / "t.hrc"
    write_hrc(tree, path)
    assert read_hierarchy(path) == tree


@pytest.mark.parametrize(
    ("parents", "words"),
    [
        ({"A": "B", "B": "A"}, "circle"),
        ({"A": "A"}, "circle"),
        ({"A": None, "B": "C", "C": "D", "D": "B"}, "circle: 'B' -> 'D' -> 'C' -> 'B'|circle"),
        ({"A1": "A"}, "'A1' is a part of 'A', which is not in the hierarchy"),
        ({"Agriculture": None, "A1": "Agricultur"}, "Did you mean 'Agriculture'"),
    ],
)
def test_circles_and_orphans_are_mistakes_that_name_the_codes(parents, words):
    with pytest.raises(Mistake, match=words):
        Hierarchy.of(parents)


def test_a_code_in_two_places_is_a_mistake():
    with pytest.raises(Mistake, match="'X' is a part of both 'A' and 'B'"):
        Hierarchy.paths([("A", "X"), ("B", "X")])
    with pytest.raises(Mistake, match="'A' stands twice"):
        Hierarchy(("Total", "A", "A"), (-1, 0, 0))


def test_a_total_after_its_part_is_a_mistake():
    with pytest.raises(Mistake, match="before the code it is a part of"):
        Hierarchy(("Total", "A1", "A"), (-1, 2, 0))


def test_levels_that_repeat_a_code_add_nothing():
    assert Hierarchy.paths([("A", "A", "A1"), ("B", "B", "B")]).parents == (-1, 0, 1, 0)


def test_digits_nest_and_short_codes_end_early():
    assert Hierarchy.digits(["01", "011", "0111", "02"], [2, 1, 1, 0]).codes == ("Total", "01", "011", "0111", "02")


def test_spaces_around_codes_do_not_matter_and_letters_may_be_any():
    assert Hierarchy.flat([" Zürich ", "東京", "a" * 5000]).codes == ("Total", "Zürich", "東京", "a" * 5000)


def test_what_was_under_a_code_left_out_is_under_the_total_above_it():
    assert Hierarchy.of(NACE).only(["A", "A11", "A12", "B"]).parents == (-1, 0, 1, 1, 0)


def test_the_total_may_have_another_name_and_stand_in_the_file(tmp_path):
    path = tmp_path / "east.hrc"
    path.write_text("East\n@A\n@B\n")
    assert read_hierarchy(path, total="East") == Hierarchy.flat(["A", "B"], total="East")


def test_a_hierarchy_is_read_from_a_csv_and_with_another_sign_of_depth(tmp_path):
    table = tmp_path / "nace.csv"
    table.write_text("code,label,parent\nA,Farming,\nA1,Crops,A\n")
    assert read_hierarchy(table) == Hierarchy.of({"A": None, "A1": "A"})
    led = tmp_path / "led.hrc"
    led.write_text("A\n--A1\n----A11\n")
    assert read_hierarchy(led, lead="--") == Hierarchy.of({"A": None, "A1": "A", "A11": "A1"})


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("code\nA\n", "x.csv", "'code' and 'parent'"),
        ("code,parent\nA,\nA,\n", "x.csv", "'A' stands twice"),
        ("A\n@@B\n", "x.hrc", "deeper than its parent"),
        ("", "x.hrc", "empty"),
        ("A\n@X\nB\n\n@X\n", "x.hrc", "'X' stands twice in the hierarchy file, on the lines 2 and 5"),
    ],
)
def test_a_file_that_is_no_hierarchy_is_a_mistake(tmp_path, text, name, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(Mistake, match=words):
        read_hierarchy(tmp_path / name)


def test_several_totals_may_have_one_code_as_in_tau_argus_and_are_told_apart_by_their_lines(tmp_path):
    path = tmp_path / "nuts.hrc"
    path.write_text("1\n@11\n@@013\n2\n@11\n@@001\n")
    assert read_hierarchy(path).codes == ("Total", "1", "11", "013", "2", "11 (line 5)", "001")


def test_records_have_the_code_and_a_total_of_that_name_the_number_of_its_line(tmp_path):
    path = tmp_path / "own.hrc"
    path.write_text("A\n@A\n@B\n")
    assert read_hierarchy(path).codes == ("Total", "A (line 1)", "A", "B")


def test_a_hierarchy_in_utf_16_is_read(tmp_path):
    path = tmp_path / "w.hrc"
    path.write_bytes("Größe\n@Łódź\n".encode("utf-16"))
    assert read_hierarchy(path).codes == ("Total", "Größe", "Łódź")


def test_a_file_that_is_not_there_is_a_mistake(tmp_path: Path):
    with pytest.raises(Mistake, match="There is no file"):
        read_hierarchy(tmp_path / "nowhere.hrc")


def test_windows_letters_are_read(tmp_path):
    path = tmp_path / "w.hrc"
    path.write_bytes("Müller\n@Größe\n".encode("cp1252"))
    assert read_hierarchy(path).codes == ("Total", "Müller", "Größe")


def test_places_are_found_by_code_and_the_nearest_is_offered():
    nace = Hierarchy.of(NACE)
    assert np.array(nace.codes)[nace.place("A2", variable="act")] == "A2"
    with pytest.raises(Mistake, match="'act' has no code 'A13'. Did you mean 'A1"):
        nace.place("A13", variable="act")
