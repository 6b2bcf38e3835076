"""The five outcomes that reach a person instead of an answer. They are the same after pickling, so after a process pool.

>>> raise Mistake("No variable called 'aeg' in 'people'.", suggestions=["Did you mean 'age'?"])
Traceback (most recent call last):
confide.errors.Mistake: No variable called 'aeg' in 'people'. Did you mean 'age'?
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = ["ConfideError", "Denied", "Fault", "Mistake", "Reason", "Refused", "Suggestion", "Waiting", "nearest"]


class ConfideError(Exception):
    """What happened, then what to do. Never carries a number computed from unprotected data."""

    exit_code = 1
    http_status = 500
    title = "Fault"
    retry_after = 0
    """Seconds after which to try again, if that may help."""

    def __init__(self, message: str, *, suggestions: Sequence[str] = ()) -> None:
        self.message = message
        self.suggestions = tuple(suggestions)
        super().__init__(" ".join([message, *self.suggestions]))

    def __reduce__(self) -> tuple[object, ...]:
        """An exception is usually made again by `__init__` of its sentence, from which reasons cannot be had back."""
        return _again, (type(self), *self.args), self.__dict__


def _again(kind: type[ConfideError], sentence: str) -> ConfideError:
    return kind.__new__(kind, sentence)


class Mistake(ConfideError):
    """The asker can repair it: exit code 2, HTTP 422."""

    exit_code = 2
    http_status = 422
    title = "Mistake"


class Fault(ConfideError):
    """Ours: exit code 1, HTTP 500; what is shown carries no detail of the data."""


class Reason(str):
    """One sentence of a refusal; `rule` names the rule that said no."""

    rule: str

    def __new__(cls, rule: str, sentence: str) -> "Reason":
        reason = super().__new__(cls, sentence)
        reason.rule = rule
        return reason

    @property
    def lasting(self) -> bool:
        """Whether asking the same again would give it again. A quota's and a review's would not."""
        return not self.rule.startswith(("quota.", "review."))

    def __reduce__(self) -> tuple[object, ...]:
        return Reason, (self.rule, str(self))


class Suggestion(str):
    """A way forward in words; `address` is where the request that passes is answered."""

    address: str

    def __new__(cls, words: str, address: str) -> "Suggestion":
        suggestion = super().__new__(cls, words)
        suggestion.address = address
        return suggestion

    def __reduce__(self) -> tuple[object, ...]:
        return Suggestion, (str(self), self.address)


class Refused(ConfideError):
    """The policy says no: exit code 3, HTTP 403. `reasons` say which rule; `suggestions` are requests that pass."""

    exit_code = 3
    http_status = 403
    title = "Refused"

    def __init__(self, reasons: Iterable[Reason], *, policy: str, suggestions: Sequence[str] = ()) -> None:
        self.reasons = tuple(reasons)
        self.policy = policy
        super().__init__(" ".join(self.reasons), suggestions=suggestions)


class Waiting(Refused):
    """The result waits for a custodian's yes or no: exit code 3, HTTP 202. Asking again tells how it stands."""

    http_status = 202
    title = "Waiting"


class Denied(ConfideError):
    """We do not know who asks (HTTP 401), or it is not theirs to ask (HTTP 403): exit code 3."""

    exit_code = 3
    http_status = 401
    title = "Denied"

    def __init__(self, message: str, *, http_status: int = 401, suggestions: Sequence[str] = ()) -> None:
        self.http_status = http_status
        super().__init__(message, suggestions=suggestions)


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Suggest what was probably meant, as a list of no or one sentence."""
    close = get_close_matches(name, list(known), n=1)
    return [f"Did you mean {close[0]!r}?"] if close else []
