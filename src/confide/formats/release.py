"""A release in every format, whatever was asked: each kind of release has its writers here, and its reader."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from confide.errors import Mistake
from confide.formats.csv import write_csv, write_model_csv
from confide.formats.html import write_html, write_model_html
from confide.formats.jsonstat.read import read_jsonstat
from confide.formats.jsonstat.write import write_jsonstat
from confide.formats.models.json import CLASS, read_model, write_model
from confide.formats.text import write_model_text, write_text
from confide.formats.xlsx import write_model_xlsx, write_xlsx
from confide.model.model_release import ModelRelease
from confide.model.release import Release

__all__ = ["Released", "Writers", "read_release", "writers"]

Released = Release | ModelRelease[Any]
"""What leaves: a table, or the small tables of a model."""


@dataclass(frozen=True)
class Writers:
    """How a kind of release is written."""

    csv: Callable[[Any], str]
    json: Callable[[Any], dict[str, Any]]
    xlsx: Callable[[Any], bytes]
    text: Callable[..., str]
    html: Callable[[Any], str]


_WRITERS: dict[type, Writers] = {
    Release: Writers(write_csv, write_jsonstat, write_xlsx, write_text, write_html),
    ModelRelease: Writers(write_model_csv, write_model, write_model_xlsx, write_model_text, write_model_html),
}


def writers(release: Released) -> Writers:
    """The writers of a release."""
    return _WRITERS[type(release)]


def read_release(document: Any) -> Released:
    """The release that was written as JSON; anything else is a Mistake."""
    if not isinstance(document, Mapping):
        raise Mistake("This is not an answer written by Confide.", suggestions=["Ask for it again."])
    return read_model(document) if document.get("class") == CLASS else read_jsonstat(document)
