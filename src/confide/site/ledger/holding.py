"""Who has a site: one process, or several that one has started; and what others are told."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from confide.errors import Fault
from confide.site.ledger.anchor import Anchor
from confide.site.ledger.entry import Damage
from confide.site.ledger.files import damaged

__all__ = ["faults", "held_for_workers", "tell_pid", "untell_pid"]


@contextmanager
def held_for_workers(path: str | Path) -> Iterator[int]:
    """Hold a site for the processes that this one starts, which open its ledger with `alone=False`.

    Gives the descriptor that they must inherit: the site stays held until the last of them has gone, however this one ends.
    """
    path = Path(path)
    with faults(path):
        anchor = Anchor(path, alone=True)
    tell_pid(path)
    try:
        yield anchor.fileno()
    finally:
        untell_pid(path)
        anchor.close()


def _pid_file(path: Path) -> Path:
    return path.resolve().with_name(path.resolve().name + ".pid")


def tell_pid(path: Path) -> None:
    with suppress(OSError):  # only told to people: a full disk must not stop the site from starting
        _pid_file(path).unlink(missing_ok=True)
        _pid_file(path).write_text(f"{os.getpid()}\n", encoding="ascii")


def untell_pid(path: Path) -> None:
    with suppress(OSError):
        _pid_file(path).unlink(missing_ok=True)


@contextmanager
def faults(path: Path) -> Iterator[None]:
    try:
        yield
    except Damage as damage:
        raise damaged(path, damage) from None
    except BlockingIOError:
        raise _in_use(path) from None
    except OSError as error:
        what = f"The ledger {str(path)!r} cannot be opened: {error.strerror}."
        raise Fault(what, suggestions=["Check the folder, its permissions and its disk."]) from error


def _in_use(path: Path) -> Fault:
    try:
        pid = f" (process {int(_pid_file(path).read_text(encoding='ascii'))})"
    except (OSError, ValueError):
        pid = ""
    what = f"Another Confide process{pid} is using this site's ledger, {str(path)!r}."
    return Fault(what, suggestions=["Stop it, or ask it over HTTP: confide table http://127.0.0.1:8000 ..."])
