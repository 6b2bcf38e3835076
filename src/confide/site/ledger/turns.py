"""Threads that must hold the same thing: one of them holds it, once for all who have come by then."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Condition
from typing import Generic, TypeVar

__all__ = ["Piece", "Together"]


class Piece:
    """What a thread wants done. It is `settled` as soon as it is done or has failed, whatever becomes of others."""

    settled, over = False, False
    error: BaseException | None = None

    @contextmanager
    def failing(self) -> Iterator[None]:
        """What goes wrong within this concerns this piece alone."""
        try:
            yield
        except BaseException as error:
            self.settled, self.error = True, error


P = TypeVar("P", bound=Piece)


class Together(Generic[P]):
    """One thread at a time, which does the work of all who wait.

    Promise: a piece is done once, by one thread; `do` returns after `work` has ended, and raises why the piece failed, or why `work`
    ended before the piece was settled.
    """

    def __init__(self, work: Callable[[Callable[[], Sequence[P]]], None]) -> None:
        """`work` settles pieces: it is given what takes those that have come when it is called, which is called once."""
        self._work, self._waiting, self._changed, self._busy = work, list[P](), Condition(), False

    def do(self, piece: P) -> None:
        """See to it that a piece is done: by this thread, with those of all who wait, or by another."""
        with self._changed:
            self._waiting.append(piece)
            self._changed.wait_for(lambda: piece.over or not self._busy)
            mine = not piece.over
            self._busy = self._busy or mine
        if mine:
            self._lead()
        if piece.error is not None:
            raise piece.error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within this no thread does anything."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)
            self._busy = True
        try:
            yield
        finally:
            self._end([])

    def _lead(self) -> None:
        taken: list[P] = []

        def take() -> Sequence[P]:
            with self._changed:
                taken[:], self._waiting = self._waiting, []
            return taken

        try:
            self._work(take)
        except BaseException as error:
            for each in taken or take():
                if not each.settled:
                    each.error = error
        finally:
            self._end(taken)

    def _end(self, done: Sequence[P]) -> None:
        with self._changed:
            for each in done:
                each.over = True
            self._busy = False
            self._changed.notify_all()
