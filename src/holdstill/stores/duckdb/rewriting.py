"""The database file written anew, without some of its rows.

A DuckDB file keeps the bytes of deleted rows, whatever is vacuumed. So what has to be gone is left out of a new file,
which then takes the place of the old one in a single step.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import duckdb

from holdstill.errors import CollectionBusy, HoldstillError, NotWritable
from holdstill.stores.duckdb.arrays import sync_folder
from holdstill.stores.duckdb.connection import Connection, Cursor
from holdstill.stores.duckdb.database import FILE, LOCKED

FRESH = f"{FILE}.new"

Reconnect = Callable[[], duckdb.DuckDBPyConnection]


def rewrite(
    path: Path,
    connections: Mapping[Connection, Reconnect],
    kept: Mapping[str, str],
    prepare: Callable[[Cursor], None],
    finish: Callable[[Cursor], None],
) -> None:
    """Put a new file in the place of the collection's database. Until that one step, nothing is changed.

    Args:
        path: the collection's directory.
        connections: every connection of this process to the database, and how each is made again.
        kept: by table, an SQL condition on the rows that stay; all rows of a table that is not named do.
        prepare: makes, in the connection that copies, what the conditions refer to; the old file is attached as `old`.
        finish: changes the new file, in the same transaction.

    Raises:
        holdstill.NotWritable: the disk is full, or the directory cannot be written.
        holdstill.CollectionBusy: another process took the collection in the moment in which this one let go of it.
        KeyboardInterrupt: Ctrl-C, also where it stopped a statement.
    """
    with _away(connections):
        _require_closed(path)
        try:
            _copy(path, kept, prepare, finish)
        except HoldstillError:  # some are OSErrors too
            raise
        except (OSError, duckdb.Error) as error:
            if LOCKED.search(str(error)):
                raise CollectionBusy(
                    f"another process opened {path} in the moment before it was erased from; nothing was changed",
                    hint="Do it again once it is free",
                ) from error
            raise NotWritable(
                f"the database cannot be written anew in {path}; nothing was changed",
                field="path",
                hint=str(error).splitlines()[0],
            ) from error
        finally:
            remove_stray(path)
        try:
            sync_folder(path)
        except OSError as error:
            raise NotWritable(
                "the database was written anew, but the disk did not confirm that the new file is in its place",
                field="path",
                hint=f"{error.strerror}; see to the disk, and do the same again",
            ) from error


def _require_closed(path: Path) -> None:
    """Make sure that no log of the old file is left, which would be applied to the new one."""
    if (path / f"{FILE}.wal").exists():
        raise NotWritable("the database could not be closed cleanly; nothing was changed", field="path")


def remove_stray(path: Path) -> None:
    """Delete a new file that never took the old one's place."""
    for name in (FRESH, f"{FRESH}.wal"):
        with suppress(OSError):
            (path / name).unlink()


def remove_spilled(path: Path) -> None:
    """Delete what a query of a killed process was too large to keep in memory; only where no query runs."""
    shutil.rmtree(path / f"{FILE}.tmp", ignore_errors=True)


@contextmanager
def _away(connections: Mapping[Connection, Reconnect]) -> Iterator[None]:
    """Every connection lets go, and takes the database up again, whatever happens in between."""
    gone: list[Connection] = []
    try:
        for connection in connections:
            gone.append(connection)  # first: Ctrl-C may come as soon as it has let go
            connection.let_go()
        yield
    finally:
        failed: BaseException | None = None
        for connection in gone:
            try:
                connection.take_up(connections[connection]())
            except BaseException as error:  # noqa: BLE001 - Ctrl-C too: whoever waits for it would wait for ever
                connection.take_up(None)
                failed = error
        if failed is not None:
            raise failed


def _copy(
    path: Path, kept: Mapping[str, str], prepare: Callable[[Cursor], None], finish: Callable[[Cursor], None]
) -> None:
    remove_stray(path)
    alone = Connection(path, duckdb.connect(config={"temp_directory": ""}))
    with closing(alone), alone.reading() as cursor:
        cursor.execute(f"ATTACH {_literal(path / FILE)} AS old (READ_ONLY)")
        _require_closed(path)  # from now on no other process can write
        remove_spilled(path)
        cursor.execute(f"ATTACH {_literal(path / FRESH)} AS fresh")
        prepare(cursor)
        tables = cursor.execute("SELECT table_name, sql FROM duckdb_tables() WHERE database_name = 'old'").fetchall()
        cursor.execute("USE fresh")
        cursor.begin()
        for name, statement in tables:
            cursor.execute(statement)
            cursor.execute(f"INSERT INTO fresh.{name} SELECT * FROM old.{name} t WHERE {kept.get(name, 'TRUE')}")
        finish(cursor)
        cursor.commit()
        cursor.execute("CHECKPOINT fresh")
        cursor.execute("USE memory")
        cursor.execute("DETACH fresh")
        _sync(path / FRESH)
        # While `old` is still attached, no other process can commit to the file that is about to go.
        (path / FRESH).replace(path / FILE)


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
