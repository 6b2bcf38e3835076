"""A site behind HTTP. Nothing here needs an engine."""

from typing import Any, TypeVar
from urllib.parse import quote
from weakref import finalize

import httpx

from confide.client import Site
from confide.errors import ConfideError, Denied, Fault, Mistake, Reason, Refused, Suggestion, Waiting
from confide.formats.document import read_release
from confide.model.request import Request
from confide.spelling.url import write_url

__all__ = ["RemoteSite"]

R = TypeVar("R")


class RemoteSite(Site):
    """A site behind HTTP."""

    def __init__(self, url: str, *, token: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            self._http = httpx.Client(base_url=url.rstrip("/") + "/", headers=headers, timeout=300)
        except (httpx.InvalidURL, ValueError):
            raise Mistake(f"{url[:80]!r} is not an address, or the token is not one that Confide gave.") from None
        self._close = finalize(self, self._http.close)
        self._names: list[str] | None = None

    def names(self) -> list[str]:
        if self._names is None:
            listed = self._get("api/datasets")
            try:
                self._names = [str(dataset["name"]) for dataset in listed["datasets"]]
            except (KeyError, TypeError):
                raise self._stranger("its list of data sets cannot be read") from None
        return self._names

    def ask(self, request: Request[R], *, diagnostics: bool = False) -> R:
        document = self._get(write_url(request, ending=".json") + ("&diagnostics=true" if diagnostics else ""))
        release: R = self._read(document)
        return release

    def codebook(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._get(f"api/datasets/{quote(name, safe='')}")
        return found

    def reviews(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._get("api/reviews")["reviews"]
        return found

    def workspace(self) -> dict[str, Any]:
        found: dict[str, Any] = self._get("api/workspace")
        return found

    def keep(self, dataset: str, definition: str) -> None:
        self._get("api/workspace", sent={"dataset": dataset, "define": definition})

    def keep_question(self, name: str, question: str) -> None:
        self._get("api/workspace", sent={"name": name, "question": question})

    def forget(self, name: str, *, dataset: str = "") -> None:
        self._get("api/workspace/remove", sent={"name": name, "dataset": dataset})

    def close(self) -> None:
        self._close()

    def _get(self, address: str, *, sent: dict[str, str] | None = None) -> Any:
        try:
            response = self._http.get(address) if sent is None else self._http.post(address, data=sent)
            body = response.json()
        except httpx.HTTPError as error:
            what = f"{self._http.base_url} cannot be reached ({type(error).__name__})."
            raise Fault(what, suggestions=["Is the server running, and the address right?"]) from None
        except ValueError:
            raise self._stranger(f"status {response.status_code}, not JSON") from None
        if response.status_code == 200 and isinstance(body, dict):
            return body
        try:
            raise _problem(body, response.status_code, below=self._http.base_url.path)
        except (AttributeError, KeyError, TypeError):
            raise self._stranger(f"status {response.status_code}, no problem document") from None

    def _read(self, document: Any) -> Any:
        try:
            return read_release(document)
        except Mistake:
            raise self._stranger("its answer cannot be read") from None

    def _stranger(self, why: str) -> Fault:
        return Fault(f"{self._http.base_url} did not answer as a Confide site ({why}).")


def _problem(body: Any, status: int, *, below: str) -> ConfideError:
    """The error that a problem document describes; the same as the site would raise in this process."""
    detail = str(body["detail"])
    offers = [_suggestion(str(offer["text"]), offer.get("url"), below) for offer in body["suggestions"]]
    reasons = [Reason(str(reason["rule"]), str(reason["text"])) for reason in body["reasons"]]
    if reasons:
        return (Waiting if status == Waiting.http_status else Refused)(
            reasons, policy=str(body["policy"]), suggestions=offers
        )
    if status in (401, 403):
        return Denied(detail, http_status=status, suggestions=offers)
    return Mistake(detail, suggestions=offers) if status < 500 else Fault(detail, suggestions=offers)


def _suggestion(text: str, url: str | None, below: str) -> str:
    """A site in this process names no format in the address of a suggestion, so neither does this."""
    if not url:
        return text
    path, mark, query = url.removeprefix(below).removeprefix("/").partition("?")
    return Suggestion(text, path.removesuffix(".json") + mark + query)
