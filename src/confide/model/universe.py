"""The subpopulation a question is about: a union of pieces, each a conjunction of conditions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confide.errors import Mistake

__all__ = ["EVERYONE", "Condition", "Piece", "Universe"]


@dataclass(frozen=True, order=True)
class Condition:
    """The variable takes one of these codes."""

    variable: str
    codes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.codes:
            raise Mistake(f"The condition on {self.variable!r} lists no codes, so the universe would be empty.")
        object.__setattr__(self, "codes", tuple(sorted(set(self.codes))))


@dataclass(frozen=True, order=True)
class Piece:
    """All conditions hold; at most one for each variable."""

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        names = [condition.variable for condition in self.conditions]
        for name in names:
            if names.count(name) > 1:
                raise Mistake(f"One piece has two conditions on {name!r}. List all its codes in one condition.")
        if not names:
            raise Mistake("A piece of a universe needs a condition. Leave 'where' out to ask about everyone.")
        object.__setattr__(self, "conditions", tuple(sorted(self.conditions)))

    @classmethod
    def of(cls, conditions: Mapping[str, Iterable[str]]) -> "Piece":
        return cls(tuple(Condition(name, tuple(codes)) for name, codes in conditions.items()))

    @property
    def plain(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each variable with its codes, in one order."""
        return [(condition.variable, condition.codes) for condition in self.conditions]

    @property
    def words(self) -> str:
        """As it is typed: `employment=inactive,unemployed and sex=f`.

        >>> Piece.of({"sex": ["f"], "employment": ["unemployed", "inactive"]}).words
        'employment=inactive,unemployed and sex=f'
        """
        return " and ".join(f"{name}={','.join(codes)}" for name, codes in self.plain)


@dataclass(frozen=True)
class Universe:
    """Units in at least one piece; no pieces means everyone."""

    pieces: tuple[Piece, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", tuple(sorted(set(self.pieces))))

    def __bool__(self) -> bool:
        return bool(self.pieces)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(sorted({c.variable for piece in self.pieces for c in piece.conditions}))


EVERYONE = Universe()
