"""Snapshots of a collection, read from its database and its index: kept while nothing changes, read again where it has.

Segment files that are torn are made again from the database, and written where that can be.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from holdstill.analysis import analyser
from holdstill.errors import HoldstillError
from holdstill.stores.base import Generation
from holdstill.stores.duckdb import building, history, rows, segments
from holdstill.stores.duckdb.arrays import Arrays, TornFile
from holdstill.stores.duckdb.connection import Connection, Cursor
from holdstill.stores.duckdb.database import INDEX, Shared
from holdstill.stores.duckdb.index import Index
from holdstill.stores.duckdb.segments import Entry
from holdstill.stores.duckdb.snapshot import DuckDBSnapshot

_KEPT = 8  #: how many snapshots of earlier commits a handle keeps; each keeps its answers of a few filters

_Torn = dict[Entry, tuple[str, Arrays]]  # segments made again: what was wrong with the file, and the arrays
_At = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class _State:
    """What the newest commit looks like; replaced whole. Only what it keeps of earlier commits is added to."""

    changes: int
    snapshot: DuckDBSnapshot
    earlier: dict[_At, DuckDBSnapshot] = field(default_factory=dict)


class _Outdated(Exception):
    """What is being read is not the newest commit any more."""


class Loader:
    """Gives snapshots to any number of threads.

    Attributes:
        folder: of the segment files.
        mended: what was made again since it was last asked for.
    """

    def __init__(self, connection: Connection, shared: Shared, path: Path, *, writable: bool) -> None:
        self._connection = connection
        self._shared = shared
        self._writable = writable
        self._reload = threading.Lock()
        self._state: _State | None = None
        self._indexes: dict[int, tuple[list[Entry], Index]] = {}  # of each generation, as last read
        self.folder = path / INDEX
        self.mended: list[str] = []

    def forget(self) -> None:
        """Let go of everything that was read."""
        self._state = None
        self._indexes = {}

    def snapshot(self, at: int | None = None, seen_at: int | None = None) -> DuckDBSnapshot:
        """See `holdstill.stores.base.Store.snapshot`."""
        state = self._current()
        newest = state.snapshot.commit
        if at in (None, newest) and seen_at in (None, newest):
            return state.snapshot
        kept = state.earlier.get((at, seen_at))
        if kept is not None:
            return kept
        with self._reload:
            while True:
                state = self._read()
                torn: _Torn = {}
                with suppress(_Outdated):
                    snapshot = self._commit(at, seen_at, torn)
                    if not self._save(torn):
                        if len(state.earlier) >= _KEPT:
                            del state.earlier[next(iter(state.earlier))]
                        state.earlier[at, seen_at] = snapshot
                        return snapshot

    def _current(self) -> _State:
        state = self._state
        if state is not None and state.changes == self._shared.changes:
            return state
        with self._reload:
            return self._read()

    def _read(self) -> _State:
        """The newest commit, read again where it has changed; called with `_reload` held."""
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
        changes = self._shared.changes  # before reading: what changes meanwhile is noticed
        return _State(changes, self._commit(None, None, torn))

    def _commit(self, at: int | None, seen_at: int | None, torn: _Torn) -> DuckDBSnapshot:
        """A commit, with the schema and the policy of today; all of it read at once, for another may be made now."""
        files = self._shared.files  # before reading
        with self._connection.transaction() as cursor:
            newest = history.newest(cursor)
            number = newest.generation if at is None else history.generation_of(cursor, at)
            if seen_at is not None:
                history.generation_of(cursor, seen_at)
            schema = rows.read_schema(cursor)
            version, policy = rows.read_policy(cursor, schema)
            generation, index = self._generation(cursor, number, files, torn)
        return DuckDBSnapshot(
            commit=newest.commit if at is None else at,
            seen_at=newest.commit if seen_at is None else seen_at,
            generation=generation,
            schema=schema,
            policy=policy,
            policy_version=version,
            index=index,
            connection=self._connection,
        )

    def _generation(self, cursor: Cursor, number: int, files: int, torn: _Torn) -> tuple[Generation, Index]:
        """A generation and its index, of which what is loaded already stays; called with `_reload` held."""
        generation = building.known(cursor, number)
        listed = segments.entries(cursor, number)
        known, index = self._indexes.get(number, (None, Index(())))
        if known != listed:
            held = dict(zip(known or (), index.segments, strict=True))
            index = Index(
                tuple(held.get(entry) or self._open(cursor, entry, generation, files, torn) for entry in listed)
            )
            self._indexes[number] = listed, index
        return generation, index

    def _open(self, cursor: Cursor, entry: Entry, generation: Generation, files: int, torn: _Torn) -> Arrays:
        """The segment's arrays: those on disk, or, where they are torn, the same ones made again.

        Raises:
            _Outdated: a file may have been removed since the segments were listed.
        """
        try:
            return segments.load(self.folder, entry)
        except TornFile as error:
            if self._shared.files != files:
                raise _Outdated from error
            # By the rules of today, if need be: `Generation.words` then refuses to search it, and a rebuild mends it.
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
                    if self.mend(entry, contents):
                        self.mended.append(f"{reason}; rebuilt from the database when it was opened")
                    changed = True
                self.sweep()
            return changed
        finally:
            self._shared.lock.release()

    def index(self, number: int) -> tuple[list[Entry], Index]:
        """The segments of a generation as a writer finds them, and their arrays."""
        with self._reload, self._connection.transaction() as cursor:
            self._generation(cursor, number, self._shared.files, {})
        return self._indexes[number]

    def check(self) -> list[str]:
        """Compare every segment file with its checksums, and mend what is torn; what was, also since the last check."""
        found, self.mended = self.mended, []
        self._current()
        with self._connection.reading() as cursor:
            listed = segments.entries(cursor)
        for entry in listed:
            try:
                segments.verify(self.folder, entry)
            except TornFile as error:
                found.append(f"{error}; rebuilt from the database")
                self.mend(entry)
        self.sweep()
        return found

    def mend(self, entry: Entry, contents: Arrays | None = None) -> bool:
        """Put a new file in the place of a segment's, unless a commit has done so meanwhile; whether it was put."""
        with self._shared.changing(self._connection) as cursor:
            if entry not in segments.entries(cursor, entry.generation):
                return False
            if contents is None:
                generation = building.known(cursor, entry.generation)
                contents = segments.rebuild(cursor, entry, analyser(generation.analyser))
            saved = segments.save(self.folder, contents, entry.generation, entry.commit, segments.names(cursor))
            rows.replace_segments(cursor, [entry], saved)
        return True

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """Sweeps after a write, and after one that failed: on a full disk, every attempt would leave a file."""
        try:
            yield
        except BaseException:
            with suppress(HoldstillError):
                self.sweep()
            raise
        self.sweep()

    def sweep(self) -> None:
        """Remove the files that the database does not list."""
        with self._connection.reading() as cursor:
            listed = segments.entries(cursor)
        self._shared.files += 1
        segments.sweep(self.folder, listed)
