"""What masking gives back: a frame of the kind that was given, and what was done to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confide.data.frame import Frame

__all__ = ["Released", "StepDone", "frame_of"]


@dataclass(frozen=True)
class StepDone:
    """What one method did, as far as a release must know it: to which columns, and what it left.

    `parameters` are those that may be told: numbers and words, not codes, which may be of people taken out. `unmasked`
    counts the values that stay as they are because their records stood alone or in twos. `taught` says that what was drawn
    comes from a teaching seed: whoever tries numbers draws it again.
    """

    method: str
    columns: tuple[str, ...]
    parameters: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    unmasked: int = 0
    taught: bool = False


@dataclass(frozen=True, repr=False)
class Released:
    """A masked file: `frame`, of the kind that was given, and the `report` of what was done, for the custodian.

    It speaks Arrow, so whatever takes a frame takes it too. `replicates` has more than one frame only where a method
    releases several versions. The report is computed from the confidential file, for the custodian alone: a `ReleaseGate`
    makes a file of this that can be published, and a manifest that can stand in the place of the report.
    """

    replicates: tuple[Any, ...]
    report: Mapping[str, Any]
    steps: tuple[StepDone, ...] = ()

    @property
    def frame(self) -> Any:
        return self.replicates[0]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        frame = frame_of(self)
        return frame.table(frame.names).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        facts = [(name, value) for name, value in self.report.items() if isinstance(value, int | float)]
        taught = "; not for release, drawn from a teaching seed" if any(step.taught for step in self.steps) else ""
        said = "".join(f"; {name} {value:,.6g}" for name, value in facts)
        return f"Released({len(self.frame):,} records{said}{taught})"


def frame_of(given: Any) -> Frame:
    """What was given, if it is a frame; of something released, its frame."""
    return Frame.of(given.frame if isinstance(given, Released) else given)
