"""Sites made of excerpts of public business data: what is drafted for them is what their columns are."""

from pathlib import Path

import confide
from confide.answering.service import check as check_site

FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_enterprises_with_levels_in_columns(tmp_path: Path) -> None:
    dataset = confide.add(FIXTURES / "rtauargus_enterprises.csv", tmp_path, name="d").dataset("d")
    assert check_site(tmp_path)
    parents = {v.name: v.parent for v in dataset.variables.values() if v.parent}
    assert parents.items() >= {"A21": "A10", "NUTS3": "NUTS2"}.items()
    assert dataset.weight == "WEIGHT"
    with confide.open(tmp_path) as opened:
        answer = opened["d"].table(rows=["NUTS1"], measure=["total"], of="TURNOVER").to_arrow()
    assert all(value > 0 for value in answer["total"].drop_null().to_pylist())


def test_establishments_with_their_enterprise(tmp_path: Path) -> None:
    dataset = confide.add(FIXTURES / "synth_business.csv", tmp_path, name="d").dataset("d")
    assert dataset.unit == "establishment"
    codes = dataset.variables["size_class"].codes
    assert codes is not None and codes.names[:3] == ("0-4", "5-9", "10-19")
    assert not dataset.variables["naics6"].numeric and not dataset.variables["county_fips"].numeric
