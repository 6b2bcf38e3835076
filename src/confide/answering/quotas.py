"""How much may be asked in a day, and in whose words it is said."""

from dataclasses import dataclass

from confide.errors import Reason

__all__ = ["DayQuota"]


@dataclass(frozen=True)
class DayQuota:
    """At most `limit` questions a day (UTC) of somebody, of a data set or of all together; 0 means no limit.

    >>> print(DayQuota("ana", None, 20).reason)
    You have asked 20 questions today, the most that your token allows.
    """

    who: str
    dataset: str | None
    limit: int
    project: str = ""
    """Whose people are counted together."""

    @property
    def reason(self) -> Reason:
        """Why nothing more is answered today."""
        if self.project:
            words = f"The project {self.project!r} has asked {self.limit} questions today, the most it may."
            return Reason("quota.project", words)
        if self.dataset is None:
            words = f"You have asked {self.limit} questions today, the most that your token allows."
            return Reason("quota.token", words)
        return Reason(
            "quota.per_day", f"You have asked {self.limit} questions of {self.dataset!r} today, the most allowed."
        )
