"""What the custodian allows: a frozen, versioned value whose every field has one line of help.

Design as if every parameter were known to the intruder; only the secret is secret.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

from confide.errors import Mistake, nearest
from confide.model.parameter import Parameters, parameter
from confide.model.toml import parse_toml

__all__ = [
    "PRESETS",
    "SITE",
    "Policy",
    "describe",
    "plain_policy",
    "policy_of",
    "preset_policy",
    "read_policy",
    "write_policy",
]

SITE = "site"
"""What a data set's own policy names as its preset to start from the site's."""

LONGEST_NAME = 60

_LARGEST = 1e12
"""No field is larger: counts that a rule compares with it fit any machine integer."""


_BESIDE = ("red_team", "audit", "updates", "review")
"""Sections on which no answer depends."""


class Section(Parameters):
    """A part of the policy; values outside their declared range are a Mistake."""

    name: ClassVar[str]

    def _called(self, name: str) -> str:
        return f"Policy field {self.name}.{name}"

    def _check(self) -> None:
        for f in fields(self):  # type: ignore[arg-type]  # every section is a dataclass
            value = getattr(self, f.name)
            if isinstance(value, int | float) and abs(value) > _LARGEST:
                raise Mistake(f"{self._called(f.name)} must be at most {_LARGEST:g}.")


@dataclass(frozen=True)
class UniverseRules(Section):
    name: ClassVar = "universe"
    decide_on: str = parameter(
        "protected", "Counts the rules look at; 'true' leaks one bit a refusal.", among=("protected", "true")
    )
    gamma: int = parameter(30, "Least units in every part of every piece of a universe (Γ).", low=0)
    gamma_star: int = parameter(10, "Least units in every non-empty intersection of pieces (Γ*).", low=0)
    marginals: bool = parameter(True, "Refuse a universe whose table has a margin of 1 or 2 (No Marginal 1 or 2).")
    complement: bool = parameter(True, "Refuse a universe that leaves fewer than Γ units, but not none, outside it.")
    remainder: int = parameter(
        10, "Least units, if any, by which changing the codes of one condition would change a universe.", low=0
    )
    variables: int = parameter(4, "Most variables that may define one universe.", low=1, high=8)
    pieces: int = parameter(4, "Most pieces in one universe.", low=1, high=8)
    noise_distance: int = parameter(3, "Largest change of a count before a rule looks at it.", low=1, high=15)
    noise_variance: float = parameter(1.0, "Variance of that change.", low=0.0, high=15.0)


@dataclass(frozen=True)
class DropRules(Section):
    name: ClassVar = "drop"
    k: int = parameter(
        5, "Drop 2 to k units, drawn once and for ever, from each part of the universe; 0 drops none.", low=0, high=50
    )


@dataclass(frozen=True)
class CountRules(Section):
    name: ClassVar = "counts"
    mechanism: str = parameter(
        "cell-key",
        "How counts are protected; under 'safe' there are none but those of its base.",
        among=("cell-key", "safe", "none"),
    )
    distance: int = parameter(5, "Largest change of a count (D).", low=1, high=30)
    variance: float = parameter(2.0, "Variance of the change of a count (V).", low=0.0, high=30.0)
    small: int = parameter(2, "Counts from 1 to this never appear (js).", low=0, high=5)
    stay: float = parameter(
        0.0, "Probability that a count keeps its value, where feasible; 0 leaves it to entropy.", low=0.0, high=1.0
    )


@dataclass(frozen=True)
class TotalRules(Section):
    name: ClassVar = "totals"
    mechanism: str = parameter(
        "ma", "How totals are protected: Ma et al. 2016 or Thompson et al. 2013.", among=("ma", "thompson", "none")
    )
    beta: float = parameter(
        0.03, "Mean relative change of a total under 'ma'; the largest is twice this.", low=0.0, high=0.5
    )
    magnitudes: tuple[float, ...] = parameter(
        (0.4, 0.3, 0.2), "Shares of the largest contributions under 'thompson'.", low=0.0, high=2.0
    )
    units: int = parameter(5, "Least units behind a total.", low=0)
    dominance_n: int = parameter(2, "Dominance: the n largest units ...", low=1, high=5)
    dominance_k: float = parameter(85.0, "... may not hold more than k percent of the total.", low=0.0, high=100.0)
    p_percent: float = parameter(10.0, "No unit may be estimated to within p percent by another.", low=0.0, high=100.0)
    risk_alpha: float = parameter(
        0.11, "Differencing attack: within this share of the largest contribution is a disclosure.", low=0.0, high=1.0
    )
    risk_limit: float = parameter(
        0.25, "Withhold totals for which that attack succeeds with more than this probability.", low=0.0, high=1.0
    )


@dataclass(frozen=True)
class TableRules(Section):
    name: ClassVar = "tables"
    dimensions: int = parameter(4, "Most variables in one table.", low=1, high=6)
    cells: int = parameter(20_000, "Most cells in one table, margins aside.", low=1, high=1_000_000)
    sparse_below: int = parameter(5, "A cell with fewer units than this, but not none, is sparse.", low=0)
    sparsity: float = parameter(0.5, "Largest share of sparse cells among cells that are not empty.", low=0.0, high=1.0)
    mean_cell: float = parameter(4.0, "Least units a cell on average, over the declared cells.", low=0.0)
    cross: bool = parameter(
        False,
        "Judge the cross of all class variables that a question names, in the whole file, instead of its table alone.",
    )
    class_disclosure: bool = parameter(True, "Refuse a table in which a whole group falls into one confidential class.")
    additive: bool = parameter(
        False, "Change protected counts a little more, so that totals are the sums of their parts."
    )


@dataclass(frozen=True)
class ModelRules(Section):
    name: ClassVar = "models"
    predictors: int = parameter(20, "Most predictors in one model; interactions are free.", low=1, high=50)
    units: int = parameter(50, "Least units behind a model.", low=0)
    units_per_column: int = parameter(5, "Least units for each column of a model.", low=1)
    dummy: int = parameter(20, "A class with fewer units than this is absorbed into the reference.", low=0)
    interaction: int = parameter(10, "Least units, if any, in each cell of an interaction of classes.", low=0)
    leverage_units: int = parameter(10, "No coefficient may rest on fewer units than this.", low=1)
    influence: float = parameter(0.3, "Largest share of one unit in the squared residuals.", low=0.0, high=1.0)
    r_squared: float = parameter(0.98, "Models that explain more than this are refused.", low=0.0, high=1.0)
    class_fit: float = parameter(
        0.05, "Least spread of residuals in a class, as a share of the overall spread.", low=0.0, high=1.0
    )
    sensitive: str = parameter("", "A variable that nothing may relate to the suppressed ones (see the frontier).")
    suppressed: tuple[str, ...] = parameter((), "The suppressed variables.")


@dataclass(frozen=True)
class OutputRules(Section):
    name: ClassVar = "output"
    digits: int = parameter(4, "Significant digits of totals and means.", low=1, high=15)


@dataclass(frozen=True)
class QuotaRules(Section):
    name: ClassVar = "quota"
    per_day: int = parameter(
        1000, "Questions a person may ask of a data set in a day, refused ones included; 0 for no limit.", low=0
    )
    per_minute: int = parameter(120, "Requests a client may send in a minute; 0 for no limit.", low=0)
    seconds: int = parameter(
        120, "How long one question of a page or program may be worked on, in seconds; 0 for no limit.", low=0
    )


@dataclass(frozen=True)
class RecordRules(Section):
    name: ClassVar = "records"
    keys: int = parameter(
        0, "Keys an intruder is taken to know of a unit at once; 0 looks for nobody who is exposed.", low=0, high=6
    )
    alone: int = parameter(2, "A group of at most so many units on such keys is exposed.", low=1, high=20)
    exchange: float = parameter(
        0.0, "Share of the exposed units that exchange a key with a unit alike.", low=0.0, high=1.0
    )
    background: float = parameter(
        0.0,
        "Share of the others that exchange a key within the class above it; a tenth of that, if it has none.",
        low=0.0,
        high=0.5,
    )
    background_exposed: float = parameter(
        0.0,
        "The most of those that do so because they are alone, or few, in a cell by keys that a question can name.",
        low=0.0,
        high=0.5,
    )
    cell_exchanges: float = parameter(
        1.0,
        "Exchanges that may change its count, which every cell by keys that a question can name is to expect.",
        low=0.0,
        high=20.0,
    )
    partners: int = parameter(10, "Least units that a partner for the exchange is drawn from.", low=2, high=1000)
    noise: float = parameter(
        0.0, "Standard deviation of the noise of confidential numbers, once for each unit, as a share of the number.",
        low=0.0, high=1.0,
    )  # fmt: skip
    noise_exposed: float = parameter(
        0.0, "The same for exposed units and for those that dominate a total.", low=0.0, high=1.0
    )
    dominance: float = parameter(
        0.3, "A unit dominates that holds more than this share of a total by the keys.", low=0.0, high=1.0
    )

    @property
    def changes(self) -> bool:
        """Whether the records are changed at all before anything is answered from them."""
        return bool(self.exchanges or self.noise or self.noise_exposed)

    @property
    def exchanges(self) -> bool:
        """Whether units exchange keys."""
        return bool((self.keys and (self.exchange or self.background_exposed)) or self.background)


@dataclass(frozen=True)
class RedTeamRules(Section):
    name: ClassVar = "red_team"
    limit: float = parameter(
        0.05, "Most lift of an attack, as a share of its targets, before 'confide attack' ends with status 4.",
        low=0.0, high=1.0,
    )  # fmt: skip


@dataclass(frozen=True)
class AuditRules(Section):
    name: ClassVar = "audit"
    limit: float = parameter(
        0.0, "Most small sets that the questions of one person, or of everybody, may be expected to isolate; 0 for no limit.",
        low=0.0,
    )  # fmt: skip
    explained: float = parameter(
        0.0, "Most of the variance of models.sensitive that all variables related to it in answers may explain; 0 for no limit.",
        low=0.0, high=1.0,
    )  # fmt: skip


@dataclass(frozen=True)
class UpdateRules(Section):
    name: ClassVar = "updates"
    least: int = parameter(
        100, "Least units, if any, that new data may bring, take away or change: answers before and after would tell of fewer.",
        low=0,
    )  # fmt: skip
    few: str = parameter(
        "refuse",
        "What is done with fewer: the data are refused, or the units wait as they were.",
        among=("refuse", "wait"),
    )
    stand_ins: bool = parameter(
        True,
        "Of protected records, who leaves and would be told of stays as they were, and somebody alike leaves in their stead; "
        "the true record is then kept until that ends, so set it to false where people withdraw consent.",
    )
    kept: int = parameter(0, "Older vintages of the data that are kept, so that old receipts can be checked.", low=0)
    asked: bool = parameter(False, "Whether people may ask about the older vintages, too, as in people@2025.")


@dataclass(frozen=True)
class ReviewRules(Section):
    name: ClassVar = "review"
    tables: bool = parameter(False, "Tables wait for a custodian's yes before an analyst sees them.")
    models: bool = parameter(False, "Models and correlations wait for a custodian's yes before an analyst sees them.")


@dataclass(frozen=True)
class Policy:
    """All sections under a name and a version; `mark` binds receipts to the exact contents."""

    name: str = "drop-q"
    version: int = 1
    records: RecordRules = RecordRules()
    universe: UniverseRules = UniverseRules()
    drop: DropRules = DropRules()
    counts: CountRules = CountRules()
    totals: TotalRules = TotalRules()
    tables: TableRules = TableRules()
    models: ModelRules = ModelRules()
    output: OutputRules = OutputRules()
    quota: QuotaRules = QuotaRules()
    red_team: RedTeamRules = RedTeamRules()
    audit: AuditRules = AuditRules()
    updates: UpdateRules = UpdateRules()
    review: ReviewRules = ReviewRules()

    @cached_property
    def mark(self) -> str:
        """The fingerprint of every field on which an answer depends: all but the limits of red team, audit and time, updates and
        review.

        The limit of the audit decides, by what was asked before, whether somebody has an answer, never what the answer is;
        so does that of time, by what else the machine does, and the review, by what a custodian says.
        """
        told = {name: part for name, part in asdict(self).items() if name not in _BESIDE}
        del told["quota"]["seconds"]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def records_mark(self) -> str:
        """The fingerprint of what decides how records are protected when they are ingested; nothing if they are not."""
        if not self.records.changes:
            return ""
        told = [asdict(self.records), self.tables.mean_cell]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def title(self) -> str:
        return f"{self.name}, version {self.version}"

    @property
    def protects(self) -> bool:
        """False when nothing is protected: such a site needs an explicit flag to run."""
        return self.records.changes or self.counts.mechanism != "none" or self.drop.k >= 2


SECTIONS: dict[str, type[Section]] = {
    f.name: f.default.__class__ for f in fields(Policy) if isinstance(f.default, Section)
}

_EVERY_UNIVERSE = UniverseRules(gamma=0, gamma_star=0, marginals=False, complement=False, remainder=0)
_EVERY_TOTAL = TotalRules(mechanism="none", units=0, dominance_k=100.0, p_percent=0.0, risk_limit=1.0)

PRESETS: dict[str, Policy] = {
    "standard": Policy(
        name="standard",
        records=RecordRules(
            keys=3,
            alone=1,
            exchange=1.0,
            background=0.04,
            background_exposed=0.5,
            noise=0.15,
            noise_exposed=0.6,
            dominance=1.0,
        ),
        universe=_EVERY_UNIVERSE,
        drop=DropRules(k=0),
        counts=CountRules(distance=3, variance=1.0, small=1),
        totals=_EVERY_TOTAL,
        models=ModelRules(leverage_units=3),
        tables=TableRules(cross=True, sparsity=1.0, mean_cell=5.0, class_disclosure=False),
    ),
    "drop-q": Policy(),
    "census-mas": Policy(
        name="census-mas",
        universe=UniverseRules(decide_on="true", gamma=75, gamma_star=25, complement=False, remainder=0),
        counts=CountRules(mechanism="none"),
    ),
    "tablebuilder": Policy(
        name="tablebuilder",
        universe=_EVERY_UNIVERSE,
        drop=DropRules(k=0),
        tables=TableRules(class_disclosure=False),
    ),
    "open": Policy(
        name="open",
        universe=replace(_EVERY_UNIVERSE, decide_on="true"),
        drop=DropRules(k=0),
        counts=CountRules(mechanism="none"),
        totals=_EVERY_TOTAL,
        tables=TableRules(sparsity=1.0, mean_cell=0.0, class_disclosure=False),
        output=OutputRules(digits=15),
        red_team=RedTeamRules(limit=1.0),
        updates=UpdateRules(least=0),
    ),
}
"""`standard`, the default, answers from protected records and judges the cross; `drop-q` is universe rules, Drop q and cell
keys on the true records; `census-mas` is Lucero et al. as written; `tablebuilder` is cell keys alone; `open` protects nothing."""


def preset_policy(name: str) -> Policy:
    """The preset of that name."""
    if name not in PRESETS:
        raise Mistake(f"No preset called {name!r}. There are {', '.join(PRESETS)}.", suggestions=nearest(name, PRESETS))
    return PRESETS[name]


def read_policy(text: str, *, site: Policy | None = None) -> Policy:
    """The policy a TOML text describes: a `preset`, with the fields that differ.

    `site` is the policy of the site where the text is a data set's own: it is the base that `preset = "site"` names, and
    the base if no preset is named.
    """
    raw = parse_toml(text, what="policy.toml")
    preset = str(raw.pop("preset", "standard" if site is None else SITE))
    if site is not None and preset == SITE:
        return policy_of(raw, base=site)
    return policy_of(raw, base=replace(preset_policy(preset), version=1))


def policy_of(raw: dict[str, Any], *, base: Policy) -> Policy:
    """The policy that plain values describe, as `plain_policy` gives them; what they leave out is as in the base."""
    known = {"name", "version", *SECTIONS}
    for key in raw:
        if key not in known:
            raise Mistake(f"Unknown section {key!r} in policy.toml.", suggestions=nearest(key, {"preset", *known}))
    sections = {name: _section(getattr(base, name), raw.get(name, {})) for name in SECTIONS}
    name, version = raw.get("name", base.name), raw.get("version", base.version)
    named = isinstance(name, str) and 1 <= len(name.strip()) <= LONGEST_NAME and name.isprintable()
    if not named or type(version) is not int or not 1 <= version <= _LARGEST:
        raise Mistake("In policy.toml, name must be text of at most 60 characters and version a whole number from 1.")
    return Policy(name=name, version=version, **sections)


def plain_policy(policy: Policy) -> dict[str, Any]:
    """A policy as plain values: what a program reads beside the codebook."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(policy)))
    return plain


def _section(base: Any, changes: Any) -> Any:
    if not isinstance(changes, dict):
        raise Mistake(f"[{base.name}] in policy.toml must be a section.")
    known = [f.name for f in fields(base)]
    for key in changes:
        if key not in known:
            raise Mistake(f"Unknown field {key!r} in [{base.name}] of policy.toml.", suggestions=nearest(key, known))
    return replace(base, **changes)


def write_policy(policy: Policy, *, preset: str) -> str:
    """The TOML text of a policy, each field with its help: what `confide init` drafts."""
    lines = [f"preset = {_toml(preset)}", f"name = {_toml(policy.name)}", f"version = {policy.version}"]
    for section in SECTIONS:
        lines += ["", f"[{section}]"]
        part = getattr(policy, section)
        for f in fields(part):
            lines += [f"# {f.metadata['help']}", f"{f.name} = {_toml(getattr(part, f.name))}"]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A value as TOML, which for these is JSON."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def describe(policy: Policy | None = None) -> list[tuple[str, str, str]]:
    """Every field as (name, value, help), of a policy or of the defaults."""
    shown = policy or Policy()
    return [
        (f"{section}.{f.name}", _toml(getattr(getattr(shown, section), f.name)), f.metadata["help"])
        for section in SECTIONS
        for f in fields(getattr(shown, section))
    ]
