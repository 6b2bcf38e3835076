"""A release in every format, whatever was asked: each kind of release has its writers here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confide.formats.csv import write_csv, write_model_csv
from confide.formats.html import write_html, write_model_html
from confide.formats.jsonstat.write import write_jsonstat
from confide.formats.models.json import write_model
from confide.formats.text import write_model_text, write_text
from confide.formats.xlsx import write_model_xlsx, write_xlsx
from confide.model.model_release import ModelRelease
from confide.model.release import Release

__all__ = ["Released", "Writers", "writers"]

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
