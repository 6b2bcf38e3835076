"""DDI-Codebook (versions 1 to 2.5): a study, and its variables with their labels, categories, missing values and universes.

Counts and ranges are not read: in the files of archives they are those of the data, and a description is public.
XML is read without document types: no entity, no file and no address it names is ever opened or expanded.
"""

from collections.abc import Mapping
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from confide.errors import Mistake
from confide.sources.dictionaries.entry import DictionaryEntry, StudyFacts

__all__ = ["read_ddi", "read_xml"]

DEEPEST = 60
"""Elements nested deeper than this are no codebook; DDI's own are within twenty."""

MOST = 5_000_000
"""More elements than this are not read: some 10,000 variables with 100 categories each have fewer."""


_STUDY = ("citation/titlStmt/titl", "citation/prodStmt/producer", "stdyInfo/sumDscr/timePrd")


def read_ddi(path: Path) -> tuple[Mapping[str, DictionaryEntry], StudyFacts]:
    """What a DDI-Codebook file says of each variable, and of the study."""
    root = read_xml(path)
    found = [variable for variable in root.iter("var") if variable.get("name")]
    if not found:
        raise Mistake(f"{path.name} is no DDI-Codebook: it has no <var name=...>.")
    facts = (_text(root, f"stdyDscr/{place}") for place in _STUDY)
    return {variable.get("name", ""): _described(variable) for variable in found}, StudyFacts(*facts)


def _described(variable: Element) -> DictionaryEntry:
    categories = [(_text(c, "catValu"), _text(c, "labl"), c.get("missing", "")) for c in variable.findall("catgry")]
    values = {code: label or code for code, label, _ in categories if code}
    declared = [item.get("VALUE", "").strip() for item in variable.findall("invalrng/item")]
    declared += [code for code, _, missing in categories if code and missing.upper() == "Y"]
    label = _text(variable, "labl") or _text(variable, "qstn/qstnLit")
    return DictionaryEntry(label, values, tuple(dict.fromkeys(filter(None, declared))), _text(variable, "universe"))


def _text(element: Element, path: str) -> str:
    found = element.find(path)
    return "" if found is None else " ".join("".join(found.itertext()).split())


def read_xml(path: Path) -> Element:
    """An XML file as elements without namespaces; a Mistake if it has a document type, is nested too deep, or is no XML."""
    reading = _Reading(path)
    try:
        with path.open("rb") as file:
            reading.parser.ParseFile(file)
        return reading.builder.close()
    except (expat.ExpatError, AssertionError, ValueError):
        raise Mistake(f"{path.name} cannot be read as XML.") from None


class _Reading:
    """A parser that builds elements and counts them, and knows no document types."""

    def __init__(self, path: Path) -> None:
        self.path, self.builder = path, TreeBuilder()
        self.depth = self.number = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.CharacterDataHandler, self.parser.StartDoctypeDeclHandler = self.builder.data, self._refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth, self.number = self.depth + 1, self.number + 1
        if self.depth > DEEPEST or self.number > MOST:
            raise Mistake(f"{self.path.name} is nested too deep, or has too many elements, for a codebook.")
        self.builder.start(_local(name), {_local(key): value for key, value in attributes.items()})

    def _end(self, name: str) -> None:
        self.depth -= 1
        self.builder.end(_local(name))

    def _refuse(self, *_: object) -> None:
        raise Mistake(f"{self.path.name} has a document type (<!DOCTYPE). Take it out: what it names is not read.")


def _local(name: str) -> str:
    return name.rpartition(" ")[2]
