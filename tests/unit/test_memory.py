"""Work that needs more memory than is left is not begun."""

from pathlib import Path

import pytest

from confide.errors import Fault
from confide.memory import free_memory, must_fit, whole_memory


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MACHINE = {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    4000 kB\n"}
GROUPS = {"proc/self/cgroup": "1:name=x:/y\n0::/a/b\n"}


def group(name: str, most: str, taken: int, file: int) -> dict[str, str]:
    where = f"sys/fs/cgroup/{name}"
    return {
        f"{where}memory.max": f"{most}\n",
        f"{where}memory.current": f"{taken}\n",
        f"{where}memory.stat": f"anon 5\nfile {file}\n",
    }


def old_group(name: str, most: str, taken: int, file: int) -> dict[str, str]:
    where = f"sys/fs/cgroup/memory/{name}"
    return {
        f"{where}memory.limit_in_bytes": f"{most}\n",
        f"{where}memory.usage_in_bytes": f"{taken}\n",
        f"{where}memory.stat": f"cache 1\ntotal_cache {file}\n",
    }


OLD_GROUPS = {"proc/self/cgroup": "9:name=memory:/z\n4:hugetlb,memory:/a/b\n3:cpu:/\n0::/\n"}
NO_LIMIT = "9223372036854771712"


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, None),
        (MACHINE, 4_096_000),
        (MACHINE | GROUPS, 4_096_000),
        (MACHINE | GROUPS | group("a/b/", "max", 10, 3), 4_096_000),
        (MACHINE | GROUPS | group("a/b/", "1000", 700, 100), 400),
        (MACHINE | GROUPS | group("a/b/", "max", 10, 3) | group("a/", "500", 200, 0), 300),
        (MACHINE | GROUPS | group("a/b/", "1000", 1700, 100), 0),
        (MACHINE | GROUPS | group("", "90", 0, 0), 90),
        (MACHINE | OLD_GROUPS | old_group("a/b/", NO_LIMIT, 10, 3), 4_096_000),
        (MACHINE | OLD_GROUPS | old_group("a/b/", "1000", 700, 100), 400),
        (MACHINE | OLD_GROUPS | old_group("a/b/", NO_LIMIT, 10, 3) | old_group("a/", "500", 200, 0), 300),
        (MACHINE | OLD_GROUPS | old_group("", "90", 0, 0), 90),
        (MACHINE | OLD_GROUPS | old_group("z/", "90", 0, 0), 4_096_000),
        ({"proc/meminfo": "MemAvailable: much\n"}, None),
    ],
)
def test_what_is_free_is_the_least_of_the_machine_and_its_groups(
    tmp_path: Path, files: dict[str, str], free: int | None
) -> None:
    assert free_memory(machine(tmp_path, files)) == free


@pytest.mark.parametrize(
    ("files", "whole"),
    [
        ({}, None),
        (MACHINE, 9216),
        (MACHINE | GROUPS | group("a/b/", "max", 10, 3), 9216),
        (MACHINE | GROUPS | group("a/b/", "1000", 700, 100), 1000),
        (MACHINE | GROUPS | group("a/b/", "max", 10, 3) | group("a/", "500", 200, 0), 500),
        (MACHINE | OLD_GROUPS | old_group("a/b/", "1000", 700, 100), 1000),
    ],
)
def test_what_there_is_counts_what_is_taken(tmp_path: Path, files: dict[str, str], whole: int | None) -> None:
    assert whole_memory(machine(tmp_path, files)) == whole


def test_what_needs_more_is_a_fault_that_says_how_much(tmp_path: Path) -> None:
    root = machine(tmp_path, {"proc/meminfo": "MemAvailable: 3000000 kB\n"})
    must_fit(3_000_000_000, what="Counting", root=root)
    with pytest.raises(Fault, match=r"Counting takes about 5\.4 GB of memory, and 3\.1 GB are free"):
        must_fit(5_400_000_000, what="Counting", root=root)


def test_where_nothing_is_said_nothing_is_checked(tmp_path: Path) -> None:
    must_fit(1 << 62, what="Counting", root=tmp_path)


def test_this_machine_has_some_left_or_does_not_say() -> None:
    free = free_memory()
    assert free is None or free > 0
