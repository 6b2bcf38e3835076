"""The public codebook as DDI-Codebook 2.5, for catalogues of data archives."""

import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

__all__ = ["write_ddi"]

NAMESPACE = "ddi:codebook:2_5"

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_ddi(codebook: Mapping[str, Any]) -> str:
    """A codebook, as `write_codebook` gives it, as the text of an XML file.

    Promise: nothing but what is declared, no counts and no identifiers; texts are escaped.
    """
    root = Element("codeBook", {"xmlns": NAMESPACE, "version": "2.5"})
    study = SubElement(root, "stdyDscr")
    citation = SubElement(study, "citation")
    titles = SubElement(citation, "titlStmt")
    _child(titles, "titl", codebook["title"])
    _child(titles, "IDNo", codebook["name"])
    if codebook["source"]:
        _child(SubElement(citation, "prodStmt"), "producer", codebook["source"])
    if codebook["period"]:
        _child(SubElement(SubElement(study, "stdyInfo"), "sumDscr"), "timePrd", codebook["period"])
    data = SubElement(root, "dataDscr")
    for variable in codebook["variables"]:
        _variable(data, variable)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _variable(data: Element, variable: Mapping[str, Any]) -> None:
    number = variable["kind"] == "numeric"
    told = {"name": _clean(variable["name"]), "intrvl": "contin" if number else "discrete"}
    element = SubElement(data, "var", told)
    _child(element, "labl", variable["label"])
    bounds = {
        key: f"{variable[name]:.15g}" for key, name in (("min", "minimum"), ("max", "maximum")) if name in variable
    }
    if bounds:
        SubElement(SubElement(element, "valrng"), "range", bounds)
    if variable.get("asked_of"):
        _child(element, "universe", variable["asked_of"])
    for code in () if number else variable.get("codes", ()):
        category = SubElement(element, "catgry", {"missing": "Y"} if code.get("missing") else {})
        _child(category, "catValu", code["code"])
        _child(category, "labl", code["label"])


def _child(parent: Element, tag: str, text: str) -> None:
    SubElement(parent, tag).text = _clean(text)


def _clean(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_XML.sub("", text)
