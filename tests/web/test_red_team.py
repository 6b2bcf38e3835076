"""A site elsewhere under attack, over a real socket; and the scorecard on the custodian's pages."""

import json
from pathlib import Path

import pyarrow.parquet as pq

from confide import demo


def test_a_site_elsewhere_is_attacked_over_http(site, serve, under, run, tmp_path: Path) -> None:
    """Under `drop-q` the figures of 20 secrets are from .7 to .9, where guessing is right in .4."""
    server = serve(under(site, "drop-q"))
    pq.write_table(demo.people(20_000), tmp_path / "people.parquet")
    few = ["--only", "T18", "--targets", "60", "--questions", "150", "--json", tmp_path / "out.json"]
    done = run("attack", server.url, "people", *few, "--truth", tmp_path / "people.parquet")
    assert done.returncode == 4, done.stderr
    [result] = json.loads((tmp_path / "out.json").read_text())["results"]
    assert result["others"] is None and result["success"] > 0.55 > result["guess"]


def test_a_site_elsewhere_that_is_not_there_is_our_fault(run, tmp_path: Path) -> None:
    pq.write_table(demo.people(100), tmp_path / "people.parquet")
    done = run("attack", "http://127.0.0.1:9", "people", "--truth", tmp_path / "people.parquet")
    assert done.returncode == 1 and b"cannot be reached" in done.stderr
