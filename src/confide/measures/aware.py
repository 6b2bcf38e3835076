"""The risk of a file whose intruder knows how it was masked, and the worst of the attacks that do and do not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from confide.errors import Mistake
from confide.measures.records import listed
from confide.measures.risk import distance_linkage, probabilistic_linkage
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.registry import attack_on
from confide.measures.transparency.scoring import score
from confide.measures.transparency.strata import claimed_by_strata, unfit_by_strata
from confide.measures.transparency.trial import FileTrial, MaskedHow
from confide.microdata import Method

__all__ = ["AwareRisk", "WorstAttack", "advantage", "aware_risk", "worst_attack"]


@dataclass(frozen=True)
class AwareRisk:
    """What the best known attack on a method achieves: the percentages of targets it is right about, and of a mere guess.

    The `advantage` is the percentage right of those whom a guess misses: 0 is no better than guessing, 100 never wrong. Of
    members and others it is the rate of true positives less that of false ones (Yeom et al. 2018).
    """

    attack: str
    words: str
    percent: float
    guessing: float

    @property
    def advantage(self) -> float:
        return max(0.0, 100 * (self.percent - self.guessing) / (100 - self.guessing)) if self.guessing < 100 else 0.0


class WorstAttack(NamedTuple):
    """The attack that gets most, and its percentage."""

    attack: str
    percent: float


def aware_risk(
    original: Any,
    released: Any,
    *,
    method: Method,
    columns: str | Sequence[str],
    by: str | Sequence[str] = (),
    identifier: str | None = None,
    holdout: Any = None,
) -> AwareRisk:
    """Risk by an intruder who knows the method (Nin, Herranz and Torra 2008): the best known attack, `method.best_attack`.

    They know `columns` of their targets, the method with its parameters and strata, and not what was drawn. At most 1,000
    targets are tried, drawn by chance. Of new records, as Synthesis draws them with a `size`, who was a member is asked: no
    record of theirs is one that there was. Strata that are among the columns are attacked one by one. Where the attack cannot
    be tried a Mistake says why.

    >>> from confide import demo
    >>> from confide.microdata import RankSwapping
    >>> people, names = demo.people(500), ["income", "wages", "taxes", "age"]
    >>> released = RankSwapping(p=5).protect(people, columns=names, teaching_seed=33)
    >>> found = aware_risk(people, released, method=RankSwapping(p=5), columns=names)
    >>> found.attack, found.percent > distance_linkage(people, released, columns=names).percent
    ('rank-windows', True)
    """
    attack = attack_on(method)
    strata, paired = listed(by, "strata") if by else (), not (attack.of_members and method.makes_new_records)
    how = MaskedHow(listed(columns, "columns"), (), method, strata, identifier, paired)
    trial = _fit(attack, FileTrial.of(original, released, how, seed=0), holdout)
    found = score(claimed_by_strata(attack, trial.seen, trial.known), trial.truth)
    words = " ".join((attack.words, *found.notes))
    return AwareRisk(attack.name, words, 100 * found.success, 100 * found.guess)


def _fit(attack: FileAttack, trial: FileTrial, holdout: Any) -> FileTrial:
    chosen = trial.of_members(holdout) if attack.of_members else trial
    why = "Nothing was masked." if chosen is None else unfit_by_strata(attack, chosen.seen, chosen.known)
    if chosen is None or why:
        raise Mistake(f"The attack {attack.name} cannot be tried. {why}")
    return chosen


def advantage(original: Any, released: Any, *, method: Method | None, **about: Any) -> float | None:
    """The advantage of an intruder who knows the method; None where there is none, or nothing to be tried on these columns."""
    try:
        return None if method is None else aware_risk(original, released, method=method, **about).advantage
    except Mistake:
        return None


def worst_attack(
    original: Any,
    released: Any,
    *,
    columns: str | Sequence[str],
    method: Method | None = None,
    by: str | Sequence[str] = (),
    identifier: str | None = None,
) -> WorstAttack:
    """The worst of linkage by distance, by evidence and, where it is known how the file was masked, by who knows it too.

    What the aware intruder gets counts by its advantage over guessing.

    >>> import pyarrow as pa
    >>> firms = pa.table({"sales": [1.0, 5.0, 9.0, 30.0], "staff": [2.0, 3.0, 9.0, 20.0]})
    >>> worst_attack(firms, firms, columns=["sales", "staff"])
    WorstAttack(attack='distance linkage', percent=100.0)
    """
    both: dict[str, Any] = {"columns": columns, "identifier": identifier}
    found = [
        WorstAttack("distance linkage", distance_linkage(original, released, **both).percent),
        WorstAttack("probabilistic linkage", probabilistic_linkage(original, released, **both).percent),
    ]
    aware = advantage(original, released, method=method, by=by, **both)
    if method is not None and aware is not None:
        found.append(WorstAttack(attack_on(method).name, aware))
    return max(found, key=lambda each: each.percent)
