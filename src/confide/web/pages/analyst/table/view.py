"""How the page of a table shows it: as numbers or percentages, with or without zeros and noise. Views are no new questions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from confide.errors import Mistake, nearest
from confide.formats.views import Share, as_shares, shares_of, with_noise
from confide.model.release import Release
from confide.web.pages.analyst.universe import Query

__all__ = ["PARAMETERS", "View", "links"]

PARAMETERS = {"percent": ("", *Share), "zeros": ("show", "hide"), "noise": ("hide", "show")}
"""The parameters of a view, each with what it may be; the first if it is not given."""

_WORDS = {"": "Numbers", Share.ROW: "% of row", Share.COLUMN: "% of column", Share.TOTAL: "% of total"}


@dataclass(frozen=True)
class View:
    """How a table is shown."""

    percent: Share | None = None
    zeros: bool = True
    noise: bool = False

    @classmethod
    def read(cls, query: Query) -> tuple["View", list[tuple[str, str]]]:
        """The view that an address names, and the rest of the address: the question."""
        named = {key: text for key, text in query if key in PARAMETERS}
        for key, text in named.items():
            if text not in PARAMETERS[key]:
                hint = nearest(text, PARAMETERS[key]) or [f"It may be {' or '.join(filter(None, PARAMETERS[key]))}."]
                raise Mistake(f"There is no view {key}={text[:60]}.", suggestions=hint)
        percent = Share(named["percent"]) if named.get("percent") else None
        view = cls(percent, zeros=named.get("zeros") != "hide", noise=named.get("noise") == "show")
        return view, [pair for pair in query if pair[0] not in PARAMETERS]

    def write(self) -> list[tuple[str, str]]:
        """The parameters of the view; what stands at its default is left out."""
        shown = [("percent", str(self.percent or "")), ("zeros", "" if self.zeros else "hide")]
        return [pair for pair in [*shown, ("noise", "show" if self.noise else "")] if pair[1]]

    def apply(self, release: Release) -> Release:
        """The numbers as they are shown; a table that has no such percentages stays as it is."""
        return as_shares(release, self.percent) if self.percent in shares_of(release) else release

    def finish(self, shown: Release) -> Release:
        """With the noise beside the numbers, if asked."""
        return with_noise(shown) if self.noise else shown


Link = tuple[str, str, bool]
"""Words, address, and whether it is how the table is shown now."""


def links(view: View, release: Release, address: Callable[[Iterable[tuple[str, str]]], str]) -> dict[str, list[Link]]:
    """The other views of a table, in groups."""

    def link(words: str, other: View) -> Link:
        return words, address(other.write()), other == view

    percents = [None, *shares_of(release)]
    return {
        "Show": [link(_WORDS[p or ""], replace(view, percent=p)) for p in percents] if len(percents) > 1 else [],
        "Zeros": [link("Show", replace(view, zeros=True)), link("Hide", replace(view, zeros=False))],
        "Noise": [link("Hide", replace(view, noise=False)), link("Show its spread", replace(view, noise=True))],
    }
