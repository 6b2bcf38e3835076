"""Invented people and firms to try everything on; no real person or firm is described.

The catalog of each lies beside the generator as `people.toml` and `firms.toml`, the policy of firms as `firms.policy.toml`.
"""

from confide.demo.firms import firms
from confide.demo.people import people

__all__ = ["firms", "people"]
