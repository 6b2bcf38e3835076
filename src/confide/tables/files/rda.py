"""`.rda`: how τ-ARGUS is told what stands in a file of microdata or of cells."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath

from confide.data.hierarchy import TOTAL, Hierarchy
from confide.data.text import read_text, write_text
from confide.errors import Mistake, nearest
from confide.tables.files.hrc import read_hierarchy

__all__ = ["Described", "Rda", "read_rda", "write_rda"]

_KEYWORD = re.compile(r"<(\w+)>([^<]*)")
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_OF_FILE = ("SEPARATOR", "SAFE", "UNSAFE", "PROTECT")
_QUOTED = ("SEPARATOR", "SAFE", "UNSAFE", "PROTECT", "TOTCODE", "CODELIST", "HIERCODELIST", "HIERLEADSTRING")


@dataclass(frozen=True)
class Described:
    """One variable of the file: where it stands, which codes mean that it is missing, and its keywords."""

    name: str
    start: int | None = None
    width: int | None = None
    missing: tuple[str, ...] = ()
    keywords: Mapping[str, str] = field(default_factory=dict)

    def is_a(self, keyword: str) -> bool:
        """Whether the variable has the keyword."""
        return keyword in self.keywords


@dataclass(frozen=True)
class Rda:
    """The description of a file: its variables in order, and what holds for the whole file.

    Fields stand in columns if there is no separator.
    """

    variables: tuple[Described, ...]
    keywords: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()

    @property
    def separator(self) -> str | None:
        return self.keywords.get("SEPARATOR")

    def __getitem__(self, name: str) -> Described:
        for variable in self.variables:
            if variable.name == name:
                return variable
        names = [variable.name for variable in self.variables]
        raise Mistake(f"The description has no variable {name!r}.", suggestions=nearest(name, names))

    def with_keyword(self, keyword: str) -> list[str]:
        """The names of the variables that have the keyword."""
        return [variable.name for variable in self.variables if variable.is_a(keyword)]

    def hierarchy(self, name: str, codes: Iterable[str]) -> Hierarchy:
        """The hierarchy of a variable: from its file, from its digits, or flat; codes for missing are parts of the total.

        `codes` are those in the data.
        """
        one = self[name]
        total = one.keywords.get("TOTCODE") or TOTAL
        lost = [code for code in one.missing if code]
        here = [code for code in (*dict.fromkeys(codes), *lost) if code != total]
        if one.is_a("HIERCODELIST"):
            listed = read_hierarchy(
                self._beside(one.keywords["HIERCODELIST"]), total=total, lead=one.keywords.get("HIERLEADSTRING") or "@"
            )
            up = {code: listed.codes[parent] for code, parent in zip(listed.codes[1:], listed.parents[1:], strict=True)}
            return Hierarchy.of({**up, **{code: None for code in lost if code not in up}}, total=total)
        if one.is_a("HIERLEVELS"):
            widths = [int(width) for width in one.keywords["HIERLEVELS"].split()]
            whole = Hierarchy.digits((code for code in here if code not in lost), widths, total=total)
            up = {code: whole.codes[parent] for code, parent in zip(whole.codes[1:], whole.parents[1:], strict=True)}
            return Hierarchy.of({**up, **dict.fromkeys(lost)}, total=total)
        return Hierarchy.flat(here, total=total)

    def _beside(self, written: str) -> Path:
        """A file that the description names: beside it, whatever folder of another machine it names."""
        name = PureWindowsPath(written).name
        for path in (self.folder / written, self.folder / name):
            if path.is_file():
                return path
        alike = [path for path in self.folder.glob("*") if path.name.lower() == name.lower()]
        if not alike:
            raise Mistake(f"The file {name!r}, which the description names, is not beside it.")
        return alike[0]


def read_rda(path: str | Path) -> Rda:
    """The description in a file."""
    of_file: dict[str, str] = {}
    described: list[tuple[str, dict[str, str]]] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("<"):
            described.append((text, {}))
        for keyword, rest in _KEYWORD.findall(text if text.startswith("<") else ""):
            if keyword.upper() not in _OF_FILE and not described:
                raise Mistake(f"Line {number} of {Path(path).name} stands before the first variable: {text[:60]!r}.")
            known = of_file if keyword.upper() in _OF_FILE else described[-1][1]
            known[keyword.upper()] = _unquoted(rest.strip())
    if not described:
        raise Mistake(f"{Path(path).name} describes no variables.")
    separated = "SEPARATOR" in of_file
    variables = tuple(_variable(text, keywords, separated=separated) for text, keywords in described)
    return Rda(variables, of_file, Path(path).parent)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _variable(text: str, keywords: Mapping[str, str], *, separated: bool) -> Described:
    words = [(quoted if quoted or not bare else bare, not bare) for quoted, bare in _WORD.findall(text)]
    name, rest = words[0][0], words[1:]
    places: list[int] = []
    while rest and not rest[0][1] and rest[0][0].isdigit() and len(places) < (1 if separated else 2):
        places.append(int(rest.pop(0)[0]))
    if not separated and len(places) < 2:
        raise Mistake(f"The description does not say where {name!r} stands.", suggestions=["Give its start and width."])
    start, width = (None, places[0] if places else None) if separated else (places[0], places[1])
    return Described(name, start, width, tuple(word.strip() for word, _ in rest), keywords)


def write_rda(rda: Rda, path: str | Path) -> None:
    """Write a description as τ-ARGUS reads it."""
    lines = [_keyword(keyword, value) for keyword, value in rda.keywords.items()]
    for one in rda.variables:
        places = [str(place) for place in (one.start, one.width) if place is not None]
        name = one.name if one.name.split() == [one.name] else f'"{one.name}"'
        lines.append(" ".join([name, *places, *(f'"{code}"' for code in one.missing)]))
        lines += ["  " + _keyword(keyword, value) for keyword, value in one.keywords.items()]
    write_text(path, "".join(line + "\n" for line in lines))


def _keyword(keyword: str, value: str) -> str:
    shown = f'"{value}"' if keyword in _QUOTED else value
    return f"<{keyword}> {shown}".rstrip()
