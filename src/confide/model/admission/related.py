"""What may be related to what, in a model or a correlation: the answer space of a policy, whatever the data are."""

from collections.abc import Sequence

from confide.errors import Reason
from confide.model.admission.table import check_exclusion
from confide.model.catalog.dataset import Dataset
from confide.model.policy import Policy
from confide.model.universe import Universe

__all__ = ["check_forms", "check_predictors", "check_related", "check_suppressed", "related_to"]


def check_related(names: Sequence[str], where: Universe, dataset: Dataset, policy: Policy) -> list[Reason]:
    """Nothing may relate the sensitive variable to a suppressed one, nor forms of one variable to each other."""
    classes = [name for name in names if not dataset.variables[name].measurable]
    return [*check_suppressed(names, where, dataset, policy), *check_forms(names, classes, where, dataset)]


def check_predictors(names: Sequence[str], policy: Policy) -> list[Reason]:
    most = policy.models.predictors
    words = f"A model may have at most {most} predictors, and a correlation as many variables."
    return [Reason("models.predictors", words)] if len(names) > most else []


def check_suppressed(names: Sequence[str], where: Universe, dataset: Dataset, policy: Policy) -> list[Reason]:
    """Whether the sensitive variable meets a suppressed one, in any form of either (Gomatam et al. 2004, sec. 5)."""
    rules = policy.models
    suppressed = {_source(name, dataset) if name in dataset.variables else name for name in rules.suppressed}
    related = related_to(rules.sensitive, names, where, dataset)
    if {_source(name, dataset) for name in related} & suppressed:
        return [Reason("models.suppressed", f"{rules.sensitive!r} may not be related to these variables.")]
    return []


def related_to(sensitive: str, names: Sequence[str], where: Universe, dataset: Dataset) -> frozenset[str]:
    """The variables that are brought together with the sensitive one, in any form of it; none where it is not among them."""
    source = _source(sensitive, dataset) if sensitive in dataset.variables else sensitive
    made_of = (part for name in (*names, *where.variables) for part in dataset.sources(name))
    sources = {name: _source(name, dataset) for name in made_of}
    return frozenset(name for name in sources if sources[name] != source) if source in sources.values() else frozenset()


def check_forms(names: Sequence[str], classes: Sequence[str], where: Universe, dataset: Dataset) -> list[Reason]:
    """Whether two forms of one variable meet, or classes that may not stand in one table."""
    columns = [column for name in dict.fromkeys(names) for column in dataset.columns(name)]
    if len(set(columns)) < len(columns):
        return [Reason("tables.exclusion", "A variable and another form of it may not be used together.")]
    return check_exclusion(classes, where, dataset) if classes else []


def _source(name: str, dataset: Dataset) -> str:
    """The variable behind a recode or a level: what a suppressed variable is suppressed with."""
    return dataset.variables[dataset.root(name)].column
