"""Where a site keeps its state: what `state` in its site.toml names, or its own folder."""

from pathlib import Path
from typing import Any

from confide.errors import Mistake
from confide.model.toml import parse_toml

__all__ = ["MANIFEST", "read_site_file", "state_database"]

MANIFEST = "backup.json"
"""What only a backup has."""


def state_database(folder: Path) -> str | None:
    """The PostgreSQL that the site in a folder shares its state with; None if it keeps it in the folder, as a backup does."""
    if (folder / MANIFEST).exists():
        return None
    found = read_site_file(folder).get("state")
    if found is not None and not (isinstance(found, str) and found.strip()):
        raise Mistake(
            f"'state' in {folder / 'site.toml'} must name a database.",
            suggestions=['Write it as in state = "postgresql://host/name", or leave it out.'],
        )
    return found


def read_site_file(folder: Path) -> dict[str, Any]:
    """What the site.toml of a site says; nothing if there is none."""
    file = folder / "site.toml"
    try:
        return parse_toml(file.read_text(encoding="utf-8"), what="it")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise Mistake(f"{file} cannot be read as UTF-8 text.") from None
    except Mistake as mistake:
        raise Mistake(f"{file} cannot be used: {mistake.message}", suggestions=mistake.suggestions) from None
