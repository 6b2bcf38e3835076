"""Projects: people who ask about some data sets together, for a purpose, with a quota and a policy of their own."""

import re
from dataclasses import dataclass

from confide.errors import Mistake
from confide.site.access.people import check_person

__all__ = ["Project"]


@dataclass(frozen=True)
class Project:
    """Who asks what for, and about what. The data sets of a project are there for its people, for custodians, and for nobody else
    whose token does not name them.

    >>> Project("cancer", purpose="Survival by region", people=("ana",), datasets=("patients",)).words
    'patients, for ana; 0 questions a day: no limit'
    """

    name: str
    purpose: str
    people: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    quota: int = 0
    """So many questions a day, of all its people and data sets together; 0 if only the policies limit them."""
    review: bool = False
    """Whether every result waits for a custodian's yes."""
    policy: bool = False
    """Whether it has a policy of its own, in `projects/NAME.toml`."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,59}", self.name):
            raise Mistake(
                f"{self.name[:60]!r} cannot name a project.",
                suggestions=["Use letters, digits, _ and -, beginning with a letter."],
            )
        if not 1 <= len(self.purpose) <= 500 or not self.purpose.isprintable():
            raise Mistake("A project needs a purpose: one line of 1 to 500 printable characters.")
        if not self.datasets:
            raise Mistake(f"The project {self.name!r} needs a data set.", suggestions=["Name at least one."])
        if self.quota < 0:
            raise Mistake("The quota of a project must be 0 (none) or more questions a day.")
        for person in self.people:
            check_person(person)

    @property
    def words(self) -> str:
        """What it may ask, in words."""
        people = ", ".join(self.people) or "nobody yet"
        limit = f"{self.quota} questions a day" + ("" if self.quota else ": no limit")
        more = ["every result reviewed"] * self.review + ["a policy of its own"] * self.policy
        return "; ".join([f"{', '.join(self.datasets)}, for {people}", limit, *more])
