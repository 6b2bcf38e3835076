"""A request in whatever spelling it was copied: the address of an answer, JSON, Python, R, curl, or a command.

>>> read_pasted("http://localhost:8000/people/table.csv?rows=sex") == read_pasted("confide table mysite people --rows sex")
True
"""

import json
import re
import shlex
from collections.abc import Collection
from typing import Any

from confide.errors import Mistake
from confide.model.request import Request, kinds
from confide.spelling.curl import read_curl
from confide.spelling.json import listed, read_request
from confide.spelling.python import read_python
from confide.spelling.r import read_r
from confide.spelling.url import parameters, read_url
from confide.spelling.words import read_words

__all__ = ["read_pasted"]


def read_pasted(text: str, *, views: Collection[str] = ()) -> Request[Any]:
    """The request that a text describes; nothing of it is run. Parameters of an address that are `views` only show it."""
    text = text.strip()
    if not text:
        raise Mistake("Paste a request first.", suggestions=["An address such as /people/table?rows=sex will do."])
    if text.startswith("{"):
        return _json(text)
    if text.startswith("curl "):
        return read_curl(text)
    if "req_url_query(" in text:
        return _r(text)
    if "confide.open(" in text:
        return read_python(text[text.index("confide.open(") :])
    if re.match(r"\$?\s*confide\s", text):
        return _command(text)
    return read_url(_without(views, text))


def _json(text: str) -> Request[Any]:
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        raise Mistake("This begins like JSON, and is not.") from None
    return read_request(raw)


def _r(text: str) -> Request[Any]:
    try:
        return read_r(text)
    except ValueError:
        raise Mistake("This begins like R, and its texts cannot be read.") from None


def _command(text: str) -> Request[Any]:
    """The words after `confide ASK SITE`; how the answer is to be written plays no part."""
    try:
        words = shlex.split(text.removeprefix("$").replace("\\\n", " "))
    except ValueError:
        raise Mistake("This begins like a command, and its quotes do not close.") from None
    known = kinds()
    kind = known.get(words[1]) if len(words) > 1 else None
    if kind is None:
        commands = listed([f"'confide {ask}'" for ask in known], before_last="and")
        raise Mistake(f"Of the commands only {commands} ask.")
    return read_words(_asked(words[3:], parameters(kind)), kind)


def _asked(words: list[str], known: Collection[str]) -> list[str]:
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if word.startswith("-") and name.lstrip("-") not in known:
            if name not in ("--diagnostics", "--allow-open") and not equals:
                next(rest, None)
            continue
        kept.append(word)
    return kept


def _without(views: Collection[str], address: str) -> str:
    path, mark, query = address.partition("#")[0].partition("?")
    return path + mark + "&".join(part for part in query.split("&") if part.partition("=")[0] not in views)
