"""`confide.open(path or URL)`: one interface, whether the site is in this process or behind HTTP."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote
from weakref import finalize

import httpx
import pyarrow as pa

from confide.access import Denied
from confide.errors import ConfideError, Fault, Mistake, Reason, Refused, Suggestion, nearest
from confide.formats.arrow import to_arrow
from confide.formats.csv import write_csv
from confide.formats.html import write_html
from confide.formats.jsonstat import write_jsonstat
from confide.formats.jsonstat_reader import read_jsonstat
from confide.formats.text import write_text
from confide.formats.xlsx import write_xlsx
from confide.model.release import Release
from confide.model.request import Table
from confide.service import Service
from confide.spelling.codebook import write_codebook
from confide.spelling.python import python_table
from confide.spelling.url import write_url

__all__ = ["Answer", "DatasetHandle", "Site", "open_site"]


class Answer:
    """A protected answer. Speaks Arrow, so pandas, polars, pyarrow and duckdb read it; shows as a table in a notebook."""

    def __init__(self, release: Release) -> None:
        self.release = release

    @property
    def receipt(self) -> str:
        """The content address of this answer: cite it."""
        return self.release.receipt

    @property
    def notes(self) -> tuple[str, ...]:
        """How the numbers were protected."""
        return self.release.notes

    def to_arrow(self) -> pa.Table:
        """One row a cell: codes, values, marks, standard deviations of the protection noise."""
        return to_arrow(self.release)

    def to_pandas(self) -> Any:
        """The same as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_csv(self) -> str:
        return write_csv(self.release)

    def to_json(self) -> dict[str, Any]:
        """A JSON-stat 2.0 data set."""
        return write_jsonstat(self.release)

    def to_xlsx(self) -> bytes:
        return write_xlsx(self.release)

    def to_text(self) -> str:
        return write_text(self.release)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and self.release == other.release

    def __hash__(self) -> int:
        return hash(self.receipt)

    def __repr__(self) -> str:
        return self.to_text().rstrip()

    def _repr_html_(self) -> str:
        return write_html(self.release)


class DatasetHandle:
    """A data set one may ask about."""

    def __init__(self, site: "Site", name: str) -> None:
        self._site, self.name = site, name

    def table(
        self, *, rows: Any = (), columns: Any = (), where: Any = None, measure: Any = "count", of: str | None = None
    ) -> Answer:
        """A protected table. `where` is a dict (one piece), a list of dicts (a union), or the same as text.

        Raises `Refused`, with `.reasons` and `.suggestions`, where the policy says no.
        """
        request = python_table(self.name, rows=rows, columns=columns, where=where, measure=measure, of=of)
        return Answer(self._site.ask(request))

    @property
    def codebook(self) -> dict[str, Any]:
        """Everything declared about the data set."""
        return self._site.codebook(self.name)

    @property
    def variables(self) -> list[str]:
        """The names one may use."""
        return [variable["name"] for variable in self.codebook["variables"]]

    def __repr__(self) -> str:
        return f"<data set {self.name!r}: {self.codebook['title']}>"


class Site(Mapping[str, DatasetHandle]):
    """An open site: data sets by name. Close it, or use it in a `with` statement; forgotten, it closes itself.

    The last is for notebooks: `confide.open("mysite")["people"].table(rows="sex")` may be run again.
    """

    def __getitem__(self, name: str) -> DatasetHandle:
        names = self.names()
        if name not in names:
            hint = nearest(str(name), names) or ["There are " + ", ".join(names) + "."]
            raise Mistake(f"There is no data set called {str(name)[:60]!r}.", suggestions=hint)
        return DatasetHandle(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def names(self) -> list[str]:
        raise NotImplementedError

    def ask(self, request: Table) -> Release:
        raise NotImplementedError

    def codebook(self, name: str) -> dict[str, Any]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class LocalSite(Site):
    """A site in this process."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._close = finalize(self, service.close)

    def names(self) -> list[str]:
        return list(self.service.datasets)

    def ask(self, request: Table) -> Release:
        return self.service.answer(request)

    def codebook(self, name: str) -> dict[str, Any]:
        return write_codebook(self.service.desk(name).dataset)

    def close(self) -> None:
        self._close()


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

    def ask(self, request: Table) -> Release:
        document = self._get(write_url(request, ending=".json"))
        try:
            return read_jsonstat(document)
        except Mistake:
            raise self._stranger("its table cannot be read") from None

    def codebook(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._get(f"api/datasets/{quote(name, safe='')}")
        return found

    def close(self) -> None:
        self._close()

    def _get(self, address: str) -> Any:
        try:
            response = self._http.get(address)
            body = response.json()
        except httpx.HTTPError as error:
            what = f"{self._http.base_url} cannot be reached ({type(error).__name__})."
            raise Fault(what, suggestions=["Is the server running, and the address right?"]) from None
        except ValueError:
            raise self._stranger(f"status {response.status_code}, not JSON") from None
        if response.status_code == 200 and isinstance(body, dict):
            return body
        try:
            raise _problem(body, response.status_code)
        except (AttributeError, KeyError, TypeError):
            raise self._stranger(f"status {response.status_code}, no problem document") from None

    def _stranger(self, why: str) -> Fault:
        return Fault(f"{self._http.base_url} did not answer as a Confide site ({why}).")


def _problem(body: Any, status: int) -> ConfideError:
    """The error that a problem document describes; the same as the site would raise in this process."""
    detail = str(body["detail"])
    offers = [_suggestion(str(offer["text"]), offer.get("url")) for offer in body["suggestions"]]
    reasons = [Reason(str(reason["rule"]), str(reason["text"])) for reason in body["reasons"]]
    if reasons:
        return Refused(reasons, policy=str(body["policy"]), suggestions=offers)
    if status in (401, 403):
        return Denied(detail, http_status=status, suggestions=offers)
    return Mistake(detail, suggestions=offers) if status < 500 else Fault(detail, suggestions=offers)


def _suggestion(text: str, url: str | None) -> str:
    """A site in this process names no format in the address of a suggestion, so neither does this."""
    return Suggestion(text, url.removeprefix("/").replace("/table.json?", "/table?", 1)) if url else text


def open_site(place: str | Path, *, token: str | None = None, allow_open: bool = False) -> Site:
    """Open a site by its folder or its URL.

    >>> import confide
    >>> people = confide.open("mysite")["people"]          # doctest: +SKIP
    >>> people.table(rows="sex", columns="region")         # doctest: +SKIP
    """
    if str(place).startswith(("http://", "https://")):
        return RemoteSite(str(place), token=token)
    return LocalSite(Service.open(place, allow_open=allow_open))
