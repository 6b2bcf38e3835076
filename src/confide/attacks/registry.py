"""Every attack on a site, by name, in the order of the catalogue."""

import re
from functools import cache
from importlib import import_module

from confide.attacks.attack import Attack
from confide.errors import Mistake, nearest

__all__ = ["attacks", "chosen_attacks"]

_ROOMS = ("counts", "reconstruction", "models", "totals", "channels", "search")


@cache
def attacks() -> dict[str, Attack]:
    """All attacks as they are tried by default."""
    found: list[Attack] = []
    for room in _ROOMS:
        inside = import_module(f"confide.attacks.{room}")
        for place in inside.ATTACKS:
            module, _, name = place.partition(":")
            found.append(getattr(import_module(f"{inside.__name__}.{module}"), name)())
    return {attack.name: attack for attack in sorted(found, key=_order)}


def chosen_attacks(only: str = "") -> dict[str, Attack]:
    """The attacks of a list with commas, by name or by place in the catalogue; all of them if it is empty."""
    known = attacks()
    if not only.strip():
        return known
    chosen: dict[str, Attack] = {}
    for word in filter(None, (part.strip() for part in only.split(","))):
        named = {name: attack for name, attack in known.items() if word.lower() in (name, attack.code.lower())}
        if not named:
            hint = nearest(word, known) or ["There are " + ", ".join(known) + "."]
            raise Mistake(f"There is no attack called {word[:60]!r}.", suggestions=hint)
        chosen |= named
    return chosen


def _order(attack: Attack) -> tuple[int, int, str]:
    letter, number = attack.code[0], re.sub(r"\D", "", attack.code)
    return "TDMRBCS".index(letter), int(number), attack.code
