"""Access: who may ask what, and what a stolen or broken file gives away."""

import hashlib
import os
import stat
import string
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, date, datetime
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
    Reach,
    TokenTerms,
    add_token,
    declare,
    list_tokens,
    load_access,
    must_be_servable,
    remove_token,
    require,
)

DIGEST = "0" * 64
HEAD = 'reach = "tokens"\n'
GOOD = HEAD + f'[[token]]\nname = "ana"\nrole = "analyst"\ncreated = 2025-01-31\nsha256 = "{DIGEST}"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a site that answers people with a token."""
    declare(tmp_path / "access.toml", Reach.TOKENS)
    return tmp_path / "access.toml"


# ---- tokens


def test_a_token_names_its_person_and_role(path: Path) -> None:
    ana = add_token(path, name="ana", role=PersonRole.ANALYST)
    cleo = add_token(path, name="cleo", role=PersonRole.CUSTODIAN)
    access = load_access(path)
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
    assert token.digest not in repr(token) and token.digest not in repr(load_access(path))


def test_a_second_token_for_the_same_name_is_a_mistake(path: Path) -> None:
    token = add_token(path, name="ana", role=PersonRole.ANALYST)
    with pytest.raises(Mistake, match="'ana' already has a token"):
        add_token(path, name="ana", role=PersonRole.CUSTODIAN)
    assert load_access(path).person(token).role is PersonRole.ANALYST


def test_a_removed_token_opens_nothing(path: Path) -> None:
    ana, ben = (add_token(path, name=name, role=PersonRole.ANALYST) for name in ("ana", "ben"))
    remove_token(path, name="ana")
    access = load_access(path)
    assert access.person(ben).name == "ben"
    with pytest.raises(Denied):
        access.person(ana)
    with pytest.raises(Mistake, match="Did you mean 'ben'"):
        remove_token(path, name="bem")


def test_a_person_may_have_several_tokens_with_labels_each_removed_by_itself_or_all_at_once(path: Path) -> None:
    laptop, server, plain = (
        add_token(path, name="ana", role=PersonRole.ANALYST, terms=TokenTerms(label))
        for label in ("laptop", "server", "")
    )
    assert {load_access(path).person(token).name for token in (laptop, server, plain)} == {"ana"}
    with pytest.raises(Mistake, match="already has a token with the label 'laptop'.*label"):
        add_token(path, name="ana", role=PersonRole.ANALYST, terms=TokenTerms("laptop"))
    with pytest.raises(Mistake, match="has a token with the label 'phone'"):
        remove_token(path, name="ana", label="phone")
    remove_token(path, name="ana", label="laptop")
    with pytest.raises(Denied):
        load_access(path).person(laptop)
    assert load_access(path).person(server).name == "ana"
    remove_token(path, name="ana")
    assert not list_tokens(path)


def test_a_token_is_good_until_the_end_of_its_last_day_and_not_longer(path: Path) -> None:
    token = add_token(path, name="cleo", role=PersonRole.CUSTODIAN, terms=TokenTerms(expires=date(9999, 1, 1)))
    assert load_access(path).person(token).name == "cleo" and load_access(path).custodians
    path.write_text(path.read_text().replace("9999-01-01", "2026-01-02"))
    with pytest.raises(Denied, match="expired"):
        load_access(path).person(token)
    (kept,) = list_tokens(path)
    assert load_access(path).of_digest(kept.digest) is None and not load_access(path).custodians
    assert not kept.is_over(date(2026, 1, 2)) and kept.is_over(date(2026, 1, 3))
    with pytest.raises(Mistake, match="expired on 2020-01-01 already"):
        add_token(path, name="ana", role=PersonRole.ANALYST, terms=TokenTerms(expires=date(2020, 1, 1)))


def test_the_terms_of_a_token_survive_the_file(path: Path) -> None:
    terms = TokenTerms('é "1"', date(9999, 12, 31), ("people", "firms"), 12)
    token = add_token(path, name="ana", role=PersonRole.ANALYST, terms=terms)
    assert list_tokens(path)[0].terms == terms
    person = load_access(path).person(token)
    assert person.may_ask("people") and not person.may_ask("patients") and person.quota == 12
    assert terms.words == "until 9999-12-31, for people, firms, 12 questions a day" and TokenTerms().words == ""


def test_a_custodian_looks_after_everything_and_a_token_cannot_be_good_for_less_than_nothing(path: Path) -> None:
    for terms in (TokenTerms(datasets=("people",)), TokenTerms(quota=3)):
        with pytest.raises(Mistake, match="looks after all data sets"):
            add_token(path, name="cleo", role=PersonRole.CUSTODIAN, terms=terms)
    with pytest.raises(Mistake, match="0 \\(none\\) or more"):
        TokenTerms(quota=-1)
    with pytest.raises(Mistake, match="label"):
        TokenTerms("a\nb")


@pytest.mark.parametrize("reach", Reach)
def test_adding_and_removing_tokens_changes_nothing_of_who_may_reach_the_site(path: Path, reach: Reach) -> None:
    declare(path, reach)
    add_token(path, name="ana", role=PersonRole.ANALYST)
    assert load_access(path).reach is reach
    remove_token(path, name="ana")
    assert load_access(path) == Access(reach)


def test_a_site_for_people_with_tokens_that_has_none_lets_nobody_in(path: Path) -> None:
    for token in (None, "", "confide_anything"):
        with pytest.raises(Denied):
            load_access(path).person(token)


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
        load_access(path).person(wrong)
    assert (denied.value.http_status, denied.value.exit_code, denied.value.title) == (401, 3, "Denied")
    assert not wrong or wrong not in str(denied.value) or wrong == "confide_"


def test_the_stored_digest_is_not_a_token(path: Path) -> None:
    add_token(path, name="ana", role=PersonRole.ANALYST)
    access = load_access(path)
    with pytest.raises(Denied):
        access.person(access.tokens[0].digest)


def nearly(token: str) -> list[str]:
    other = "a" if token[-2] != "a" else "b"
    return [token[:-2] + other + token[-1], token[:-1], token + "a", token.upper(), " " + token, "Bearer " + token]


def test_a_token_must_match_whole(path: Path) -> None:
    token = add_token(path, name="ana", role=PersonRole.ANALYST)
    for wrong in nearly(token):
        with pytest.raises(Denied):
            load_access(path).person(wrong)


@pytest.mark.parametrize("reach", [Reach.LOCAL, Reach.PUBLIC])
def test_who_shows_no_token_is_an_analyst_where_none_is_asked_for(path: Path, reach: Reach) -> None:
    declare(path, reach)
    for token in (None, ""):
        assert load_access(path).person(token) == Person("anyone", PersonRole.ANALYST)
    with pytest.raises(Denied, match="does not know"):
        load_access(path).person("confide_anything")


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
def test_every_site_may_serve_its_own_machine(host: str) -> None:
    for reach in Reach:
        must_be_servable(Access(reach), host)


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
def test_a_local_site_serves_no_other_machine_and_no_site_does_without_a_name(host: str) -> None:
    with pytest.raises(Mistake, match="This site is local.*confide access SITE tokens"):
        must_be_servable(Access(), host)
    for reach in (Reach.TOKENS, Reach.PUBLIC):
        with pytest.raises(Mistake, match=f"no name.*confide access SITE {reach} --name"):
            must_be_servable(Access(reach), host)
        must_be_servable(Access(reach, names=("stats.example.org",)), host)


# ---- by which name, through which web server


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000", "[::1]", "localhost.:80"]
)
def test_the_machine_calls_every_site_by_loopback_names_and_other_machines_none(name: str) -> None:
    for access in (Access(), Access(Reach.TOKENS), Access(Reach.PUBLIC, names=("stats.example.org",))):
        assert access.name_of(name, client="127.0.0.1") and access.name_of(name, client="10.0.0.7") is None


def test_a_site_answers_to_its_names_and_their_ports_and_to_no_other() -> None:
    access = Access(Reach.TOKENS, names=("stats.example.org", "10.0.0.7:8000"))
    for host in ("stats.example.org", "Stats.Example.ORG.", "stats.example.org:443", "stats.example.org:80"):
        assert access.name_of(host, client="10.0.0.9") == "stats.example.org"
    assert access.name_of("10.0.0.7:08000", client="10.0.0.9") == "10.0.0.7:8000"
    for host in ("evil.example", "stats.example.org.evil.example", "stats.example.org:8000", "10.0.0.7", "example.org"):
        assert access.name_of(host, client="127.0.0.1") is None, host


@pytest.mark.parametrize(
    "host",
    ["", "a b", "user@localhost", "localhost:x", "localhost:", "lócalhost", "a..b", "[::1", "x" * 400, "a/b", "a,b"],
)
def test_what_is_no_host_is_no_name(host: str) -> None:
    assert Access().name_of(host, client="127.0.0.1") == ""
    with pytest.raises(Mistake, match="cannot name a site"):
        Access(Reach.TOKENS, names=(host,))


@pytest.mark.parametrize("proxy", ["*", "", "proxy.example.org", "127.0.0.1:80", "10.0.0.1/8"])
def test_a_web_server_in_front_is_declared_by_its_address(proxy: str) -> None:
    Access(Reach.PUBLIC, names=("a.example",), proxies=("127.0.0.1", "10.0.0.0/8", "::1"))
    with pytest.raises(Mistake, match="no address of a web server"):
        Access(Reach.PUBLIC, names=("a.example",), proxies=(proxy,))


def test_a_local_site_has_no_other_name_and_no_web_server_in_front() -> None:
    for more in ({"names": ("a.example",)}, {"names": ("a.example",), "proxies": ("127.0.0.1",)}):
        with pytest.raises(Mistake, match="its own machine only"):
            Access(Reach.LOCAL, **more)  # type: ignore[arg-type]
    with pytest.raises(Mistake, match="by a name"):
        Access(Reach.TOKENS, proxies=("127.0.0.1",))


def test_a_declaration_replaces_the_one_before_and_keeps_the_tokens(path: Path) -> None:
    token = add_token(path, name="ana", role=PersonRole.ANALYST)
    declare(path, Reach.PUBLIC, names=["a.example", "b.example:81"], proxies=["::1"])
    declared = load_access(path)
    assert (declared.names, declared.proxies) == (("a.example", "b.example:81"), ("::1",))
    assert declared.words.endswith("as a.example or b.example:81, through the web server at ::1")
    declare(path, Reach.TOKENS)
    assert load_access(path) == Access(Reach.TOKENS, declared.tokens) and load_access(path).token(token)


# ---- the public


def test_a_public_site_takes_people_without_a_token_for_analysts_and_knows_the_others(path: Path) -> None:
    token = add_token(path, name="cleo", role=PersonRole.CUSTODIAN)
    declare(path, Reach.PUBLIC)
    access = load_access(path)
    assert access.person(None) == access.person("") == Person("anyone", PersonRole.ANALYST)
    assert access.person(token) == Person("cleo", PersonRole.CUSTODIAN)
    with pytest.raises(Denied, match="does not know"):
        access.person("confide_wrong")


# ---- beside a running site


def test_a_running_site_learns_of_every_change_at_once(path: Path) -> None:
    people = AccessFile(path)
    assert not people.now().tokens
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


@pytest.mark.parametrize("reach", Reach)
def test_a_missing_file_lets_nobody_in_whatever_it_said_and_is_mended_by_a_command(path: Path, reach: Reach) -> None:
    declare(path, reach)
    path.unlink()
    for use in (load_access, AccessFile, lambda path: add_token(path, name="ana", role=PersonRole.ANALYST)):
        with pytest.raises(Mistake, match="is missing.*confide access .* tokens"):
            use(path)
    declare(path, Reach.LOCAL)
    assert load_access(path) == Access()


# ---- names


names = st.text(st.characters(), min_size=1, max_size=60)
fine = names.filter(lambda name: name.isprintable() and name == name.strip() and name != "anyone")
hard = st.text(st.sampled_from("\"\\'#[]=\\u{}é李😀\U0010ffff"), min_size=1, max_size=60).filter(str.isprintable)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(chosen=st.lists(fine | hard, min_size=1, max_size=4, unique=True))
def test_any_printable_name_survives_the_file(path: Path, chosen: list[str]) -> None:
    path.unlink()
    declare(path, Reach.TOKENS)
    tokens = [add_token(path, name=name, role=PersonRole.ANALYST) for name in chosen]
    access = load_access(path)
    assert [access.person(token).name for token in tokens] == chosen


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=names.filter(lambda name: not name.isprintable()))
def test_no_unprintable_name_is_taken(path: Path, name: str) -> None:
    with pytest.raises(Mistake, match="printable"):
        add_token(path, name=name, role=PersonRole.ANALYST)
    assert not list_tokens(path)


@pytest.mark.parametrize(
    "name", ["", " ", "ana ", "x" * 61, "a\nb", 'a"\n[[token]]', "\x7f", "\u2028", "\ud800", "anyone", "visitor 1"]
)
def test_names_that_would_mislead_are_mistakes(path: Path, name: str) -> None:
    with pytest.raises(Mistake, match="name"):
        add_token(path, name=name, role=PersonRole.ANALYST)
    assert not list_tokens(path)


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
        ("", "does not say who may reach.*confide access"),
        (GOOD.removeprefix(HEAD), "does not say who may reach"),
        ("reach = 'everybody'", "does not say who may reach"),
        ("reach = ['local']", "does not say who may reach"),
        ("reach = true", "does not say who may reach"),
        ("public = true", "only"),
        ("reach = 'local'\nnames = ['a.example']", "its own machine only"),
        ("reach = 'tokens'\nnames = 'a.example'", "list of texts"),
        ("reach = 'tokens'\nproxies = [1]", "list of texts"),
        ("token = 3", "only"),
        (HEAD + "token = [3]", "section"),
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
        (GOOD + "expires = '2030-01-01'", "expires"),
        (GOOD + "quota = -1", "quota"),
        (GOOD + "quota = true", "quota"),
        (GOOD + "datasets = 'people'", "list of texts"),
        (GOOD + "label = 3", "label"),
        (GOOD.replace("analyst", "custodian") + "datasets = ['people']", "looks after all"),
        (GOOD + GOOD.removeprefix(HEAD).replace(DIGEST, "1" * 64), "same name"),
        (GOOD + GOOD.removeprefix(HEAD).replace("ana", "ben", 1), "same digest"),
    ],
)
def test_a_file_that_is_wrong_lets_nobody_in_and_says_why(path: Path, text: str, complaint: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Mistake, match=complaint):
        load_access(path)
    with pytest.raises(Mistake, match=complaint):
        add_token(path, name="eve", role=PersonRole.CUSTODIAN)
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b"\xff\xfe\x00"), lambda path: path.mkdir()])
def test_what_is_not_a_text_file_lets_nobody_in(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)
    with pytest.raises(Mistake, match="cannot be read"):
        load_access(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_spoilt_file_never_crashes_and_never_means_no_tokens(path: Path, data: st.DataObject) -> None:
    content = bytearray(GOOD.encode())
    place = data.draw(st.integers(len(HEAD + "[[token]]\n"), len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(Mistake):
        assert len(load_access(path).tokens) == 1
