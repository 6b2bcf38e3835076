"""Risk and utility of a released file in one report: as data, text, JSON, CSV, and a page with pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import nan
from typing import Any, Unpack

import pyarrow as pa

from confide.data.report import Chart, ReportPage, shown
from confide.data.writing import csv_bytes
from confide.errors import Mistake, nearest
from confide.formats.charts.theme import Spec
from confide.measures.records import listed
from confide.measures.reports.charts import charts_of
from confide.measures.reports.findings import Measurement
from confide.measures.reports.risk import risks
from confide.measures.reports.tabulate import aligned
from confide.measures.reports.utility import losses, scored
from confide.measures.roles import Files, Named, Roles
from confide.microdata import Method

__all__ = ["Report", "report"]

TITLE = "Risk and utility of a released file"
WARNING = "Computed from the original file: for the custodian, not for publication."


@dataclass(frozen=True, repr=False)
class Report:
    """What was measured, one finding after the other; `charts` are Vega-Lite by name.

    It speaks Arrow, so pandas, polars, pyarrow and duckdb read the findings as a table.
    """

    facts: Mapping[str, str]
    findings: tuple[Measurement, ...]
    charts: Mapping[str, Spec]

    def __getitem__(self, name: str) -> float | None:
        """The first finding of a name, as report["distance linkage"]."""
        for finding in self.findings:
            if finding.name == name:
                return finding.value
        raise Mistake(f"The report has no {name!r}.", suggestions=nearest(name, [f.name for f in self.findings]))

    def to_arrow(self) -> pa.Table:
        """One row a finding."""
        columns = {field.name: [getattr(f, field.name) for f in self.findings] for field in fields(Measurement)}
        kinds = {name: pa.float64() if name in ("value", "before") else pa.string() for name in columns}
        return pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()})

    def to_json(self) -> dict[str, Any]:
        """Facts, findings and charts as plain values."""
        findings = [asdict(finding) for finding in self.findings]
        return {"title": TITLE, "facts": dict(self.facts), "findings": findings, "charts": dict(self.charts)}

    def to_csv(self) -> str:
        """One line a finding, under a line of names."""
        return csv_bytes(self.to_arrow()).decode()

    def to_text(self) -> str:
        """The findings as a table for a terminal, and what they mean."""
        head = [TITLE, *(f"{name}: {fact}" for name, fact in self.facts.items())]
        parts = []
        for part in dict.fromkeys(finding.part for finding in self.findings):
            rows = [(f.name, f.about, shown(f.before), shown(f.value), f.unit) for f in self.findings if f.part == part]
            parts.append(aligned((part, "of", "original", "released", ""), rows))
        meanings = {(f.name, f.value is None): f"{f.name}: {f.meaning}" for f in self.findings}
        return "\n\n".join(["\n".join(head), *parts, "\n".join(meanings.values()), WARNING]) + "\n"

    def to_html(self) -> str:
        """A page of its own, with pictures if the extra 'charts' is installed; nothing in it is fetched from elsewhere."""
        parts = dict.fromkeys(finding.part for finding in self.findings)
        return ReportPage(
            TITLE,
            ("[x] could not be measured.",),
            tuple(Chart.of(spec, grows=name == "risk") for name, spec in self.charts.items()),
            tuple((part.capitalize(), _grid(self.findings, part)) for part in parts),
            self.facts,
            WARNING,
        ).html()

    def _repr_html_(self) -> str:
        return self.to_html()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return self.to_text()


def report(
    original: Any,
    released: Any,
    *,
    roles: Mapping[str, str] | None = None,
    holdout: Any = None,
    paired: bool = True,
    method: Method | None = None,
    by: str | Sequence[str] = (),
    **named: Unpack[Named],
) -> Report:
    """Measure the risk and the utility of a released file against the original, by every measure that applies.

    Say what columns are, by `roles` ({"age": "key", "income": "confidential"}) or by name: keys, confidential, other,
    categorical (numbers that are codes), weight, identifier, household. Records belong together by an identifier that both
    files have, or row by row; a synthetic file is not `paired`, and `holdout`, records that were not used for it, tests
    whether it remembers those that were. Name the `method` that masked the file, and the strata `by`, and an
    intruder is measured who knows them too. What cannot be measured says why.

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": list("ffmm"), "age": [20, 30, 40, 50], "pay": [1.0, 2.0, 3.0, 4.0]})
    >>> found = report(people, people, keys=["sex", "age"], confidential="pay")
    >>> found["k-anonymity"], found["distance linkage"], found["information loss"]
    (1, 100.0, 0.0)
    """
    files = Files.of(original, released, Roles.of(roles, named), paired=paired)
    files = replace(files, method=method, by=listed(by, "strata") if by else ())
    found = (*risks(files, holdout), *losses(files), *scored(files))
    return Report(_facts(files), found, charts_of(files, found))


def _grid(findings: Sequence[Measurement], part: str) -> pa.Table:
    rows = [finding for finding in findings if finding.part == part]
    return pa.table(
        {
            "Measure": [row.name for row in rows],
            "Of": [row.about for row in rows],
            "Original": pa.array([row.before for row in rows], pa.float64()),
            "Released": [nan if row.value is None else row.value for row in rows],
            "Unit": [row.unit for row in rows],
            "What it means": [row.meaning for row in rows],
        }
    )


def _facts(files: Files) -> dict[str, str]:
    rows = f"{files.original.num_rows:,} original, {files.released.num_rows:,} released"
    how = "not paired" if not files.paired else f"paired by {files.identifier}" if files.identifier else "paired by row"
    named = {"Keys": files.roles.keys, "Confidential": files.roles.confidential, "Other": files.roles.other}
    named |= {"Numbers": files.numeric, "Categories": files.categorical}
    facts = {"Records": f"{rows}, {how}", **{name: ", ".join(names) for name, names in named.items() if names}}
    return facts | ({"Weight": files.roles.weight} if files.roles.weight else {})
