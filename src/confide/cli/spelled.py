"""Messages as the command line has them: the library says replace=True, and who typed a command reads --replace."""

import re
from ast import literal_eval
from collections.abc import Callable, Mapping
from functools import partial, wraps
from shlex import quote
from typing import Any

from confide.errors import Mistake

__all__ = ["spelled", "spelling"]

TEXT = r"""'[^']*'|"[^"]*\""""
ARGUMENT = re.compile(rf"""\b([A-Za-z]\w*)=(?:[\w.]+\(({TEXT})\)|(\[(?:{TEXT}|[^\]'"])*\]|{TEXT}|[\w-]+(?:\.\w+)*))""")
"""An argument with its value, as in Python: what is read from a named file, a list, a text, a number or a word."""
PLAIN = re.compile(r"[\w.,:/%+-]+")
"""What a shell takes for one word."""


def spelling(command: Any) -> Any:
    """The command, and all commands in it, with Mistakes that speak of its options as they are typed."""
    for each in getattr(command, "commands", {}).values():
        spelling(each)
    if command.callback is not None:
        command.callback = _speaking(command.callback, {one.name: one for one in command.params})
    return command


def spelled(text: str, options: Mapping[str, Any]) -> str:
    """A message in which the arguments that are options of a command are written as on the command line."""
    return ARGUMENT.sub(partial(_option, options), text)


def _speaking(callback: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    @wraps(callback)
    def run(*given: Any, **named: Any) -> Any:
        try:
            return callback(*given, **named)
        except Mistake as mistake:
            words = [spelled(text, options) for text in (mistake.message, *mistake.suggestions)]
            raise Mistake(words[0], suggestions=words[1:]) from mistake

    return run


def _option(options: Mapping[str, Any], found: re.Match[str]) -> str:
    option, value = options.get(found[1]), found[2] or found[3]
    if option is None or option.param_type_name != "option":
        return found[0]
    if value in ("True", "False"):
        names = option.opts if value == "True" else option.secondary_opts
        return names[0] if names else found[0]
    return f"{option.opts[-1]} {_typed(value)}"


def _typed(value: str) -> str:
    """A value as it is typed: lists with commas, texts without quotes unless a shell needs them."""
    if value[0] not in "['\"":
        return value
    read = literal_eval(value)
    text = ",".join(map(str, read)) if isinstance(read, list) else str(read)
    return text if PLAIN.fullmatch(text) else quote(text)
