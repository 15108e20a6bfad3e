"""The DuckDB store: one process's handle on a collection directory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from holdstill.analysis import analyser
from holdstill.errors import HoldstillError, InvariantViolated, NotWritable
from holdstill.policy import Policy
from holdstill.reports import Commit, Diff
from holdstill.schema import Field, Schema
from holdstill.stores.base import Built, Generation, Given, PreparedDocument, Progress, Rebuilt
from holdstill.stores.duckdb import building, database, history, rows, segment, segments
from holdstill.stores.duckdb.arrays import Arrays, TornFile
from holdstill.stores.duckdb.connection import Cursor
from holdstill.stores.duckdb.database import INDEX
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
        self._indexes: dict[int, tuple[list[Entry], Index]] = {}  # of each generation, as last read

    @classmethod
    def create(cls, path: Path, generation: Generation, schema: Schema, lock_timeout: float) -> DuckDBStore:
        """Make a new collection and open it."""

        def fill(cursor: Cursor) -> None:
            rows.insert_generation(cursor, generation, complete=True)
            for position, each in enumerate(schema):
                rows.insert_field(cursor, position, each, 0)

        database.create(path, fill)
        return cls(path, lock_timeout)

    def close(self) -> None:
        """See `holdstill.stores.base.Store.close`."""
        self._connection.close()
        self._shared.handles.discard(self)
        self._state = None
        self._indexes = {}

    # -- reading ---------------------------------------------------------------------------------

    def reading(self) -> AbstractContextManager[None]:
        """See `holdstill.stores.base.Store.reading`."""
        return nullcontext()

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
                    snapshot = self._earlier(state, at, seen_at, torn)
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
        changes, files = self._shared.changes, self._shared.files  # before reading: what changes meanwhile is noticed
        with self._connection.transaction() as cursor:
            newest = history.newest(cursor)
            schema = rows.read_schema(cursor)
            version, policy = rows.read_policy(cursor, schema)
            generation, index = self._generation(cursor, newest.generation, files, torn)
        snapshot = DuckDBSnapshot(
            commit=newest.commit,
            seen_at=newest.commit,
            generation=generation,
            schema=schema,
            policy=policy,
            policy_version=version,
            index=index,
            connection=self._connection,
        )
        return _State(changes, snapshot)

    def _earlier(self, state: _State, at: int | None, seen_at: int | None, torn: _Torn) -> DuckDBSnapshot:
        """A snapshot of an earlier commit, with the schema and the policy of today."""
        newest = state.snapshot
        commit = newest.commit if at is None else at
        files = self._shared.files  # before reading
        with self._connection.transaction() as cursor:
            number = history.generation_of(cursor, commit)
            if seen_at is not None:
                history.generation_of(cursor, seen_at)
            if number == newest.generation.number:
                generation, index = newest.generation, newest.index
            else:
                generation, index = self._generation(cursor, number, files, torn)
        return DuckDBSnapshot(
            commit=commit,
            seen_at=newest.commit if seen_at is None else seen_at,
            generation=generation,
            schema=newest.schema,
            policy=newest.policy,
            policy_version=newest.policy_version,
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
            return segments.load(self._path / INDEX, entry)
        except TornFile as error:
            if self._shared.files != files:
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

    # -- writing documents -----------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """See `holdstill.stores.base.Store.writing`."""
        if not self._writable:
            raise NotWritable(f"{self._path} cannot be written", field="path", hint="Check its owner and permissions")
        with self._shared.lock:
            yield

    def put(self, documents: Sequence[PreparedDocument], progress: Progress | None = None, kind: str = "add") -> int:
        """See `holdstill.stores.base.Store.put`."""
        with self.writing(), self._sweeping():
            snapshot = self._current().snapshot
            commit, generation = snapshot.commit + 1, snapshot.generation
            with self._connection.reading() as cursor:
                stored = rows.live_contents(cursor, [document.id for document in documents])
                reached = building.reached(cursor, generation.number)
            new = list(enumerate((each for each in documents if each.passages is not None), start=reached))
            contents = [Rebuilt(number, each.title, each.passages or ()) for number, each in new]
            taken, saved = self._index(generation, contents, commit, progress)
            counts = len(documents) - len(stored), len(stored), 0
            with self._change(commit, kind, counts) as cursor:
                rows.retire(cursor, list(stored), commit)
                rows.insert_contents(cursor, new, commit)
                self._insert(cursor, generation.number, contents, taken, saved)
                numbers = stored | {each.id: number for number, each in new}
                rows.insert_documents(cursor, documents, snapshot.schema, numbers, commit)
            return commit

    def stored(self, ids: Sequence[str]) -> list[str]:
        """See `holdstill.stores.base.Store.stored`."""
        with self._connection.reading() as cursor:
            return history.stored(cursor, ids)

    def _index(
        self, generation: Generation, contents: Sequence[Rebuilt], commit: int, progress: Progress | None
    ) -> tuple[list[Entry], Entry | None]:
        """Write the segment of contents that are new to a generation; also gives those whose place it takes."""
        if not contents:
            return [], None
        fresh = segments.build(contents, analyser(generation.analyser), progress)
        with self._reload, self._connection.transaction() as cursor:
            _, index = self._generation(cursor, generation.number, self._shared.files, {})
            listed = segments.entries(cursor, generation.number)
        taken = segments.absorbed(listed, len(fresh["lengths"]))
        older = index.segments[len(listed) - len(taken) :]
        merged = segment.merge([*older, fresh], progress) if taken else fresh
        return taken, segments.save(self._path / INDEX, merged, generation.number, commit)

    def _insert(
        self, cursor: Cursor, number: int, contents: Sequence[Rebuilt], taken: Sequence[Entry], saved: Entry | None
    ) -> None:
        """Store contents in a generation, with the segment that holds them."""
        if saved is not None:
            rows.insert_passages(cursor, number, contents)
            rows.set_dimensions(cursor, number, contents)
            rows.set_reached(cursor, number, contents[-1].content + 1)
            rows.replace_segments(cursor, taken, saved)

    def remove(self, ids: Sequence[str]) -> int:
        """See `holdstill.stores.base.Store.remove`."""
        with self.writing():
            commit = self._current().snapshot.commit + 1
            with self._change(commit, "delete", (0, 0, len(ids))) as cursor:
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

    # -- history ---------------------------------------------------------------------------------

    def history(self) -> list[Commit]:
        """See `holdstill.stores.base.Store.history`."""
        with self._connection.transaction() as cursor:
            return history.commits(cursor)

    def tag(self, name: str, commit: int) -> None:
        """See `holdstill.stores.base.Store.tag`."""
        with self.writing(), self._connection.transaction() as cursor:
            history.tag(cursor, name, commit)

    def untag(self, name: str) -> None:
        """See `holdstill.stores.base.Store.untag`."""
        with self.writing(), self._connection.transaction() as cursor:
            history.untag(cursor, name)

    def diff(self, first: int, second: int) -> Diff:
        """See `holdstill.stores.base.Store.diff`."""
        with self._connection.transaction() as cursor:
            return history.diff(cursor, rows.read_schema(cursor), first, second)

    def purged(self, commit: int) -> int:
        """See `holdstill.stores.base.Store.purged`."""
        with self._connection.reading() as cursor:
            return history.purged(cursor, commit)

    def identity(self) -> bytes:
        """See `holdstill.stores.base.Store.identity`."""
        with self._connection.reading() as cursor:
            return database.identity(cursor)

    # -- generations -----------------------------------------------------------------------------

    def generations(self) -> list[Built]:
        """See `holdstill.stores.base.Store.generations`."""
        with self._connection.transaction() as cursor:
            return building.listed(cursor)

    def begin(self, generation: Generation) -> int:
        """See `holdstill.stores.base.Store.begin`."""
        with self.writing(), self._connection.transaction() as cursor:
            return building.begin(cursor, generation)

    def unbuilt(self, number: int, limit: int) -> list[Given]:
        """See `holdstill.stores.base.Store.unbuilt`."""
        with self._connection.transaction() as cursor:
            return building.unbuilt(cursor, number, limit)

    def extend(self, number: int, contents: Sequence[Rebuilt], progress: Progress | None = None) -> None:
        """See `holdstill.stores.base.Store.extend`."""
        with self.writing(), self._sweeping():
            with self._connection.reading() as cursor:
                generation = building.known(cursor, number)
                reached = building.reached(cursor, number)
            new = [each for each in contents if each.content >= reached]  # another thread may build it too
            taken, saved = self._index(generation, new, self._current().snapshot.commit, progress)
            with self._connection.transaction() as cursor:
                self._insert(cursor, number, new, taken, saved)

    def activate(self, number: int, kind: str) -> int:
        """See `holdstill.stores.base.Store.activate`."""
        with self.writing():
            snapshot = self._current().snapshot
            commit = snapshot.commit + 1
            with self._change(commit, kind, generation=number) as cursor:
                building.known(cursor, number)
                if building.unbuilt(cursor, number, 1):
                    raise InvariantViolated(
                        f"generation {number} misses documents; nothing was changed", hint="Build it to the end first"
                    )
                building.complete(cursor, number, building.reached(cursor, snapshot.generation.number))
            return commit

    # -- files -----------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """See `holdstill.stores.base.Store.check`."""
        with self.writing():
            found, self._mended = self._mended, []
            self._current()
            with self._connection.reading() as cursor:
                listed = segments.entries(cursor)
            for entry in listed:
                try:
                    segments.verify(self._path / INDEX, entry)
                except TornFile as error:
                    found.append(f"{error}; rebuilt from the database")
                    self._mend(entry)
            self._sweep()
        return found

    def _mend(self, entry: Entry, contents: Arrays | None = None) -> bool:
        """Put a new file in the place of a segment's, unless a commit has done so meanwhile; whether it was put."""
        with self._change() as cursor:
            if entry not in segments.entries(cursor, entry.generation):
                return False
            if contents is None:
                generation = building.known(cursor, entry.generation)
                contents = segments.rebuild(cursor, entry, analyser(generation.analyser))
            saved = segments.save(self._path / INDEX, contents, entry.generation, entry.commit)
            rows.replace_segments(cursor, [entry], saved)
        return True

    @contextmanager
    def _change(
        self,
        commit: int | None = None,
        kind: str = "",
        counts: tuple[int, int, int] = (0, 0, 0),
        generation: int | None = None,
    ) -> Iterator[Cursor]:
        """One transaction that changes the collection, and is a commit if it has a number."""
        try:
            with self._connection.transaction() as cursor:
                if commit is not None:
                    active = history.newest(cursor).generation if generation is None else generation
                    rows.insert_commit(cursor, commit, active, kind, counts)
                yield cursor
        except HoldstillError:
            raise  # and nothing was changed
        except BaseException:
            self._shared.changes += 1  # Ctrl-C may have come after the commit
            raise
        self._shared.changes += 1

    @contextmanager
    def _sweeping(self) -> Iterator[None]:
        """Sweeps after a write, and after one that failed: on a full disk, every attempt would leave a file."""
        try:
            yield
        except BaseException:
            with suppress(HoldstillError):
                self._sweep()
            raise
        self._sweep()

    def _sweep(self) -> None:
        with self._connection.reading() as cursor:
            listed = segments.entries(cursor)
        self._shared.files += 1
        segments.sweep(self._path / INDEX, listed)
