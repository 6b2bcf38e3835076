"""τ-ARGUS hierarchy files become complete levels."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import Mistake
from confide.model.catalog.hrc import read_hrc

DATA = Path(__file__).parents[3] / "shared" / "data"


def test_a_branch_that_ends_early_is_carried_down() -> None:
    levels = read_hrc("A\n@A1\n@@A11\n@@A12\n@A2\nB\n@B1\n")
    assert levels == [
        {"A": None, "B": None},
        {"A1": "A", "A2": "A", "B1": "B"},
        {"A11": "A1", "A12": "A1", "A2": "A2", "B1": "B1"},
    ]


def test_empty_lines_spaces_line_endings_and_a_byte_order_mark_do_not_matter() -> None:
    assert read_hrc("\ufeffA\r\n\r\n@ A1 \r\n  @A2\r\n") == [{"A": None}, {"A1": "A", "A2": "A"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("@A\n", "Line 1"),
        ("A\n\n@@A1\n", "Line 3"),
        ("A\n@\n", "Line 2 of the hierarchy file has no code"),
        ("A\n@B\n@B\n", "'B' stands twice"),
        ("A\n@B\nC\n@B\n", "lines 2 and 4"),
    ],
)
def test_a_file_that_is_no_tree_is_a_mistake_that_names_the_line(text: str, words: str) -> None:
    with pytest.raises(Mistake, match=words):
        read_hrc(text)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_every_code_of_a_level_has_a_parent_on_the_level_above(wished: list[int]) -> None:
    depths = [0]
    for depth in wished:
        depths.append(min(depth, depths[-1] + 1))
    levels = read_hrc("\n".join("@" * depth + f"c{i}" for i, depth in enumerate(depths)))
    assert len(levels) == max(depths) + 1
    leaves = [i for i, depth in enumerate(depths) if i + 1 == len(depths) or depths[i + 1] <= depth]
    assert list(levels[-1]) == [f"c{i}" for i in leaves]
    for above, level in pairwise(levels):
        assert set(level.values()) == set(above)


@pytest.mark.reference
def test_nace_has_four_levels() -> None:
    levels = read_hrc((DATA / "codes_nace_rev2.hrc").read_text(encoding="utf-8"))
    assert len(levels[0]) == 21
    assert len(levels) == 4
    assert [len(level) for level in levels] == sorted(len(level) for level in levels)
