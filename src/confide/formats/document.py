"""Back from the JSON of an answer to the release, whatever was asked."""

from collections.abc import Mapping
from typing import Any

from confide.errors import Mistake
from confide.formats.jsonstat.read import read_jsonstat
from confide.formats.models.json import CLASS, read_model
from confide.model.model_release import ModelRelease
from confide.model.release import Release

__all__ = ["read_release"]


def read_release(document: Any) -> Release | ModelRelease[Any]:
    """The release that was written as JSON; anything else is a Mistake."""
    if not isinstance(document, Mapping):
        raise Mistake("This is not an answer written by Confide.", suggestions=["Ask for it again."])
    return read_model(document) if document.get("class") == CLASS else read_jsonstat(document)
