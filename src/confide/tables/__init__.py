"""Publishing tables: which cells say too much, and how they are protected.

Names are loaded when they are first used: the server needs a few of them and must not wait for solvers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from confide.errors import Mistake

# The function has the name of its module; bound here, before the module could take its place.
from confide.tables.perturbation.transitions import feasible_pairs, transitions

if TYPE_CHECKING:
    from confide.tables.adjustment.adjust import adjust
    from confide.tables.annealing.safe.protect import safe
    from confide.tables.files.asc import read_asc, write_asc
    from confide.tables.files.hrc import Hierarchy, read_hierarchy, write_hrc
    from confide.tables.files.jj import read_jj, write_jj
    from confide.tables.files.ptable import read_key_table, read_ptable, write_key_table, write_ptable
    from confide.tables.files.rda import read_rda, write_rda
    from confide.tables.files.safe_table import read_safe_table
    from confide.tables.files.tab import read_tab, write_tab
    from confide.tables.loss import cell_loss, information_loss
    from confide.tables.perturbation.cell_keys import perturb
    from confide.tables.perturbation.invariance import invariant
    from confide.tables.perturbation.total_noise import Ma, Thompson
    from confide.tables.rounding.round import round
    from confide.tables.sensitivity import PQ, AllZero, Dominance, PPercent, Threshold
    from confide.tables.suppression.audit import audit
    from confide.tables.suppression.patterns import audit_pattern, read_pattern
    from confide.tables.suppression.suppress import suppress
    from confide.tables.table.table import Status, Table

__all__ = [
    "PQ",
    "AllZero",
    "Dominance",
    "Hierarchy",
    "Ma",
    "PPercent",
    "Status",
    "Table",
    "Thompson",
    "Threshold",
    "adjust",
    "audit",
    "audit_pattern",
    "cell_loss",
    "feasible_pairs",
    "information_loss",
    "invariant",
    "perturb",
    "read_asc",
    "read_hierarchy",
    "read_jj",
    "read_key_table",
    "read_pattern",
    "read_ptable",
    "read_rda",
    "read_safe_table",
    "read_tab",
    "round",
    "safe",
    "suppress",
    "transitions",
    "write_asc",
    "write_hrc",
    "write_jj",
    "write_key_table",
    "write_ptable",
    "write_rda",
    "write_tab",
]

_HOMES = {
    "adjust": "adjustment.adjust",
    "audit": "suppression.audit",
    "audit_pattern": "suppression.patterns",
    "AllZero": "sensitivity",
    "cell_loss": "loss",
    "Dominance": "sensitivity",
    "Hierarchy": "files.hrc",
    "information_loss": "loss",
    "invariant": "perturbation.invariance",
    "Ma": "perturbation.total_noise",
    "perturb": "perturbation.cell_keys",
    "PPercent": "sensitivity",
    "PQ": "sensitivity",
    "read_asc": "files.asc",
    "read_hierarchy": "files.hrc",
    "read_jj": "files.jj",
    "read_key_table": "files.ptable",
    "read_pattern": "suppression.patterns",
    "read_ptable": "files.ptable",
    "read_rda": "files.rda",
    "read_safe_table": "files.safe_table",
    "read_tab": "files.tab",
    "round": "rounding.round",
    "safe": "annealing.safe.protect",
    "Status": "table.table",
    "suppress": "suppression.suppress",
    "Thompson": "perturbation.total_noise",
    "Table": "table.table",
    "Threshold": "sensitivity",
    "write_asc": "files.asc",
    "write_hrc": "files.hrc",
    "write_jj": "files.jj",
    "write_key_table": "files.ptable",
    "write_ptable": "files.ptable",
    "write_rda": "files.rda",
    "write_tab": "files.tab",
}
"""Where each public name lives."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name != "highspy":
            raise
        raise Mistake(f"'tables.{name}' needs the extra 'tables': pip install 'confide[tables]'.") from None
