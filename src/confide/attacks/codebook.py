"""The public codebook of a site as the description and the policy that it was made from, as far as the public knows them."""

from collections.abc import Mapping
from typing import Any

from confide.errors import Fault, Mistake
from confide.model.catalog.dataset import MOST_DECIMALS, Code, CodeList, Dataset, Kind, Role, Variable
from confide.model.catalog.sampling import SampleDesign
from confide.model.policy import Policy, policy_of

__all__ = ["read_codebook", "read_public_policy"]


def read_codebook(book: Mapping[str, Any]) -> Dataset:
    """The data set that a codebook describes; whatever is not public (identifiers, decimals) is left open."""
    try:
        return Dataset(
            name=book["name"],
            title=book["title"],
            variables={entry["name"]: _variable(entry) for entry in book["variables"]},
            source=book["source"],
            period=book["period"],
            unit=book["unit"],
            weight=book["weight"],
            sampling=SampleDesign() if "sampling" in book else None,
        )
    except (KeyError, TypeError, ValueError):
        raise Fault("The codebook of the site cannot be read.") from None


def read_public_policy(book: Mapping[str, Any]) -> Policy:
    """The policy that a codebook says the data set is answered under."""
    try:
        return policy_of(dict(book["policy"]), base=Policy())
    except (KeyError, TypeError, ValueError, Mistake):
        raise Fault("The codebook of the site tells no policy that can be read.") from None


def _variable(entry: Mapping[str, Any]) -> Variable:
    codes = [Code(c["code"], c["label"], c.get("parent"), c.get("missing", False)) for c in entry.get("codes", ())]
    return Variable(
        name=entry["name"],
        label=entry["label"],
        kind=Kind(entry["kind"]),
        role=Role(entry["role"]),
        subject=entry["subject"],
        codes=CodeList(tuple(codes)) if "codes" in entry else None,
        parent=entry.get("parent"),
        group=entry.get("group"),
        universe=entry["universe"],
        of=entry.get("of"),
        cutpoints=tuple(entry.get("cutpoints", ())),
        nodes={node: tuple(inside) for node, inside in entry.get("nodes", {}).items()},
        decimals=MOST_DECIMALS,
        minimum=entry.get("minimum"),
        maximum=entry.get("maximum"),
        missing=("", "NA", "nan"),
    )
