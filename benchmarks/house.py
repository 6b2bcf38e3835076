"""How the house stands: rooms, sizes, names, forks, and what one answer and one start load.

python benchmarks/house.py
"""

import ast
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from importlib import resources
from pathlib import Path

import confide
from confide.model.request import kinds

SOURCE = Path(confide.__file__).parent
KINDS = {kind.__name__ for kind in kinds().values()}


def trees() -> dict[Path, ast.Module]:
    return {p.relative_to(SOURCE): ast.parse(p.read_text(encoding="utf-8")) for p in sorted(SOURCE.rglob("*.py"))}


def rooms(modules: dict[Path, ast.Module]) -> None:
    print("modules by room")
    inside = Counter(
        path.parts[0] if len(path.parts) > 1 else "(top)" for path in modules if path.name != "__init__.py"
    )
    print("  " + ", ".join(f"{room} {number}" for room, number in inside.most_common()))
    flat = Counter(str(path.parent) for path in modules if path.name != "__init__.py")
    print("  most in one folder: " + ", ".join(f"{folder} {number}" for folder, number in flat.most_common(4)))


def sizes(modules: dict[Path, ast.Module]) -> None:
    lines = [
        len((SOURCE / path).read_text(encoding="utf-8").splitlines()) for path in modules if path.name != "__init__.py"
    ]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [n.end_lineno - n.lineno + 1 for t in modules.values() for n in ast.walk(t) if isinstance(n, kinds)]
    for what, found in (("module", lines), ("function", functions)):
        ninth = statistics.quantiles(found, n=10)[-1]
        print(
            f"{what}: {len(found)}, median {statistics.median(found):g} lines, 90th percentile {ninth:g}, most {max(found)}"
        )
    text = [line.strip() for path in modules for line in (SOURCE / path).read_text(encoding="utf-8").splitlines()]
    full = [line for line in text if line]
    print(f"comment lines: {sum(line.startswith('#') for line in full) / len(full):.1%} of {len(full)}")


def names(modules: dict[Path, ast.Module]) -> None:
    where = defaultdict(list)
    for path, tree in modules.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                where[node.name].append(str(path))
    twice = {name: paths for name, paths in where.items() if len(paths) > 1}
    print(f"class names defined more than once: {len(twice)} {sorted(twice)}")


def forks(modules: dict[Path, ast.Module]) -> None:
    """Calls of isinstance on a kind of request."""
    calls = [(p, n) for p, t in modules.items() for n in ast.walk(t) if isinstance(n, ast.Call) and len(n.args) == 2]
    forks = [(p, n.args[1]) for p, n in calls if getattr(n.func, "id", "") == "isinstance"]
    found = [str(p) for p, of in forks if {n.id for n in ast.walk(of) if isinstance(n, ast.Name)} & KINDS]
    print(f"isinstance on the kind of a request: {len(found)} {sorted(set(found))}")


def entered() -> None:
    """How many modules of ours the calls of one answer pass through."""
    with tempfile.TemporaryDirectory() as folder:
        code = ENTERED.format(site=f"{folder}/site", catalog=_catalog())
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout, end="")


def _catalog() -> str:
    return str(resources.files("confide.demo").joinpath("people.toml"))


ENTERED = """
import asyncio, sys, threading
import httpx
from confide import demo
from confide.answering.service import Service
from confide.records.ingest import add
from confide.web.api import create_app

add(demo.people(5000), {site!r}, name="people", catalog=open({catalog!r}, encoding="utf-8").read())
with Service.open({site!r}) as service:
    app = create_app(service)

    async def get(address):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return await client.get(address)

    def modules_of(address):
        seen = set()
        def note(frame, event, arg):
            name = frame.f_globals.get("__name__", "")
            if name.startswith("confide"):
                seen.add(name)
        threading.setprofile(note), sys.setprofile(note)
        try:
            assert asyncio.run(get(address)).status_code == 200
        finally:
            sys.setprofile(None), threading.setprofile(None)
        return len(seen)

    asyncio.run(get("/people/table?rows=marital"))
    print("modules entered by one table.json:", modules_of("/people/table.json?rows=sex&columns=region"))
    print("modules entered by one page:", modules_of("/people/table?rows=education&columns=region"))
"""


def started() -> None:
    for what, code in {
        "import confide": "import confide",
        "confide --help": "import sys; sys.argv = ['confide', '--help']; from confide.cli.main import main; main()",
        "confide --version": "import sys; sys.argv = ['confide', '--version']; from confide.cli.main import main; main()",
        "confide.open('http://...')": "import confide; confide.open('http://127.0.0.1:1')",
    }.items():
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, env=os.environ, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        print(f"{what}: {statistics.median(times):.2f} s of CPU, Python's own start included")


def main() -> None:
    modules = trees()
    rooms(modules)
    sizes(modules)
    names(modules)
    forks(modules)
    entered()
    started()


if __name__ == "__main__":
    main()
