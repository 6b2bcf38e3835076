"""The contract of every method that masks a file: parameters as fields, and one verb, `protect`.

A new method is one module: a frozen dataclass under `Method` whose fields are made with `parameter`, with `_mask`, which
masks the records of one stratum. Frames, kinds of values, strata, households, keys and progress are looked after here.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from confide.data.release_key import ReleaseKey, chosen_key
from confide.errors import Mistake
from confide.microdata.records import Masked, Records
from confide.microdata.released import Released, frame_of
from confide.microdata.work import Masking
from confide.model.parameter import Parameters

__all__ = ["Method"]


@dataclass(frozen=True)
class Method(Parameters, ABC):
    """A way to mask a file. What its class declares is tested of it by the conformance battery."""

    takes: ClassVar[frozenset[str]] = frozenset({"numbers"})
    """What the columns hold: "numbers" (dates too), "categories", or both; nothing, if whole records are looked at."""

    keeps: ClassVar[frozenset[str]] = frozenset({"rows", "types", "missing"})
    """What stays: the number of records; the types of columns; which values are missing."""

    draws: ClassVar[bool] = False
    """Whether chance plays a part, so that a key is needed. Other methods take one and have no use for it."""

    mixes: ClassVar[bool] = False
    """Whether values are hidden among those of other records, so that one or two records by themselves stay as they are."""

    weighs: ClassVar[bool] = False
    """Whether weights are used. To give them to a method that does not is a Mistake."""

    best_attack: ClassVar[str] = ""
    """The best known attack by somebody who knows the method, as `confide attack-file --only` names it."""

    @classmethod
    def word(cls) -> str:
        """The method's name in plans and on the command line: RankSwapping is rank-swapping."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns that the method looks at besides those it masks."""
        return ()

    @property
    def makes_new_records(self) -> bool:
        """Whether the file has new records, none of which is one of those there were."""
        return False

    @property
    def learns_from(self) -> str | None:
        """The column that is true of the records that values are learnt from; of all of them, if there is none."""
        return None

    def protect(
        self,
        frame: Any,
        *,
        columns: str | Sequence[str] = (),
        by: str | Sequence[str] = (),
        weight: str | None = None,
        household: str | None = None,
        key: ReleaseKey | None = None,
        teaching_seed: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Released:
        """The frame with these columns masked: the same kind of frame, columns and rows in the same order.

        `by` names the columns whose values are strata, each masked alone: what happens in one does not depend on the
        others. `weight` is a column of positive numbers. With `household` the columns are those of households: one
        record of each is masked, and all its members get its values. What is drawn comes from `key`; the same key, method
        and frame give the same. `teaching_seed`, a plain number, is for tests and teaching, and what it gives is not for
        release. `progress` is told the share of the work done.
        """
        given = self._key(key, teaching_seed)
        work = Masking(self, frame_of(frame), _listed(columns), _listed(by), weight, household, given)
        return work.done(progress or (lambda share: None))

    def drawing(self, key: ReleaseKey) -> ReleaseKey:
        """The key of what this method draws: methods with other parameters share no draws, so that nobody subtracts them."""
        return key.under(self.word(), {f.name: _canonical(getattr(self, f.name)) for f in fields(self)})

    def _key(self, key: ReleaseKey | None, teaching_seed: int | None) -> ReleaseKey | None:
        if not self.draws and key is None and teaching_seed is None:
            return None
        return self.drawing(chosen_key(type(self).__name__, key, teaching_seed))

    @abstractmethod
    def _mask(self, records: Records) -> Masked:
        """Mask the records of one stratum."""

    def _combined(self, reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The report of the whole file from those of its strata: numbers are added up, the rest stands by stratum."""
        if len(reports) == 1:
            return dict(reports[0])
        names = [name for name, value in reports[0].items() if isinstance(value, int | float)] if reports else []
        return {name: sum(report[name] for report in reports) for name in names}


def _canonical(value: Any) -> Any:
    """A parameter as it draws: 15 as 15.0 does, in a list as in a tuple."""
    if isinstance(value, Mapping):
        return {name: _canonical(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_canonical(part) for part in value]
    return float(value) if isinstance(value, int | float) else value


def _listed(names: str | Sequence[str]) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (names,)
    for name in listed:
        if not isinstance(name, str):
            raise Mistake(f"Name columns by text, not by {name!r}.")
    return listed
