"""Every attack on a published table, by its name. A new attack is added here."""

from confide.attacks.published.adjusted_cells import AdjustedCells
from confide.attacks.published.attack import TableAttack
from confide.attacks.published.rounded_cells import RoundedCells
from confide.attacks.published.suppressed_cells import SuppressedCells

__all__ = ["TABLE_ATTACKS"]

TABLE_ATTACKS: dict[str, TableAttack] = {
    attack.name: attack for attack in (SuppressedCells(), RoundedCells(), AdjustedCells())
}
"""In the order of the catalogue."""
