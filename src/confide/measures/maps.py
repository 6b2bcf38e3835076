"""Ways of masking on a map of risk and utility, with the frontier: those that none of the others beats."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from confide.data.report import Chart, ReportPage, shown
from confide.data.risk_utility import Goal, RiskUtilityMap, axes, layer, map_chart, named
from confide.data.writing import csv_bytes
from confide.errors import Mistake, nearest
from confide.formats.charts.colours import LINE, POINT
from confide.formats.charts.theme import Spec
from confide.measures import risk as risks
from confide.measures import utility as utilities
from confide.measures.aware import WorstAttack, worst_attack
from confide.measures.reports.tabulate import aligned
from confide.measures.scores import score
from confide.microdata.method import Method
from confide.microdata.released import frame_of
from confide.model.parameter import default_of

__all__ = ["LOSSES", "RISKS", "MapPoint", "MaskingMap", "risk_utility_map"]

Measure = Callable[[Any, Any, Sequence[str]], float]

ROW = "number of the record"
"""A column that is added before masking, so that it is known where records of a sample come from."""


def _row(released: Any) -> str | None:
    return ROW if ROW in frame_of(released).names else None


RISKS: dict[str, Measure] = {
    "worst": lambda a, b, names: worst_attack(a, b, columns=names, identifier=_row(b)).percent,
    "linkage": lambda a, b, names: risks.distance_linkage(a, b, columns=names, identifier=_row(b)).percent,
    "probabilistic": lambda a, b, names: risks.probabilistic_linkage(a, b, columns=names, identifier=_row(b)).percent,
    "intervals": lambda a, b, names: risks.interval_disclosure(a, b, columns=names, identifier=_row(b)).percent,
    "uniques": lambda a, b, names: risks.k_anonymity(b, keys=names).unique,
    "score": lambda a, b, names: score(a, b, columns=names, identifier=_row(b)).risk,
}
"""Percentages of records at risk, by name. In a map "worst" and "score" know how each file was masked."""

LOSSES: dict[str, Measure] = {
    "variation": lambda a, b, names: utilities.discrepancies(a, b, columns=names, identifier=_row(b)).loss,
    "probabilistic": lambda a, b, names: utilities.probabilistic_loss(a, b, columns=names).percent,
    "propensity": lambda a, b, names: utilities.propensity(a, b, columns=names).percent,
    "hellinger": lambda a, b, names: utilities.hellinger(a, b, columns=names).percent,
    "tables": lambda a, b, names: utilities.table_distance(a, b, columns=names),
    "changes": lambda a, b, names: utilities.changes(a, b, columns=names, identifier=_row(b)).percent,
    "entropy": lambda a, b, names: utilities.entropy_loss(a, b, columns=names, identifier=_row(b)).percent,
}
"""Losses of utility, by name: the less, the more useful."""


class Protects(Protocol):
    """A plan: it knows its columns, and takes a frame and, as nothing of it is released, a teaching seed."""

    def protect(self, frame: Any, *, teaching_seed: int) -> Any: ...


@dataclass(frozen=True)
class MapPoint:
    """A way of masking with its risk, its loss of utility, and whether it is on the frontier."""

    name: str
    risk: float
    loss: float
    frontier: bool
    attack: str = ""
    """The attack that the risk is of, where the worst of several was asked for."""


@dataclass(frozen=True, repr=False)
class MaskingMap:
    """Every way of masking that was tried. It speaks Arrow; `chart` is Vega-Lite."""

    risk: str
    utility: str
    points: tuple[MapPoint, ...]

    @property
    def frontier(self) -> tuple[MapPoint, ...]:
        """The ways that no other beats in risk and in loss, by increasing risk."""
        return tuple(sorted((p for p in self.points if p.frontier), key=lambda p: (p.risk, p.loss)))

    def choose(self, *, risk: float) -> MapPoint:
        """The most useful way with at most so much risk."""
        measured = RiskUtilityMap(*np.array([(point.risk, -point.loss) for point in self.points]).T)
        return self.points[measured.best(Goal(threshold=risk))]

    def to_arrow(self) -> pa.Table:
        """One row a way."""
        return pa.table({f.name: [getattr(point, f.name) for point in self.points] for f in fields(MapPoint)})

    def to_csv(self) -> str:
        """One line a way, under a line of names."""
        return csv_bytes(self.to_arrow()).decode()

    def to_json(self) -> dict[str, Any]:
        """The points and the chart as plain values."""
        points = [asdict(point) for point in self.points]
        return {"risk": self.risk, "utility": self.utility, "points": points, "chart": self.chart}

    def to_text(self) -> str:
        """The ways as a table; a star marks the frontier."""
        rows = [(p.name, shown(p.risk), shown(p.loss), "*" if p.frontier else "", p.attack) for p in self.points]
        table = aligned(("way", f"risk ({self.risk})", f"loss ({self.utility})", "", "by"), rows)
        return f"{table}\n* no other has less risk and less loss\n"

    def to_html(self) -> str:
        """A page of its own, with the map drawn if the extra 'charts' is installed."""
        grid = pa.table(
            {
                "Way": [point.name for point in self.points],
                f"Risk ({self.risk})": [float(point.risk) for point in self.points],
                f"Loss ({self.utility})": [float(point.loss) for point in self.points],
                "Attack": [point.attack for point in self.points],
                "On the frontier": ["yes" if point.frontier else "no" for point in self.points],
            }
        )
        return ReportPage(
            "Risk and utility", charts=(Chart.of(self.chart, grows=True),), grids=(("Ways of masking", grid),)
        ).html()

    @property
    def chart(self) -> Spec:
        """The map in Vega-Lite: ways as points with their names, the frontier as a line."""
        rows = [{"way": p.name, "risk": p.risk, "loss": p.loss, "frontier": p.frontier} for p in self.points]
        sides = axes(f"loss ({self.utility})", f"risk ({self.risk}), percent", field="loss")
        colours = {"domain": [True, False], "range": [LINE, POINT]}
        colour = {"field": "frontier", "type": "nominal", "title": "frontier", "scale": colours}
        return map_chart(
            "Risk and utility",
            f"Ways of masking by loss of utility and risk. On the frontier: {', '.join(p.name for p in self.frontier)}.",
            points=layer({"type": "point", "filled": True, "size": 60}, rows, {**sides, "color": colour}),
            line=[row for row in rows if row["frontier"]],
            more=named(rows, sides, "way"),
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return self.to_text()


def risk_utility_map(
    frame: Any,
    methods: Iterable[Method | Protects] | Mapping[str, Method | Protects],
    *,
    columns: str | Sequence[str],
    risk: str | Measure = "worst",
    utility: str | Measure = "variation",
    seed: int = 1,
) -> MaskingMap:
    """R-U map (Duncan et al. 2001): ways to mask a file by their risk and loss, and those marked that no other beats.

    Methods mask `columns`; a plan masks the columns it names; both are measured on `columns`. Give ways in a list, or by
    names of your own. Measures are named, as in RISKS and LOSSES, or are functions of the original, the released file and
    the columns. The risk is that by the worst of the standard attacks and the best known one on the method or, of a plan,
    on its only step; of a plan of several steps only standard attacks are known. All ways draw from the same seed.
    Reference: Duncan et al. (2001), the survey's R-U maps.

    >>> import pyarrow as pa
    >>> from confide.microdata import Rounding
    >>> firms = pa.table({"sales": [110.0, 230.0, 390.0, 480.0]})
    >>> found = risk_utility_map(firms, [Rounding(base=10), Rounding(base=500)], columns="sales")
    >>> [(point.risk, round(point.loss, 1), point.frontier) for point in found.points]
    [(100.0, 0.0, True), (50.0, 97.8, True)]
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    at_risk, lost = _measure(risk, RISKS, "risk"), _measure(utility, LOSSES, "utility")
    ways = methods.items() if isinstance(methods, Mapping) else ((_name(method), method) for method in methods)
    numbered, measured = _numbered(frame), []
    for name, method in ways:
        released = _masked(method, numbered, names, seed)
        found = _risk_of(risk, at_risk, method)(numbered, released, names)
        measured.append((name, found.percent, lost(numbered, released, names), found.attack))
    if not measured:
        raise Mistake("There is nothing to map. Give at least one method or plan.")
    best = RiskUtilityMap(*np.array([(at_risk, -loss) for _, at_risk, loss, _ in measured]).T).unbeaten()
    points = tuple(
        MapPoint(name, found, loss, front, attack)
        for (name, found, loss, attack), front in zip(measured, best.tolist(), strict=True)
    )
    return MaskingMap(_word(risk), _word(utility), points)


def _risk_of(word: str | Measure, measure: Measure, way: Any) -> Callable[[Any, Any, Sequence[str]], WorstAttack]:
    """The risk with the attack it is of; the worst attack and the score know how the file was masked."""
    how = _how(way)
    if word == "worst":
        return lambda a, b, names: worst_attack(a, b, columns=names, identifier=_row(b), **how)
    if word == "score":
        return lambda a, b, names: WorstAttack("", score(a, b, columns=names, identifier=_row(b), **how).risk)
    return lambda a, b, names: WorstAttack("", measure(a, b, names))


def _how(way: Any) -> Mapping[str, Any]:
    """The method by which a file was masked, and its strata, if it was one."""
    if isinstance(way, Method):
        return {"method": way}
    steps: Sequence[Any] = getattr(way, "steps", ())
    return {"method": steps[0].method, "by": steps[0].by} if len(steps) == 1 else {}


def _numbered(frame: Any) -> pa.Table:
    """The frame as Arrow, with the numbers of its records."""
    read = frame_of(frame)
    if not len(read):
        raise Mistake("The file has no records.")
    return read.table(read.names).append_column(ROW, pa.array(np.arange(len(read))))


def _masked(method: Any, frame: Any, names: Sequence[str], seed: int) -> Any:
    if not hasattr(method, "protect"):
        raise Mistake(f"{method!r} is neither a method nor a plan.")
    if isinstance(method, Method):
        return method.protect(frame, columns=names if method.takes else (), teaching_seed=seed)
    return method.protect(frame, teaching_seed=seed)


def _name(method: Any) -> str:
    """A method by its class and what differs from the defaults."""
    if not isinstance(method, Method):
        return str(getattr(method, "name", "") or method)
    values = ((f.name, getattr(method, f.name), default_of(f)) for f in fields(method))
    set_to = (f"{name}={value}" for name, value, default in values if value != default)
    return f"{type(method).__name__}({', '.join(set_to)})"


def _word(measure: str | Measure) -> str:
    return measure if isinstance(measure, str) else getattr(measure, "__name__", "measure")


def _measure(measure: str | Measure, known: dict[str, Measure], what: str) -> Measure:
    if not isinstance(measure, str):
        return measure
    if measure not in known:
        hint = nearest(measure, known) or [f"Choose from {', '.join(known)}."]
        raise Mistake(f"No {what} measure is called {measure!r}.", suggestions=hint)
    return known[measure]
