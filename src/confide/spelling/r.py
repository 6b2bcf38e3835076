r"""A request as R, with httr2; and read back without running anything.

>>> from confide.spelling.url import read_url
>>> print(write_r(read_url("people/table?rows=sex&where=age=20-29&where=age=60-69"), site="http://127.0.0.1:8000"))
library(httr2)
<BLANKLINE>
answer <- request("http://127.0.0.1:8000/people/table.csv") |>
  req_url_query(
    rows = "sex",
    where = c("age=20-29", "age=60-69"),
    .multi = "explode"
  ) |>
  req_perform()
<BLANKLINE>
data <- read.csv(text = resp_body_string(answer), check.names = FALSE, colClasses = c("sex" = "character"))
"""

import json
import re
from typing import Any
from urllib.parse import urlencode, urlsplit

from confide.errors import Mistake
from confide.model.request import Request
from confide.spelling.url import read_url, write_query, write_url

__all__ = ["read_r", "write_r"]

_TEXT = r'"(?:[^"\\]|\\.)*"'
_ADDRESS = re.compile(rf"request\(({_TEXT})\)")
_ARGUMENT = re.compile(rf"^    ([a-z]+) = (?:c\()?({_TEXT}(?:, {_TEXT})*)\)?,$", re.MULTILINE)


def write_r(request: Request[Any], *, site: str, token: bool = False) -> str:
    """The code that reads the answer into a data frame; with `token` it shows the one in CONFIDE_TOKEN."""
    address = write_url(request, ending=".csv").partition("?")[0]
    values: dict[str, list[str]] = {}
    for key, value in write_query(request):
        values.setdefault(key, []).append(value)
    arguments = [f"    {key} = {_vector(texts)},\n" for key, texts in values.items()]
    shown = '  req_auth_bearer_token(Sys.getenv("CONFIDE_TOKEN")) |>\n' if token else ""
    return (
        f"library(httr2)\n\nanswer <- request({_text(f'{site}/{address}')}) |>\n"
        f'  req_url_query(\n{"".join(arguments)}    .multi = "explode"\n  ) |>\n{shown}  req_perform()\n\n{_reading(request)}'
    )


def _reading(request: Request[Any]) -> str:
    """Codes are read as texts, lest 01 become 1; a model has several tables, told apart by the first column."""
    if request.by:
        codes = ", ".join(f'{_text(name)} = "character"' for name in request.by)
        return f"data <- read.csv(text = resp_body_string(answer), check.names = FALSE, colClasses = c({codes}))"
    return "data <- read.csv(text = resp_body_string(answer), check.names = FALSE)\nsplit(data, data$table)"


def _vector(texts: list[str]) -> str:
    return _text(texts[0]) if len(texts) == 1 else f"c({', '.join(map(_text, texts))})"


def _text(text: str) -> str:
    """A text in quotes: what JSON escapes, R escapes alike."""
    return json.dumps(text, ensure_ascii=False)


def read_r(text: str) -> Request[Any]:
    """The request in code that `write_r` gave."""
    address = _ADDRESS.search(text)
    if address is None:
        raise Mistake('Cannot read this as R with request("...") and req_url_query(...).')
    found = [
        (argument[1], json.loads(value, strict=False))
        for argument in _ARGUMENT.finditer(text)
        for value in re.findall(_TEXT, argument[2])
    ]
    return read_url(f"{urlsplit(json.loads(address[1], strict=False)).path}?{urlencode(found)}")
