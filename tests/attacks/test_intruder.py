"""What an attack has in hand reads answers as whoever knows the codebook does."""

from pathlib import Path

import numpy as np
import pyarrow as pa

import confide
from confide.attacks.codebook import read_codebook, read_public_policy
from confide.attacks.intruder import Intruder, values

CATALOG = """
[variables.sex]
codes = { f = "Women", m = "Men" }
[variables.town]
codes = { a = "A", b = "B" }
[[structural_zeros]]
sex = ["m"]
town = ["b"]
"""


def test_a_count_where_nobody_can_be_is_read_as_zero(tmp_path: Path) -> None:
    people = pa.table({"sex": ["f", "f", "m"] * 400, "town": ["a", "b", "a"] * 400})
    confide.add(people, tmp_path / "s", name="d", catalog=CATALOG)
    with confide.open(tmp_path / "s") as site:
        book = site["d"].codebook
        rng = np.random.default_rng(1)
        intruder = Intruder(site, read_codebook(book), read_public_policy(book), rng, questions=9)
        release = intruder.table("sex", "town")
    assert release is not None and values(release)[1, 1] == 0 and (values(release).ravel()[:3] > 300).all()
