"""How the units of a data set were drawn: what standard errors of its numbers are computed from."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Any

from confide.errors import Mistake, nearest

__all__ = ["LoneUnits", "ReplicateMethod", "SampleDesign", "read_design"]

MOST_REPLICATES = 1000
"""A design may name so many replicate weights at most."""


class ReplicateMethod(StrEnum):
    """How replicate weights were made, which says what their squared deviations are multiplied by."""

    BRR = "brr"
    JACKKNIFE = "jackknife"
    BOOTSTRAP = "bootstrap"


class LoneUnits(StrEnum):
    """What becomes of a stratum with one sampling unit, which shows no variation: refused, or compared with all units."""

    REFUSE = "refuse"
    CENTRE = "centre"


@dataclass(frozen=True)
class SampleDesign:
    """The design of a sample. Strata, sampling units and population are columns of the data file; none has to be there.

    Without `psu` every unit was drawn by itself; without `strata` there is one. `population` has the number of sampling units
    in the population of the record's stratum, or the fraction of them that was drawn, if it is at most 1. With `replicates` errors
    come from these weights alone, and deviations are from the estimate with the weight itself. `scale` is what the sum
    of squared deviations is multiplied by, if it is not what the method says. An estimate whose coefficient of variation is above
    `caution` percent is to be used with care, above `unreliable` not at all.
    """

    strata: str = ""
    psu: str = ""
    population: str = ""
    single: LoneUnits = LoneUnits.REFUSE
    replicates: tuple[str, ...] = ()
    method: ReplicateMethod = ReplicateMethod.BRR
    fay: float = 0.0
    scale: float | None = None
    caution: float = 16.5
    unreliable: float = 33.3

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data file that it names."""
        return (*(name for name in (self.strata, self.psu, self.population) if name), *self.replicates)

    @property
    def multiplier(self) -> float:
        """What a sum of squared deviations of replicates is multiplied by.

        >>> SampleDesign(replicates=("a", "b"), fay=0.5).multiplier
        2.0
        """
        if self.scale is not None:
            return self.scale
        number = len(self.replicates)
        if self.method is ReplicateMethod.JACKKNIFE:
            return (number - 1) / number
        return 1 / (number * (1 - self.fay) ** 2)

    @property
    def coding(self) -> list[Any]:
        """Everything of it that decides how records are coded."""
        return [self.strata, self.psu, self.population, self.single, self.replicates, self.fay, self.method, self.scale]

    @property
    def words(self) -> str:
        """The design, for whoever reads a number."""
        if self.replicates:
            return f"from {len(self.replicates)} replicate weights ({self.method})"
        drawn = "sampling units (PSUs)" if self.psu else "units drawn by themselves"
        strata = " within strata" if self.strata else ""
        finite = ", of a finite population" if self.population else ""
        return f"by Taylor linearisation, for {drawn}{strata}{finite}"


_TEXTS = ("strata", "psu", "population")
_NUMBERS = {"fay": (0.0, 0.99), "scale": (0.0, 1e6), "caution": (0.0, 1000.0), "unreliable": (0.0, 1000.0)}
_KEYS = {*_TEXTS, *_NUMBERS, "single", "replicates", "method"}


def read_design(raw: Any, *, where: str) -> SampleDesign:
    """The design that a section `[sampling]` describes; a Mistake names what is wrong with it."""
    here = f"[sampling] of {where}"
    if not isinstance(raw, dict):
        raise Mistake(f"'sampling' in {where} must be a section, [sampling].")
    for key in raw:
        if key not in _KEYS:
            raise Mistake(f"Unknown key {key!r} in {here}.", suggestions=nearest(key, _KEYS))
    given: dict[str, Any] = {key: _text(raw[key], key, here) for key in _TEXTS if key in raw}
    given |= {key: _between(raw[key], key, *_NUMBERS[key], here) for key in _NUMBERS if key in raw}
    if "single" in raw:
        given["single"] = LoneUnits(_among(raw["single"], "single", tuple(LoneUnits), here))
    if "method" in raw:
        given["method"] = ReplicateMethod(_among(raw["method"], "method", tuple(ReplicateMethod), here))
    design = SampleDesign(**given, replicates=_replicates(raw.get("replicates", []), here))
    _check(design, raw, here)
    return design


def _check(design: SampleDesign, raw: Mapping[str, Any], here: str) -> None:
    if design.replicates and (design.strata or design.psu or design.population):
        raise Mistake(
            f"{here} names replicate weights as well as strata, sampling units or a population.",
            suggestions=["Errors come from one of them: keep 'replicates', or the others."],
        )
    if not design.replicates and (alone := [key for key in ("method", "fay", "scale") if key in raw]):
        raise Mistake(f"{alone[0]!r} in {here} goes with 'replicates', which it does not name.")
    if design.fay and design.method is not ReplicateMethod.BRR:
        raise Mistake(f"'fay' in {here} goes with method = \"brr\" only.")
    if design.caution > design.unreliable:
        raise Mistake(f"'caution' in {here} is above 'unreliable'. It must not be.")


def _replicates(value: Any, here: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise Mistake(f"'replicates' in {here} must be a list of columns, each in quotes.")
    if len(set(value)) < len(value):
        raise Mistake(f"'replicates' in {here} names a column twice.")
    if len(value) == 1 or len(value) > MOST_REPLICATES:
        raise Mistake(f"'replicates' in {here} must name from 2 to {MOST_REPLICATES} columns.")
    return tuple(value)


def _text(value: Any, key: str, here: str) -> str:
    if not isinstance(value, str) or not value:
        raise Mistake(f"{key!r} in {here} must be the name of a column, in quotes.")
    return value


def _among(value: Any, key: str, known: tuple[str, ...], here: str) -> str:
    if value not in known:
        raise Mistake(f"{key!r} in {here} must be one of {', '.join(known)}.", suggestions=nearest(str(value), known))
    return str(value)


def _between(value: Any, key: str, least: float, most: float, here: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if not number or not least <= value <= most:
        raise Mistake(f"{key!r} in {here} must be a number from {least:g} to {most:g}.")
    return float(value)
