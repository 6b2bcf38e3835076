"""Lists of codes in CSV files: a column of codes, and others that say more of each."""

import csv
import io
from collections.abc import Sequence

from confide.errors import Mistake

__all__ = ["read_code_file"]


def read_code_file(text: str, what: str, *, needed: Sequence[str], known: Sequence[str]) -> dict[str, dict[str, str]]:
    """What a file says of each code, by the code; empty fields are left out, spaces around do not matter.

    >>> read_code_file("code,parent\\nA,\\nA1,A\\n", "file", needed=["code"], known=["parent"])
    {'A': {}, 'A1': {'parent': 'A'}}
    """
    rows = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    absent = [name for name in needed if name not in (rows.fieldnames or ())]
    if absent:
        more = [repr(name) for name in known if name not in needed]
        may_have = f", and may have {', '.join(more)}" if more else ""
        raise Mistake(f"The {what} needs a header with {' and '.join(map(repr, needed))}{may_have}.")
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        code = (row["code"] or "").strip()
        if code in found:
            raise Mistake(f"Code {code!r} stands twice in the {what}.")
        found[code] = {name: said for name in known if (said := (row.get(name) or "").strip())}
    return found
