"""How an answer is cited: what was asked of which data, under which policy, and the receipt by which it is found again."""

from typing import Any

from confide.formats.about import plain, titles
from confide.model.model_release import ModelRelease
from confide.model.release import Release

__all__ = ["cite"]


def cite(release: Release | ModelRelease[Any]) -> str:
    """Give one line for a footnote.

    Promise: no number of the answer, and nothing that the answer itself does not show.
    """
    source = f" Source: {plain(release.source)}." if release.source else ""
    return (
        f"{plain(release.title)}. {plain(_asked(release))}. {plain(release.scope)}.{source} "
        f"Protected by Confide, policy {release.policy}. Receipt {release.receipt}."
    )


def _asked(release: Release | ModelRelease[Any]) -> str:
    if isinstance(release, ModelRelease):
        return str(release.request.title)
    return (
        f"{'; '.join(titles(release.columns.values()))} by {', '.join(d.label or d.name for d in release.dimensions)}"
    )
