"""Access: who may ask what, and what a stolen or broken file gives away."""

import hashlib
import os
import stat
import string
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confide.errors import Denied, Fault, Mistake
from confide.site.access import (
    Access,
    AccessFile,
    Person,
    PersonRole,
    add_token,
    list_tokens,
    must_be_loopback,
    remove_token,
    require,
    set_public,
)

DIGEST = "0" * 64
GOOD = f'[[token]]\nname = "ana"\nrole = "analyst"\ncreated = 2025-01-31\nsha256 = "{DIGEST}"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "access.toml"


# ---- tokens


def test_a_token_names_its_person_and_role(path: Path) -> None:
    ana = add_token(path, name="ana", role=PersonRole.ANALYST)
    cleo = add_token(path, name="cleo", role=PersonRole.CUSTODIAN)
    access = Access.load(path)
    assert access.person(ana) == Person("ana", PersonRole.ANALYST)
    assert access.person(cleo) == Person("cleo", PersonRole.CUSTODIAN)


def test_a_token_has_its_prefix_and_256_bits(path: Path) -> None:
    tokens = {add_token(path, name=f"person {n}", role=PersonRole.ANALYST) for n in range(20)}
    assert len(tokens) == 20
    for token in tokens:
        assert token.startswith("confide_") and len(token) == len("confide_") + 43
        assert set(token) <= set(string.ascii_letters + string.digits + "-_")


def test_the_file_holds_digests_only_and_is_its_owners_alone(path: Path) -> None:
    umask = os.umask(0)
    try:
        token = add_token(path, name="ana", role=PersonRole.ANALYST)
    finally:
        os.umask(umask)
    assert token not in path.read_text() and token.removeprefix("confide_") not in path.read_text()
    assert hashlib.sha256(token.encode()).hexdigest() in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["access.toml"]


def test_a_shown_token_list_gives_no_digest_away(path: Path) -> None:
    add_token(path, name="ana", role=PersonRole.ANALYST)
    (token,) = list_tokens(path)
    assert (token.name, token.role, token.created) == ("ana", PersonRole.ANALYST, datetime.now(UTC).date())
    assert token.digest not in repr(token) and token.digest not in repr(Access.load(path))


def test_a_second_token_for_the_same_name_is_a_mistake(path: Path) -> None:
    token = add_token(path, name="ana", role=PersonRole.ANALYST)
    with pytest.raises(Mistake, match="'ana' already has a token"):
        add_token(path, name="ana", role=PersonRole.CUSTODIAN)
    assert Access.load(path).person(token).role is PersonRole.ANALYST


def test_a_removed_token_opens_nothing(path: Path) -> None:
    ana, ben = (add_token(path, name=name, role=PersonRole.ANALYST) for name in ("ana", "ben"))
    remove_token(path, name="ana")
    access = Access.load(path)
    assert access.person(ben).name == "ben"
    with pytest.raises(Denied):
        access.person(ana)
    with pytest.raises(Mistake, match="Did you mean 'ben'"):
        remove_token(path, name="bem")


def test_the_last_token_is_not_removed_because_that_would_let_everybody_in(path: Path) -> None:
    token = add_token(path, name="ana", role=PersonRole.ANALYST)
    with pytest.raises(Mistake, match="only token.*Add another token first"):
        remove_token(path, name="ana")
    assert Access.load(path).person(token).name == "ana"


def test_tokens_added_and_removed_at_once_are_neither_lost_nor_brought_back(path: Path) -> None:
    for n in range(10):
        add_token(path, name=f"old {n}", role=PersonRole.ANALYST)
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(add_token, path, name=f"new {n}", role=PersonRole.ANALYST) for n in range(10)]
        jobs += [pool.submit(remove_token, path, name=f"old {n}") for n in range(10)]  # type: ignore[arg-type]
        for job in jobs:
            job.result()
    assert {token.name for token in list_tokens(path)} == {f"new {n}" for n in range(10)}


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_token(path, name="ana", role=PersonRole.ANALYST)
    before = path.read_text()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Mistake, match="cannot be written: No space left"):
        add_token(path, name="ben", role=PersonRole.ANALYST)
    assert path.read_text() == before and len(list(path.parent.iterdir())) == 1


def test_a_folder_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="cannot be written: No such file"):
        add_token(tmp_path / "nowhere" / "access.toml", name="ana", role=PersonRole.ANALYST)


# ---- who asks


@pytest.mark.parametrize(
    "wrong", [None, "", "confide_", "confide_" + "a" * 43, "é😀", "\udc80", "\x00", DIGEST, "x" * 10**6]
)
def test_without_a_known_token_nobody_is_let_in(path: Path, wrong: str | None) -> None:
    add_token(path, name="ana", role=PersonRole.ANALYST)
    with pytest.raises(Denied, match="Authorization: Bearer") as denied:
        Access.load(path).person(wrong)
    assert (denied.value.http_status, denied.value.exit_code, denied.value.title) == (401, 3, "Denied")
    assert not wrong or wrong not in str(denied.value) or wrong == "confide_"


def test_the_stored_digest_is_not_a_token(path: Path) -> None:
    add_token(path, name="ana", role=PersonRole.ANALYST)
    access = Access.load(path)
    with pytest.raises(Denied):
        access.person(access.tokens[0].digest)


def nearly(token: str) -> list[str]:
    other = "a" if token[-2] != "a" else "b"
    return [token[:-2] + other + token[-1], token[:-1], token + "a", token.upper(), " " + token, "Bearer " + token]


def test_a_token_must_match_whole(path: Path) -> None:
    token = add_token(path, name="ana", role=PersonRole.ANALYST)
    for wrong in nearly(token):
        with pytest.raises(Denied):
            Access.load(path).person(wrong)


@pytest.mark.parametrize("token", [None, "", "confide_anything"])
def test_without_any_tokens_everybody_is_an_analyst(path: Path, token: str | None) -> None:
    assert Access.load(path).person(token) == Person("anyone", PersonRole.ANALYST)


def test_only_a_custodian_may_do_what_is_a_custodians() -> None:
    analyst, custodian = Person("ana", PersonRole.ANALYST), Person("cleo", PersonRole.CUSTODIAN)
    with pytest.raises(Denied, match="Only a custodian") as denied:
        require(analyst, PersonRole.CUSTODIAN)
    assert denied.value.http_status == 403
    assert Denied.http_status == 401
    require(custodian, PersonRole.CUSTODIAN)
    require(custodian, PersonRole.ANALYST)
    require(analyst, PersonRole.ANALYST)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.8.7", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_a_site_without_tokens_may_serve_its_own_machine(host: str) -> None:
    must_be_loopback(Access(), host)


OUTSIDE = [
    "0.0.0.0",
    "::",
    "",
    "10.0.0.1",
    "128.0.0.1",
    "example.org",
    "localhost.example.org",
    "127.1.evil",
    "127",
    "::ffff:0:0",
]


@pytest.mark.parametrize("host", OUTSIDE)
def test_a_site_without_tokens_may_not_serve_other_machines(path: Path, host: str) -> None:
    with pytest.raises(Mistake, match="no tokens.*confide token add"):
        must_be_loopback(Access(), host)
    add_token(path, name="ana", role=PersonRole.ANALYST)
    must_be_loopback(Access.load(path), host)


# ---- the public


def test_a_public_site_takes_people_without_a_token_for_analysts_and_knows_the_others(path: Path) -> None:
    token = add_token(path, name="cleo", role=PersonRole.CUSTODIAN)
    set_public(path, public=True)
    access = Access.load(path)
    assert access.person(None) == access.person("") == Person("anyone", PersonRole.ANALYST)
    assert access.person(token) == Person("cleo", PersonRole.CUSTODIAN)
    with pytest.raises(Denied, match="does not know"):
        access.person("confide_wrong")


def test_a_site_is_public_only_if_it_is_declared_and_the_declaration_outlives_tokens(path: Path) -> None:
    assert not Access.load(path).public
    set_public(path, public=True)
    add_token(path, name="ana", role=PersonRole.ANALYST)
    assert Access.load(path).public and len(list_tokens(path)) == 1
    remove_token(path, name="ana")
    assert Access.load(path) == Access((), public=True)
    set_public(path, public=False)
    assert Access.load(path).local


@pytest.mark.parametrize("host", OUTSIDE)
def test_a_public_site_may_serve_other_machines(host: str) -> None:
    must_be_loopback(Access(public=True), host)


@pytest.mark.parametrize("value", ["1", "'true'", "[]", "nan"])
def test_public_is_true_or_false(path: Path, value: str) -> None:
    path.write_text(f"public = {value}\n")
    with pytest.raises(Mistake, match="must be true or false"):
        Access.load(path)


# ---- beside a running site


def test_a_running_site_learns_of_every_change_at_once(path: Path) -> None:
    people = AccessFile(path)
    assert people.now().local
    add_token(path, name="ana", role=PersonRole.ANALYST)
    assert [token.name for token in people.now().tokens] == ["ana"]
    add_token(path, name="cleo", role=PersonRole.CUSTODIAN)
    remove_token(path, name="ana")
    assert [token.name for token in people.now().tokens] == ["cleo"]


def test_a_change_is_seen_that_changes_neither_the_size_nor_the_time_of_the_file(path: Path) -> None:
    ana = add_token(path, name="ana", role=PersonRole.ANALYST)
    people, before = AccessFile(path), path.stat()
    assert people.now().token(ana)
    text = path.read_text()
    digest = people.now().tokens[0].digest
    path.write_text(text.replace(digest, digest[::-1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    assert people.now().token(ana) is None


def test_a_removed_token_is_unknown_to_whoever_looks_after_its_removal(path: Path) -> None:
    add_token(path, name="carla", role=PersonRole.CUSTODIAN)
    people, stop = AccessFile(path), Event()
    rounds: list[tuple[str, Event]] = []
    wrong: list[str] = []

    def look() -> None:
        while not stop.is_set():
            for token, removed in rounds[-3:]:
                gone = removed.is_set()
                known = people.now().token(token) is not None
                if gone and known:
                    wrong.append(token)

    with ThreadPoolExecutor(4) as pool:
        looking = [pool.submit(look) for _ in range(4)]
        try:
            for number in range(40):
                token, removed = add_token(path, name=f"person {number}", role=PersonRole.ANALYST), Event()
                rounds.append((token, removed))
                assert people.now().token(token), "an added token is known at once"
                remove_token(path, name=f"person {number}")
                removed.set()
        finally:
            stop.set()
        for each in looking:
            each.result()
    assert not wrong and [token.name for token in people.now().tokens] == ["carla"]


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_text(""), lambda path: path.write_text("[[")])
def test_a_file_that_is_lost_or_spoilt_while_the_site_runs_lets_nobody_in(
    path: Path, spoil: Callable[[Path], object]
) -> None:
    add_token(path, name="ana", role=PersonRole.ANALYST)
    kept, people = path.read_text(), AccessFile(path)
    spoil(path)
    for _ in range(2):
        with pytest.raises(Fault, match="Nobody is let in"):
            people.now()
    path.write_text(kept)
    assert [token.name for token in people.now().tokens] == ["ana"]


def test_a_site_that_stops_being_public_without_tokens_lets_nobody_in(path: Path) -> None:
    set_public(path, public=True)
    people = AccessFile(path)
    set_public(path, public=False)
    with pytest.raises(Fault, match="Nobody is let in"):
        people.now()


# ---- names


names = st.text(st.characters(), min_size=1, max_size=60)
fine = names.filter(lambda name: name.isprintable() and name == name.strip() and name != "anyone")
hard = st.text(st.sampled_from("\"\\'#[]=\\u{}é李😀\U0010ffff"), min_size=1, max_size=60).filter(str.isprintable)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(chosen=st.lists(fine | hard, min_size=1, max_size=4, unique=True))
def test_any_printable_name_survives_the_file(path: Path, chosen: list[str]) -> None:
    path.unlink(missing_ok=True)
    tokens = [add_token(path, name=name, role=PersonRole.ANALYST) for name in chosen]
    access = Access.load(path)
    assert [access.person(token).name for token in tokens] == chosen


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=names.filter(lambda name: not name.isprintable()))
def test_no_unprintable_name_is_taken(path: Path, name: str) -> None:
    with pytest.raises(Mistake, match="printable"):
        add_token(path, name=name, role=PersonRole.ANALYST)
    assert not path.exists()


@pytest.mark.parametrize(
    "name", ["", " ", "ana ", "x" * 61, "a\nb", 'a"\n[[token]]', "\x7f", "\u2028", "\ud800", "anyone", "visitor 1"]
)
def test_names_that_would_mislead_are_mistakes(path: Path, name: str) -> None:
    with pytest.raises(Mistake, match="name"):
        add_token(path, name=name, role=PersonRole.ANALYST)
    assert not path.exists()


def test_sixty_characters_are_counted_as_people_count_them(path: Path) -> None:
    add_token(path, name="😀" * 60, role=PersonRole.ANALYST)
    assert list_tokens(path)[0].name == "😀" * 60


# ---- a broken or hostile file


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[token", "TOML"),
        ("x = " + "[" * 100_000, "TOML"),
        ("x = " + "9" * 10_000, "TOML"),
        ("token = 3", "only"),
        ("token = [3]", "section"),
        ("[token]\nname = 'ana'", "only"),
        ("tokens = []", "only"),
        (GOOD + "other = 1", "Unknown key 'other'"),
        (GOOD + "nam = 1", "Did you mean 'name'"),
        (GOOD.replace('"ana"', "3"), "name"),
        (GOOD.replace('name = "ana"\n', ""), "name"),
        (GOOD.replace('"ana"', '"a\\nb"'), "name"),
        (GOOD.replace('"ana"', '"anyone"'), "anyone"),
        (GOOD.replace("analyst", "root"), "analyst, custodian"),
        (GOOD.replace('"analyst"', "['analyst']"), "analyst, custodian"),
        (GOOD.replace('role = "analyst"\n', ""), "analyst, custodian"),
        (GOOD.replace("2025-01-31", '"2025-01-31"'), "created"),
        (GOOD.replace("2025-01-31", "2025-01-31T00:00:00Z"), "created"),
        (GOOD.replace("2025-01-31", "2025-02-31"), "TOML"),
        (GOOD.replace(DIGEST, "0" * 63), "sha256"),
        (GOOD.replace(DIGEST, "é" + "0" * 63), "sha256"),
        (GOOD.replace(DIGEST, "A" * 64), "sha256"),
        (GOOD + GOOD.replace(DIGEST, "1" * 64), "same name"),
        (GOOD + GOOD.replace("ana", "ben", 1), "same digest"),
    ],
)
def test_a_file_that_is_wrong_lets_nobody_in_and_says_why(path: Path, text: str, complaint: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Mistake, match=complaint):
        Access.load(path)
    with pytest.raises(Mistake, match=complaint):
        add_token(path, name="eve", role=PersonRole.CUSTODIAN)
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b"\xff\xfe\x00"), lambda path: path.mkdir()])
def test_what_is_not_a_text_file_lets_nobody_in(path: Path, make: Callable[[Path], object]) -> None:
    make(path)
    with pytest.raises(Mistake, match="cannot be read"):
        Access.load(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_spoilt_file_never_crashes_and_never_means_no_tokens(path: Path, data: st.DataObject) -> None:
    content = bytearray(GOOD.encode())
    place = data.draw(st.integers(len("[[token]]\n"), len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(Mistake):
        assert len(Access.load(path).tokens) == 1
