"""What people keep: private, apart, limited, and whole whatever happens."""

import stat

import pytest

from confide.errors import Denied, Fault, Mistake
from confide.site.access import ANYONE, VISITOR, Person, PersonRole
from confide.site.documents import FolderDocuments
from confide.site.workspaces import LARGEST_WORKSPACE, MOST_KEPT_DEFINITIONS, MOST_KEPT_QUESTIONS, Workspaces

ANA = Person("ana", PersonRole.ANALYST)
TEXT = "adult = age >= 20"


@pytest.fixture
def store(tmp_path):
    return Workspaces(FolderDocuments(tmp_path / "workspaces"))


def test_what_is_kept_is_there_for_who_kept_it_and_nobody_else(store):
    store.change(ANA, lambda kept: kept.with_definition("people", "adult", TEXT))
    store.change(ANA, lambda kept: kept.with_question("Où ?", {"ask": "table"}))
    assert store.of(ANA).of("people") == {"adult": TEXT} and store.of(ANA).questions == {"Où ?": {"ask": "table"}}
    assert store.of(ANA).of("firms") == {}
    for other in (Person("ana", PersonRole.ANALYST, project="work"), Person("ben", PersonRole.CUSTODIAN)):
        assert store.of(other).as_dict() == {"definitions": {}, "questions": {}}


def test_who_has_no_token_keeps_nothing(store):
    for nobody in (ANYONE, Person(VISITOR + "0123456789", PersonRole.ANALYST)):
        with pytest.raises(Denied, match="people with a token"):
            store.change(nobody, lambda kept: kept.with_definition("people", "adult", TEXT))
        assert not store.of(nobody).definitions


def test_files_are_private_and_named_by_no_person(store, tmp_path):
    store.change(Person("../../ana", PersonRole.ANALYST), lambda kept: kept.with_definition("people", "adult", TEXT))
    [file] = tmp_path.rglob("*.json")
    assert file.parent == tmp_path / "workspaces" and "ana" not in file.name
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_what_is_removed_is_gone_and_what_is_not_there_cannot_be_removed(store):
    store.change(ANA, lambda kept: kept.with_definition("people", "adult", TEXT).with_question("q", {"ask": "table"}))
    store.change(ANA, lambda kept: kept.without_definition("people", "adult").without_question("q"))
    assert store.of(ANA).as_dict() == {"definitions": {}, "questions": {}}
    with pytest.raises(Mistake, match="no variable called 'adult'"):
        store.change(ANA, lambda kept: kept.without_definition("people", "adult"))
    with pytest.raises(Mistake, match="no question called 'q'"):
        store.change(ANA, lambda kept: kept.without_question("q"))


def test_there_is_room_for_so_much_and_no_more(store):
    for number in range(MOST_KEPT_DEFINITIONS):
        store.change(ANA, lambda kept, n=number: kept.with_definition("people", f"v{n}", TEXT))
    with pytest.raises(Mistake, match="all there is room for"):
        store.change(ANA, lambda kept: kept.with_definition("firms", "one_more", TEXT))
    assert not store.of(ANA).of("firms")
    store.change(ANA, lambda kept: kept.with_definition("people", "v0", "v0 = age >= 40"))  # replaced, not added
    many = {f"q{n}": {} for n in range(MOST_KEPT_QUESTIONS + 1)}
    with pytest.raises(Mistake, match="questions"):
        store.change(ANA, lambda kept: type(kept)(kept.definitions, many))
    with pytest.raises(Mistake, match="bytes"):
        store.change(ANA, lambda kept: kept.with_question("q", {"rows": "x" * LARGEST_WORKSPACE}))


@pytest.mark.parametrize("name", ["", "  ", "=1+1", "a\nb", "x" * 61])
def test_a_question_has_a_plain_name(store, name):
    with pytest.raises(Mistake, match="cannot be a name"):
        store.change(ANA, lambda kept: kept.with_question(name, {}))


def test_a_spoilt_file_is_a_fault_that_shows_nothing_of_it(store, tmp_path):
    store.change(ANA, lambda kept: kept.with_definition("people", "adult", TEXT))
    [file] = tmp_path.rglob("*.json")
    file.write_text('{"definitions": secret')
    with pytest.raises(Fault) as fault:
        store.of(ANA)
    assert "secret" not in str(fault.value)
