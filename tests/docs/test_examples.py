"""Every fenced block of README.md and docs/ is run, or read by what it describes, and its output compared.

python   runs, in one namespace a page; the `output` block after it is what it prints and the value of its last line
console  each line after `$` runs; what follows is its output. `confide serve` starts a server on a free port, which the
         page calls 8000; the server before it, if any, stops
toml     is read by the reader of the file that its title names
json     is JSON; a request is read as one
text     is not run
nginx    and caddyfile run in tests/web/test_subpath.py, ini (a systemd unit) and dockerfile in tests/web/test_running.py,
         sql in tests/engines/test_postgres.py

A block with a title is a file: it is written where the examples of the page run. A comment `<!-- table: NAME -->` stands
above a table that is made here. To write what is true now into the pages: CONFIDE_UPDATE_DOCS=1 pytest tests/docs
"""

import ast
import base64
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from confide.answering.road import ANALYSES
from confide.answering.service import RULES
from confide.attacks.registry import attacks
from confide.attacks.studies import EXPECTED, STUDIES
from confide.attacks.workload.proportions import PROPORTIONS
from confide.cli.main import main
from confide.coprivacy import PeerSettings, SearchSimulation
from confide.microdata import METHODS, Plan
from confide.microdata.description import FileDescription
from confide.model.catalog.toml import read_dataset
from confide.model.parameter import described
from confide.model.policy import PRESETS, SECTIONS, describe, read_policy
from confide.querylogs import LogMicroaggregation
from confide.site import ledger
from confide.site.access import list_tokens
from confide.site.looks.appearance import read_appearance
from confide.spelling.json import read_request

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TAUGHT = [page for page in PAGES if re.search(r"README|/first-|/replay-a-policy", str(page))]
"""The pages that a newcomer follows word for word, with a site of their own."""

SECRETS = [hashlib.sha256(f"secret {number}".encode()).hexdigest() for number in range(5)]
UPDATE = bool(os.environ.get("CONFIDE_UPDATE_DOCS"))

FENCE = re.compile(r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$', re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(?<=<!-- table: )(?P<name>\w+) -->\n\n?(?P<body>(?:\|.*\n)*)\n?")
KINDS = {
    "python",
    "output",
    "console",
    "toml",
    "json",
    "text",
    "csv",
    "nginx",
    "caddyfile",
    "ini",
    "dockerfile",
    "sql",
    "svg",
}
CONFIDE = [sys.executable, "-c", "from confide.cli.main import main; main()"]
SHOWN = "127.0.0.1:8000"


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_what_a_page_shows_is_what_happens(page: Path, desktop: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(FENCE.findall(text)), "a fence cannot be read"
    with Desk(desktop, str(page.relative_to(ROOT))) as desk:
        true = TABLE.sub(table, FENCE.sub(desk.block, text))
    if UPDATE:
        page.write_text(true, encoding="utf-8")
    else:
        assert true.splitlines() == text.splitlines(), "write what is true: CONFIDE_UPDATE_DOCS=1 pytest tests/docs"


@pytest.mark.parametrize("page", TAUGHT, ids=[str(page.relative_to(ROOT)) for page in TAUGHT])
def test_what_a_page_is_answered_and_refused_does_not_depend_on_the_secret(
    page: Path, under: Callable[[str], Path]
) -> None:
    """Numbers may differ, as the pages say; a reader who is refused where the page is answered is lost."""
    text = page.read_text(encoding="utf-8")
    seen = []
    for secret in SECRETS:
        folder = under(secret)
        with Desk(folder, str(page.relative_to(ROOT))) as desk:
            FENCE.sub(desk.block, text)
        seen.append(list(outcomes(folder)))
    assert seen[0] and all(others == seen[0] for others in seen[1:])


def outcomes(folder: Path) -> Iterator[tuple[Any, ...]]:
    """What was asked of the sites in a folder, and what became of it."""
    for site in ("demo-site", "mysite", "jobsite"):
        if (folder / site / "ledger.jsonl").exists():
            yield from (
                (entry.request, entry.outcome, entry.rules) for entry in ledger.read(folder / site / "ledger.jsonl")
            )


@dataclass
class Desk:
    """Where the examples of one page run, one after the other."""

    folder: Path
    page: str
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    said: str | None = None
    status: int = 0
    tokens: list[str] = field(default_factory=list)
    server: subprocess.Popen[bytes] | None = None
    port: int = 0

    def __enter__(self) -> "Desk":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert self.said is None, f"{self.page}: the last Python block prints, and no output block shows it"

    def block(self, found: re.Match[str]) -> str:
        """The block as it should stand in the page."""
        kind, title, body = found.group("kind", "title", "body")
        assert kind in KINDS, f"{self.page}: there is no kind of block called {kind!r}"
        if kind == "output":
            assert self.said is not None, f"{self.page}: an output block follows the Python block that prints"
            said, self.said = self.said, None
            return f"```output\n{said}```"
        assert self.said is None, f"{self.page}: a Python block prints, and no output block shows it:\n{self.said}"
        if title:
            (self.folder / title).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / title).write_text(body, encoding="utf-8")
        if kind == "python":
            self.said = self.python(body, found.string[: found.start("body")].count("\n")) or None
        if kind == "console":
            return f"```console\n{''.join(self.console(body))}```"
        if kind == "toml":
            read_toml(title or "", body, self.folder)
        if kind == "json":
            read = json.loads(body)
            _ = read_request(read) if "ask" in read else None
        return found.group()

    def python(self, code: str, line: int) -> str:
        """What the code prints, and the value of its last line as a notebook shows it."""
        tree = ast.increment_lineno(ast.parse(self.actual(code), self.page), line)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(io.StringIO()) as out:
            exec(compile(tree, self.page, "exec"), self.names)
            value = eval(compile(ast.Expression(last.value), self.page, "eval"), self.names) if last else None
            if value is not None:
                out.write(f"{value!r}\n")
        said = self.shown(out.getvalue()).rstrip("\n")
        return said and said + "\n"

    def console(self, body: str) -> Iterator[str]:
        """Every command with its output."""
        for command in re.findall(r"^\$ (?:.*\\\n)*.*\n", body, re.MULTILINE):
            said = self.shown(self.run(self.actual(command[2:].replace("\\\n", " ").strip())))
            yield command + said + ("\n" if said and not said.endswith("\n") else "")

    def run(self, line: str) -> str:
        """The output of one command line."""
        words = shlex.split(line)
        if line == "echo $?":
            return f"{self.status}\n"
        if words[0] == "export":
            os.environ.update(word.split("=", 1) for word in words[1:])
            return ""
        if words[:2] == ["confide", "serve"] and "--help" not in words:
            return self.serve(words[1:])
        if words[0] == "confide" and not any(re.fullmatch(r"[|&;<>]+", word) for word in _punctuated(line)):
            self.status, said = in_process(words)
            return said
        if words[0] == "curl" and not shutil.which("curl"):
            pytest.fail("curl is not installed, and the documents show it. On Debian: apt-get install curl")
        functions = f'confide() {{ {shlex.join(CONFIDE)} "$@"; }}; {line}'
        done = subprocess.run(
            ["bash", "-c", functions], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False
        )
        self.status = done.returncode
        return done.stdout.decode()

    def serve(self, words: list[str]) -> str:
        """What a server says once it answers."""
        self.stop()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        log = self.folder / "server.log"
        with log.open("wb") as out:
            command = [*CONFIDE, *words, "--port", str(self.port)]
            self.server = subprocess.Popen(command, stdout=out, stderr=out)
        for _ in range(300):
            if self.server.poll() is not None:
                self.status, self.server = self.server.returncode, None
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            time.sleep(0.1)
        return log.read_text()

    def stop(self) -> None:
        if self.server:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait(20)
            self.server = None

    def actual(self, text: str) -> str:
        """What a page writes, with the port and the tokens that are real here."""
        for number, token in enumerate(self.tokens):
            text = text.replace(_token(number), token)
        return text.replace(SHOWN, f"127.0.0.1:{self.port}")

    def shown(self, text: str) -> str:
        """What happened, with everything that is different each time made the same."""
        for token in re.findall(r"confide_[\w-]{43}", text):
            if token not in self.tokens:
                self.tokens.append(token)
            text = text.replace(token, _token(self.tokens.index(token)))
        text = text.replace(f"127.0.0.1:{self.port}", SHOWN).replace(f"{self.folder}/", "")
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "2026-01-15T09:30:00.000Z", text)
        text = text.replace(datetime.now(UTC).date().isoformat(), "2026-01-15")
        text = re.sub(r"(?<=Head: )[0-9a-f]{64}", _hex("head"), text)
        text = re.sub(r"(?<=process )\d+", "4242", text)
        text = re.sub(r"\d\d:\d\d(?= UTC)", "09:30", re.sub(r"\d+(?= GB free)", "100", text))
        text = re.sub(r"(?<=, )(duckdb|numpy|pyarrow) [\d.]+", r"\1 1.0", text)
        text = re.sub(r"^date: .*$", "date: Thu, 15 Jan 2026 09:30:00 GMT", text, flags=re.MULTILINE)
        return re.sub(r"[ \r]+$", "", text, flags=re.MULTILINE)


def _punctuated(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=False, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def _token(number: int) -> str:
    return "confide_" + base64.urlsafe_b64encode(hashlib.sha256(f"token {number}".encode()).digest()).decode()[:43]


def _hex(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def in_process(words: list[str]) -> tuple[int, str]:
    """The exit status and the output of the command line, run here because starting Python each time is slow."""
    out = io.StringIO()
    started = patch.object(sys.modules["__main__"], "__package__", None, create=True)  # not as `python -m pytest`
    with redirect_stdout(out), redirect_stderr(out), patch.object(sys, "argv", words), started:
        try:
            main()
        except SystemExit as leave:
            return int(leave.code or 0), out.getvalue()
    return 0, out.getvalue()


def read_toml(title: str, text: str, folder: Path) -> None:
    """Read a file of a site as the site would."""
    beside = (folder / title).parent
    if title.endswith("dataset.toml"):
        read_dataset(text, name="example", read_file=lambda name: (beside / name).read_text(encoding="utf-8"))
    elif title.endswith(("policy.toml", "draft.toml")):
        read_policy(text)
    elif title.endswith("site.toml"):
        read_appearance(beside)
    elif title.endswith("access.toml"):
        list_tokens(folder / title)
    elif title.endswith("roles.toml"):
        FileDescription.of(tomllib.loads(text), lambda name: (folder / name).read_text(encoding="utf-8"))
    elif title.endswith("peer.toml"):
        PeerSettings.read(folder / title)
    elif title.endswith("plan.toml"):
        Plan.read(folder / title)
    else:
        raise AssertionError(f"say by a title which file of a site this is, not {title!r}")


def table(found: re.Match[str]) -> str:
    name = found.group("name")
    return f"{name} -->\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in TABLES[name]()) + "\n"


def _policy_fields() -> Iterator[list[str]]:
    yield from (["field", "default", "may be", "what it does"], ["---"] * 4)
    limits = {f"{s}.{f.name}": f.metadata for s, kind in SECTIONS.items() for f in fields(kind)}
    for name, default, help in describe():
        yield [f"`{name}`", f"`{default}`", _range(limits[name], default), help]


def _range(limits: Any, default: str) -> str:
    if limits["among"]:
        return ", ".join(f"`{word}`" for word in limits["among"])
    if default in ("true", "false"):
        return "`true`, `false`"
    low, high = limits["low"], limits["high"]
    if low is None:
        return "names of variables" if default.startswith("[") else "the name of a variable"
    return f"{low:,g} or more" if high is None else f"{low:,g} to {high:,.10g}"


def _presets() -> Iterator[list[str]]:
    yield from (["field", *(f"`{name}`" for name in PRESETS)], ["---"] * (1 + len(PRESETS)))
    for name, _, _ in describe():
        section, one = name.split(".")
        values = [json.dumps(getattr(getattr(policy, section), one)) for policy in PRESETS.values()]
        if len(set(values)) > 1:
            yield [f"`{name}`", *(f"`{value}`" for value in values)]


def _parameters(kind: type[Any]) -> Iterator[list[str]]:
    yield from (["parameter", "default", "may be", "what it does"], ["---"] * 4)
    for name, default, range, help in described(kind):
        yield [f"`{name}`", default and f"`{default}`", range, help]


def _rules() -> Iterator[list[str]]:
    """Every rule with what it refuses, and the kinds of questions that it concerns."""
    yield from (["rule", "refused is", "asked of"], ["---"] * 3)
    for rule in RULES:
        kinds = [analysis.kind.ask for analysis in ANALYSES if rule.name in {r.name for r in analysis.rules}]
        yield [f"`{rule.name}`", rule.refused, "every question" if len(kinds) == len(ANALYSES) else ", ".join(kinds)]


def _wants() -> Iterator[list[str]]:
    yield from (["rule", "what it wants under `standard`"], ["---"] * 2)
    standard = PRESETS["standard"]
    for rule in RULES:
        yield [f"`{rule.name}`", rule.wants(standard) if rule.applies(standard) else "switched off"]


def _red_team(name: str) -> Iterator[list[str]]:
    """What was measured by benchmarks/red_team.py --record, an attack a line."""
    measured = json.loads((ROOT / "docs" / "explanation" / "red-team.json").read_text(encoding="utf-8"))
    main = [one for one in measured if one["data"] == name and not one.get("run")]
    found = {(one["policy"], one["rows"], one["attack"]): one for one in main}
    columns = [
        (preset, rows) for rows in (20_000, 100_000) for preset in PRESETS if (preset, rows) in {k[:2] for k in found}
    ]
    yield ["attack", *(f"`{preset}`, {rows:,}" for preset, rows in columns), "questions"]
    yield ["---"] * (2 + len(columns))
    for attack in attacks().values():
        line = [found.get((*column, attack.name)) for column in columns]
        tried = [one for one in line if one and one["applies"]]
        if tried:
            asked = max(one["questions"] for one in tried)
            yield [f"{attack.code} {attack.name}", *map(_outcome, line), f"{asked:,}"]


def _red_team_more() -> Iterator[list[str]]:
    """What was measured otherwise: under another secret, with more questions, on real files; an attack a line."""
    measured = json.loads((ROOT / "docs" / "explanation" / "red-team.json").read_text(encoding="utf-8"))
    found = {((one["data"], one["rows"], one["run"]), one["attack"]): one for one in measured if one.get("run")}
    columns = list(dict.fromkeys(part for part, _ in found))
    yield ["attack", *(f"{data}, {rows:,}, {run}" for data, rows, run in columns)]
    yield ["---"] * (1 + len(columns))
    for attack in attacks().values():
        line = [found.get((column, attack.name)) for column in columns]
        if any(one and one["applies"] for one in line):
            yield [f"{attack.code} {attack.name}", *map(_outcome, line)]


def _outcome(one: Any) -> str:
    """How often the intruder is right, and by how many points more than a guess or other people's data explain."""
    if one is None or not one["applies"] or not one["targets"]:
        return "–"
    lift = 100 * (one["success"] - max(one["guess"], one["others"] or 0))
    shown = f"{100 * one['success']:.0f} % ({lift:+.0f})"
    return f"**{shown}**" if lift > 5 else shown


def _frontier() -> Iterator[list[str]]:
    """What was measured by benchmarks/frontier.py --record, a way to protect a line."""
    measured = json.loads((ROOT / "docs" / "explanation" / "frontier.json").read_text(encoding="utf-8"))
    answered, errors = ("counts", "means", "models"), ("counts", "means", "coefficients")
    lifts = [f"lift on {of}: worst, mean" for of in ("units", "sets")]
    shares = [f"{kind} answered" for kind in answered]
    yield ["data", "way to protect", *lifts, *shares, *(f"error of {of}" for of in errors)]
    yield ["---"] * (4 + len(answered) + len(errors))
    for one in measured:
        yield [
            f"{one['data']}, {one['rows']:,}",
            f"`{one['policy']}`",
            *(_worst_and_mean(one[of]) for of in ("units", "sets")),
            *(f"{100 * one['answered'][kind]:.0f} %" if kind in one["answered"] else "–" for kind in answered),
            *(f"{one['errors'][of]:.2f}" if of in one["errors"] else "–" for of in errors),
        ]


def _worst_and_mean(lifts: Any) -> str:
    return f"{100 * lifts['worst']:.0f} ({lifts['attack']}), {100 * lifts['mean']:.0f}" if lifts else "–"


def _studies() -> Iterator[list[str]]:
    """Every figure of every study, those of one kind in a row; mean errors that a few establishments carry are left out."""
    yield from (["attack", "source", "figure", "expected", "by", "ours"], ["---"] * 6)
    for name, study in STUDIES.items():
        result = study.run()
        for what in dict.fromkeys(figure.what for figure in result.figures if not figure.what.endswith(": mean error")):
            said, ours = EXPECTED[name].get(what), result[what]
            expected = [f"{said.values[case]:.3g}" if case in said.values else "–" for case in ours] if said else []
            words = f"{what}: {' / '.join(ours)}" if len(ours) > 1 or " by " in what else what
            by = said.origin if said else ""
            yield [study.title, study.source, words, " / ".join(expected), by, " / ".join(map(_small, ours.values()))]


def _small(value: float) -> str:
    """Below 1e-5 the last digits are those of the processor."""
    return "< 1e-5" if 0 < value < 1e-5 else f"{value:.3g}"


def _scaled() -> dict[str, dict[tuple[str, int], Any]]:
    """What was measured by benchmarks/scale.py --record, by what was done, then by engine and records."""
    measured = json.loads((ROOT / "docs" / "reference" / "performance.json").read_text(encoding="utf-8"))
    found: dict[str, dict[tuple[str, int], Any]] = {}
    for one in measured["figures"]:
        found.setdefault(one["what"], {})[one["engine"], one["rows"]] = one
    return found


def _performance() -> Iterator[list[str]]:
    """A line for whatever is done, a column for each engine and size."""
    scaled = _scaled()
    parts = list(scaled["ingest"])
    yield ["", *(f"`{engine}`, {rows / 1e6:g} million" for engine, rows in parts)]
    yield ["---"] * (1 + len(parts))
    for what, found in scaled.items():
        if any(one["seconds"] for one in found.values()):
            yield [what, *(_seconds(found.get(part)) for part in parts)]
    for what in ("ingest", "answering"):
        held = [scaled[what].get(part) for part in parts]
        yield [f"memory: {what}", *map(_memory, held)]


def _memory(one: Any) -> str:
    if one is None:
        return "–"
    own = f", {one['own'] / 1024:.1f} of its own" if one.get("own") else ""
    return f"{one['megabytes'] / 1024:.1f} GB{own}"


def _seconds(one: Any) -> str:
    if one is None:
        return "–"
    ratio = f", {_ratio(one['seconds'] / one['raw'])} of raw" if one["raw"] else ""
    seconds = one["seconds"]
    return f"{seconds:,.0f} s{ratio}" if seconds >= 1000 else f"{seconds:.3g} s{ratio}"


REGISTER = 1400
"""Millions of records of the register that nobody measured."""


def _slopes() -> Iterator[list[str]]:
    """What a million records more take from the smallest to the largest file, and what that would make of the register."""
    scaled = _scaled()
    engines = list(dict.fromkeys(engine for engine, _ in scaled["ingest"]))
    yield ["", *(f"`{engine}`, a million more | `{engine}`, 1.4 billion" for engine in engines)]
    yield ["---"] * (1 + 2 * len(engines))
    for what, found in scaled.items():
        if any(one["seconds"] for one in found.values()):
            sizes = {e: {rows: one["seconds"] for (of, rows), one in found.items() if of == e} for e in engines}
            yield [what, *(" | ".join(_slope(sizes[engine], _time)) for engine in engines)]
    for what in ("ingest", "answering"):
        held = {e: {rows: one["megabytes"] for (of, rows), one in scaled[what].items() if of == e} for e in engines}
        more = {
            e: sizes if len(sizes) > 1 else {} for e, sizes in held.items()
        }  # one size says nothing: most of it is there at once
        yield [f"memory: {what}", *(" | ".join(_slope(more[engine], _gigabytes)) for engine in engines)]


def _slope(measured: Mapping[int, float], words: Callable[[float], str]) -> tuple[str, str]:
    if not measured:
        return "–", "–"
    least, most = min(measured), max(measured)
    if least == most:
        each = measured[most] / most * 1e6
        return f"≤ {words(each)}", f"≤ {words(each * REGISTER)}"
    each = (measured[most] - measured[least]) / (most - least) * 1e6
    if each <= 0:
        return "does not grow", words(measured[most])
    return words(each), words(measured[most] + each * (REGISTER - most / 1e6))


def _time(seconds: float) -> str:
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def _gigabytes(megabytes: float) -> str:
    return f"{megabytes / 1024:.0f} GB" if megabytes >= 10240 else f"{megabytes / 1024:.2g} GB"


def _ratio(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _proportions() -> Iterator[list[str]]:
    yield from (["of what", "how often"], ["---"] * 2)
    yield from (list(row) for row in PROPORTIONS.described())


TABLES: dict[str, Callable[[], Iterator[list[str]]]] = {
    "red_team_people": partial(_red_team, "people"),
    "red_team_more": _red_team_more,
    "red_team_firms": partial(_red_team, "firms"),
    "frontier": _frontier,
    "performance": _performance,
    "slopes": _slopes,
    "studies": _studies,
    "policy": _policy_fields,
    "presets": _presets,
    "proportions": _proportions,
    "rules": _rules,
    "wants": _wants,
    "peer_settings": partial(_parameters, PeerSettings),
    "search_simulation": partial(_parameters, SearchSimulation),
    "log_microaggregation": partial(_parameters, LogMicroaggregation),
}
TABLES |= {word.replace("-", "_"): partial(_parameters, kind) for word, kind in METHODS.items()}
