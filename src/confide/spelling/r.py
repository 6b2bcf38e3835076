r"""A request as R, with httr2; and read back without running anything.

>>> from confide.spelling.url import read_url
>>> print(write_r(read_url("people/table?rows=sex&where=age=20-29&where=age=60-69"), site="http://127.0.0.1:8000"))
library(httr2)
<BLANKLINE>
answer <- request("http://127.0.0.1:8000/people/table.csv") |>
  req_url_query(
    rows = "sex",
    where = "age=20-29",
    where = "age=60-69"
  ) |>
  req_error(is_error = \(r) resp_status(r) != 200, body = \(r) resp_body_json(r)$detail) |>
  req_perform()
<BLANKLINE>
data <- read.csv(
  text = resp_body_string(answer),
  check.names = FALSE,
  na.strings = c("[c]", "[x]", "[z]"),
  colClasses = c("sex" = "character", "sex_label" = "character")
)
"""

import json
import re
from typing import Any
from urllib.parse import urlencode, urlsplit

from confide.errors import Mistake
from confide.model.release import MARKS
from confide.model.request import Request
from confide.spelling.url import read_url, write_query, write_url

__all__ = ["read_r", "write_r"]

_TEXT = r'"(?:[^"\\]|\\.)*"'
_ADDRESS = re.compile(rf"request\(({_TEXT})\)")
_ARGUMENT = re.compile(rf"^    ([a-z]+) = ({_TEXT}),?$", re.MULTILINE)

_TELLING = "req_error(is_error = \\(r) resp_status(r) != 200, body = \\(r) resp_body_json(r)$detail)"
"""R then stops with the sentence of the site where there is no answer, not with a bare status."""


def write_r(request: Request[Any], *, site: str, token: bool = False) -> str:
    """The code that reads the answer into a data frame; with `token` it shows the one in CONFIDE_TOKEN.

    A parameter that repeats is written as often: httr2 takes vectors (`.multi`) only since 1.0, and Debian's is older.
    """
    address = write_url(request, ending=".csv").partition("?")[0]
    arguments = ",\n".join(f"    {key} = {_text(value)}" for key, value in write_query(request))
    shown = '  req_auth_bearer_token(Sys.getenv("CONFIDE_TOKEN")) |>\n' if token else ""
    return (
        f"library(httr2)\n\nanswer <- request({_text(f'{site}/{address}')}) |>\n"
        f"  req_url_query(\n{arguments}\n  ) |>\n{shown}  {_TELLING} |>\n  req_perform()\n\n{_reading(request)}"
    )


def _reading(request: Request[Any]) -> str:
    """Codes and labels are read as texts, lest 01 become 1 and T become TRUE; a model has several tables, by the first column."""
    arguments = [
        "text = resp_body_string(answer)",
        "check.names = FALSE",
        f"na.strings = c({', '.join(_text(f'[{mark}]') for mark in MARKS)})",
    ]
    if request.by:
        texts = dict.fromkeys(name for each in request.by for name in (each, f"{each}_label"))
        codes = ", ".join(f'{_text(name)} = "character"' for name in texts)
        arguments.append(f"colClasses = c({codes})")
    tables = "" if request.by else "\ntables <- split(data, data$table)"
    return "data <- read.csv(\n  " + ",\n  ".join(arguments) + f"\n){tables}"


def _text(text: str) -> str:
    """A text in quotes: what JSON escapes, R escapes alike."""
    return json.dumps(text, ensure_ascii=False)


def read_r(text: str) -> Request[Any]:
    """The request in code that `write_r` gave."""
    address = _ADDRESS.search(text)
    if address is None:
        raise Mistake('Cannot read this as R with request("...") and req_url_query(...).')
    found = [(argument[1], json.loads(argument[2], strict=False)) for argument in _ARGUMENT.finditer(text)]
    return read_url(f"{urlsplit(json.loads(address[1], strict=False)).path}?{urlencode(found)}")
