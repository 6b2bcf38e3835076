"""Seconds of CPU until Python or the command line is ready: the best of five fresh processes."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence

RUNS = 5
COMMAND = "import sys; from confide.cli.main import main; sys.argv = ['confide', *{words!r}]; main()"
STARTS = {
    "python": "pass",
    "import confide": "import confide",
    "confide.open('http://...')": "import confide; confide.open('http://127.0.0.1:9').close()",
    "import confide.tables": "import confide.tables",
    "confide --version": COMMAND.format(words=["--version"]),
    "confide --help": COMMAND.format(words=["--help"]),
    "confide table --help": COMMAND.format(words=["table", "--help"]),
    "confide check --help": COMMAND.format(words=["check", "--help"]),
    "confide protect --help": COMMAND.format(words=["protect", "--help"]),
    "confide mask --help": COMMAND.format(words=["mask", "--help"]),
}


def seconds(words: Sequence[str]) -> float:
    """User and system time of one process, as the operating system counts it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    for name, code in STARTS.items():
        print(f"{name:<28} {min(seconds([sys.executable, '-c', code]) for _ in range(RUNS)):6.2f} s")
