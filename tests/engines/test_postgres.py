"""The PostgreSQL engine, on a real server: written whole, read by who may, stopped there, and never answered from when in doubt."""

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import astuple, fields
from math import inf
from pathlib import Path
from threading import Thread
from time import sleep

import numpy as np
import psycopg
import pytest

import confide
from confide.attacks.truth.copies import CopiedUnits, copied
from confide.attacks.truth.truth import truth_of_site
from confide.cancellation import Cancellation, Stopped, StopReason
from confide.engines import Coded, relation
from confide.engines.memory.engine import MemoryEngine
from confide.engines.postgres import streaming
from confide.engines.postgres.engine import PostgresEngine
from confide.engines.postgres.failures import failures
from confide.engines.postgres.store import read_pointer, remove_postgres, write_postgres
from confide.errors import Fault, Mistake
from confide.model.evidence import Cells, Tally
from confide.records import ingest
from confide.records.levels import protecting
from confide.site.doctor import Examined, examine
from confide.site.folder import Folder
from confide.sources.database import connecting
from confide.web.under_way.job import Job
from postgres_server import Server
from some_people import model, people

Opened = Callable[[Coded], PostgresEngine]


def content(cells: Cells) -> list[object]:
    values = [getattr(cells, field.name) for field in fields(cells)]
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.postgres"


@pytest.fixture
def admin(postgres: Server) -> Iterator[psycopg.Connection]:
    """Who may do everything."""
    with psycopg.connect(postgres.database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def opened(postgres: Server, path: Path) -> Iterator[Opened]:
    found: list[PostgresEngine] = []

    def make(coded: Coded) -> PostgresEngine:
        write_postgres(coded, path, postgres.database)
        found.append(PostgresEngine(path, postgres.database))
        return found[-1]

    yield make
    for each in found:
        each.close()


@pytest.fixture
def role(admin: psycopg.Connection) -> Iterator[str]:
    """Somebody who may log in, and nothing else."""
    admin.execute("CREATE ROLE somebody LOGIN")
    yield "somebody"
    admin.execute("DROP OWNED BY somebody; DROP ROLE somebody")


def schemas(admin: psycopg.Connection) -> set[str]:
    found = admin.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'confide%'").fetchall()
    return {name for (name,) in found}


def test_what_cannot_be_written_leaves_nothing(postgres: Server, admin: psycopg.Connection, path: Path) -> None:
    before, coded = schemas(admin), people()
    broken = Coded(coded.facts, coded.records.drop_columns(["c0"]))
    with pytest.raises(Fault, match="untouched"):
        write_postgres(broken, path, postgres.database)
    assert schemas(admin) == before and not path.exists()


def test_the_file_that_names_the_records_is_its_owners_alone_and_they_can_be_taken_away(
    postgres: Server, admin: psycopg.Connection, path: Path
) -> None:
    write_postgres(people(), path, postgres.database)
    assert path.stat().st_mode & 0o777 == 0o600
    schema = read_pointer(path).schema
    assert schema in schemas(admin)
    remove_postgres(path)
    assert schema not in schemas(admin) and not path.exists()


def test_answering_cannot_change_anything(opened: Opened) -> None:
    engine = opened(people())
    for statement in ("DROP TABLE records", "UPDATE meta SET mark = ''", "CREATE TABLE mine (a INT)"):
        with pytest.raises(Fault, match="ReadOnly"), engine._sessions.question() as connection:
            connection.execute(statement.encode())


@pytest.mark.parametrize("table", ["records", "meta"])
def test_records_are_not_changed_in_place_even_by_who_may(
    opened: Opened, admin: psycopg.Connection, path: Path, table: str
) -> None:
    opened(people())
    for change in (f"DELETE FROM {table}", f"TRUNCATE {table}", f"INSERT INTO {table} SELECT * FROM {table}"):
        with pytest.raises(psycopg.errors.RaiseException, match="not changed in place"):
            admin.execute(f"SET search_path = {read_pointer(path).schema}; {change}".encode())


def test_records_that_were_exchanged_are_noticed_with_the_next_question(
    opened: Opened, admin: psycopg.Connection, path: Path, postgres: Server
) -> None:
    engine, meta = opened(people()), f"{read_pointer(path).schema}.meta"
    assert engine.tally(Tally(())).records.tolist() == [500]
    admin.execute(f"ALTER TABLE {meta} DISABLE TRIGGER ALL; UPDATE {meta} SET mark = 'another'".encode())
    for ask in (lambda: engine.tally(Tally(())), lambda: PostgresEngine(path, postgres.database)):
        with pytest.raises(Fault, match="not those that were ingested"):
            ask()


@pytest.mark.parametrize("change", ["format = 99", "described = '{}'", "described = 'secret-value'"])
def test_records_of_another_version_are_not_read(
    opened: Opened, admin: psycopg.Connection, path: Path, postgres: Server, change: str
) -> None:
    opened(people())
    meta = f"{read_pointer(path).schema}.meta"
    admin.execute(f"ALTER TABLE {meta} DISABLE TRIGGER ALL; UPDATE {meta} SET {change}".encode())
    with pytest.raises(Fault, match="another version") as fault:
        PostgresEngine(path, postgres.database)
    assert "secret-value" not in str(fault.value)


def test_records_that_are_gone_are_a_fault(opened: Opened, admin: psycopg.Connection, path: Path) -> None:
    engine = opened(people())
    admin.execute(f"DROP SCHEMA {read_pointer(path).schema} CASCADE".encode())
    with pytest.raises(Fault, match="not in the database. Ingest"):
        engine.tally(Tally(()))


@pytest.mark.parametrize("text", ["", "secret-value", "[]", '{"format": 1}', '{"format": 99}'])
def test_a_file_that_names_nothing_is_a_fault(text: str, path: Path, postgres: Server) -> None:
    path.write_text(text)
    with pytest.raises(Fault, match="Ingest the data again") as fault:
        PostgresEngine(path, postgres.database)
    assert "secret-value" not in str(fault.value)


def count(path: Path, database: str) -> list[int]:
    with closing(PostgresEngine(path, database)) as found:
        return found.tally(Tally(())).records.tolist()


def test_who_has_no_rights_is_told_which(
    opened: Opened, admin: psycopg.Connection, path: Path, role: str, postgres: Server
) -> None:
    opened(people())
    theirs, schema = postgres.as_role(role), read_pointer(path).schema
    for grant in ("USAGE ON SCHEMA {}", "SELECT ON {}.meta", "SELECT ON {}.records"):
        with pytest.raises(Fault, match="Grant it USAGE on the schema and SELECT"):
            count(path, theirs)
        admin.execute(f"GRANT {grant.format(schema)} TO {role}".encode())
    assert count(path, theirs) == [500]
    with pytest.raises(Fault, match="Grant the role that ingests CREATE on the database"):
        write_postgres(people(), path.with_name("mine.postgres"), theirs)


def test_the_roles_of_the_page_suffice_one_to_ingest_and_one_to_read(
    admin: psycopg.Connection, path: Path, postgres: Server
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "choose-an-engine.md").read_text()
    admin.execute(
        page.split("```sql\n")[1].split("```")[0].replace("DATABASE statistics", "DATABASE postgres").encode()
    )
    try:
        write_postgres(people(), path, postgres.as_role("confide_writer"))
        assert count(path, postgres.as_role("confide_reader")) == [500]
        with pytest.raises(Fault, match="Grant the role that ingests CREATE"):
            write_postgres(people(), path.with_name("mine.postgres"), postgres.as_role("confide_reader"))
        remove_postgres(path)
    finally:
        for name in ("confide_reader", "confide_writer"):
            admin.execute(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}".encode())


def test_a_server_that_cannot_be_reached_is_a_fault(opened: Opened, path: Path) -> None:
    opened(people())
    with pytest.raises(Fault, match="connection to the database failed"):
        PostgresEngine(path, "host=/nowhere dbname=secret-value")
    with pytest.raises(Fault, match="could not be written"):
        write_postgres(people(), path.with_name("other.postgres"), "host=/nowhere")
    assert not path.with_name("other.postgres").exists()


def pid(connection: psycopg.Connection) -> int:
    return connection.info.backend_pid


def test_a_connection_lost_between_questions_is_made_again_and_one_lost_in_a_question_is_a_fault(
    opened: Opened, admin: psycopg.Connection
) -> None:
    engine = opened(people())
    with engine._sessions.question() as connection:
        first = pid(connection)
    admin.execute("SELECT pg_terminate_backend(%s, 60000)", [first])
    assert engine.tally(Tally(())).records.tolist() == [500]
    with pytest.raises(Fault, match="connection to the database failed"), engine._sessions.question() as connection:
        assert pid(connection) != first
        admin.execute("SELECT pg_terminate_backend(%s, 60000)", [pid(connection)])
        connection.execute("SELECT 1")
    assert engine.tally(Tally(())).records.tolist() == [500]


def test_a_connection_is_used_again(opened: Opened) -> None:
    engine, used = opened(people()), set[int]()
    for _ in range(5):
        with engine._sessions.question() as connection:
            used.add(pid(connection))
    assert len(used) == 1


def test_a_statement_is_stopped_on_the_server_and_those_of_others_are_not(
    opened: Opened, admin: psycopg.Connection
) -> None:
    engine, found, pids = opened(people()), dict[str, BaseException](), dict[str, int]()

    def run(name: str, cancellation: Cancellation) -> None:
        try:
            with cancellation.applied(), engine._sessions.question() as connection:
                pids[name] = pid(connection)
                connection.execute("SELECT pg_sleep(3600)")
        except BaseException as error:
            found[name] = error

    pairs = {"stopped": Cancellation(), "going on": Cancellation()}
    threads = {name: Thread(target=run, args=(name, each)) for name, each in pairs.items()}
    for thread in threads.values():
        thread.start()
    while len(pids) < len(pairs):
        sleep(0.01)
    for name, reason in (("stopped", StopReason.UNWANTED), ("going on", StopReason.TIME)):
        assert name not in found
        while threads[name].is_alive():  # again and again: one that comes before the statement begins is lost
            pairs[name].stop(reason)
            threads[name].join(0.05)
        error = found[name]
        assert isinstance(error, Stopped) and error.reason is reason
        while admin.execute("SELECT FROM pg_stat_activity WHERE pid = %s AND state = 'active'", [pids[name]]).rowcount:
            sleep(0.01)  # the server was told: it ends, however long that takes here
    assert engine.tally(Tally(())).records.tolist() == [500]


def test_a_connection_that_was_cancelled_is_not_used_again(opened: Opened) -> None:
    engine, cancellation = opened(people()), Cancellation()
    with pytest.raises(Stopped), cancellation.applied(), engine._sessions.question() as connection:
        stopped = pid(connection)
        cancellation.stop()
    with engine._sessions.question() as connection:
        assert pid(connection) != stopped


def test_the_server_knows_how_long_a_question_may_take(opened: Opened) -> None:
    engine = opened(people())
    for seconds, told in ((30.0, "32s"), (inf, "0")):
        job = Job[None]("ana", "key", seconds=seconds)
        with job.cancellation.applied(), engine._sessions.question() as connection:
            assert connection.execute("SHOW statement_timeout").fetchone() == (told,)


def test_a_limit_of_the_database_is_a_fault(opened: Opened) -> None:
    engine = opened(people())
    with pytest.raises(Fault, match="longer than it allows"), engine._sessions.question() as connection:
        connection.execute("SET LOCAL statement_timeout = 20")
        connection.execute("SELECT pg_sleep(3600)")


def test_short_memory_stops_a_question_and_nothing_the_server_says_is_passed_on() -> None:
    with pytest.raises(Stopped) as stopped, failures():
        raise psycopg.errors.OutOfMemory("secret-value")
    assert stopped.value.reason is StopReason.MEMORY
    for error in (psycopg.DataError, psycopg.OperationalError, psycopg.errors.UndefinedTable):
        with pytest.raises(Fault) as fault, failures():
            raise error("secret-value")
        assert "secret-value" not in str(fault.value)


def test_an_old_server_is_a_fault(path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "OLDEST", 10**6)
    with pytest.raises(Fault, match=r"The database is PostgreSQL \d+. Confide needs PostgreSQL 14 or newer"):
        write_postgres(people(), path, postgres.database)


@pytest.mark.parametrize("database", ["postgresql://ana:secret-value@host/name", "host=h password=secret-value"])
def test_a_password_has_no_place_in_a_catalog(database: str, path: Path) -> None:
    with pytest.raises(Mistake, match=r"holds a password.*pgpass") as mistake:
        write_postgres(people(), path, database)
    assert "secret-value" not in str(mistake.value) and not path.exists()


def test_a_database_that_cannot_be_read_is_a_mistake(path: Path) -> None:
    with pytest.raises(Mistake, match="cannot be read"):
        write_postgres(people(), path, "secret-value")


def test_libpq_finds_the_server_where_nothing_is_said(
    tmp_path: Path, path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = tmp_path / "services"
    services.write_text(f"[statistics]\nhost={postgres.folder}\nuser=postgres\ndbname=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    write_postgres(people(), path, "service=statistics")
    monkeypatch.setenv("PGSERVICE", "statistics")
    assert count(path, "") == [500]


def test_without_its_library_the_engine_says_what_to_install(
    tmp_path: Path, town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(Mistake, match=r"pip install 'confide\[postgres\]'"):
        catalog = 'engine = "postgres"\n' + town.catalog
        confide.add(town.people, tmp_path / "site", name="people", catalog=catalog)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("few", [1, 1000])
def test_largest_contributions_are_right_whether_cells_are_named_or_all_are_looked_at(
    opened: Opened, several: bool, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relation, "FEW_CELLS", few)
    coded = people(several=several)
    found, plain = opened(coded), MemoryEngine(coded)
    for share in (0.0, 0.05, 0.1, 0.12, 0.9):
        tally = Tally(("class",), of="value", top=3, share=share)
        assert content(found.tally(tally)) == content(plain.tally(tally)), share


def test_threads_that_share_an_engine_get_the_same_answers(opened: Opened) -> None:
    coded = people()
    found, plain, units = opened(coded), MemoryEngine(coded), coded.records["unit"].to_pylist()
    tallies = [Tally(("class",), of="value", top=3, without=tuple(units[:i])) for i in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(found.tally, tallies * 3))
    expected = [content(plain.tally(tally)) for tally in tallies]
    assert [content(cells) for cells in answers] == expected * 3


@pytest.mark.parametrize("several", [False, True])
def test_a_model_has_the_same_bits_wherever_batches_end(
    opened: Opened, several: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, bits = opened(people(several=several)), []
    for size in (1 << 16, 500, 7):
        monkeypatch.setattr(streaming, "BATCH", size)
        bits.append([np.asarray(value).tobytes() for value in astuple(found.moments(model()))])
        rows = found.rows(model(), np.eye(30), low=-(2**61), high=2**62)
        bits[-1] += [value.tobytes() for value in astuple(rows)]
    assert bits[0] == bits[1] == bits[2]


def test_records_that_a_server_packs_in_another_order_are_put_in_order() -> None:
    batch = {"a": np.array([10, 20, 30])}
    assert streaming._in_order(np.array([2, 5, 3]), batch)["a"].tolist() == [10, 30, 20]
    assert streaming._in_order(np.array([2, 3, 5]), batch) is batch


@pytest.fixture
def site(tmp_path: Path, postgres: Server, town) -> Path:
    catalog = f'engine = "postgres"\ndatabase = "{postgres.database}"\n' + town.catalog
    confide.add(town.people, tmp_path / "site", name="people", catalog=catalog, preset="drop-q")
    return tmp_path / "site"


def test_a_site_answers_from_postgres_what_it_answers_from_duckdb(site: Path) -> None:
    catalog = site / "people" / "dataset.toml"
    asked = {"rows": ["town", "sex"], "where": [{"sex": ["f"]}, {"sex": ["m"], "work": ["yes"]}]}
    measures = {"measure": ["count", "weighted_count", "total"], "of": "income"}
    model = {"formula": "income ~ age + sex + town", "where": {"work": "yes"}}
    found = []
    for _ in range(2):
        with confide.open(site) as opened:
            people = opened["people"]
            answers = [people.table(**asked), people.table(**asked, **measures), people.regression(**model)]
            found.append([str(answer) for answer in answers])
        catalog.write_text(catalog.read_text().replace('engine = "postgres"', 'engine = "duckdb"'))
    assert found[0] == found[1]


def schema_of(site: Path) -> str:
    return read_pointer(Folder(site).store("people").with_suffix(".postgres")).schema


def test_a_former_vintage_stays_in_the_database_until_the_next_is_loaded(
    site: Path, admin: psycopg.Connection, town
) -> None:
    """A running server goes on with the records that it was opened with."""
    names = [schema_of(site)]
    with confide.open(site) as opened:
        for _ in range(2):
            confide.ingest(town.people, site, name="people")
            names.append(schema_of(site))
            if len(names) == 2:
                assert opened["people"].table(rows="sex")
        with pytest.raises(Fault, match="not in the database"):
            opened["people"].table(rows="town")
    assert set(names) & schemas(admin) == set(names[1:])


@pytest.mark.parametrize("at", ["write_kept", "_write_catalog"])
def test_an_ingest_that_fails_leaves_no_records_in_the_database(
    site: Path, admin: psycopg.Connection, town, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, files = schemas(admin), sorted(site.rglob("*"))

    def fails(*given: object) -> None:
        raise Fault("no room")

    monkeypatch.setattr(protecting if hasattr(protecting, at) else ingest, at, fails)
    with pytest.raises(Fault, match="no room"):
        confide.ingest(town.people, site, name="people")
    assert schemas(admin) == before and sorted(site.rglob("*")) == files


def test_what_a_killed_ingest_left_goes_with_the_next(
    site: Path, admin: psycopg.Connection, postgres: Server, town
) -> None:
    """Killed after the records were there and before the vintage was listed: its folder is still there."""
    left = site / "people" / "vintages" / "2.partial" / "records.postgres"
    left.parent.mkdir()
    write_postgres(people(), left, postgres.database)
    schema = read_pointer(left).schema
    confide.ingest(town.people, site, name="people")
    assert schema not in schemas(admin) and not left.exists()


@pytest.mark.parametrize("without", [None, 3])
def test_a_site_is_attacked_like_any_other_and_nothing_is_written_into_the_database(
    site: Path, admin: psycopg.Connection, without: int | None
) -> None:
    before, truth, policy = schemas(admin), truth_of_site(site, "people"), Folder(site).policy("people")
    units = None if without is None else np.unique(truth.units)[:without]
    with copied(site, "people", policy, truth=truth, units=CopiedUnits(units)) as copy:
        assert copy["people"].table(rows="sex")
        assert schemas(admin) == before
    with confide.open(site) as opened:
        assert opened["people"].table(rows="sex")


def test_the_doctor_says_what_the_database_lacks(site: Path, admin: psycopg.Connection) -> None:
    def data() -> Examined:
        [found] = [each for each in examine(Folder(site)) if each.what == "data sets"]
        return found

    assert not data().mend
    admin.execute(f"DROP SCHEMA {schema_of(site)} CASCADE".encode())
    assert data().found == "The records are not in the database." and "Ingest" in data().mend


def test_the_file_in_the_folder_holds_no_record(site: Path) -> None:
    written = json.loads(Folder(site).store("people").with_suffix(".postgres").read_text())
    assert sorted(written) == ["database", "format", "mark", "schema"]
