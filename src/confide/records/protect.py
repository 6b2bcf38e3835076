"""The records that a site answers from: those of the data file, with keys exchanged and numbers noised once and for all.

Promise: everything is drawn from the site's secret and the keys of the units, so the same data give the same records, and an
update draws nothing anew for units that stay and meet nobody new; balance moves their noise a little. The true records are not
needed to answer.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from confide.arrays import Bools, Floats
from confide.data.noise_law import unbiasing
from confide.data.scratch import IN_MEMORY, Scratch
from confide.data.threads import cores_for, in_order
from confide.engines import Coded
from confide.engines.squares import square_shifts
from confide.model.catalog.dataset import MOST_DECIMALS, Dataset, Role, Taking, Variable
from confide.model.formula import Transform
from confide.model.policy import Policy, RecordRules
from confide.progress import current_progress
from confide.records.ceilings.ceiling import find_ceilings
from confide.records.cells import parts_of
from confide.records.exchanges.exchange import Exchange, plan_exchanges
from confide.records.exposure import Exposure, confidential_numbers, find_exposed
from confide.records.levels.households import (
    by_household,
    exposed_with_households,
    household_records,
    of_people,
    settled,
)
from confide.records.noise.balance import BalancedTables, balanced
from confide.records.noise.factors import noised
from confide.records.report import RecordsReport, compare
from confide.records.spreads.deviations import measure_deviation_spread
from confide.records.spreads.totals import measure_spread
from confide.records.traits import Trait
from confide.records.weights import strata_of, weights_with_keys
from confide.site.coding.columns import bins, contributions, data_mark, narrow, small
from confide.site.coding.encode import roles_mark
from confide.site.coding.homes import Households, shared_variables, with_taken
from confide.site.secret import Secret

__all__ = ["protect_records"]

AT_ONCE = 1 << 20
"""Records whose squares are added up at once."""


def protect_records(
    coded: Coded, dataset: Dataset, policy: Policy, secret: Secret, scratch: Scratch = IN_MEMORY
) -> tuple[Coded, RecordsReport | None]:
    """Protected records, and what was done for the custodian to read; the records as they are if the policy changes none.

    What is large waits in `scratch` while it is not looked at.
    """
    rules = policy.records
    if not rules.changes:
        return by_household(coded, dataset), None
    progress, people = current_progress(), of_people(dataset)
    alone = find_exposed(by_household(coded, dataset), people, policy)
    exposure = _with_households(alone, coded, dataset, policy)
    progress.report(0.1)
    plans = plan_exchanges(coded, people, exposure, rules, secret, scratch)
    progress.report(0.55)
    moved = _exchanged(coded, people, plans, scratch)
    protected = _noised(coded, moved, people, exposure, rules, secret, scratch)
    protected = with_taken(protected, dataset, scratch.keep)
    progress.report(0.8)
    # what takes longest comes first
    with ThreadPoolExecutor(cores_for(coded.records.num_rows)) as pool:
        ceilings = pool.submit(find_ceilings, coded, protected, people, alone)
        mark = pool.submit(data_mark, protected.records)
        noise = _taken_noise(_spreads(coded, people, exposure, policy), dataset)
        deviations = pool.submit(measure_deviation_spread, coded, protected, dataset, noise, exchanges=rules.exchanges)
        spread = pool.submit(measure_spread, coded, protected, dataset, noise)
        shifts = pool.submit(square_shifts, protected.records, protected.facts.numbers)
        report = compare(coded, protected, people, exposure, plans)
    facts = replace(
        protected.facts,
        data=mark.result(),
        shifts=shifts.result(),
        records=policy.records_mark,
        roles=roles_mark(dataset),
        noise=noise,
        spread=spread.result(),
        deviations=deviations.result(),
        ceiling=[vars(ceiling) for ceiling in ceilings.result()],
    )
    report = replace(report, ceilings=tuple(ceilings.result()))
    return by_household(replace(protected, facts=facts), dataset), report


def _with_households(exposure: Exposure, coded: Coded, dataset: Dataset, policy: Policy) -> Exposure:
    """Who is exposed by their keys, or by those of the household."""
    if dataset.above is None:
        return exposure
    return exposed_with_households(exposure, coded, household_records(coded, dataset), dataset, policy)


def _taken_noise(noise: dict[str, float], dataset: Dataset) -> dict[str, float]:
    """The noise of each number, and of what is taken of it: a sum or a mean has no more."""
    more: dict[str, float] = {}
    for variable in dataset.variables.values():
        if variable.taken and variable.measurable and variable.taken.how in (Taking.SUM, Taking.MEAN, Taking.HEAD):
            labels = ((f"{t}({variable.name})", f"{t}({variable.taken.source})") for t in Transform if t)
            for own, source in ((variable.name, variable.taken.source), *labels):
                more |= {own: noise[source]} if source in noise else {}
    return noise | more


def _exchanged(coded: Coded, dataset: Dataset, plans: list[Exchange], scratch: Scratch) -> Coded:
    """The records with their traits exchanged: every level and recode of a key, and the number behind it."""
    columns = {name: coded.records[name] for name in coded.records.column_names}
    moved: dict[str, Floats] = {}
    for plan in plans:
        for name in plan.trait.levels:
            places = coded.classes(name)
            own = places.copy()
            own[plan.rows] = places[plan.sources]
            columns[coded.facts.classes[name]] = scratch.keep(pa.array(own))
        for name in plan.trait.numbers:
            moved[name] = coded.numbers(name)
            moved[name][plan.rows] = coded.numbers(name, plan.sources)
    if dataset.above is not None:
        homes = Households.among(coded)
        for variable in shared_variables(dataset):
            if (
                variable.classifies
            ):  # a key that goes with one of people, who exchange it one by one, is the head's for all
                column = coded.facts.classes[variable.name]
                columns[column] = scratch.keep(pa.array(np.asarray(columns[column].to_numpy())[homes.head][homes.of]))
    changed = replace(coded, records=pa.table(columns))
    weighed = _weighed(coded, changed, dataset, plans, scratch)
    if weighed.records is not changed.records:
        # contributions are weighted; those of confidential numbers are made when they get their noise
        stay = [v.name for v in dataset.variables.values() if v.measurable and v.role is not Role.CONFIDENTIAL]
        moved = {name: coded.numbers(name) for name in stay} | moved
    for name, values in moved.items():
        weighed = with_numbers(weighed, dataset, name, values, scratch)
    return weighed


def _weighed(true: Coded, moved: Coded, dataset: Dataset, plans: Sequence[Exchange], scratch: Scratch) -> Coded:
    """The records with weights that go with the keys they have now, and their households with theirs."""
    traits, shared = [plan.trait for plan in plans], {v.name for v in shared_variables(dataset)}

    def followed(table: pa.Table, traits: Sequence[Trait]) -> pa.Table:
        if "weight" not in table.column_names:
            return table
        weights = np.asarray(table["weight"].to_numpy())
        names = strata_of(weights, true, traits)
        if not names:
            return table
        return _put(table, "weight", scratch.keep(pa.array(weights_with_keys(weights, true, moved, names))))

    homes = moved.homes if moved.homes is None else followed(moved.homes, [t for t in traits if t.name in shared])
    return replace(moved, records=followed(moved.records, traits), homes=homes)


def _noised(
    true: Coded,
    coded: Coded,
    dataset: Dataset,
    exposure: Exposure,
    rules: RecordRules,
    secret: Secret,
    scratch: Scratch,
) -> Coded:
    """The records with noise, which also makes up for what exchanges changed of the means of large groups."""
    weights, groups = scratch.zeros(coded.records.num_rows, np.float64), _groups(true, coded, dataset)
    for part in parts_of(len(weights)):
        weights[part] = coded.weights_of(part)

    def balance(logs: Floats, spread: Floats, values: Floats) -> Floats:
        return balanced(logs, spread, values, weights, groups, scratch)

    shared = {v.name for v in shared_variables(dataset)}
    before, variables = coded, confidential_numbers(dataset)

    def move(variable: Variable) -> Floats:
        values, whose = before.numbers(variable.name), before.households if variable.name in shared else None
        units, exposed = before.units if whose is None else whose, exposure.numbers[variable.name]
        moved = noised(values, units, variable, exposed, rules, secret, balance, scratch)
        return moved if whose is None else settled(moved, variable, Households.among(before))

    cores = cores_for(len(weights))
    # three at once on two cores: none of these waits while the third is moved
    at_once = len(variables) if 1 < cores < len(variables) < 2 * cores else cores
    moving = in_order((partial(move, variable) for variable in variables), cores=at_once)
    for variable, moved in zip(variables, moving, strict=True):
        coded = with_numbers(coded, dataset, variable.name, moved, scratch)
        coded = _with_forms(coded, variable, exposure.numbers[variable.name], rules, scratch)
    return coded


def _groups(true: Coded, coded: Coded, dataset: Dataset) -> BalancedTables:
    """Tables by what anybody may ask for: the coarsest level of each variable, also by two, and every finer one."""
    shown = [v.name for v in dataset.variables.values() if v.classifies and v.role is not Role.CONFIDENTIAL]
    coarse = dict.fromkeys(dataset.levels(name)[0].name for name in shown)
    names = dict.fromkeys([*coarse, *shown])
    were, now = ([one.classes(name) for name in names] for one in (true, coded))
    loose = _alone(coded) if coded.facts.several else None
    return BalancedTables.of(now, were, paired=len(coarse), loose=loose, weighed=true.weights_of)


def _alone(coded: Coded) -> Bools:
    """The records that are the only one of their unit."""
    of, sizes = np.unique(coded.units, return_inverse=True, return_counts=True)[1:]
    return np.asarray(sizes[of.ravel()] == 1)


def _with_forms(coded: Coded, variable: Variable, exposed: Bools, rules: RecordRules, scratch: Scratch) -> Coded:
    """Columns for the transformed number, each so that the mean of what a record enters models with is the true one."""
    facts, records = coded.facts, coded.records
    forms, decimals = dict(facts.forms), dict(facts.value_decimals)
    shown = coded.numbers(variable.name)
    for number, transform in enumerate(transform for transform in Transform if transform):
        label, column = f"{transform}({variable.name})", f"{facts.values[variable.name]}t{number}"
        usual, larger = unbiasing(transform.power, np.array([rules.noise, rules.noise_exposed]))
        values = shown * np.where(exposed, larger, usual)
        stored, decimals[label] = contributions(values, min(variable.decimals + 3, MOST_DECIMALS), None, 0)
        records = records.append_column(column, scratch.keep(narrow(stored)))
        forms[label] = column
    return replace(coded, facts=replace(facts, forms=forms, value_decimals=decimals), records=records)


def with_numbers(coded: Coded, dataset: Dataset, name: str, values: Floats, scratch: Scratch = IN_MEMORY) -> Coded:
    """The records with other values of a number: its contributions, its bins and those of its recodes follow."""
    facts, variable = coded.facts, dataset.variables[name]
    records = coded.records
    weight = np.asarray(records["weight"].to_numpy()) if facts.weighted else None
    column, scale = contributions(values, variable.decimals, weight, facts.weight_decimals)
    decimals, value_decimals = {**facts.decimals, name: scale}, {**facts.value_decimals, name: scale}
    records = _put(records, facts.numbers[name], scratch.keep(column))
    if facts.weighted:
        column, value_decimals[name] = contributions(values, variable.decimals, None, 0)
        records = _put(records, facts.values[name], scratch.keep(narrow(column)))
    for recode in dataset.variables.values():
        if recode.binned and recode.column == variable.column and recode.name in facts.classes:
            places = small(bins(recode, values), recode)
            records = _put(records, facts.classes[recode.name], scratch.keep(places))
    return replace(coded, facts=replace(facts, decimals=decimals, value_decimals=value_decimals), records=records)


def _put(records: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return records.set_column(records.column_names.index(name), name, column)


def _spreads(coded: Coded, dataset: Dataset, exposure: Exposure, policy: Policy) -> dict[str, float]:
    """The root mean square of the relative noise of each number, over the squares of what it is applied to.

    Where exposed numbers have more noise, so has the sum of squares of large ones; of a logarithm every number counts alike.
    """
    rules, found = policy.records, {}
    for variable in confidential_numbers(dataset):
        noisy, plain = np.zeros(len(Transform)), np.zeros(len(Transform))
        for part in parts_of(coded.records.num_rows, AT_ONCE):
            values = np.abs(np.nan_to_num(coded.numbers(variable.name, part)))
            spread = np.where(exposure.numbers[variable.name][part], rules.noise_exposed, rules.noise)
            for place, transform in enumerate(Transform):
                squares = np.where(values > 0, (values**transform.power) ** 2, 0.0)
                noisy[place] += (spread**2 * squares).sum()
                plain[place] += squares.sum()
        for place, transform in enumerate(Transform):
            label = f"{transform}({variable.name})" if transform else variable.name
            found[label] = float(np.sqrt(noisy[place] / max(plain[place], 1e-300)))
    return found
