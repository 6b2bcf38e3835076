"""`confide.open(path or URL)`: one interface, whether the site is in this process or behind HTTP.

Who asks a site elsewhere waits for no engine: what a local site, a remote one or a format needs is imported on use.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import finalize

from confide.errors import Mistake, nearest
from confide.formats.csv import write_csv, write_model_csv
from confide.formats.jsonstat.write import write_jsonstat
from confide.formats.models.json import write_model
from confide.formats.text import write_model_text, write_text
from confide.formats.views import as_asked
from confide.model.model_release import ModelRelease
from confide.model.release import Release
from confide.model.request import CorrelationRequest, RegressionRequest, Request, TableRequest
from confide.spelling.codebook import write_codebook
from confide.spelling.python import read_arguments

if TYPE_CHECKING:
    import pyarrow as pa

    from confide.answering.service import Service
    from confide.client.plotting import AnswerPlot
    from confide.site.access import Person

__all__ = ["Answer", "DatasetHandle", "Diagnostics", "ModelAnswer", "Site", "open"]

R = TypeVar("R")


class _Told:
    """What every protected answer has: its receipt and notes. Equal releases are equal answers."""

    def __init__(self, release: Release | ModelRelease[Any]) -> None:
        self._told = release

    @property
    def receipt(self) -> str:
        """The content address of this answer: cite it."""
        return self._told.receipt

    @property
    def notes(self) -> tuple[str, ...]:
        """How the numbers were protected."""
        return self._told.notes

    def cite(self) -> str:
        """One line for a footnote: what was asked of which data, the policy, and the receipt."""
        from confide.formats.citation import cite

        return cite(self._told)

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

    def to_arrow(self) -> "pa.Table":
        """One row a cell: codes, values, marks, standard deviations of the protection noise."""
        from confide.formats.arrow import to_arrow

        return to_arrow(self.release)

    def to_pandas(self, *, wide: bool = False, labels: bool = False) -> Any:
        """The same as a pandas frame; `wide` as it lies on paper, numbers alone; with `labels` instead of codes."""
        from confide.formats import frames

        if wide:
            return frames.to_wide(self.release, labels=labels)
        return frames.to_pandas(frames.labelled(self.release) if labels else self.to_arrow())

    def to_polars(self, *, labels: bool = False) -> Any:
        """The same as a polars frame, one row a cell; with `labels` instead of codes."""
        from confide.formats import frames

        return frames.to_polars(frames.labelled(self.release) if labels else self.to_arrow())

    def plot(self) -> "AnswerPlot":
        """The first measure as bars (one variable), bars in groups or a heat map (two); totals are left out."""
        from confide.client.plotting import plot_table

        return plot_table(self.release)

    def to_csv(self) -> str:
        return write_csv(self.release)

    def to_json(self) -> dict[str, Any]:
        """A JSON-stat 2.0 data set."""
        return write_jsonstat(self.release)

    def to_xlsx(self) -> bytes:
        from confide.formats.xlsx import write_xlsx

        return write_xlsx(self.release)

    def to_text(self, *, width: int | None = None) -> str:
        return write_text(self.release, width=width)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        from confide.formats.html import write_html

        return write_html(self.release)


class ModelAnswer(_Told):
    """The protected results of a model or a correlation: a few small tables, each of which speaks Arrow."""

    def __init__(self, release: ModelRelease[Any], site: "Site") -> None:
        super().__init__(release)
        self.release, self._site = release, site

    @property
    def grids(self) -> list[str]:
        """The names of the tables."""
        return list(self.release.grids)

    def grid(self, name: str | None = None) -> "pa.Table":
        """A table by its name; the first, if none is given."""
        from confide.formats.arrow import grid_to_arrow

        known = self.grids
        if name is not None and name not in known:
            hint = nearest(str(name), known) or ["There are " + ", ".join(known) + "."]
            raise Mistake(f"This answer has no table {str(name)[:60]!r}.", suggestions=hint)
        return grid_to_arrow(self.release, known[0] if name is None else name)

    @property
    def coefficients(self) -> "pa.Table":
        """The coefficients of a regression."""
        return self.grid("coefficients")

    @property
    def anova(self) -> "pa.Table":
        """The analysis of variance of a regression."""
        return self.grid("anova")

    @property
    def statistics(self) -> "pa.Table":
        """How well a regression fits."""
        return self.grid("statistics")

    @property
    def correlations(self) -> "pa.Table":
        """The correlations."""
        return self.grid("correlations")

    def diagnostics(self) -> "Diagnostics":
        """Plots of synthetic residuals, to judge a regression by."""
        return Diagnostics(self._site.ask(self.release.request, diagnostics=True), self._site)

    def to_pandas(self, name: str | None = None) -> Any:
        """A table as a pandas frame; the first, if no name is given."""
        from confide.formats.frames import to_pandas

        return to_pandas(self.grid(name))

    def to_polars(self, name: str | None = None) -> Any:
        """A table as a polars frame; the first, if no name is given."""
        from confide.formats.frames import to_polars

        return to_polars(self.grid(name))

    def plot(self) -> "AnswerPlot":
        """The coefficients of a regression with their intervals, or correlations as a heat map."""
        from confide.client.plotting import plot_model

        return plot_model(self.release)

    def to_csv(self) -> str:
        """All tables; the first column, `table`, names them."""
        return write_model_csv(self.release)

    def to_json(self) -> dict[str, Any]:
        """All tables, with what was asked and how it was protected, as plain values."""
        return write_model(self.release)

    def to_xlsx(self) -> bytes:
        from confide.formats.xlsx import write_model_xlsx

        return write_model_xlsx(self.release)

    def to_text(self, *, width: int | None = None) -> str:
        return write_model_text(self.release, width=width)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.grid().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        from confide.formats.html import write_model_html

        return write_model_html(self.release)


class Diagnostics(ModelAnswer):
    """The answer again, with plots: `.charts` by name, and what they show among the tables. All of it is synthetic."""

    @property
    def charts(self) -> dict[str, Any]:
        """Vega-Lite specifications by name, with their data inside."""
        return dict(self.release.charts)

    def plot(self, name: str | None = None) -> "AnswerPlot":
        """A chart by its name; the first, if none is given."""
        from confide.client.plotting import plot_charts

        return plot_charts(self.charts, name)


class DatasetHandle:
    """A data set one may ask about."""

    def __init__(self, site: "Site", name: str) -> None:
        self._site, self.name = site, name

    def table(
        self,
        *,
        rows: Any = (),
        columns: Any = (),
        where: Any = None,
        measure: Any = "count",
        of: str | None = None,
        percent: str | None = None,
        interval: str | None = None,
        error: Any = (),
        over: str | None = None,
        index: str | None = None,
        define: Any = (),
    ) -> Answer:
        """A protected table. `where` is a dict (one piece), a list of dicts (a union), or the same as text.

        With `percent` (row, column or total) counts and totals are given as percentages of it, which is no new question;
        with `interval` ("90", "95" or "99") so are the ends of their confidence intervals. With `error` (se, cv, reliability)
        each number has its standard error by the design of the sample, its ratio to the number, or how reliable that makes it.
        A `ratio` is the total of `of` over that of `over`; with `index` ("year=2020") that class is 100, which is no new question.
        `define` has variables of your own, each as text: `define="adult = age >= 20"`. They stand wherever variables do.

        Raises `Refused`, with `.reasons` and `.suggestions`, where the policy says no.
        """
        given = {"rows": rows, "columns": columns, "where": where, "measure": measure, "of": of}
        given |= {
            "percent": percent,
            "interval": interval,
            "error": error,
            "over": over,
            "index": index,
            "define": define,
        }
        return Answer(self._site.ask(read_arguments(TableRequest, self.name, given)))

    def regression(
        self,
        formula: str,
        *,
        where: Any = None,
        family: str = "gaussian",
        also: Any = (),
        against: str | None = None,
        event: str | None = None,
        errors: str = "model",
        define: Any = (),
    ) -> ModelAnswer:
        """A protected regression. `family` is gaussian (least squares), binomial (yes or no), poisson (counts), multinomial (one of
        several classes), ordered (classes in their order) or survival (periods until the `event`, as in "status=ended").

        `also` is what to tell beside the coefficients: covariance, deviance, effects; `against` a smaller model to compare with.
        With `errors="design"` standard errors are by the declared design of the sample: its strata and sampling units.

        As in `people.regression("log(income) ~ age + age^2 + sex + age:sex")`. The answer has `.coefficients`, `.anova`,
        `.statistics` and `.diagnostics()`.
        """
        given = {
            "formula": formula,
            "where": where,
            "family": family,
            "also": also,
            "against": against,
            "event": event,
            "errors": errors,
            "define": define,
        }
        return ModelAnswer(self._site.ask(read_arguments(RegressionRequest, self.name, given)), self._site)

    def correlation(
        self, variables: Any, *, where: Any = None, method: str = "pearson", define: Any = ()
    ) -> ModelAnswer:
        """Protected correlations; a categorical variable enters by its classes, a number as it is or transformed.

        As in `people.correlation(["age", "log(income)", "sex"])`. With `method="spearman"` they are of ranks: numbers by
        their declared classes, other variables by the order of their codes.
        """
        given = {"variables": variables, "where": where, "method": method, "define": define}
        return ModelAnswer(self._site.ask(read_arguments(CorrelationRequest, self.name, given)), self._site)

    @property
    def codebook(self) -> dict[str, Any]:
        """Everything declared about the data set."""
        return self._site.codebook(self.name)

    def to_ddi(self) -> str:
        """The codebook as the text of a DDI-Codebook 2.5 file, for archives: what is declared, and no counts."""
        from confide.spelling.ddi import write_ddi

        return write_ddi(self.codebook)

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
        """A data set by its name, or a vintage of it, as in `site["people@2025"]`."""
        names = self.names()
        if "@" in name and name.partition("@")[0] in names:
            self.codebook(name)  # a Mistake if there is no such vintage, or none may be asked about
        elif name not in names:
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
    def ask(self, request: Request[R], *, diagnostics: bool = False) -> R:
        """The protected answer to a request of any kind; with diagnostics, if it has any."""

    @abstractmethod
    def codebook(self, name: str) -> dict[str, Any]: ...

    def reviews(self) -> list[dict[str, Any]]:
        """Your results that a custodian reviews or has reviewed: `state` is waiting, yes or no, `reason` says why."""
        return []

    def workspace(self) -> dict[str, Any]:
        """What you keep: `definitions` by data set and name, and `questions` by name. It is yours alone, in your project."""
        return {"definitions": {}, "questions": {}}

    def keep(self, dataset: str, definition: str) -> None:
        """Keep a variable of your own, as in `site.keep("people", "adult = age >= 20")`: any question may then name it."""
        raise Mistake("Nothing can be kept here.")

    def keep_question(self, name: str, question: str) -> None:
        """Keep a question, in any spelling, under a name. It is not asked."""
        raise Mistake("Nothing can be kept here.")

    def forget(self, name: str, *, dataset: str = "") -> None:
        """Keep a question no longer, or a variable for a data set."""
        raise Mistake("Nothing is kept here.")

    @abstractmethod
    def close(self) -> None: ...


class LocalSite(Site):
    """A site in this process."""

    def __init__(self, service: "Service") -> None:
        self.service = service
        self._close = finalize(self, service.close)

    def names(self) -> list[str]:
        return list(self.service.datasets)

    def ask(self, request: Request[R], *, diagnostics: bool = False) -> R:
        return as_asked(self.service.answer(request, diagnostics=diagnostics), request)

    def codebook(self, name: str) -> dict[str, Any]:
        return write_codebook(self.service.dataset(name), self.service.policy_of(name))

    def reviews(self) -> list[dict[str, Any]]:
        from confide.site.access import Person, PersonRole
        from confide.site.reviews import told

        here = Person("local", PersonRole.CUSTODIAN)
        return [told(review) for review in self.service.reviews_of(here)]

    def workspace(self) -> dict[str, Any]:
        return self.service.workspaces.of(self._person).as_dict()

    def keep(self, dataset: str, definition: str) -> None:
        self.service.workspaces.keep_definition(self._person, dataset, definition)

    def keep_question(self, name: str, question: str) -> None:
        from confide.spelling.pasted import read_pasted

        self.service.workspaces.keep_question(self._person, name, read_pasted(question))

    def forget(self, name: str, *, dataset: str = "") -> None:
        if dataset:
            self.service.workspaces.forget_definition(self._person, dataset, name)
        else:
            self.service.workspaces.forget_question(self._person, name)

    @property
    def _person(self) -> "Person":
        """Whoever has the folder, as `Service.answer` calls them."""
        from confide.site.access import asked_by

        return asked_by("local")

    def close(self) -> None:
        self._close()


def is_address(place: str | Path) -> bool:
    """Whether a site is reached over HTTP; otherwise it is a folder."""
    return str(place).startswith(("http://", "https://"))


def open(place: str | Path, *, token: str | None = None, allow_open: bool = False) -> Site:
    """Open a site by its folder or its URL.

    As in `confide.open("mysite")["people"].table(rows="sex", columns="region")`.
    """
    if is_address(place):
        from confide.client.remote import RemoteSite

        return RemoteSite(str(place), token=token)
    from confide.answering.service import Service

    return LocalSite(Service.open(place, allow_open=allow_open))
