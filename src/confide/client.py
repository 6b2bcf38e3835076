"""`confide.open(path or URL)`: one interface, whether the site is in this process or behind HTTP."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from urllib.parse import quote
from weakref import finalize

import httpx
import pyarrow as pa

from confide.answering.service import Service
from confide.errors import ConfideError, Denied, Fault, Mistake, Reason, Refused, Suggestion, nearest
from confide.formats.arrow import grid_to_arrow, to_arrow
from confide.formats.csv import write_csv, write_model_csv
from confide.formats.html import write_html, write_model_html
from confide.formats.jsonstat.read import read_jsonstat
from confide.formats.jsonstat.write import write_jsonstat
from confide.formats.models.json import read_model, write_model
from confide.formats.text import write_model_text, write_text
from confide.formats.xlsx import write_model_xlsx, write_xlsx
from confide.model.model_release import ModelRelease
from confide.model.release import Release
from confide.model.request import Regression, Request, Table
from confide.spelling.codebook import write_codebook
from confide.spelling.python import python_correlation, python_regression, python_table
from confide.spelling.url import write_url

__all__ = ["Answer", "DatasetHandle", "Diagnostics", "ModelAnswer", "Site", "open_site"]

R = TypeVar("R", Release, ModelRelease)


class _Told:
    """What every protected answer has: its receipt and notes. Equal releases are equal answers."""

    def __init__(self, release: Release | ModelRelease) -> None:
        self._told = release

    @property
    def receipt(self) -> str:
        """The content address of this answer: cite it."""
        return self._told.receipt

    @property
    def notes(self) -> tuple[str, ...]:
        """How the numbers were protected."""
        return self._told.notes

    @abstractmethod
    def to_text(self, *, width: int | None = None) -> str:
        """As it is printed; with a width, columns that do not fit continue below."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Told) and self._told == other._told

    def __hash__(self) -> int:
        return hash(self.receipt)

    def __repr__(self) -> str:
        return self.to_text().rstrip()


class Answer(_Told):
    """A protected answer. Speaks Arrow, so pandas, polars, pyarrow and duckdb read it; shows as a table in a notebook."""

    def __init__(self, release: Release) -> None:
        super().__init__(release)
        self.release = release

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

    def to_text(self, *, width: int | None = None) -> str:
        return write_text(self.release, width=width)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return write_html(self.release)


class ModelAnswer(_Told):
    """The protected results of a model or a correlation: a few small tables, each of which speaks Arrow."""

    def __init__(self, release: ModelRelease, site: "Site") -> None:
        super().__init__(release)
        self.release, self._site = release, site

    @property
    def grids(self) -> list[str]:
        """The names of the tables."""
        return list(self.release.grids)

    def grid(self, name: str | None = None) -> pa.Table:
        """A table by its name; the first, if none is given."""
        known = self.grids
        if name is not None and name not in known:
            hint = nearest(str(name), known) or ["There are " + ", ".join(known) + "."]
            raise Mistake(f"This answer has no table {str(name)[:60]!r}.", suggestions=hint)
        return grid_to_arrow(self.release, known[0] if name is None else name)

    @property
    def coefficients(self) -> pa.Table:
        """The coefficients of a regression."""
        return self.grid("coefficients")

    @property
    def anova(self) -> pa.Table:
        """The analysis of variance of a regression."""
        return self.grid("anova")

    @property
    def statistics(self) -> pa.Table:
        """How well a regression fits."""
        return self.grid("statistics")

    @property
    def correlations(self) -> pa.Table:
        """The correlations."""
        return self.grid("correlations")

    def diagnostics(self) -> "Diagnostics":
        """Plots of synthetic residuals, to judge a regression by."""
        request = self.release.request
        if not isinstance(request, Regression):
            raise Mistake("Only a regression has diagnostics.")
        return Diagnostics(self._site.diagnose(request), self._site)

    def to_pandas(self, name: str | None = None) -> Any:
        """A table as a pandas frame; the first, if no name is given."""
        return self.grid(name).to_pandas()

    def to_csv(self) -> str:
        """All tables; the first column, `table`, names them."""
        return write_model_csv(self.release)

    def to_json(self) -> dict[str, Any]:
        """All tables, with what was asked and how it was protected, as plain values."""
        return write_model(self.release)

    def to_xlsx(self) -> bytes:
        return write_model_xlsx(self.release)

    def to_text(self, *, width: int | None = None) -> str:
        return write_model_text(self.release, width=width)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.grid().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return write_model_html(self.release)


class Diagnostics(ModelAnswer):
    """The answer again, with plots: `.charts` by name, and what they show among the tables. All of it is synthetic."""

    @property
    def charts(self) -> dict[str, Any]:
        """Vega-Lite specifications by name, with their data inside."""
        return dict(self.release.charts)


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
        return Answer(cast(Release, self._site.ask(request)))

    def regression(self, formula: str, *, where: Any = None, family: str = "gaussian") -> ModelAnswer:
        """A protected regression. `family` is gaussian (least squares), binomial (yes or no) or poisson (counts).

        As in `people.regression("log(income) ~ age + age^2 + sex + age:sex")`. The answer has `.coefficients`, `.anova`,
        `.statistics` and `.diagnostics()`.
        """
        return self._model(python_regression(self.name, formula, where=where, family=family))

    def correlation(self, variables: Any, *, where: Any = None) -> ModelAnswer:
        """Protected correlations; a categorical variable enters by its classes."""
        return self._model(python_correlation(self.name, variables, where=where))

    def _model(self, request: Request) -> ModelAnswer:
        return ModelAnswer(cast(ModelRelease, self._site.ask(request)), self._site)

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

    @abstractmethod
    def names(self) -> list[str]: ...

    @abstractmethod
    def ask(self, request: Request) -> Release | ModelRelease: ...

    @abstractmethod
    def diagnose(self, request: Regression) -> ModelRelease: ...

    @abstractmethod
    def codebook(self, name: str) -> dict[str, Any]: ...

    @abstractmethod
    def close(self) -> None: ...


class LocalSite(Site):
    """A site in this process."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._close = finalize(self, service.close)

    def names(self) -> list[str]:
        return list(self.service.datasets)

    def ask(self, request: Request) -> Release | ModelRelease:
        return self.service.answer(request)

    def diagnose(self, request: Regression) -> ModelRelease:
        return self.service.diagnose(request)

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

    def ask(self, request: Request) -> Release | ModelRelease:
        document = self._get(write_url(request, ending=".json"))
        if isinstance(request, Table):
            return self._read(read_jsonstat, document)
        return self._read(read_model, document)

    def diagnose(self, request: Regression) -> ModelRelease:
        return self._read(read_model, self._get(write_url(request, ending=".json") + "&diagnostics=true"))

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

    def _read(self, read: Callable[[Any], R], document: Any) -> R:
        try:
            return read(document)
        except Mistake:
            raise self._stranger("its answer cannot be read") from None

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
    if not url:
        return text
    path, mark, query = url.removeprefix("/").partition("?")
    return Suggestion(text, path.removesuffix(".json") + mark + query)


def open_site(place: str | Path, *, token: str | None = None, allow_open: bool = False) -> Site:
    """Open a site by its folder or its URL.

    As in `confide.open("mysite")["people"].table(rows="sex", columns="region")`.
    """
    if str(place).startswith(("http://", "https://")):
        return RemoteSite(str(place), token=token)
    return LocalSite(Service.open(place, allow_open=allow_open))
