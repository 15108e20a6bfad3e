"""The database of a collection, open: shared by threads, closed when no statement runs, its failures told as ours."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from holdstill.errors import CollectionClosed, CorruptCollection, HoldstillError, NotWritable

Cursor = duckdb.DuckDBPyConnection


class Connection:
    """A DuckDB connection that any number of threads may use, each through a cursor of its own."""

    def __init__(self, path: Path, connection: duckdb.DuckDBPyConnection) -> None:
        self._path = path
        self._connection = connection
        self._changed = threading.Condition()
        self._readers: set[object] = set()
        self._closed = False
        self._away = False
        self._process = os.getpid()

    @contextmanager
    def reading(self) -> Iterator[Cursor]:
        """A cursor.

        Raises:
            holdstill.CollectionClosed: the connection was closed.
            holdstill.CorruptCollection: what is read is damaged.
            KeyboardInterrupt: Ctrl-C, also where it stopped a statement.
        """
        if self._process != os.getpid():
            raise CollectionClosed(
                f"{self._path} was opened by the process of which this one was forked",
                hint="A collection is opened after forking, by one process at a time",
            )
        reader = object()
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or not self._away)
                if self._closed:
                    raise CollectionClosed(f"{self._path} was closed", hint="Open it again")
                self._readers.add(reader)
            with _told(), self._connection.cursor() as cursor:
                yield cursor
        finally:
            with self._changed:
                self._readers.discard(reader)
                self._changed.notify_all()

    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """A cursor inside one transaction: all of it, or none.

        Raises:
            As `reading`, and holdstill.NotWritable: the commit cannot be written.
        """
        with self.reading() as cursor:
            cursor.begin()
            try:
                yield cursor
            except BaseException:
                with suppress(duckdb.Error):  # what went wrong first says more; closing the cursor rolls back too
                    cursor.rollback()
                raise
            cursor.commit()

    def rows(self, sql: str, values: Sequence[object]) -> list[Any]:
        """The rows that a statement gives; raises as `reading`."""
        with self.reading() as cursor:
            return cursor.execute(sql, values).fetchall()

    def arrays(self, sql: str, values: Sequence[object]) -> dict[str, Any]:
        """The columns that a statement gives, by name, masked where null; raises as `reading`."""
        with self.reading() as cursor:
            return cursor.execute(sql, values).fetchnumpy()

    def let_go(self) -> None:
        """Close the database when no statement runs; whoever comes waits until one is taken up again."""
        with self._changed:
            self._changed.wait_for(lambda: not self._readers)
            self._away = True
            self._connection.close()

    def take_up(self, connection: duckdb.DuckDBPyConnection | None) -> None:
        """Go on with a database; with None it is closed."""
        with self._changed:
            self._away = False
            if connection is None:
                self._closed = True
            elif self._closed:  # meanwhile
                connection.close()
            else:
                self._connection = connection
            self._changed.notify_all()

    def close(self) -> None:
        """Let no new cursor begin, wait for those at work, and close.

        DuckDB refuses to close under a running statement, and cuts off one whose rows are not fetched yet.
        """
        if self._process != os.getpid():
            return  # it is the other process's to close
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._readers)
            self._connection.close()


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        failure = _failure(str(error).splitlines()[0])
        if failure is None:
            raise
        raise failure from error
    except RuntimeError as error:
        if type(error) is RuntimeError and str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise


def _failure(message: str) -> HoldstillError | None:
    """What a message of DuckDB means; None where it can only be a fault of ours."""
    if "Could not write" in message:
        return NotWritable("the collection cannot be written; nothing was changed", field="path", hint=message)
    if "Corrupt database file" in message or "Could not read" in message:
        return CorruptCollection(
            f"the database is damaged: {message}", field="path", hint="Restore the directory from a backup"
        )
    return None
