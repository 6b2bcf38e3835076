"""How hot loops are compiled, and how long that takes."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache
from numba.core.event import Listener, install_listener

__all__ = ["compiled", "timing_compilation"]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compiled on first use, kept on disk where a folder can be written; other threads run meanwhile.

    No fast-math: sums are not reordered, so a plain Python twin gives the same bits.
    """
    made = numba.njit(nogil=True)(function)
    with suppress(RuntimeError):  # no folder can be written
        vars(made)["_cache"] = _Kept(function)  # type: ignore[no-untyped-call]  # numba has no types
    return cast(F, made)


class _Kept(FunctionCache):
    """What is on disk of a function, forgotten where an older version left it with a class that has another name now.

    Numba looks up the classes of the arguments before it sees that the source is another, so that would end in an error.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]  # numba has no types
        except (AttributeError, ImportError):
            self.flush()  # type: ignore[no-untyped-call]  # numba has no types
            return None


class _Timer(Listener):
    """Tells how long its thread held or awaited the compiler's lock; functions that compile others count once."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell, self._thread = tell, threading.get_ident()
        self._depth, self._begun = 0, 0.0

    def on_start(self, event: Any) -> None:
        if threading.get_ident() == self._thread:
            self._begun = self._begun if self._depth else monotonic()
            self._depth += 1

    def on_end(self, event: Any) -> None:
        if threading.get_ident() == self._thread and self._depth:
            self._depth -= 1
            if not self._depth:
                self._tell(monotonic() - self._begun)


@contextmanager
def timing_compilation(tell: Callable[[float], None]) -> Iterator[None]:
    """In here `tell` hears of the seconds this thread spends on compiling, on loading what was compiled, or waiting for either.

    The lock is listened to rather than the compilation itself: what is read from disk takes tenths of a second too.
    """
    with install_listener("numba:compiler_lock", _Timer(tell)):
        yield
