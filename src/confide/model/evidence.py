"""True aggregates on their way from an engine to protection. Only the service and `queries` see them."""

from dataclasses import dataclass

from confide.arrays import Floats, Ints
from confide.model.design import Design, Number
from confide.model.request import Family

__all__ = ["Box", "Cells", "Moments", "Rows", "Spread", "Step", "Tally"]


Box = tuple[tuple[str, tuple[int, ...]], ...]
"""A conjunction: each variable with the places of its allowed codes."""


@dataclass(frozen=True)
class Tally:
    """A question to an engine: aggregates by classes of `by`, over the units in any of the disjoint boxes.

    `without` lists units left out by their keys. With `of`, records with a missing value of it are left out; so are records
    in which a number of `complete` is missing or not defined (as a logarithm of 0), which a model with it leaves out too.
    With a `share`, contributions after the largest are exact only in cells whose largest exceeds that share of the size;
    elsewhere they are given as large as the largest, which is all that a rule needs to know of them.
    """

    by: tuple[str, ...]
    within: tuple[Box, ...] = ()
    without: tuple[int, ...] = ()
    of: str | None = None
    weighted: bool = False
    top: int = 0
    share: float = 0.0
    complete: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Cells:
    """An engine's answer: one row for each class that is not empty. Everything is an exact integer.

    `key` is the xor of the record keys: the same records give the same key in whatever table they appear.
    `total` and `size` are sums of contributions and of their absolute values, `square` of the squares of these, each cut by
    the store's shift first so that the sum is exact; `top` the largest ones. A contribution is a unit's, over its records.
    """

    by: tuple[str, ...]
    places: Ints
    records: Ints
    units: Ints
    key: Ints
    weight: Ints | None = None
    total: Ints | None = None
    size: Ints | None = None
    square: Ints | None = None
    top: Ints | None = None


@dataclass(frozen=True)
class Step:
    """A question about a model: one step of fitting it, at `beta` (empty at the start), on the records that are complete.

    A record is complete if its response and every number of the design are there (and defined: no logarithm of 0). With several
    linear predictors `beta` has all columns of the first, then of the second, and so on. A `calibration` has a row for each of
    the outcomes of the response: a record with columns x and that outcome counts 1 + row' x times. With `clusters`, the number of
    sampling units, the spread has the scores of each.
    """

    design: Design
    family: Family
    within: tuple[Box, ...] = ()
    without: tuple[int, ...] = ()
    beta: tuple[float, ...] = ()
    calibration: tuple[tuple[float, ...], ...] = ()
    clusters: int = 0


@dataclass(frozen=True)
class Moments:
    """Sums over the records, in a fixed order, so that the same records give the same bits.

    With prior weight w (1 where the data set has none), working weight v and working response z of iteratively reweighted
    least squares (v = 1, z = y for gaussian): gram = sum w v x x', score = sum w v x z, square = sum w v z^2.
    At an empty beta z and v are the family's usual starting values. `deviance` is at beta; `weight` is sum w,
    `response` is sum w y, `response_square` sum w y^2.
    `support`: for each column, the units in its classes (all of them, where it has none).

    With several linear predictors of a record, working weights V and derivatives g of its log-likelihood in these:
    gram = sum w V (x) x x', score = sum w (V eta + g) (x) x, both by predictor and then column; weights w are the calibrated
    ones; `response` is the number of records as calibrated, and `square` and `response_square` are 0.
    """

    gram: Floats
    score: Floats
    square: float
    deviance: float
    weight: float
    response: float
    response_square: float
    records: int
    units: int
    key: int
    support: Ints


@dataclass(frozen=True)
class Spread:
    """How the records lie about a fitted model, given the inverse of its gram.

    meat = sum over units of s s' with s = sum over the unit's records of w (y - mu) x, for robust standard errors;
    leverage = the largest, over units, of the sum over its records of w v x' inverse x;
    influence = the largest share of one unit in sum w (y - mu)^2;
    fits = for each class variable of the design and each of its places, sum w (y - mu)^2 and sum w (one row a place);
    scores, if asked for, = for each sampling unit the sum of w (y - mu) x over its records (one row a sampling unit).

    With several linear predictors of a record, s and the leverage are sums over these, a record that counts c times by the
    calibration has the root of c in s and in scores (it is c units with that score), (y - mu)^2 is summed over the classes
    (or periods), and `pull` has for each outcome of the response the sum of w g (x) x x' over its records, w as it came: how the
    score follows a calibration.
    """

    meat: Floats
    leverage: float
    influence: float
    squares: float
    fits: tuple[Floats, ...]
    pull: Floats | None = None
    scores: Floats | None = None


@dataclass(frozen=True)
class Rows:
    """Records, for synthetic diagnostics only: keys of units, fitted values, responses, leverages, and the predictors.

    `numbers` has a column for each number of the design, untransformed by shift and scale; `classes` a column of places.
    """

    unit: Ints
    fitted: Floats
    response: Floats
    leverage: Floats
    numbers: Floats
    classes: Ints
