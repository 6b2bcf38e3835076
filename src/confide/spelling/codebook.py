"""The public codebook of a data set: declared domains and its policy, never what the data happen to hold."""

from typing import Any

from confide.model.catalog.dataset import Dataset, Role, Variable
from confide.model.policy import Policy, plain_policy

__all__ = ["write_codebook"]


def write_codebook(dataset: Dataset, policy: Policy) -> dict[str, Any]:
    """Everything an analyst may know before asking, as plain values; the policy of the data set among it."""
    shown = [v for v in dataset.variables.values() if v.role is not Role.IDENTIFIER]
    zeros = [{name: list(codes) for name, codes in zero.plain} for zero in dataset.structural_zeros]
    return {
        "name": dataset.name,
        "title": dataset.title,
        "source": dataset.source,
        "period": dataset.period,
        "unit": dataset.unit,
        "weight": dataset.weight,
        **({"sampling": dataset.sampling.words} if dataset.sampling else {}),
        **({"structural_zeros": zeros} if zeros else {}),
        "policy": plain_policy(policy),
        "variables": [_variable(variable) for variable in shown],
    }


def _variable(variable: Variable) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": variable.name,
        "label": variable.label,
        "subject": variable.subject,
        "kind": str(variable.kind),
        "role": str(variable.role),
        "universe": variable.universe and variable.classifies,
    }
    optional = {
        "asked_of": variable.asked_of or None,
        "parent": variable.parent,
        "group": variable.group,
        "of": variable.of,
        "cutpoints": list(variable.cutpoints) or None,
        "nodes": {node: list(codes) for node, codes in variable.nodes.items()} or None,
        "minimum": variable.minimum,
        "maximum": variable.maximum,
    }
    entry |= {key: value for key, value in optional.items() if value is not None}
    if variable.codes is not None:
        entry["codes"] = [
            {"code": c.code, "label": c.label}
            | ({"parent": c.parent} if c.parent is not None else {})
            | ({"missing": True} if c.missing else {})
            for c in variable.codes
        ]
    return entry
