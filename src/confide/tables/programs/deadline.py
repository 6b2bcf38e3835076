"""Deadlines: when a long search is to end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from time import monotonic

from confide.data.compiling import timing_compilation
from confide.errors import Mistake

__all__ = ["Deadline", "Progress"]

Progress = Callable[[float, str], None]
"""Told now and then what share of the work is done, and how good the best so far is."""


@dataclass(eq=False)
class Deadline:
    """When to stop: after `limit` seconds, or when somebody interrupts. `hurried` says that a search had to be cut short.

    Promise: seconds of compiling do not count while it is `running`, so the first search of a process gets as far as others.
    """

    limit: float | None = None
    progress: Progress | None = None
    interrupted: bool = False
    hurried: bool = False
    compiling: float = 0.0
    started: float = field(init=False)

    def __post_init__(self) -> None:
        if self.limit is not None and not (isinstance(self.limit, Real) and self.limit > 0):
            raise Mistake("A time limit is a number of seconds.", suggestions=["Give more than 0, or leave it out."])
        self.started = monotonic()

    @property
    def share(self) -> float:
        """How much of the time is used up, from 0 to 1; 0 without a limit."""
        if self.limit is None:
            return 0.0
        return min(1.0, (monotonic() - self.started - self.compiling) / self.limit)

    @property
    def over(self) -> bool:
        """Whether it is time to stop: a hundredth of the time is no longer worth a start."""
        return self.interrupted or self.share >= 0.99

    @property
    def undisturbed(self) -> bool:
        """Whether all was searched that was to be."""
        return not (self.over or self.hurried)

    @contextmanager
    def running(self) -> Iterator[None]:
        """In here compiling stops the clock, and a first interrupt is noted and raises nothing; a second one raises as ever.

        Only the main thread hears of interrupts, and where somebody else handles them they are left alone.
        """
        with timing_compilation(self._pause), self._noting_interrupts():
            yield

    def _pause(self, seconds: float) -> None:
        self.compiling += seconds

    @contextmanager
    def _noting_interrupts(self) -> Iterator[None]:
        usual = signal.default_int_handler
        if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
            yield
            return

        def note(number: int, frame: object) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, usual)

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)

    def pace(self, until: float) -> "Pace":
        """How fast to go from now until so much of the time is used up."""
        return Pace(self, self.share, until)


@dataclass(eq=False)
class Pace:
    """How far a search is: by its own count in the first half of its time, faster than that if it needs the second.

    So a search that needs less than half of its time is always the same, and one that needs more still comes to its end.
    """

    deadline: Deadline
    begun: float
    until: float
    turned: float | None = None

    def share(self, done: float) -> float:
        """What share of the search to take as done."""
        used = (self.deadline.share - self.begun) / max(1e-9, self.until - self.begun)
        if used <= 0.5:
            return done
        self.deadline.hurried = True
        self.turned = done if self.turned is None else self.turned
        return min(1.0, max(done, self.turned + (1 - self.turned) * (2 * used - 1)))
