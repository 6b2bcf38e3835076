"""Which models may be released: the risk-utility map of a sensitive variable, and the choice of one release.

The map is computed from everyone's true values. The service rounds every figure before anything looks at it, so that neither the
page, nor its chart, nor the choice by a threshold tells more than two decimals of a share of variance of the whole file.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import urlencode

import numpy as np
from fastapi import FastAPI, Request, Response
from starlette.datastructures import QueryParams

from confide.answering.service import RISKS, UTILITIES, FrontierQuestion, Mapped, ReleaseMap, candidates, read_weights
from confide.data.risk_utility import axes, layer, map_chart
from confide.errors import Mistake
from confide.formats.charts.colours import POINT, SERIES
from confide.model.catalog.dataset import Dataset
from confide.site.access import Person
from confide.spelling.where import read_where
from confide.web.charts import picture
from confide.web.pages.context import Error
from confide.web.pages.custodian.context import CustodianContext

__all__ = ["add_frontier"]

DECIMALS = 2
MOST_ROWS = 30
"""Of a longer frontier every so many-th release is listed."""

MOST_POINTS = 1500


@dataclass(frozen=True)
class _FrontierQuery:
    """What is mapped and how one is chosen, as the address says."""

    dataset: str
    sensitive: str
    variables: tuple[str, ...]
    risk: str
    utility: str
    target: str
    weights: str
    by: str
    limit: str

    @classmethod
    def read(cls, query: QueryParams) -> "_FrontierQuery":
        texts = {key: query.get(key, "").strip() for key in ("dataset", "sensitive", "target", "weights", "limit")}
        words = {"risk": query.get("risk", "released"), "utility": query.get("utility", "rsqwt")}
        return cls(**texts, **words, by=query.get("by", "threshold"), variables=tuple(query.getlist("variables")))

    @property
    def wanted(self) -> FrontierQuestion:
        target, names = read_where(self.target or None), self.variables or None
        return FrontierQuestion(self.sensitive, names, self.risk, self.utility, read_weights(self.weights), target)

    @property
    def choice(self) -> dict[str, float]:
        """What a release is chosen by; nothing if no limit is given."""
        if not self.limit:
            return {}
        try:
            limit = round(float(self.limit), DECIMALS)
        except (ValueError, OverflowError):
            raise Mistake(f"{self.limit[:60]!r} is not a number.") from None
        return {"slope" if self.by == "slope" else "threshold": limit}


def add_frontier(app: FastAPI, context: CustodianContext) -> None:
    """Serve /custodian/frontier."""
    service = context.service

    @app.get("/custodian/frontier", include_in_schema=False)
    def frontier(request: Request, custodian: Annotated[Person, context.custodian]) -> Response:
        asked = _FrontierQuery.read(request.query_params)
        if asked.dataset not in service.datasets:
            asked = replace(asked, dataset=next(iter(service.datasets)), sensitive="", variables=())
        words = _words(service.datasets[asked.dataset], asked)
        if not asked.sensitive:
            return context.render(request, "frontier.html", **words, found=None, chart=None, errors=[])
        field = "sensitive"
        try:
            wanted = asked.wanted
            job = context.start(
                ("frontier", replace(asked, by="", limit="")),
                lambda progress: service.frontier(asked.dataset, wanted),
            )
            if not job.done:
                return context.working(request, job, "Mapping models")
            found, field = job.outcome, "limit"
            found = found.choose(**asked.choice)
        except Mistake as mistake:
            errors = [Error(field, str(mistake))]
            return context.render(request, "frontier.html", status=422, **words, found=None, chart=None, errors=errors)
        service.record_act(custodian, "frontier looked at", dataset=asked.dataset, sensitive=asked.sensitive)
        chart = picture(request, _chart(found), custodian)
        own = "" if service.follows(asked.dataset) else asked.dataset
        more: dict[str, Any] = {"rows": _rows(found.map), "draft": _draft(found, own)}
        return context.render(request, "frontier.html", **words, found=found, chart=chart, errors=[], **more)

    def _words(dataset: Dataset, asked: _FrontierQuery) -> dict[str, Any]:
        numbers = [v for v in dataset.variables.values() if v.measurable]
        return {
            "asked": asked,
            "datasets": list(service.datasets.values()),
            "numbers": numbers,
            "candidates": candidates(dataset).values(),
            "risks": RISKS,
            "utilities": UTILITIES,
        }


def _rows(found: ReleaseMap) -> list[dict[str, Any]]:
    """The releases of the frontier, evenly thinned."""
    rows = found.frontier()
    thinned = rows[:: max(1, -(-len(rows) // MOST_ROWS))]
    return [
        {
            **{key: f"{getattr(found, key)[row]:.{DECIMALS}f}" for key in ("risk", "utility", "released")},
            "free": [name for name, free in zip(found.others, found.free[row], strict=True) if free],
            "suppressed": [name for name, free in zip(found.others, found.free[row], strict=True) if not free],
        }
        for row in thinned
    ]


def _draft(found: Mapped, own: str) -> str:
    """Where the choice can be put into a draft: of the site's policy, or of the data set's if it has its own."""
    if found.release is None:
        return ""
    suppressed = ", ".join(found.release.suppressed)
    query = {"dataset": own} if own else {}
    query |= {"models.sensitive": found.release.sensitive, "models.suppressed": suppressed}
    return f"/custodian/draft/form?{urlencode(query)}"


def _chart(found: Mapped) -> dict[str, Any]:
    """The map: every release a point, the frontier a line, the choice a diamond."""
    sides = axes(f"Utility ({found.utility})", f"Risk ({found.risk})")
    dot = {"type": "point", "filled": True, "size": 18, "color": POINT, "opacity": 0.6}
    words = f"Risk against utility of {len(found.map.risk)} releases of models of {found.map.sensitive}"
    more = []
    if found.release is not None:
        point = {"utility": found.release.utility, "risk": found.release.risk}
        mark = {"type": "point", "shape": "diamond", "filled": True, "size": 200, "color": SERIES[1]}
        more = [layer(mark, [point], sides)]
        words += f"; the choice has risk {found.release.risk:.2f} and utility {found.release.utility:.2f}"
    line = _points(found.map, found.map.frontier())
    chart = map_chart("", f"{words}.", points=layer(dot, _cloud(found.map), sides), line=line, more=more)
    return {**chart, "title": None, "width": "container"}


def _cloud(found: ReleaseMap) -> list[dict[str, float]]:
    """Where releases lie, each place once, thinned by a fixed draw where there are many."""
    places = np.unique(np.column_stack([found.utility, found.risk]), axis=0)
    if len(places) > MOST_POINTS:
        places = places[np.sort(np.random.default_rng(0).choice(len(places), MOST_POINTS, replace=False))]
    return [{"utility": utility, "risk": risk} for utility, risk in places.tolist()]


def _points(found: ReleaseMap, rows: Any) -> list[dict[str, float]]:
    pairs = zip(found.utility[rows].tolist(), found.risk[rows].tolist(), strict=True)
    return [{"utility": utility, "risk": risk} for utility, risk in pairs]
