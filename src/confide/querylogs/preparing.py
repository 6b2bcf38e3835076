"""What leaves a log before it is grouped: what identifies by itself, and on request what few asked."""

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from confide.arrays import Bools
from confide.errors import Mistake
from confide.querylogs.log import QueryLog
from confide.querylogs.terms import terms_per_query

__all__ = ["RARE", "RareQueries", "scrubbed"]

MASKS = (
    ("[address]", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b\d{1,3}(?:\.\d{1,3}){3}\b(?:/\S*)?")),
    (
        "[url]",
        re.compile(
            r"\b(?:https?|ftp)\s?[:/]+\s?\S+|\bwww\s?\.\s?\S+|\b[\w-]+(?:\.[\w-]+)*\.(?:com|net|org|edu|gov|mil|int|info|biz|[a-z]{2})\b\S*"
        ),
    ),
    ("[number]", re.compile(r"\+?\(?\d(?:[\s().-]?\d){5,}")),
)
"""What is masked: e-mail and network addresses, web addresses, and numbers of six digits or more, however they are grouped."""

RARE = ("queries", "terms")


def scrubbed(log: QueryLog) -> tuple[QueryLog, int]:
    """The log with addresses, web addresses and long numbers masked, and how many lines that changed.

    >>> scrubbed(QueryLog.of(["a"], ["call 555 123 4567 or ann@example.org"]))[0].texts.to_pylist()
    ['call [number] or [address]']
    """
    texts = log.texts.to_pylist()
    masked = [_masked(text) for text in texts]
    changed = np.array([one != other for one, other in zip(texts, masked, strict=True)])
    return log.rewritten(pa.array(masked, pa.string())), int(changed[log.queries].sum())


def _masked(text: str) -> str:
    for mask, pattern in MASKS:
        text = pattern.sub(mask, text)
    return text


@dataclass(frozen=True)
class RareQueries:
    """A filter that keeps queries asked by `users` or more users, or of which every term was used by so many.

    >>> log = QueryLog.of(["a", "b", "a"], ["tea", "tea", "my own name"])
    >>> RareQueries("queries").share_kept(log), RareQueries("queries").kept(log)
    (0.6666666666666666, QueryLog(2 users, 2 lines, 1 queries))
    """

    what: str = "queries"
    users: int = 2

    def __post_init__(self) -> None:
        if self.what not in RARE:
            raise Mistake(f"Rare are {' or '.join(RARE)}, not {self.what!r}.")

    def share_kept(self, log: QueryLog) -> float:
        """What the filter costs: the share of lines that it keeps."""
        return float(self._lines(log).mean())

    def kept(self, log: QueryLog) -> QueryLog:
        """The log without what few asked; a Mistake if nothing is left."""
        lines = self._lines(log)
        if not lines.any():
            raise Mistake(f"Every line has rare {self.what}: nothing would be left.")
        return log.only(lines)

    def _lines(self, log: QueryLog) -> Bools:
        if self.what == "queries":
            often = _users_of(log.counts) >= self.users
        else:
            terms, _ = terms_per_query(log.texts)
            rare = (_users_of(log.counts @ terms) < self.users).astype(np.int64)
            often = (np.diff(terms.indptr) > 0) & (terms @ rare == 0)
        return np.asarray(often[log.queries])


def _users_of(counts: csr_array) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """How many rows have each column."""
    return np.bincount(counts.indices, minlength=counts.shape[1])
