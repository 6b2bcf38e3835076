"""What reaches a person instead of an answer is the same after pickling, copying and a process pool."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

from confide.errors import Denied, Fault, Mistake, Reason, Refused, Suggestion

OUTCOMES = [
    Mistake("No variable called 'aeg'.", suggestions=["Did you mean 'age'?"]),
    Refused(
        [Reason("tables.sparsity", "Too many small cells."), Reason("tables.mean_cell", "Too few units.")],
        policy="standard, version 1",
        suggestions=[Suggestion("'region' instead of 'county'", "people/table?rows=region")],
    ),
    Denied("Only a custodian may do this.", http_status=403, suggestions=["Log in."]),
    Denied("This site does not know the token."),
    Fault("The disk is full."),
]
WAYS = {f"pickle {protocol}": lambda each, p=protocol: pickle.loads(pickle.dumps(each, p)) for protocol in range(6)}
WAYS |= {"copy": copy.copy, "deepcopy": copy.deepcopy}


def told(error):
    """Everything an error carries."""
    return type(error), error.args, vars(error), error.title, error.exit_code, error.http_status, str(error)


def attached(error):
    """What its sentences carry."""
    rules = [(type(reason), reason.rule) for reason in getattr(error, "reasons", ())]
    return rules, [(type(offer), getattr(offer, "address", None)) for offer in error.suggestions]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("error", OUTCOMES, ids=lambda error: error.title)
def test_an_outcome_loses_nothing(error, way):
    again = way(error)
    assert again is not error
    assert told(again) == told(error) and attached(again) == attached(error)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_reason_and_a_suggestion_lose_nothing(way):
    reason, offer = way(Reason("models.gamma", "Too few units.")), way(Suggestion("Ask for less", "people"))
    assert (type(reason), reason, reason.rule) == (Reason, "Too few units.", "models.gamma")
    assert (type(offer), offer, offer.address) == (Suggestion, "Ask for less", "people")


def test_an_outcome_of_another_process_is_raised_here_whole():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("forkserver")) as pool:
        for error in OUTCOMES:
            with pytest.raises(type(error)) as info:
                pool.submit(exec, "raise error", {"error": error}).result()
            assert vars(info.value) == vars(error) and str(info.value) == str(error)
            assert attached(info.value) == attached(error)


def test_every_outcome_has_an_exit_status_and_an_http_status_of_its_own():
    kinds = {kind.title: (kind.exit_code, kind.http_status) for kind in (Mistake, Refused, Denied, Fault)}
    assert kinds == {"Mistake": (2, 422), "Refused": (3, 403), "Denied": (3, 401), "Fault": (1, 500)}
