"""Colours that can be read: an accent is taken only if it stands out from everything it is put on (WCAG 2.2, 1.4.3 and 1.4.11)."""

import re
from dataclasses import dataclass

from confide.errors import Mistake

__all__ = ["DARK", "LEAST_CONTRAST", "LIGHT", "Theme", "contrast"]

LEAST_CONTRAST = 4.5
"""What WCAG asks of text (1.4.3, AA)."""


@dataclass(frozen=True)
class Theme:
    """What an accent is put on, in pages of one kind: the papers of the stylesheet; and how strongly it tints its own.

    >>> LIGHT.must_suit("accent", "#0f5c6e")
    >>> LIGHT.must_suit("accent", "#ffcc00")
    Traceback (most recent call last):
    confide.errors.Mistake: 'accent' #ffcc00 is too faint: its contrast with #f3f6f7 is 1.4, and must be 4.5 or more. #856a00 would do.
    """

    papers: tuple[str, ...]
    towards: str
    tint: float

    def must_suit(self, key: str, accent: str) -> None:
        """A Mistake if the colour could not be read, with the nearest that can."""
        if not re.fullmatch(r"#[0-9a-f]{6}", accent):
            raise Mistake(f"{key!r} must be a colour such as {'#0f5c6e'!r}, in small letters.")
        paper, least = self._worst(accent)
        if least < LEAST_CONTRAST:
            what = f"its contrast with {paper} is {least:.1f}, and must be {LEAST_CONTRAST:g} or more"
            raise Mistake(f"{key!r} {accent} is too faint: {what}.", suggestions=[f"{self._nearest(accent)} would do."])

    def shade_of(self, accent: str) -> str:
        """The paper with a little of the accent, for boxes and for what the pointer is on."""
        return _mix(accent, self.papers[0], self.tint)

    def ink_on(self, accent: str) -> str:
        """What is written on the accent itself: white or nearly black, whichever can be read better."""
        return max(("#ffffff", "#0b1a1f"), key=lambda ink: contrast(ink, accent))

    def _worst(self, accent: str) -> tuple[str, float]:
        """Where it is read worst, and how well; its own shade and what is written on it included."""
        beside = (*self.papers, self.shade_of(accent), self.ink_on(accent))
        return min(((paper, contrast(accent, paper)) for paper in beside), key=lambda pair: pair[1])

    def _nearest(self, accent: str) -> str:
        mixed = (_mix(self.towards, accent, step / 50) for step in range(1, 51))
        return next(colour for colour in mixed if self._worst(colour)[1] >= LEAST_CONTRAST)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours as WCAG 2.2 defines it, from 1 to 21.

    >>> contrast("#ffffff", "#000000"), contrast("#777777", "#777777")
    (21.0, 1.0)
    """
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in _shares(colour))
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _shares(colour: str) -> list[float]:
    return [value / 255 for value in bytes.fromhex(colour[1:])]


def _mix(one: str, other: str, share: float) -> str:
    pairs = zip(_shares(one), _shares(other), strict=True)
    return "#" + bytes(round(255 * (share * a + (1 - share) * b)) for a, b in pairs).hex()


LIGHT = Theme(papers=("#ffffff", "#f3f6f7"), towards="#000000", tint=0.1)
DARK = Theme(papers=("#10181d", "#18232a"), towards="#ffffff", tint=0.15)
