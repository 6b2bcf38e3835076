"""Every rule there is, once: what explanations, the policy's page and the reference are made from."""

from confide.answering.road import ANALYSES
from confide.answering.rules.rule import Rule

__all__ = ["RULES"]

_FIRST: dict[str, Rule] = {}
for _analysis in ANALYSES:
    for _rule in _analysis.rules:
        _FIRST.setdefault(_rule.name, _rule)

RULES: tuple[Rule, ...] = tuple(sorted(_FIRST.values(), key=lambda rule: min(rule.judges)))
"""In the order in which they are asked; all but the quotas and the limit of the audit, which depend on who asks and on
what was asked before."""
