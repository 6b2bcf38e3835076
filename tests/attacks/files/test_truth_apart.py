"""The confidential file is for scoring alone: no attack can reach it, not even by what it imports."""

import grimp
import pytest

from confide.attacks.files.registry import FILE_ATTACKS
from confide.attacks.published.registry import TABLE_ATTACKS

TRUTH = {
    "confide.measures.transparency.scoring",
    "confide.measures.transparency.trial",
    "confide.attacks.files.trying",
    "confide.attacks.published.trying",
}
ATTACKS = {name: type(attack).__module__ for name, attack in [*FILE_ATTACKS.items(), *TABLE_ATTACKS.items()]}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("confide", cache_dir=None)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_imports_nothing_that_knows_the_truth(name, graph):
    assert not graph.find_upstream_modules(ATTACKS[name]) & TRUTH


def test_an_attack_that_did_would_be_found(graph):
    assert "confide.measures.transparency.scoring" in graph.find_upstream_modules("confide.attacks.files.trying")
    graph.add_import(importer="confide.measures.transparency.windows", imported="confide.measures.transparency.scoring")
    assert graph.find_upstream_modules(ATTACKS["rank-windows"]) & TRUTH
