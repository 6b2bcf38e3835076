"""The append-only, hash-chained record of questions and outcomes, and of what custodians did: one JSON object a line.

Where several machines serve a site, the chain is in a database, and each machine's files follow it (`shared`).

Promise: what `append` returned is on the disk, and any later change, deletion, insertion or reordering of entries is
found and named by `verify`; a missing end is found when a site is opened, too. Not promised: who may write the folder can rewrite the
chain from some entry to its end, and the anchor with it. Keep the head that `verify` gives somewhere else (paper, another
machine) and compare.

Other modules see what is named here, and nothing of files, locks, anchors and checkpoints.
"""

from confide.site.ledger.entry import Entry, Outcome
from confide.site.ledger.files import whole_lines
from confide.site.ledger.holding import held_for_workers
from confide.site.ledger.index import VISITORS, LedgerIndex, together
from confide.site.ledger.ledger import COMMAND_LINE, Ledger, accept, record_act, share
from confide.site.ledger.reading import Verification, anchored, copy, last, read, read_questions, take_in, verify

__all__ = [
    "COMMAND_LINE",
    "VISITORS",
    "Entry",
    "Ledger",
    "LedgerIndex",
    "Outcome",
    "Verification",
    "accept",
    "anchored",
    "copy",
    "held_for_workers",
    "last",
    "read",
    "read_questions",
    "record_act",
    "share",
    "take_in",
    "together",
    "verify",
    "whole_lines",
]
