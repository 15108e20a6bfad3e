"""The DuckDB file of a collection: opening it, its tables, and its format."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakSet

import duckdb

from holdstill.errors import (
    AccessDenied,
    CollectionBusy,
    CollectionExists,
    CollectionNotFound,
    CorruptCollection,
    HoldstillError,
    NewerFormat,
    NotACollection,
    NotWritable,
)
from holdstill.schema import Schema
from holdstill.stores.base import FORMAT
from holdstill.stores.duckdb import migrating
from holdstill.stores.duckdb.connection import Connection, Cursor
from holdstill.stores.duckdb.leases import Leases

FILE = "collection.duckdb"
INDEX = "index"

_TABLES = """
CREATE TABLE meta (key VARCHAR, value BIGINT);
CREATE TABLE identity (secret BLOB);
CREATE TABLE commits (
    commit BIGINT, generation INTEGER, kind VARCHAR, committed TIMESTAMP,
    added BIGINT, replaced BIGINT, removed BIGINT, pruned BOOLEAN);
CREATE TABLE tags (name VARCHAR, commit BIGINT);
CREATE TABLE purges (commit BIGINT, added BIGINT, removed BIGINT);
CREATE TABLE generations (
    generation INTEGER, analyser VARCHAR, embedder VARCHAR, brought BOOLEAN,
    model VARCHAR, dimensions INTEGER, profile VARCHAR,
    made_with VARCHAR, settings VARCHAR, analysis VARCHAR, complete BOOLEAN, reached BIGINT);
CREATE TABLE fields (position INTEGER, name VARCHAR, type VARCHAR, added BIGINT);
CREATE TABLE policies (version INTEGER, predicate VARCHAR, commit BIGINT);
CREATE TABLE documents (id VARCHAR, content BIGINT, metadata VARCHAR, added BIGINT, removed BIGINT);
CREATE TABLE contents (content BIGINT, title VARCHAR, digest BLOB, given VARCHAR, added BIGINT);
CREATE TABLE passages (
    generation INTEGER, content BIGINT, ordinal INTEGER, headings VARCHAR[], first_page INTEGER, last_page INTEGER,
    text VARCHAR, source BLOB, vector BLOB);
CREATE TABLE segments (
    generation INTEGER, name VARCHAR, first_content BIGINT, last_content BIGINT, passages BIGINT, commit BIGINT,
    bytes BIGINT, checksum VARCHAR);
"""

SQL_TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "str": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "str[]": "VARCHAR[]",
    "int[]": "BIGINT[]",
}

_CHUNK = 5_000  # rows bound to one INSERT: bounds the memory of the bound lists


def column(position: int) -> str:
    """The column of a field: named by its position, so that no field's name becomes SQL."""
    return f"field_{position}"


def columns(schema: Schema) -> dict[str, str]:
    """The column of each field, in order, in a statement that calls the documents `d`."""
    return {field.name: f"d.{column(position)}" for position, field in enumerate(schema)}


def create(path: Path, fill: Callable[[Cursor, Path], None]) -> None:
    """Make a collection: built beside the path and renamed onto it, so that none is ever half made.

    `fill` writes the rows that it begins with, and files into the folder of its index.

    Raises:
        holdstill.CollectionExists: something is already there.
        holdstill.NotWritable: the folder cannot be written.
        holdstill.CollectionBusy: this process still has open what stood there before.
    """
    if _exists(path):
        raise CollectionExists(f"{path} already exists", field="path", hint="Open it, or choose another path")
    require_unmoved(path)
    building = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        shutil.rmtree(building, ignore_errors=True)
        (building / INDEX).mkdir(parents=True)
        connection = Connection(path, duckdb.connect(building / FILE))
        with closing(connection), connection.transaction() as cursor:
            cursor.execute(_TABLES)
            cursor.execute("INSERT INTO meta VALUES ('format', ?)", [FORMAT])
            cursor.execute("INSERT INTO identity VALUES (?)", [os.urandom(32)])
            fill(cursor, building / INDEX)
        building.rename(path)
    except OSError as error:
        if _exists(path):  # another process made it meanwhile
            raise CollectionExists(f"{path} already exists", field="path") from error
        raise NotWritable(f"cannot create a collection at {path}", field="path", hint=str(error)) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _exists(path: Path) -> bool:
    with suppress(OSError):  # what cannot be looked at cannot be made either, and making it will say why
        return path.exists()
    return False


def connect(path: Path, lock_timeout: float) -> tuple[Connection, bool]:
    """Open the collection's database; also says whether it can be written.

    Waits up to `lock_timeout` seconds for another process to let go of the file.

    Raises:
        holdstill.CollectionNotFound: there is nothing at the path.
        holdstill.NotACollection: what is there is not a collection.
        holdstill.NewerFormat: a newer holdstill wrote it.
        holdstill.CorruptCollection: the database is damaged.
        holdstill.AccessDenied: the file cannot be read.
        holdstill.CollectionBusy: another process holds the file, or this one has what stood there before.
    """
    file = path / FILE
    try:
        there, is_file = path.exists(), file.is_file()
    except PermissionError as error:
        raise _unreadable(path) from error
    if not there:
        raise CollectionNotFound(
            f"there is no collection at {path}", field="path", hint="`holdstill init` or `holdstill add` creates one"
        )
    if not is_file:
        raise NotACollection(f"{path} is not a collection", field="path", expected=f"a directory that holds {FILE}")
    require_unmoved(path)
    if not os.access(file, os.R_OK):  # never opened to see: closing it would end DuckDB's lock (POSIX fcntl)
        raise _unreadable(path)
    writable = os.access(file, os.W_OK) and os.access(path, os.W_OK)
    connection = Connection(path, _connect(file, lock_timeout, read_only=not writable))
    try:
        if _format(connection, path) < FORMAT:
            migrating.migrate(connection, path, _TABLES, writable=writable)
    except BaseException:
        connection.close()
        raise
    return connection, writable


def _unreadable(path: Path) -> AccessDenied:
    return AccessDenied(f"{path} cannot be read", field="path", hint="Check its owner and permissions")


def reconnect(path: Path, lock_timeout: float, *, writable: bool) -> duckdb.DuckDBPyConnection:
    """Open the database of a collection again, whose file may be a new one.

    Raises:
        holdstill.CollectionBusy: another process has taken it.
    """
    return _connect(path / FILE, lock_timeout, read_only=not writable)


def _connect(file: Path, lock_timeout: float, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    deadline = time.monotonic() + lock_timeout
    while True:
        before = _identity(file.parent)
        try:
            opened = duckdb.connect(file.resolve(), read_only=read_only, config={"enable_external_access": "false"})
            if _identity(file.parent) == before:
                return opened
            opened.close()  # another process put a new file in its place meanwhile
        except duckdb.Error as error:
            if _identity(file.parent) not in (before, None):
                continue  # likewise; and the log beside it was the new one's
            if not LOCKED.search(str(error)):
                raise _unusable(file, error) from error
            if time.monotonic() >= deadline:
                holder = re.search(r"PID (\d+)", str(error))
                raise CollectionBusy(
                    f"another process{f' ({holder[0]})' if holder else ''} has {file.parent} open",
                    field="lock_timeout",
                    expected=f"the collection to be free within {lock_timeout:g} s",
                    hint="One process at a time may open an embedded collection: close the other one, wait longer "
                    "(`lock_timeout`), or share one handle between threads",
                ) from error
            time.sleep(0.02)


#: What DuckDB says of a file that another process has open.
LOCKED = re.compile("Could not set lock|being used by another process")


def _unusable(file: Path, error: duckdb.Error) -> HoldstillError:
    if "version number" in str(error):
        return NewerFormat(
            f"{file.parent} was written by a newer DuckDB: {str(error).splitlines()[0]}",
            field="format",
            hint="Upgrade duckdb; nothing was changed",
        )
    return CorruptCollection(
        f"the database of {file.parent} cannot be opened: {str(error).splitlines()[0]}",
        field="path",
        hint="Restore the directory from a backup; the index arrays can be rebuilt, the database cannot",
    )


def _format(connection: Connection, path: Path) -> int:
    try:
        with connection.reading() as cursor:
            row = cursor.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    except (duckdb.CatalogException, duckdb.BinderException):
        row = None
    if row is None or not isinstance(row[0], int):
        raise NotACollection(f"{path} holds a DuckDB file that is not a collection", field="path")
    if row[0] > FORMAT:
        raise NewerFormat(
            f"{path} has format {row[0]}, written by a newer holdstill",
            field="format",
            expected=f"format {FORMAT} or earlier",
            got=row[0],
            hint="Upgrade holdstill; nothing was changed",
        )
    return row[0]


def identity(cursor: Cursor) -> bytes:
    """The random bytes that are the collection's own."""
    row = cursor.execute("SELECT secret FROM identity").fetchone()
    assert row is not None  # noqa: S101 - a collection is made with them
    return bytes(row[0])


def insert(cursor: Cursor, table: str, types: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows, bound column by column as typed lists; `table` and `types` are ours, never a user's."""
    values = ", ".join(f"unnest(?::{type_}[])" for type_ in types)
    for begin in range(0, len(rows), _CHUNK):
        columns = [list(values) for values in zip(*rows[begin : begin + _CHUNK], strict=True)]
        cursor.execute(f"INSERT INTO {table} SELECT {values}", columns)


@dataclass(eq=False, slots=True)
class Shared:
    """What the handles of this process on one collection share; no other process has it open while one can write.

    Attributes:
        handles: those that are open.
        file: device and inode of the database that they have open.
        leases: who reads, and who has it alone.
        lock: taken before writing.
        changes: how many changes were made, or may have been; what was read before the last one may be out of date.
        files: how many times files of the index were, or may have been, removed; one that is missing since may have
            been replaced.
    """

    handles: WeakSet[Any] = field(default_factory=WeakSet)
    file: tuple[int, int] | None = None
    leases: Leases = field(default_factory=Leases)
    lock: threading.RLock = field(default_factory=threading.RLock)
    changes: int = 0
    files: int = 0

    @contextmanager
    def changing(self, connection: Connection) -> Iterator[Cursor]:
        """One transaction that changes what is read."""
        try:
            with connection.transaction() as cursor:
                yield cursor
        except HoldstillError:
            raise  # and nothing was changed
        except BaseException:
            self.changes += 1  # Ctrl-C may have come after the commit
            raise
        self.changes += 1


_shared: dict[Path, Shared] = {}
_shared_guard = threading.Lock()


def shared(path: Path) -> Shared:
    """What every handle of this process on the collection is given."""
    with _shared_guard:
        return _shared.setdefault(path.resolve(), Shared())


def register(path: Path, shared: Shared, handle: Any) -> None:
    """Note that a handle has the collection open."""
    with _shared_guard:
        shared.handles.add(handle)
        shared.file = _identity(path)


def unregister(shared: Shared, handle: Any) -> None:
    """Note that a handle was closed."""
    with _shared_guard:
        shared.handles.discard(handle)


def registered(shared: Shared) -> list[Any]:
    """The handles that are open."""
    with _shared_guard:
        return list(shared.handles)


def moved_to(path: Path, shared: Shared) -> None:
    """Note that the collection's database is another file now, which this process put there itself."""
    with _shared_guard:
        shared.file = _identity(path)


def require_unmoved(path: Path) -> None:
    """Make sure that no handle of this process has a collection open that stood here, or that stands here renamed.

    DuckDB would hand out the one that is open, or open its file twice; and what is written then may be lost.

    Raises:
        holdstill.CollectionBusy: one has.
    """
    here, file = path.resolve(), _identity(path)
    with _shared_guard:
        for place, each in _shared.items():
            if each.handles and ((place == here) is not (each.file == file)):
                raise CollectionBusy(
                    f"this process has a collection open that was moved or deleted meanwhile: it was at {place}",
                    field="path",
                    expected=f"one collection at {path}, under one name",
                    hint="Close that handle first; a collection is moved or deleted while nothing has it open",
                )


def _identity(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        status = (path / FILE).stat()
        return status.st_dev, status.st_ino
    return None
