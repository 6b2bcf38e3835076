"""What masking gives back: a frame of the kind that was given, and what was done to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confide.data.frame import Frame

__all__ = ["Released", "frame_of"]


@dataclass(frozen=True, repr=False)
class Released:
    """A masked file: `frame`, of the kind that was given, and the `report` of what was done, for the custodian.

    It speaks Arrow, so whatever takes a frame takes it too. `replicates` has more than one frame only where a method
    releases several versions. The report is computed from the confidential file: do not publish it unread.
    """

    replicates: tuple[Any, ...]
    report: Mapping[str, Any]

    @property
    def frame(self) -> Any:
        return self.replicates[0]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        frame = frame_of(self)
        return frame.table(frame.names).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        facts = [(name, value) for name, value in self.report.items() if isinstance(value, int | float)]
        return f"Released({len(self.frame):,} records{''.join(f'; {name} {value:,.6g}' for name, value in facts)})"


def frame_of(given: Any) -> Frame:
    """What was given, if it is a frame; of something released, its frame."""
    return Frame.of(given.frame if isinstance(given, Released) else given)
