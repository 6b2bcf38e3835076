"""Tables of a real PostgreSQL, and Delta tables, are read as their records would be from a file, and changes of them are noticed."""

import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from psycopg import sql
from typer.testing import CliRunner

import confide
from confide import demo
from confide.cli.main import app
from confide.errors import Fault, Mistake
from confide.records.ingest import protect_again
from confide.site.doctor import examine
from confide.site.folder import Folder
from confide.site.origins import FILE, read_origin
from confide.sources.source import read_source
from postgres_server import Server

PEOPLE = demo.people(600).select(["person_id", "sex", "age", "region", "income", "weight"])


@pytest.fixture
def address(postgres: Server, admin: psycopg.Connection) -> str:
    return f"postgresql:///agency?host={postgres.folder}&user=postgres"


@pytest.fixture
def admin(postgres: Server) -> Iterator[psycopg.Connection]:
    """A database of the agency's own, which is gone afterwards."""
    with psycopg.connect(postgres.database, autocommit=True) as server:
        server.execute("CREATE DATABASE agency")
        try:
            with psycopg.connect(postgres.database, dbname="agency", autocommit=True) as connection:
                yield connection
        finally:
            server.execute("DROP DATABASE agency WITH (FORCE)")


def fill(connection: psycopg.Connection, table: pa.Table = PEOPLE) -> None:
    """A table `census."People"` with the records, the last first."""
    kinds = {"sex": "text", "region": "text", "weight": "numeric(12,2)"}
    columns = ", ".join(f"{name} {kinds.get(name, 'bigint')}" for name in table.column_names)
    connection.execute(
        f'CREATE SCHEMA census; CREATE TABLE census."People" ({columns}, PRIMARY KEY (person_id))'.encode()
    )
    with connection.cursor().copy('COPY census."People" FROM STDIN') as copy:
        for row in reversed(table.to_pylist()):
            copy.write_row(tuple(row.values()))


def test_values_are_what_they_are_in_the_table(address: str, admin: psycopg.Connection) -> None:
    admin.execute(
        """CREATE TABLE odd ("Long Name" numeric(20), amount numeric(10,2), free numeric, share double precision, yes boolean,
        born date, seen timestamp, words text, code char(4), small smallint)"""
    )
    admin.execute("COMMENT ON COLUMN odd.share IS 'Share of the house'")
    row = (
        Decimal(10) ** 19 + 1,
        Decimal("1.50"),
        Decimal("0.125"),
        0.1,
        True,
        date(1990, 5, 31),
        datetime(2020, 1, 2, 3),
    )
    for values in ((*row, 'a "b",\nc', "007", 7), (None,) * 10, (*row, "", "", -7)):
        admin.execute(f"INSERT INTO odd VALUES ({', '.join(['%s'] * 10)})".encode(), values)
    read = read_source(address)
    assert [tuple(one.values()) for one in read.table.to_pylist()] == [
        (*row[:2], "0.125", *row[3:], 'a "b",\nc', "007 ", 7),
        (None,) * 10,
        (*row[:2], "0.125", *row[3:], "", "    ", -7),
    ]
    assert read.table.column_names[0] == "Long Name" and read.labels == {"share": "Share of the house"}


def test_missing_values_of_a_table_with_one_column_are_records_too(address: str, admin: psycopg.Connection) -> None:
    admin.execute("CREATE TABLE one (a text); INSERT INTO one VALUES (NULL), ('x'), (NULL)")
    assert read_source(address).table["a"].to_pylist() == [None, "x", None]


def test_records_come_in_the_order_of_the_primary_key(address: str, admin: psycopg.Connection) -> None:
    fill(admin)
    assert (
        read_source(address, table='census."People"').table["person_id"].to_pylist() == PEOPLE["person_id"].to_pylist()
    )


def test_more_than_a_block_is_read_whole(address: str, admin: psycopg.Connection) -> None:
    admin.execute("CREATE TABLE many AS SELECT n AS id, repeat('x', 100) AS words FROM generate_series(1, 300000) AS n")
    admin.execute("ALTER TABLE many ADD PRIMARY KEY (id)")
    read = read_source(address).table
    assert read["id"].to_pylist() == list(range(1, 300_001)) and set(read["words"].to_pylist()) == {"x" * 100}


def test_a_table_is_named_as_the_database_does_or_as_it_is_written(address: str, admin: psycopg.Connection) -> None:
    fill(admin)
    admin.execute('CREATE TABLE notes (a text); CREATE TABLE "Odd One" (a text); INSERT INTO "Odd One" VALUES (\'x\')')
    assert read_source(address, table="Odd One").table.num_rows == 1
    for name in (None, "census.People; DROP TABLE notes", "poeple"):
        with pytest.raises(Mistake, match="Say which table of the database to read"):
            read_source(address, table=name)
    with pytest.raises(Mistake, match="Did you mean 'census.\"People\"'"):
        read_source(address, table='census."Poeple"')
    with pytest.raises(Mistake, match="The data have no records"):
        read_source(address, table="notes")


def test_who_may_not_read_a_table_is_told_what_to_grant(address: str, admin: psycopg.Connection) -> None:
    fill(admin)
    admin.execute("CREATE ROLE stranger LOGIN")
    try:
        with pytest.raises(Mistake, match="does not let this role read the table. Grant it USAGE"):
            read_source(address.replace("user=postgres", "user=stranger"), table='census."People"')
    finally:
        admin.execute("DROP ROLE stranger")


def test_reading_needs_no_right_to_write(address: str, admin: psycopg.Connection) -> None:
    fill(admin)
    admin.execute(
        'CREATE ROLE looker LOGIN; GRANT USAGE ON SCHEMA census TO looker; GRANT SELECT ON census."People" TO looker'
    )
    try:
        looked = read_source(address.replace("user=postgres", "user=looker"))
        assert looked.table.num_rows == len(PEOPLE) and looked.origin and looked.origin.table == 'census."People"'
    finally:
        admin.execute("DROP OWNED BY looker; DROP ROLE looker")


@pytest.mark.parametrize("value", ["'infinity'", "'0044-03-15 BC'"])
def test_a_value_that_cannot_be_read_is_not_quoted(address: str, admin: psycopg.Connection, value: str) -> None:
    admin.execute(sql.SQL("CREATE TABLE days (a date); INSERT INTO days VALUES ({})").format(sql.SQL(value)))
    with pytest.raises(Mistake, match="A value of the table cannot be read") as mistake:
        read_source(address)
    assert value.strip("'") not in str(mistake.value)


def test_what_cannot_be_reached_is_a_fault_and_a_password_a_mistake() -> None:
    with pytest.raises(Fault, match=r"The table could not be read from the database \(OperationalError\)"):
        read_source("postgresql:///agency?host=/nowhere")
    with pytest.raises(Mistake, match="The address of the data holds a password"):
        read_source("postgresql://ana:secret@db.example/agency")


def test_a_site_made_of_a_table_answers_what_one_made_of_its_file_does(
    address: str, admin: psycopg.Connection, tmp_path: Path
) -> None:
    fill(admin)
    words = ["init", address, "-o", str(tmp_path / "site"), "--name", "people", "--table", 'census."People"']
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    with confide.open(tmp_path / "site") as site:
        answer = site["people"].table(rows=["sex", "region"]).to_csv()
    confide.ingest(PEOPLE, tmp_path / "site", name="people")
    with confide.open(tmp_path / "site") as site:
        assert site["people"].table(rows=["sex", "region"]).to_csv() == answer


def told(site: Path) -> str:
    return next(f"{each.found} {each.mend}" for each in examine(Folder(site)) if each.what == "data sets")


def test_the_doctor_says_when_the_table_has_changed_since_it_was_read(
    address: str, admin: psycopg.Connection, tmp_path: Path
) -> None:
    fill(admin)
    site, table = tmp_path / "site", 'census."People"'
    confide.add(address, site, name="people", table=table, preset="drop-q")
    protect_again(site, name="people")
    assert told(site) == "people: described, under a policy, and loaded "
    admin.execute('UPDATE census."People" SET income = income WHERE person_id < 100')
    admin.execute('VACUUM FULL census."People"')
    assert told(site) == "people: described, under a policy, and loaded "
    admin.execute('UPDATE census."People" SET income = income + 1 WHERE person_id = 7')
    assert f"the table {table} has changed since 'people' was read from it" in told(site)
    confide.ingest(PEOPLE, site, name="people")
    assert told(site) == "people: described, under a policy, and loaded "


def test_where_the_table_cannot_be_looked_at_the_doctor_says_so_and_all_is_well(
    address: str, admin: psycopg.Connection, tmp_path: Path
) -> None:
    fill(admin)
    confide.add(address, tmp_path / "site", name="people", preset="drop-q")
    admin.execute('DROP TABLE census."People"')
    assert "the table of people was not looked at" in told(tmp_path / "site")


def test_what_tells_a_change_is_kept_under_the_secret_alone(
    address: str, admin: psycopg.Connection, tmp_path: Path
) -> None:
    fill(admin)
    read = read_source(address)
    confide.add(address, tmp_path / "site", name="people", preset="drop-q")
    folder = Folder(tmp_path / "site")
    kept = json.loads((folder.records("people") / FILE).read_text())
    assert kept["database"] == address and read.origin and len(kept["state"]) == 64
    assert str(kept["state"]) not in read.origin.state and read.origin.state not in json.dumps(kept)
    assert (folder.records("people") / FILE).stat().st_mode & 0o077 == 0
    (folder.records("people") / FILE).write_text("{}")
    with pytest.raises(Fault, match="cannot be read"):
        read_origin(folder, "people")


def delta(folder: Path, table: pa.Table = PEOPLE, **options: str) -> str:
    plain = {name: each.cast(pa.string()) if name in ("sex", "region") else each for name, each in columns_of(table)}
    write_deltalake(str(folder), pa.table(plain), partition_by=["region"], **options)  # type: ignore[call-overload]
    return str(folder)


def columns_of(table: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    yield from zip(table.column_names, table.columns, strict=True)


def test_a_delta_table_is_read_in_its_newest_version_and_the_doctor_says_when_there_is_another(tmp_path: Path) -> None:
    table, site = delta(tmp_path / "people"), tmp_path / "site"
    DeltaTable(table).delete("person_id = 7")
    confide.add(table, site, name="people", preset="drop-q")
    read = read_source(table).table
    assert sorted(read["person_id"].to_pylist()) == [one for one in PEOPLE["person_id"].to_pylist() if one != 7]
    assert set(read["region"].to_pylist()) == set(PEOPLE["region"].to_pylist())
    assert told(site) == "people: described, under a policy, and loaded "
    delta(tmp_path / "people", PEOPLE.slice(0, 1), mode="append")
    assert (
        told(site)
        == f"the table {table} has changed since 'people' was read from it confide ingest {table} {site} people"
    )


def test_a_delta_table_that_is_damaged_is_a_mistake(tmp_path: Path) -> None:
    table = Path(delta(tmp_path / "people"))
    next(table.glob("region=*/*.parquet")).unlink()
    with pytest.raises(Mistake, match="people cannot be read as a Delta table"):
        read_source(table)
    for file in (table / "_delta_log").iterdir():
        file.unlink()
    with pytest.raises(Mistake, match="people cannot be read as a Delta table"):
        read_source(table)


@pytest.mark.parametrize("by_column", [False, True])
def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path, by_column: bool) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    for part in (2, 0, 1):
        pq.write_table(PEOPLE.slice(200 * part, 200), folder / f"part-{part:05}.parquet")
    (folder / "_SUCCESS").touch()
    read = read_source(folder, by_column=by_column).table
    assert read.num_rows == 600 and read.column_names == PEOPLE.column_names
    assert [read[name].to_pylist() for name in read.column_names] == [column.to_pylist() for column in PEOPLE.columns]
    pq.write_table(PEOPLE.drop_columns(["age"]), folder / "part-00003.parquet")
    with pytest.raises(Mistake, match="part-00003.parquet has other columns than part-00000.parquet"):
        read_source(folder)


def test_a_folder_that_is_no_table_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "parted" / "region=N").mkdir(parents=True)
    for name in ("empty", "parted"):
        with pytest.raises(Mistake, match=f"'{name}' is a folder, and no table"):
            read_source(tmp_path / name)
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(Mistake, match="cut cannot be read as Parquet"):
        read_source(tmp_path / "cut")
