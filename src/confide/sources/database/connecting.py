"""Connections to the database that a setting names. What it leaves open libpq knows: PGSERVICE, PGUSER, ~/.pgpass and so on."""

from typing import Any

import psycopg
from psycopg import conninfo

from confide.errors import Fault, Mistake

__all__ = ["Connection", "connect"]

Connection = psycopg.Connection[tuple[Any, ...]]

OLDEST = 140000
"""The first version that has bit_xor."""


def connect(database: str, *, setting: str = "'database' in dataset.toml", **more: int) -> Connection:
    """A connection on which every statement is its own transaction unless one is begun; `setting` is what names the database."""
    # Nothing is prepared: no statement is asked twice, and poolers between here and the server keep none.
    described = conninfo.make_conninfo(_checked(database, setting), **more)
    connection = psycopg.connect(described, autocommit=True, prepare_threshold=None, application_name="confide")
    if connection.info.server_version < OLDEST:
        found = connection.info.server_version // 10000
        connection.close()
        raise Fault(f"The database is PostgreSQL {found}.", suggestions=["Confide needs PostgreSQL 14 or newer."])
    return connection


def _checked(database: str, setting: str) -> str:
    """A description of the database that can be read and holds no password."""
    try:
        described = conninfo.conninfo_to_dict(database)
    except psycopg.Error:
        hint = "Write it as postgresql://host/name or service=name."
        raise Mistake(f"{setting} cannot be read.", suggestions=[hint]) from None
    if "password" in described:
        hint = "Put it into libpq's password file, ~/.pgpass."
        raise Mistake(f"{setting} holds a password.", suggestions=[hint])
    return database
