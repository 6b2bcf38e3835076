"""Suppression on real tables, beside what other programs need: every pattern passes its audit."""

import importlib.util
from pathlib import Path

import pytest

from confide.tables import audit_pattern, read_jj, suppress

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"

pytestmark = pytest.mark.reference


@pytest.fixture(scope="module")
def made():
    """The tables of the benchmark, which are made in one place."""
    spec = importlib.util.spec_from_file_location("publish_suppression", ROOT / "benchmarks" / "publish_suppression.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["Simple2D", "test_1"])
def test_less_value_goes_than_with_tau_argus(made, name):
    table = made.SCENARIOS[name]()
    found = suppress(table, cost="value", method="fast")
    assert found.complete
    assert found.cost < 0.5 * table.value[made.answer_of_tau_argus(name, table)].sum()


@pytest.mark.parametrize("name", ["Simple2D", "test_1"])
def test_against_the_outsider_alone_fewer_cells_go_than_with_tau_argus(made, name):
    table = made.SCENARIOS[name]()
    found = suppress(table, cost="value", method="fast", attackers="outsider")
    assert len(found.secondaries) <= made.answer_of_tau_argus(name, table).sum()


def test_the_pattern_of_tau_argus_for_holdings_passes_and_that_for_firms_forgets_who_knows_himself(made):
    attackers = {}
    for name, make in made.SCENARIOS.items():
        table = make()
        judged = audit_pattern(table, made.answer_of_tau_argus(name, table) | table.primary)
        attackers[name] = {"insider" if failure.attacker >= 0 else "outsider" for failure in judged.failures}
    assert attackers == {"Simple2D": {"insider"}, "test_1": set()}


@pytest.mark.parametrize(("name", "most"), [("act_size", 5_507), ("nuts_size", 3_645)])
def test_published_instances_withstand_an_independent_attack(intruder, name, most):
    found = suppress(read_jj(DATA / f"csp_{name}.jj"), cost="given", method="fast")
    assert found.complete
    assert found.cost <= most
    assert not intruder.undoes(found.table)


def test_fewer_secondaries_than_gauss_suppression_and_sdctable_need(made):
    table = made.generated(["county", "sector", "siz"], {})
    assert (len(table), table.primary.sum()) == (735, 34)
    needed = {
        make.__name__: len(suppress(make(table), cost="cells", method="fast").secondaries)
        for make in (made.apart, made.by_one)
    }
    assert needed["apart"] <= 34
    assert needed["by_one"] <= 37
    assert len(suppress(table, cost="cells", method="fast").secondaries) <= 41


def test_four_linked_tables_are_protected_as_one(made):
    table = made.linked_tables()
    found = suppress(table, method="fast")
    assert found.audit.passed
    assert suppress(table, method="fast").secondaries == found.secondaries
