"""Which variables models may relate to a sensitive one: the risk-utility map of a data set, and the choice as policy.

For the custodian alone: the map is computed from everyone's true values, nobody dropped, and shows true figures.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from confide.answering.frontier.ellipsoid import strip
from confide.answering.frontier.frontier import EXHAUSTIVE, ReleaseChoice, ReleaseMap, evaluate
from confide.answering.frontier.setting import Setting, Target
from confide.answering.frontier.splits import RISKS, UTILITIES, Risk, Utility
from confide.answering.road import Road
from confide.arrays import Bools, Floats, Ints
from confide.data.risk_utility import axes, layer, map_chart
from confide.errors import Mistake, nearest
from confide.model.admission.universe import admit_universe
from confide.model.catalog.dataset import Dataset, Variable
from confide.model.design import Block, Design, Number
from confide.model.policy import Policy
from confide.model.universe import EVERYONE, Universe
from confide.site.folder import Folder, write_whole
from confide.site.policies import keep, read_as

__all__ = ["FrontierQuestion", "Mapped", "candidates", "explained", "map_road", "read_weights", "write_choice"]


MOST_CLASSES = 12
"""A categorical variable with more classes is not taken unless it is asked for."""

CLOUD = 2000
"""At most so many releases are drawn besides the frontier."""

CONSTANT = 1e-12
"""A column with a smaller share of its squares about its mean does not vary."""


MOST_ROWS = 24
"""Of a longer frontier every so many-th release is printed."""


@dataclass(frozen=True)
class Mapped:
    """The map by its measures of risk and utility, and the chosen release (None if nothing was asked for).

    `left_out` are all other variables: not asked for, of too many classes, or constant in the complete records. No
    choice suppresses them.
    """

    map: ReleaseMap
    risk: str
    utility: str
    left_out: tuple[str, ...]
    setting: Setting
    columns: tuple[str, ...]
    """What each column of the setting is called: a number, or a class of a variable."""
    release: ReleaseChoice | None = None

    def choose(self, *, threshold: float | None = None, slope: float | None = None) -> "Mapped":
        """The same with a release chosen by a risk threshold or a benefit slope; without either, as it is."""
        if threshold is None and slope is None:
            return self
        return replace(self, release=self.map.choose(threshold=threshold, slope=slope))

    def rounded(self, decimals: int = 2) -> "Mapped":
        """The same with every figure rounded, so that nothing made from it tells more."""
        figures = {key: getattr(self.map, key).round(decimals) for key in ("risk", "utility", "released")}
        return replace(self, map=replace(self.map, **figures))

    @property
    def bounds(self) -> list[tuple[str, float, float]]:
        """Between what each correlation of the sensitive variable with a suppressed one must lie, given all that the choice
        lets people ask: the less room, the better they can guess (Gomatam et al. 2004, Result 1)."""
        if self.release is None or not self.release.suppressed:
            return []
        scale = np.sqrt(np.diag(self.setting.cross))
        correlation, response = self.setting.cross / np.outer(scale, scale), self.setting.response
        hidden = tuple(column for name in self.release.suppressed for column in self.setting.variables[name])
        low, high = strip(correlation, response=response, hidden=hidden).bounds()
        return [(self.columns[at], *ends) for at, *ends in zip(hidden, low.tolist(), high.tolist(), strict=True)]

    @property
    def chart(self) -> dict[str, Any]:
        """The map in Vega-Lite."""
        return _chart(self.map, self.release, self.risk, self.utility)

    @cached_property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The frontier as rows of text."""
        return _rows(self.map)

    @property
    def text(self) -> str:
        """The frontier as a table, then the choice and what it promises."""
        head = ("risk", "utility", "released", "free", "suppressed")
        shown = self.rows[:: max(1, -(-len(self.rows) // MOST_ROWS))]
        wide = max(len(row[3]) for row in (head, *shown))
        lines = [f"{a:>8} {b:>8} {c:>9}  {d:<{wide}}  {e}" for a, b, c, d, e in (head, *shown)]
        if len(shown) < len(self.rows):
            lines.append(f"{len(shown)} of them are shown, evenly spaced; the map has them all.")
        lines.append(f"{len(self.rows)} best of {len(self.map.risk)} releases tried. True figures: for the custodian.")
        if self.left_out:
            lines.append(f"Not mapped, so regressions may use them all the same: {', '.join(self.left_out)}.")
        if self.release is not None:
            free, suppressed = (", ".join(side) or "nothing" for side in (self.release.free, self.release.suppressed))
            lines.append(f"Choice: free {free}; suppress {suppressed}.")
            told = [f"{name} {low:.2f} to {high:.2f}" for name, low, high in self.bounds]
            lines += [f"Its correlations that can then still be bounded: {'; '.join(told)}."] if told else []
        if self.release is not None and self.map.ceiling is not None:
            lines.append(f"Not every release was tried: a better one gains at most {self.release.gap:.4f}.")
        return "\n".join(lines)


@dataclass(frozen=True)
class FrontierQuestion:
    """What is to be mapped: a sensitive number, the other variables (all that can be, if none are named), and the measures.

    `weights` are what freeing a variable is worth in R² points; `target` are the units that a residual risk is about.
    """

    sensitive: str
    variables: tuple[str, ...] | None = None
    risk: str = "released"
    utility: str = "rsqwt"
    weights: Mapping[str, float] | None = None
    target: Universe = EVERYONE


def read_weights(text: str) -> dict[str, float] | None:
    """What freeing each variable is worth, as a person writes it; None if nothing is said.

    >>> read_weights("age=0.2, sex=0.05")
    {'age': 0.2, 'sex': 0.05}
    """
    found: dict[str, float] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, points = part.partition("=")
        try:
            found[name.strip()] = float(points)
        except ValueError:
            raise Mistake(
                f"Cannot read the weight {part[:60]!r}.", suggestions=["Write it as in age=0.2,sex=0.05."]
            ) from None
    return found or None


def map_road(road: Road, wanted: FrontierQuestion) -> Mapped:
    """Map every way to free some variables for models of a sensitive one and to suppress the others; nothing is chosen yet.

    The records are those with a value for every number. A variable is named by the column and the hierarchy it comes
    from, because the policy suppresses all its recodes and levels together; its risk is that of the level mapped, and
    a freed hierarchy answers its finer levels too. Reference: Gomatam et al. (2004), section 5.
    """
    risk, utility, sensitive = (
        _among(wanted.risk, RISKS, "risk"),
        _among(wanted.utility, UTILITIES, "utility"),
        wanted.sensitive,
    )
    if (risk == "residual") != bool(wanted.target):
        raise Mistake(
            "A residual risk is that of a target, and no other risk has one.",
            suggestions=[
                "Name the units whose values must not be predicted well, as in: --risk residual --target sex=female"
            ],
        )
    admit_universe(wanted.target, road.dataset)
    chosen = _variables(road.dataset, sensitive, wanted.variables)
    design = _design(sensitive, [(variable, not variable.measurable) for variable in chosen.values()])
    aimed = road.products(design, wanted.target) if wanted.target else None
    setting, columns = _setting(road.products(design), aimed, design, sensitive, chosen)
    setting = replace(setting, weights=_weights(wanted.weights, road.dataset, setting))
    found = evaluate(setting, risk=cast(Risk, risk), utility=cast(Utility, utility))
    return Mapped(found, risk, utility, _left_out(road.dataset, setting), setting, columns)


def _weights(given: Mapping[str, float] | None, dataset: Dataset, setting: Setting) -> dict[str, float] | None:
    """The weights by what variables are suppressed as; a variable without one is worth nothing but what it explains."""
    if given is None:
        return None
    found = {_source(dataset.variable(name).name, dataset): points for name, points in given.items()}
    for source in found:
        if source not in setting.others:
            raise Mistake(f"{source!r} has a weight and is not mapped.", suggestions=nearest(source, setting.others))
    return found


def explained(road: Road, sensitive: str, names: Iterable[str]) -> float:
    """The share of the variance of a sensitive number that some variables explain together, to two decimals; 1 if nobody can say.

    Every named form of a variable counts, as a number by its line and by its classes.
    """
    if sensitive not in road.dataset.variables or not road.dataset.variables[sensitive].measurable:
        return 1.0
    variables = [road.dataset.variables[name] for name in names]
    forms = [(v, False) for v in variables if v.measurable] + [(v, True) for v in variables if v.classifies]
    gram = road.products(_design(sensitive, forms))
    if gram[0, 0] <= 0:
        return 1.0
    cross = (gram - np.outer(gram[0], gram[0]) / gram[0, 0])[1:, 1:]
    scale = np.sqrt(np.where(np.diag(cross) > CONSTANT * np.diag(gram)[1:], np.diag(cross), np.inf))
    correlation = cross / np.outer(scale, scale)
    share = (
        correlation[0, 1:]
        @ np.linalg.pinv(correlation[1:, 1:], rcond=CONSTANT**0.5, hermitian=True)
        @ correlation[1:, 0]
    )
    return round(float(share), 2)


def _among(word: str, known: Sequence[str], what: str) -> str:
    if word not in known:
        hint = nearest(word, known) or [f"Choose from {', '.join(known)}."]
        raise Mistake(f"No {what} measure called {word!r}.", suggestions=hint)
    return word


def _variables(dataset: Dataset, sensitive: str, names: Sequence[str] | None) -> dict[str, Variable]:
    """The other variables, by what they are suppressed as."""
    if not dataset.variable(sensitive).measurable:
        numbers = [v.name for v in dataset.variables.values() if v.measurable]
        hint = nearest(_source(sensitive, dataset), numbers) or [f"Numbers are: {', '.join(numbers)}."]
        raise Mistake(f"{sensitive!r} is not a number, and a frontier protects a number.", suggestions=hint)
    if names is not None:
        return _asked(dataset, sensitive, names)
    others = {source: variable for source, variable in candidates(dataset).items() if source != sensitive}
    return dict(list(others.items())[:EXHAUSTIVE])


def candidates(dataset: Dataset) -> dict[str, Variable]:
    """What is mapped unless variables are named: one of each source, a number or else its finest few classes."""
    found: dict[str, Variable] = {}
    for variable in dataset.variables.values():
        source = _source(variable.name, dataset)
        if _finer(variable, found.get(source)):
            found[source] = variable
    return found


def _left_out(dataset: Dataset, setting: Setting) -> tuple[str, ...]:
    usable = [v.name for v in dataset.variables.values() if v.measurable or v.classifies]
    sources = dict.fromkeys(_source(name, dataset) for name in usable)
    return tuple(source for source in sources if source not in setting.variables)


def _asked(dataset: Dataset, sensitive: str, names: Sequence[str]) -> dict[str, Variable]:
    found: dict[str, Variable] = {}
    for name in names:
        variable, source = dataset.variable(name), _source(name, dataset)
        if not variable.measurable and not variable.classifies:
            raise Mistake(f"{name!r} cannot stand in a model.")
        if source == sensitive:
            raise Mistake(f"{name!r} is the sensitive variable itself. Leave it out.")
        if source in found:
            raise Mistake(f"{found[source].name!r} and {name!r} are suppressed together. Give one of them.")
        found[source] = variable
    return found


def _source(name: str, dataset: Dataset) -> str:
    """What the rule models.suppressed knows the variable as."""
    return dataset.variables[dataset.root(name)].column


def _finer(variable: Variable, than: Variable | None) -> bool:
    """Whether to map this variable rather than the one known of the same source: a number, else the finest few classes."""
    if variable.measurable or (than is not None and than.measurable):
        return variable.measurable and (than is None or not than.measurable)
    if not variable.classifies or len(variable.codes or ()) > MOST_CLASSES:
        return False
    return than is None or len(variable.codes or ()) > len(than.codes or ())


def _design(sensitive: str, forms: Sequence[tuple[Variable, bool]]) -> Design:
    """An intercept, the sensitive variable, then a block for each other one: as a number, or by all its classes."""
    blocks, numbers = [Block((), (), 0, 1), Block((0,), (), 1, 1)], [Number(sensitive)]
    classes: list[str] = []
    for variable, by_classes in forms:
        offset = blocks[-1].offset + blocks[-1].width
        if not by_classes:
            blocks.append(Block((len(numbers),), (), offset, 1))
            numbers.append(Number(variable.name))
        else:
            width = len(variable.codes or ())
            blocks.append(Block((), ((len(classes), tuple(range(width))),), offset, width))
            classes.append(variable.name)
    return Design(numbers[0], tuple(numbers), tuple(classes), tuple(blocks))


def _setting(
    gram: Floats, aimed: Floats | None, design: Design, sensitive: str, chosen: Mapping[str, Variable]
) -> tuple[Setting, tuple[str, ...]]:
    """The cross-products about the means, of what varies, for everyone and for a target; and what the columns are called.

    The sensitive variable is in its standard deviations, so that a residual risk of 1 is what guessing its mean has.
    """
    if gram[0, 0] <= 0:
        raise Mistake("No record has a value for every one of these numbers.", suggestions=["Name fewer variables."])
    cross = _about(gram, gram[0] / gram[0, 0])
    varies = np.diag(cross) > CONSTANT * np.diag(gram)
    if not varies[1]:
        raise Mistake(f"{sensitive!r} does not vary, so there is nothing to predict.")
    blocks = dict(zip(chosen, design.blocks[2:], strict=True))
    found = {name: _columns(gram, block, varies) for name, block in blocks.items()}
    # wide blocks first: the work of an exhaustive map is in the columns that are decided last
    order = sorted((name for name in found if found[name]), key=lambda name: -len(found[name]))
    keep = [1, *(column for name in order for column in found[name])]
    place = {column: i for i, column in enumerate(keep)}
    columns = {name: tuple(place[column] for column in found[name]) for name in order}
    called = (
        sensitive,
        *(_called(chosen[name], column - blocks[name].offset) for name in order for column in found[name]),
    )
    scale = np.where(np.arange(len(keep)) == 0, np.sqrt(cross[1, 1] / gram[0, 0]), 1.0)
    scales, target = np.outer(scale, scale), None
    if aimed is not None:
        if aimed[0, 0] <= 0:
            raise Mistake(
                "Nobody is in the target.",
                suggestions=["Name units that have a value for every number that is mapped."],
            )
        target = Target(_about(aimed, gram[0] / gram[0, 0])[np.ix_(keep, keep)] / scales, float(aimed[0, 0]))
    return Setting(cross[np.ix_(keep, keep)] / scales, {sensitive: (0,), **columns}, sensitive, target), called


def _called(variable: Variable, place: int) -> str:
    return (
        variable.name
        if variable.measurable
        else f"{variable.name}={[code.code for code in variable.codes or ()][place]}"
    )


def _about(gram: Floats, means: Floats) -> Floats:
    """Products about some means, which need not be those of the same units."""
    across = np.outer(means, gram[0])
    return np.asarray(gram - across - across.T + gram[0, 0] * np.outer(means, means))


def _columns(gram: Floats, block: Block, varies: Bools) -> list[int]:
    """The columns of a block that vary; of classes that are not empty, all but the largest, which is the reference."""
    columns = [column for column in range(block.offset, block.offset + block.width) if varies[column]]
    if block.classes and columns:
        columns.remove(max(columns, key=lambda column: gram[column, column]))
    return columns


def _rows(found: ReleaseMap) -> tuple[tuple[str, ...], ...]:
    """Risk, utility, released R², free and suppressed variables of every release on the frontier."""
    rows = []
    for row in found.frontier():
        numbers = (found.risk[row], found.utility[row], found.released[row])
        sides = (_listed(found, found.free[row]), _listed(found, ~found.free[row]))
        rows.append((*(f"{number:.4f}" for number in numbers), *(", ".join(side) or "-" for side in sides)))
    return tuple(rows)


def _listed(found: ReleaseMap, mask: Bools) -> list[str]:
    return [name for name, taken in zip(found.others, mask, strict=True) if taken]


def _chart(found: ReleaseMap, release: ReleaseChoice | None, risk: str, utility: str) -> dict[str, Any]:
    """The map in Vega-Lite: a thinned cloud, the frontier as a line, the choice as a point."""
    total = len(found.risk)
    # a stride would walk in step with the bits that say what is free; a fixed draw does not
    cloud = np.arange(total) if total <= CLOUD else np.random.default_rng(0).choice(total, CLOUD, replace=False)
    sides = axes(f"Utility ({utility})", f"Risk ({risk})")
    colour = {"field": "free", "type": "quantitative", "title": "Free variables", "scale": {"scheme": "viridis"}}
    mark = {"type": "point", "filled": True, "size": 12}
    chosen = []
    if release is not None:
        point = {
            "utility": release.utility,
            "risk": release.risk,
            "free": len(release.free),
            "suppressed": ", ".join(release.suppressed),
        }
        chosen = [layer({"type": "point", "shape": "diamond", "size": 150, "color": "red"}, [point], sides)]
    return map_chart(
        f"Releases of models of {found.sensitive}",
        "Utility and risk of each way to free variables; the line is the frontier. Not protected.",
        points=layer(mark, _points(found, np.sort(cloud)), {**sides, "color": colour}),
        line=_points(found, found.frontier()),
        more=chosen,
    )


def _points(found: ReleaseMap, rows: Ints) -> list[dict[str, Any]]:
    columns = (found.utility[rows].tolist(), found.risk[rows].tolist(), found.volume[rows].tolist())
    return [{"utility": u, "risk": r, "free": f} for u, r, f in zip(*columns, strict=True)]


def write_choice(site: str | Path, release: ReleaseChoice, *, dataset: str) -> Policy:
    """Write a release into the policy.toml of a data set, its own or the site's, as models.sensitive and models.suppressed,
    and give the new policy.

    Promise: only these two fields and the version change; every other byte stays. A file that cannot be edited so
    is left alone.
    """
    folder = Folder(Path(site))
    name = None if folder.follows(dataset) else dataset
    file, before = folder.home(name) / "policy.toml", folder.policy(name)
    text = file.read_bytes().decode("utf-8")
    models = replace(before.models, sensitive=release.sensitive, suppressed=release.suppressed)
    after = replace(before, version=before.version + 1, models=models)
    edited = _edited(text, after)
    try:
        sound = read_as(folder, edited, name=name) == after
    except Mistake:
        sound = False
    if not sound:
        raise Mistake(
            "policy.toml is laid out in a way that this command does not edit.",
            suggestions=[f"Under [models], write: {'; '.join(_lines(after).values())}. Raise the version by one."],
        )
    keep(folder, before, name=name)
    write_whole(file, edited)
    return after


def _lines(policy: Policy) -> dict[str, str]:
    """The two fields as TOML, which for text and lists of text is JSON."""
    values = {"sensitive": policy.models.sensitive, "suppressed": list(policy.models.suppressed)}
    return {key: f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()}


def _edited(text: str, policy: Policy) -> str:
    end = "\r" if "\r\n" in text else ""
    lines = text.split("\n")
    if not any(re.match(r"\s*\[models\]", line) for line in lines):
        lines[-1:] = [*([lines[-1] + end] if lines[-1] else []), end, "[models]" + end, ""]
    start = next(i for i, line in enumerate(lines) if re.match(r"\s*\[models\]", line)) + 1
    for key, line in reversed(_lines(policy).items()):
        _put(lines, start, key, line + end)
    _put(lines, 0, "version", f"version = {policy.version}{end}")
    return "\n".join(lines)


def _put(lines: list[str], start: int, key: str, line: str) -> None:
    """Replace the line of a key in the section that begins at `start`, or begin the section with it."""
    for i in range(start, len(lines)):
        if re.match(r"\s*\[", lines[i]):
            break
        if re.match(rf"\s*{key}\s*=", lines[i]):
            lines[i] = line
            return
    lines.insert(start, line)
