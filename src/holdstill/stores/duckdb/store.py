"""The DuckDB store: one process's handle on a collection directory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from holdstill.analysis import analyser
from holdstill.errors import HoldstillError, NotWritable
from holdstill.policy import Policy
from holdstill.schema import Field, Schema
from holdstill.stores.base import Generation, PreparedDocument, Progress
from holdstill.stores.duckdb import arrays, database, rows, segment, segments
from holdstill.stores.duckdb.arrays import Arrays, TornFile
from holdstill.stores.duckdb.connection import Cursor
from holdstill.stores.duckdb.database import INDEX
from holdstill.stores.duckdb.index import Index
from holdstill.stores.duckdb.segments import Entry
from holdstill.stores.duckdb.snapshot import DuckDBSnapshot

_Torn = dict[Entry, tuple[str, Arrays]]  # segments made again: what was wrong with the file, and the arrays


@dataclass(frozen=True, slots=True)
class _State:
    """What the newest commit looks like; replaced whole, never changed."""

    changes: int
    snapshot: DuckDBSnapshot
    entries: tuple[Entry, ...]


class _Outdated(Exception):
    """What is being read is not the newest commit any more."""


class DuckDBStore:
    """A collection in a directory: `collection.duckdb` is the truth, `index/` is derived from it.

    Threads may share a handle. Every read goes through a snapshot; every write is one transaction that makes rows,
    postings and vectors visible together: the new segment file is complete on disk before the commit that names it.
    """

    def __init__(self, path: Path, lock_timeout: float) -> None:
        self._path = path.resolve()  # the working directory, or a link on the way, may change
        self._connection, self._writable = database.connect(path, lock_timeout)
        self._shared = database.shared(path, self)
        self._reload = threading.Lock()
        self._mended: list[str] = []  # what was rebuilt since the last check
        self._state: _State | None = None

    @classmethod
    def create(cls, path: Path, generation: Generation, schema: Schema, lock_timeout: float) -> DuckDBStore:
        """Make a new collection and open it."""

        def fill(cursor: Cursor) -> None:
            rows.insert_generation(cursor, generation)
            for position, field in enumerate(schema):
                rows.insert_field(cursor, position, field, 0)

        database.create(path, fill)
        return cls(path, lock_timeout)

    def close(self) -> None:
        """See `holdstill.stores.base.Store.close`."""
        self._connection.close()
        self._shared.handles.discard(self)
        self._state = None

    # -- reading ---------------------------------------------------------------------------------

    def snapshot(self) -> DuckDBSnapshot:
        """See `holdstill.stores.base.Store.snapshot`."""
        return self._current().snapshot

    def _current(self) -> _State:
        state = self._state
        if state is not None and state.changes == self._shared.changes:
            return state
        with self._reload:
            while True:
                state = self._state
                if state is not None and state.changes == self._shared.changes:
                    return state
                torn: _Torn = {}
                with suppress(_Outdated):
                    self._state = state = self._load(torn)
                    if not self._save(torn):
                        return state

    def _load(self, torn: _Torn) -> _State:
        """The newest commit; segments that had to be made again are put into `torn`."""
        changes = self._shared.changes  # before reading, so that a change made meanwhile is noticed
        with self._connection.transaction() as cursor:
            generation = rows.read_generation(cursor)
            schema = rows.read_schema(cursor)
            version, policy = rows.read_policy(cursor, schema)
            listed = segments.entries(cursor)
            snapshot = DuckDBSnapshot(
                commit=rows.scalar(cursor, "SELECT coalesce(max(commit), 0) FROM commits"),
                generation=generation,
                schema=schema,
                policy=policy,
                policy_version=version,
                index=Index(tuple(self._open(cursor, entry, generation, changes, torn) for entry in listed)),
                connection=self._connection,
            )
            return _State(changes, snapshot, tuple(listed))

    def _open(self, cursor: Cursor, entry: Entry, generation: Generation, changes: int, torn: _Torn) -> Arrays:
        """The segment's arrays: those on disk, or, where they are torn, the same ones made again.

        Raises:
            _Outdated: another handle has made a change since, and may have removed the file.
        """
        try:
            return segments.load(self._path / INDEX, entry)
        except TornFile as error:
            if self._shared.changes != changes:
                raise _Outdated from error
            made = segments.rebuild(cursor, entry, analyser(generation.analyser))
            torn[entry] = (str(error), made)
            return made

    def _save(self, torn: _Torn) -> bool:
        """Write segments that were made again, so that it is done once; where that cannot be, memory serves.

        A writer at work is not waited for: it may be waiting for this very thread.
        """
        if not torn or not self._writable or not self._shared.lock.acquire(blocking=False):
            return False
        changed = False
        try:
            with suppress(HoldstillError):
                for entry, (reason, contents) in torn.items():
                    if self._mend(entry, contents):
                        self._mended.append(f"{reason}; rebuilt from the database when it was opened")
                    changed = True
                self._sweep()
            return changed
        finally:
            self._shared.lock.release()

    # -- writing ---------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """See `holdstill.stores.base.Store.writing`."""
        if not self._writable:
            raise NotWritable(f"{self._path} cannot be written", field="path", hint="Check its owner and permissions")
        with self._shared.lock:
            yield

    def put(self, documents: Sequence[PreparedDocument], progress: Progress | None = None) -> int:
        """See `holdstill.stores.base.Store.put`."""
        with self.writing():
            state = self._current()
            snapshot, commit = state.snapshot, state.snapshot.commit + 1
            new = [document for document in documents if document.passages is not None]
            try:
                taken, saved = self._index(state, new, commit, progress) if new else ([], None)
                with self._change(commit, "add") as cursor:
                    contents = rows.stored_contents(cursor, documents)
                    rows.retire(cursor, [document.id for document in documents], commit)
                    contents |= rows.insert_contents(cursor, snapshot.generation, snapshot.index, new, commit)
                    rows.insert_documents(cursor, documents, snapshot.schema, contents, commit)
                    if saved is not None:
                        rows.replace_segments(cursor, taken, saved)
                    if snapshot.generation.dimensions is None:
                        rows.set_dimensions(cursor, snapshot.generation, new)
            except BaseException:
                with suppress(HoldstillError):  # on a full disk, every attempt would leave a file
                    self._sweep()
                raise
            self._sweep()
            return commit

    def _index(
        self, state: _State, new: Sequence[PreparedDocument], commit: int, progress: Progress | None
    ) -> tuple[list[Entry], Entry]:
        """Write the segment of new contents; also gives those whose place it takes."""
        snapshot = state.snapshot
        fresh = segments.build(new, analyser(snapshot.generation.analyser), progress)
        taken = segments.absorbed(state.entries, len(fresh["lengths"]))
        older = snapshot.index.segments[len(state.entries) - len(taken) :]
        first_row = taken[0].first_row if taken else snapshot.index.rows
        merged = segment.merge([*older, fresh], progress) if taken else fresh
        return taken, segments.save(self._path / INDEX, merged, first_row, commit)

    def remove(self, ids: Sequence[str]) -> int:
        """See `holdstill.stores.base.Store.remove`."""
        with self.writing():
            commit = self._current().snapshot.commit + 1
            with self._change(commit, "delete") as cursor:
                rows.retire(cursor, ids, commit)
            return commit

    def add_field(self, field: Field) -> int:
        """See `holdstill.stores.base.Store.add_field`."""
        with self.writing():
            snapshot = self._current().snapshot
            with self._change(snapshot.commit + 1, "schema") as cursor:
                rows.insert_field(cursor, len(snapshot.schema), field, snapshot.commit + 1)
            return snapshot.commit + 1

    def set_policy(self, policy: Policy) -> int:
        """See `holdstill.stores.base.Store.set_policy`."""
        with self.writing():
            snapshot = self._current().snapshot
            version = (snapshot.policy_version or 0) + 1
            with self._change() as cursor:
                rows.insert_policy(cursor, version, policy, snapshot.commit)
            return version

    def check(self) -> list[str]:
        """See `holdstill.stores.base.Store.check`."""
        with self.writing():
            found, self._mended = self._mended, []
            state = self._current()
            for entry in state.entries:
                try:
                    arrays.verify(self._path / INDEX / entry.name, commit=entry.commit, length=entry.bytes)
                except TornFile as error:
                    found.append(f"{error}; rebuilt from the database")
                    self._mend(entry)
            self._sweep()
        return found

    def _mend(self, entry: Entry, contents: Arrays | None = None) -> bool:
        """Put a new file in the place of a segment's, unless a commit has done so meanwhile; whether it was put."""
        with self._change() as cursor:
            if entry not in segments.entries(cursor):
                return False
            if contents is None:
                generation = rows.read_generation(cursor)
                contents = segments.rebuild(cursor, entry, analyser(generation.analyser))
            saved = segments.save(self._path / INDEX, contents, entry.first_row, entry.commit)
            rows.replace_segments(cursor, [entry], saved)
        return True

    @contextmanager
    def _change(self, commit: int | None = None, kind: str = "") -> Iterator[Cursor]:
        """One transaction that changes the collection, and is a commit if it has a number."""
        try:
            with self._connection.transaction() as cursor:
                if commit is not None:
                    generation = rows.scalar(cursor, "SELECT max(generation) FROM generations")
                    now = datetime.now(UTC).replace(tzinfo=None)  # fixed: shown in the history, never in a result
                    cursor.execute("INSERT INTO commits VALUES (?, ?, ?, ?)", [commit, generation, kind, now])
                yield cursor
        except HoldstillError:
            raise  # and nothing was changed
        except BaseException:
            self._shared.changes += 1  # Ctrl-C may have come after the commit
            raise
        self._shared.changes += 1

    def _sweep(self) -> None:
        with self._connection.reading() as cursor:
            listed = segments.entries(cursor)
        segments.sweep(self._path / INDEX, listed)
