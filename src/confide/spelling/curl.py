r"""A request as a curl command, for a shell; and read back without running anything.

>>> from confide.spelling.url import read_url
>>> print(write_curl(read_url("people/table?rows=sex&where=age=20-29"), site="http://127.0.0.1:8000"))
curl --fail --get http://127.0.0.1:8000/people/table.csv \
  --data-urlencode rows=sex \
  --data-urlencode where=age=20-29 \
  --output people.csv
"""

import shlex
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode, urlsplit

from confide.errors import Mistake
from confide.model.request import Request
from confide.spelling.url import read_url, write_query, write_url

__all__ = ["read_curl", "write_curl"]

_TOKEN = '  --header "Authorization: Bearer $CONFIDE_TOKEN"'


def write_curl(request: Request[Any], *, site: str, ending: str = ".csv", token: bool = False) -> str:
    """The command that saves the answer; with `token` it shows the one in CONFIDE_TOKEN."""
    address = write_url(request, ending=ending).partition("?")[0]
    lines = [f"curl --fail --get {shlex.quote(f'{site}/{address}')}"]
    lines += [f"  --data-urlencode {shlex.quote(f'{key}={value}')}" for key, value in write_query(request)]
    lines += [_TOKEN] if token else []
    return " \\\n".join([*lines, f"  --output {shlex.quote(request.dataset + ending)}"])


def read_curl(text: str) -> Request[Any]:
    """The request in a command that `write_curl` gave."""
    try:
        words = shlex.split(text)
        path = urlsplit(words[words.index("--get") + 1]).path
    except (ValueError, IndexError):
        raise Mistake("Cannot read this as a curl command with --get and an address.") from None
    parts = [word.partition("=") for before, word in pairwise(words) if before == "--data-urlencode"]
    return read_url(f"{path}?{urlencode([(key, value) for key, _, value in parts])}")
