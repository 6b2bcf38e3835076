"""Where records were read from, if that was a table that changes, and how to tell whether it has since."""

from dataclasses import dataclass
from typing import Any

__all__ = ["Origin", "is_database"]


@dataclass(frozen=True)
class Origin:
    """A table of a database, as libpq and the database call them, or the folder of a Delta table; and what it was: another text
    if anything in it is another.

    The last is made of the true records, so it is kept only under the site's secret.
    """

    database: str
    table: str
    state: str

    @property
    def title(self) -> str:
        return self.table or self.database


def is_database(source: Any) -> bool:
    """Whether data are named as a database and not as a file.

    >>> is_database("postgresql://db.example/statistics"), is_database("people.csv")
    (True, False)
    """
    return isinstance(source, str) and source.startswith(("postgresql://", "postgres://"))
