"""The code of a question, to paste elsewhere: Python, R, curl and the command line."""

import shlex
from typing import Any

from confide.model.request import Request
from confide.spelling.curl import write_curl
from confide.spelling.python import write_python
from confide.spelling.r import write_r
from confide.spelling.words import write_words

__all__ = ["samples"]


def samples(request: Request[Any], *, site: str, token: bool) -> list[tuple[str, str]]:
    """The languages with their texts; each gives the answer of the page. `token` says whether the site wants one."""
    imports = "import os\n\nimport confide" if token else "import confide"
    words = ["confide", request.ask, site, *write_words(request)]
    return [
        ("Python", f"{imports}\n\nanswer = {write_python(request, site=site, token=token)}"),
        ("R", write_r(request, site=site, token=token)),
        ("curl", write_curl(request, site=site, token=token)),
        ("Command line", shlex.join(words)),
    ]
