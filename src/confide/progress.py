"""How far a long piece of work is: told by whoever does it, to whoever waits for it, through all that lies between."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

__all__ = ["StagedProgress", "current_progress", "time_left"]

Tell = Callable[[str, float], None]


@dataclass
class StagedProgress:
    """What is done now, and which share of all work is behind.

    >>> progress = StagedProgress(lambda doing, share: print(f"{doing} {share:.0%}"))
    >>> with progress.applied(), current_progress().stage("Writing", 0.5, 1.0):
    ...     current_progress().report(0.25)
    Writing 50%
    Writing 62%
    """

    tell: Tell
    _stage: tuple[str, float, float] = field(default=("", 0.0, 1.0), init=False)

    @contextmanager
    def stage(self, doing: str, begin: float, end: float) -> Iterator[None]:
        """Within it, what is reported is of a part of the work, from one share of all to another."""
        before, self._stage = self._stage, (doing, begin, end)
        self.report(0.0)
        try:
            yield
        finally:
            self._stage = before

    def report(self, share: float) -> None:
        """Say which share of the stage is done."""
        doing, begin, end = self._stage
        self.tell(doing, begin + (end - begin) * share)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let this be the `current_progress` of what this thread does."""
        before = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(before)


_CURRENT: ContextVar[StagedProgress | None] = ContextVar("progress", default=None)


def current_progress() -> StagedProgress:
    """Who is told how far the work of this thread is: nobody, unless somebody applied it."""
    return _CURRENT.get() or StagedProgress(lambda doing, share: None)


def time_left(share: float, seconds: float) -> str:
    """How long the rest takes if it goes on like this, in words; nothing while that is anybody's guess.

    >>> time_left(0.25, 60), time_left(0.5, 20), time_left(0.01, 5)
    ('about 3 min left', 'about 20 s left', '')
    """
    if share < 0.05 or seconds < 2:
        return ""
    left = seconds * (1 - share) / share
    return f"about {left / 60:.0f} min left" if left >= 90 else f"about {left:.0f} s left"
