"""What codes say by themselves: which mean missing, which are one class in several spellings, which are dates or remarks."""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from confide.arrays import Floats
from confide.sources.dates import DAY

__all__ = [
    "LONG",
    "MISSING_WORDS",
    "dates",
    "long_texts",
    "misspelt",
    "number_sentinels",
    "says_missing",
    "says_not_asked",
    "sentinels",
    "sets_apart",
    "variants",
]

MISSING_WORDS = frozenset({"NA", "N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", ".", "?", "-", "n/a"})
"""What means missing in any column; a lone N does so among numbers only: it may be North."""

FEWEST = 5
"""More negative numbers than this are values."""

LONG = 60
"""A text longer than this is probably a remark."""

_SAYS_MISSING = re.compile(
    r"^(no code required|not (applicable|stated|asked|known|ascertained|answered|reported|available|in universe)\b.*"
    r"|unknown|missing|refus(ed|al)|(no|don.?t|do not|does not) (answer|know|response)|undetermined|inapplicable"
    r"|n/?a\b( \(.*)?|item not answered|schedule not applicable|blank"
    r"|wei(ß|ss) nicht|keine (angabe|antwort)|k[.] ?a|verweigert|trifft nicht zu|entfällt"
    r"|ne sait pas|(sans|non|pas de) réponse|non (concern|déclar)ée?|no (sabe|contesta|responde|aplica)|n[sc]/n[sc])[.]?$",
    re.IGNORECASE,
)
_SAYS_NOT_ASKED = re.compile(
    r"^(no code required|not (applicable|asked|in universe)\b.*|inapplicable|n/?a\b( \(.*)?|schedule not applicable"
    r"|trifft nicht zu|entfällt|non concernée?|no aplica)[.]?$",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(r"^-(\d|([6789])\2+)$")
_NINES = re.compile(r"^9{1,9}$")


def says_missing(text: str) -> bool:
    """Whether a code or its label says in words that there is no value.

    >>> says_missing("No code required"), says_missing("Not in universe"), says_missing("North")
    (True, True, False)
    >>> says_missing("Weiß nicht"), says_missing("k.A."), says_missing("Ne sait pas"), says_missing("Weimar")
    (True, True, True, False)
    """
    return text in MISSING_WORDS or bool(_SAYS_MISSING.match(text.strip()))


def says_not_asked(text: str) -> bool:
    """Whether a code or its label says that a question does not concern a record: more than that nobody knows.

    >>> says_not_asked("N/A (never served)"), says_not_asked("Not reported"), says_not_asked("NA")
    (True, False, False)
    """
    return text not in MISSING_WORDS and bool(_SAYS_NOT_ASKED.match(text.strip()))


def sentinels(codes: Sequence[str], labels: Mapping[str, str] | None = None) -> list[str]:
    """The codes that probably mean missing: by their words or labels, or as -9 and 99 do beside other whole numbers.

    >>> sentinels(["-9", "1", "2"]), sentinels(["1", "2", "3", "9"]), sentinels(["7", "8", "9"])
    (['-9'], ['9'], [])
    >>> sentinels(["1", "2", "8"], {"8": "Don't know"})
    ['8']
    """
    said = [c for c in codes if says_missing(c) or says_missing((labels or {}).get(c, ""))]
    return said + [c for c in _numeric(codes) if c not in said]


def _numeric(codes: Sequence[str]) -> list[str]:
    whole = {float(code): code for code in codes if re.fullmatch(r"-?\d{1,15}", code)}
    return [whole[value] for value in number_sentinels(np.sort(np.array([*whole], dtype=np.float64)))]


def number_sentinels(values: Floats) -> list[float]:
    """Of distinct numbers in rising order, those that are set apart as -9 and 99 are.

    Below: -1 to -9, -88, -99 and the like, a few, with nothing between them and the rest. Above: nines, far from the next.

    >>> number_sentinels(np.array([-9.0, -8.0, 0.0, 1.0, 2.0])), number_sentinels(np.array([-2.0, -1.0, 0.0, 1.0]))
    ([-9.0, -8.0], [])
    """
    least, usual = values[values < 0], values[values >= 0]
    written = [f"{value:.15g}" for value in least[: FEWEST + 1]]
    apart = len(usual) > 1 and len(least) and usual[0] - least[-1] >= 2
    found = least.tolist() if apart and len(least) <= FEWEST and all(map(_NEGATIVE.match, written)) else []
    if len(usual) > 2 and _NINES.match(f"{usual[-1]:.15g}") and _far(usual):
        found = [*found, float(usual[-1])]
    return found


def sets_apart(value: float) -> bool:
    """Whether a number is written as those that mean missing below all others: -9, -88, -999."""
    return bool(_NEGATIVE.match(f"{value:.15g}")) and value not in (-1, -2)


def _far(usual: Floats) -> bool:
    """Whether the highest is far from the next: a gap of three among a few low ones, else over twice as high."""
    top, below = usual[-1], usual[-2]
    return bool(below <= top - 3 if len(usual) <= 12 and top <= 99 else below <= top / 2)


def variants(codes: Iterable[str]) -> list[list[str]]:
    """Codes that are one class written in several ways: capitals aside, and spaces or dashes inside of it.

    >>> variants(["FEMALE", "Female", "male", "female "])
    [['FEMALE', 'Female', 'female ']]
    >>> variants(["-1", "1", "a+", "a"])
    []
    """
    alike: dict[str, list[str]] = {}
    for code in codes:
        if any(c.isalpha() for c in code):
            alike.setdefault(re.sub(r"(?<=\w)[ _-]+(?=\w)", " ", code.casefold()).strip(), []).append(code)
    return [group for group in alike.values() if len(group) > 1]


def misspelt(counts: Mapping[str, int]) -> dict[str, str]:
    """Rare words that differ by one letter from a common one, with that one: probably slips.

    >>> misspelt({"married": 500, "maried": 2, "widowed": 60})
    {'maried': 'married'}
    """
    words = {c: n for c, n in counts.items() if len(c) >= 6 and c.replace(" ", "").isalpha()}
    if len(words) > 200:
        return {}
    return {
        rare: common
        for rare, few in words.items()
        for common, many in words.items()
        if 50 * few <= many and rare.casefold() != common.casefold() and _one_letter(rare.casefold(), common.casefold())
    }


def _one_letter(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return short[at + (len(short) == len(long)) :] == long[at + 1 :]


def dates(codes: Sequence[str]) -> bool:
    """Whether all codes are days of a calendar."""
    return bool(codes) and all(re.match(DAY, code) for code in codes)


def long_texts(codes: Iterable[str]) -> bool:
    """Whether some code is as long as a remark."""
    return any(len(code) > LONG for code in codes)
