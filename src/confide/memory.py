"""How much memory is left, so that work which needs more is not begun: the system would end it halfway, without a word."""

from collections.abc import Iterator
from pathlib import Path

from confide.errors import Fault

__all__ = ["free_memory", "must_fit", "whole_memory"]

KNOWN_LARGE = 1 << 60
"""A limit above this is none."""


def must_fit(needed: int, *, what: str, root: Path = Path("/")) -> None:
    """A Fault if something needs more bytes of memory than are free. Where the system does not say, nothing is checked."""
    free = free_memory(root)
    if free is not None and needed > free:
        raise Fault(
            f"{what} takes about {_gigabytes(needed)} of memory, and {_gigabytes(free)} are free.",
            suggestions=["End what else takes memory, or give the machine or its container more, then try again."],
        )


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes that this process can still take for itself: of the machine, and of the control groups it is in (Linux).

    What is read from files counts as free, for the system takes it back.
    """
    found = [_field(root / "proc/meminfo", "MemAvailable:", 1024), *map(_left, _groups(root))]
    return min((free for free in found if free is not None), default=None)


def whole_memory(root: Path = Path("/")) -> int | None:
    """Bytes that there are, taken or not: of the machine, and of the control groups this process is in; None where nobody says."""
    found = [_field(root / "proc/meminfo", "MemTotal:", 1024), *map(_most, _groups(root))]
    return min((most for most in found if most is not None), default=None)


def _groups(root: Path) -> Iterator[Path]:
    """The control group of this process, and those it is part of: of version 2, or that of memory of version 1.

    A container may see its own as the top, whatever it is called outside.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" or "memory" in controllers.split(","):
            top = root / "sys/fs/cgroup" / ("" if number == "0" else "memory")
            group = top / path.removeprefix("/")
            yield from (each for each in (group, *group.parents) if each.is_relative_to(top))


def _left(group: Path) -> int | None:
    """What a group has left of its limit; None if it has none."""
    most, taken = _most(group), _number(group, "memory.current", "memory.usage_in_bytes")
    if most is None or taken is None:
        return None
    read = _field(group / "memory.stat", "total_cache", 1) or _field(group / "memory.stat", "file", 1) or 0
    return max(0, most - taken + read)


def _most(group: Path) -> int | None:
    """The limit of a group; None if it has none."""
    most = _number(group, "memory.max", "memory.limit_in_bytes")
    return most if most is not None and most <= KNOWN_LARGE else None


def _number(group: Path, *names: str) -> int | None:
    """What a file of a group says, by its name in either version."""
    text = "".join(_text(group / name) for name in names).strip()
    return int(text) if text.isdigit() else None


def _field(file: Path, name: str, unit: int) -> int | None:
    for line in _text(file).splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdigit():
            return int(words[1]) * unit
    return None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
