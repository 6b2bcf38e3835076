"""What the custodian declares of a data set: variables, code lists, roles, bins. All of it is public.

A catalog is read from `dataset.toml` by `confide.model.catalog.toml`; nothing here looks at data.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from confide.errors import Mistake, nearest
from confide.model.catalog.sampling import SampleDesign
from confide.model.universe import Piece

__all__ = [
    "MOST_CODES",
    "MOST_DECIMALS",
    "TOTAL",
    "Code",
    "CodeList",
    "Dataset",
    "Derivation",
    "EngineName",
    "HouseholdLevel",
    "Kind",
    "Role",
    "Taken",
    "Taking",
    "Variable",
]

TOTAL = "_T"
"""The code of a margin; no declared code may use it."""

MOST_CODES = 65_535
"""More codes than this do not fit the integers they are stored as."""

MOST_DECIMALS = 9
"""The finest precision of a number; what is finer still is rounded to it."""


class Role(StrEnum):
    """What a variable is to an intruder (the survey's four kinds)."""

    IDENTIFIER = "identifier"
    KEY = "key"
    CONFIDENTIAL = "confidential"
    OTHER = "other"


class Kind(StrEnum):
    CATEGORICAL = "categorical"
    NUMERIC = "numeric"


class EngineName(StrEnum):
    """What answers from the records of a data set: a DuckDB file, columns that are mapped into memory, PostgreSQL, or Spark.

    `auto` is columns for large files that fit into memory, and DuckDB for others.
    """

    AUTO = "auto"
    DUCKDB = "duckdb"
    COLUMNS = "columns"
    POSTGRES = "postgres"
    SPARK = "spark"

    @property
    def outside(self) -> bool:
        """Whether its records live outside the folder of the site."""
        return self in (EngineName.POSTGRES, EngineName.SPARK)


@dataclass(frozen=True, slots=True)
class Code:
    """One class of a variable; `parent` is its class on the next coarser level, `synonyms` are its other spellings in the data."""

    code: str
    label: str
    parent: str | None = None
    missing: bool = False
    synonyms: tuple[str, ...] = ()


@dataclass(frozen=True)
class CodeList:
    """Codes in declared order; a code's place is the small integer stored for it."""

    codes: tuple[Code, ...]

    def __post_init__(self) -> None:
        if len(self.codes) > MOST_CODES:
            raise Mistake(f"A variable may have at most {MOST_CODES} codes.", suggestions=["Group them."])
        seen: set[str] = set()
        for code in self.codes:
            if code.code in seen:
                raise Mistake(f"Code {code.code!r} is declared twice.")
            if code.code == TOTAL or not code.code:
                raise Mistake(f"{code.code!r} may not be a code: it is reserved. Give the class another code.")
            seen.add(code.code)
        for synonym in self.synonyms:
            if synonym in seen:
                raise Mistake(f"{synonym!r} is declared twice: as a code and a synonym, or as two synonyms.")
            seen.add(synonym)

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Code]:
        return iter(self.codes)

    def __contains__(self, code: object) -> bool:
        return code in self.places

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {code.code: place for place, code in enumerate(self.codes)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(code.code for code in self.codes)

    @property
    def synonyms(self) -> list[str]:
        """Other spellings of all codes, those of the first code first."""
        return [synonym for code in self.codes for synonym in code.synonyms]


@dataclass(frozen=True)
class Derivation:
    """What an analyst made a variable of: declared ones, and the place of its class for each combination of their places.

    `sizes` are the numbers of their codes; in `places` that of the last source changes fastest.
    """

    sources: tuple[str, ...]
    sizes: tuple[int, ...]
    places: tuple[int, ...]


class Taking(StrEnum):
    """What of the people of a household makes a variable of it."""

    SIZE = "size"
    NUMBER = "number"
    ANY = "any"
    SUM = "sum"
    MEAN = "mean"
    HEAD = "head"


@dataclass(frozen=True)
class Taken:
    """How a variable of households is made of the people in them: of which variable of theirs, and of which of its codes."""

    how: Taking
    source: str = ""
    among: tuple[str, ...] = ()


@dataclass(frozen=True)
class HouseholdLevel:
    """What makes a data set one of households: the data set of people that it is made of, the column that names households in
    a file of theirs, and the variable and code of who is the head (without them, whoever comes first in the file)."""

    of: str
    key: str
    head: tuple[str, str] | None = None


@dataclass(frozen=True)
class Variable:
    """A column as declared. A numeric variable with cutpoints also classifies: its codes are the bins."""

    name: str
    label: str
    kind: Kind
    role: Role = Role.OTHER
    subject: str = ""
    asked_of: str = ""
    """Whom the question was asked of, in words."""
    codes: CodeList | None = None
    parent: str | None = None
    group: str | None = None
    universe: bool = True
    of: str | None = None
    cutpoints: tuple[float, ...] = ()
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    decimals: int = 0
    minimum: float | None = None
    maximum: float | None = None
    missing: tuple[str, ...] = ()
    dates: str = ""
    """What is taken of a column of dates: `year`, `month` or `age 2025-12-31`."""
    made: Derivation | None = None
    """Of what an analyst made it; the custodian declared it if there is nothing."""
    taken: Taken | None = None
    """How it is made of the people of a household, if it is: such a variable has no column."""

    @property
    def numeric(self) -> bool:
        return self.kind is Kind.NUMERIC

    @property
    def binned(self) -> bool:
        """Bins of a cutpoint variable are combined before the Universe Gamma test; classes are not."""
        return bool(self.cutpoints)

    @property
    def column(self) -> str:
        """The column of the data file behind this variable."""
        return self.of or self.name

    @property
    def classifies(self) -> bool:
        """Whether the variable may stand in the rows and columns of a table."""
        return self.codes is not None and self.role is not Role.IDENTIFIER

    @property
    def measurable(self) -> bool:
        """Whether totals and means of the variable may be asked for."""
        return self.numeric and self.of is None and self.role is not Role.IDENTIFIER

    @property
    def signed(self) -> bool:
        return self.minimum is None or self.minimum < 0

    def place(self, code: str) -> int:
        """The stored integer of a code."""
        assert self.codes is not None
        return self.codes.places[code]


@dataclass(frozen=True)
class Dataset:
    """A described data set: everything the public may know before asking."""

    name: str
    title: str
    variables: Mapping[str, Variable]
    source: str = ""
    period: str = ""
    unit: str | None = None
    weight: str | None = None
    weight_decimals: int = 2
    household: str | None = None
    """The column that names whom units live with: they move together when records are protected."""
    level: HouseholdLevel | None = None
    """What makes it a data set of households, if it is one."""
    above: "Dataset | None" = None
    """The data set of the households that its units live in, if there is one."""
    sampling: SampleDesign | None = None
    """How the units were drawn, if it is declared."""
    structural_zeros: tuple[Piece, ...] = ()
    """Which classes nobody can be in at once, by the meaning of the codes: conjunctions over two variables or more."""
    engine: EngineName = EngineName.AUTO
    database: str = ""
    """Where PostgreSQL is, as libpq reads it, without a password: for the custodian, and shown to nobody else."""
    cluster: str = ""
    storage: str = ""
    """Where Spark is, without a token, and the folder that it and the custodian see: likewise."""
    extends: "Dataset | None" = None
    """The data set as it is declared, where a request adds variables of its own."""

    def variable(self, name: str) -> Variable:
        """The variable of that name; a Mistake that offers the nearest one if there is none."""
        found = self.variables.get(name)
        if found is None or found.role is Role.IDENTIFIER:
            known = [v.name for v in self.variables.values() if v.role is not Role.IDENTIFIER]
            hint = nearest(name, known) or [f"The codebook of {self.name!r} lists them."]
            raise Mistake(f"No variable called {name!r} in {self.name!r}.", suggestions=hint)
        return found

    def classifier(self, name: str) -> Variable:
        """The variable as one that makes classes (categorical, or numeric with declared cutpoints)."""
        variable = self.variable(name)
        if not variable.classifies:
            recodes = [v.name for v in self.variables.values() if v.of == name]
            hint = [f"Use {recodes[0]!r}, its recode."] if recodes else ["Ask the custodian to declare cutpoints."]
            raise Mistake(f"{name!r} is numeric and has no declared cutpoints.", suggestions=hint)
        return variable

    def taken(self, name: str) -> Taken | None:
        """How a variable, or the number that it cuts anew, is made of the people of a household; None if it has a column."""
        return self.variables[self.variables[name].column].taken

    @property
    def declared(self) -> "Dataset":
        """As the custodian declares it."""
        return self.extends or self

    def sources(self, name: str) -> tuple[str, ...]:
        """The declared variables that a variable is made of: itself, unless an analyst made it."""
        made = self.variables[name].made
        return (name,) if made is None else made.sources

    def columns(self, name: str) -> frozenset[str]:
        """The columns of the data file behind a variable."""
        return frozenset(self.variables[source].column for source in self.sources(name))

    def bins(self, name: str) -> Variable | None:
        """A number as it is cut: by the recode that is named, or at its finest cutpoints; None if none are declared."""
        variable = self.variables[name]
        if variable.binned and variable.of and variable.classifies:
            return variable
        cuts = [v for v in self.variables.values() if v.binned and v.classifies and name in (v.name, v.of)]
        return max(cuts, key=lambda cut: len(cut.cutpoints), default=None)

    def chain(self, name: str) -> tuple[Variable, ...]:
        """The variable and its coarser levels, finest first."""
        levels = [self.variables[name]]
        while (parent := levels[-1].parent) is not None:
            levels.append(self.variables[parent])
        return tuple(levels)

    def root(self, name: str) -> str:
        """The coarsest level of the variable's hierarchy: what names the hierarchy."""
        return self.chain(name)[-1].name

    def levels(self, name: str) -> tuple[Variable, ...]:
        """The variable at every level of detail, coarsest first: levels of its hierarchy, or recodes of its number."""
        return self._levels[self._kin(self.variables[name])]

    @cached_property
    def _levels(self) -> Mapping[tuple[Kind, str], tuple[Variable, ...]]:
        found: dict[tuple[Kind, str], list[Variable]] = {}
        for variable in self.variables.values():
            if variable.classifies:
                found.setdefault(self._kin(variable), []).append(variable)
        return {kin: tuple(sorted(group, key=lambda v: len(v.codes or ()))) for kin, group in found.items()}

    def _kin(self, variable: Variable) -> tuple[Kind, str]:
        return variable.kind, variable.column if variable.numeric else self.root(variable.name)

    def coarser(self, name: str) -> tuple[Variable, ...]:
        """The variable at coarser levels, or its number cut by fewer of the same cutpoints; the nearest first."""
        variable = self.variables[name]
        if not variable.binned:
            return self.chain(name)[1:]
        return tuple(v for v in reversed(self.levels(name)) if set(v.cutpoints) < set(variable.cutpoints))

    def lift(self, name: str, ancestor: str) -> tuple[int, ...]:
        """For each place of the variable's codes, the place of its class on a coarser level."""
        places = tuple(range(len(self._codes(name))))
        if self.variables[name].binned and name != ancestor:
            return self._wider(name, ancestor)
        for level in self.chain(name):
            if level.name == ancestor:
                return places
            assert level.parent is not None
            up = self._codes(level.parent).places
            step = [up[code.parent or ""] for code in self._codes(level.name)]
            places = tuple(step[p] for p in places)
        raise KeyError(ancestor)

    def _wider(self, name: str, recode: str) -> tuple[int, ...]:
        """For each bin, the bin of a recode with fewer cutpoints that holds it; the bin of missing numbers is the last of each."""
        cuts, wide = self.variables[name].cutpoints, self.variables[recode].cutpoints
        bins = [sum(cut <= start for cut in wide) for start in (float("-inf"), *cuts)]
        return (*bins, *[len(wide) + 1] * (len(self._codes(name)) - len(bins)))

    def _codes(self, name: str) -> CodeList:
        codes = self.variables[name].codes
        assert codes is not None
        return codes
