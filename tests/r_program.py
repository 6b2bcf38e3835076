"""Debian's R for the tests: programs run in one process, each in an environment of its own."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

WANTED = "The tests need R with httr2 and jsonlite. On Debian, as root: apt-get install r-base-core r-cran-httr2 r-cran-jsonlite"

RUN = """
told <- lapply(list.files("programs", full.names = TRUE), function(file) {
  found <- new.env()
  tryCatch({
    eval(parse(file, encoding = "UTF-8"), found)
    list(data = found$data, tables = as.list(names(found$tables)))
  }, error = function(error) list(error = paste(conditionMessage(error), collapse = " ")))
})
jsonlite::write_json(told, "told.json", digits = NA, na = "null", dataframe = "columns", auto_unbox = TRUE)
"""


def run_r(programs: list[str], folder: Path, **environment: str) -> list[dict[str, Any]]:
    """What each program left: its `data` by column and the names of its `tables`, or the error that ended it."""
    if shutil.which("Rscript") is None:
        pytest.fail(WANTED, pytrace=False)
    (folder / "programs").mkdir()
    for place, program in enumerate(programs):
        (folder / "programs" / f"{place:03}.R").write_text(program, encoding="utf-8")
    (folder / "run.R").write_text(RUN)
    known = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
    done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=folder, env=known, capture_output=True, text=True)
    assert done.returncode == 0, f"{WANTED}\n{done.stderr}"
    told: list[dict[str, Any]] = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    return told
