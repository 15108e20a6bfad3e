"""The DuckDB store: one process's handle on a collection directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np

from holdstill.errors import InvariantViolated, NotWritable
from holdstill.policy import Policy
from holdstill.reports import Commit, Diff
from holdstill.schema import Field, Schema
from holdstill.stores.base import Built, Erased, Generation, Given, PreparedDocument, Progress, Rebuilt
from holdstill.stores.duckdb import building, copying, database, erasing, history, rewriting, rows, segment, segments
from holdstill.stores.duckdb.connection import Connection, Cursor
from holdstill.stores.duckdb.erasing import Doomed
from holdstill.stores.duckdb.loading import Loader
from holdstill.stores.duckdb.segments import Entry
from holdstill.stores.duckdb.snapshot import DuckDBSnapshot


class DuckDBStore:
    """A collection in a directory: `collection.duckdb` is the truth, `index/` is derived from it.

    Threads may share a handle. Every read goes through a snapshot; every write is one transaction that makes rows,
    postings and vectors visible together: the new segment file is complete on disk before the commit that names it.
    """

    def __init__(self, path: Path, lock_timeout: float) -> None:
        self._path = path.resolve()  # the working directory, or a link on the way, may change
        self._lock_timeout = lock_timeout
        self._shared = database.shared(path)
        with self._shared.leases.reading():
            self._connection, self._writable, self._hold = database.connect(path, lock_timeout, self._shared)
            database.register(path, self._shared, self)
        self._loader = Loader(self._connection, self._shared, self._path, writable=self._writable)
        self._tidy()

    @classmethod
    def create(cls, path: Path, generation: Generation, schema: Schema, lock_timeout: float) -> DuckDBStore:
        """Make a new collection and open it."""
        database.create(path, lambda cursor, _folder: copying.begin(cursor, generation, schema))
        return cls(path, lock_timeout)

    @classmethod
    def copy(
        cls,
        path: Path,
        generation: Generation,
        schema: Schema,
        policy: Policy | None,
        documents: Iterable[PreparedDocument],
        lock_timeout: float,
        progress: Progress | None = None,
    ) -> DuckDBStore:
        """Make a new collection of the documents of another one, each with its passages, and open it.

        Raises:
            As what gives the documents; nothing was made then.
        """

        def fill(cursor: Cursor, folder: Path) -> None:
            copying.begin(cursor, generation, schema)
            copying.fill(cursor, folder, generation, schema, policy, documents, progress)

        database.create(path, fill)
        return cls(path, lock_timeout)

    def close(self) -> None:
        """See `holdstill.stores.base.Store.close`."""
        self._connection.close()
        self._hold = None
        database.unregister(self._shared, self)
        self._loader.forget()

    # -- reading ---------------------------------------------------------------------------------

    def reading(self) -> AbstractContextManager[None]:
        """See `holdstill.stores.base.Store.reading`."""
        return self._shared.leases.reading()

    def snapshot(self, at: int | None = None, seen_at: int | None = None) -> DuckDBSnapshot:
        """See `holdstill.stores.base.Store.snapshot`."""
        return self._loader.snapshot(at, seen_at)

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
        with self.writing(), self._loader.sweeping():
            snapshot = self.snapshot()
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
        fresh = segments.build(contents, generation.words, progress)
        listed, index = self._loader.index(generation.number)
        taken = segments.absorbed(listed, len(fresh["lengths"]))
        older = index.segments[len(listed) - len(taken) :]
        merged = segment.merge([*older, fresh], progress) if taken else fresh
        with self._connection.reading() as cursor:
            names = segments.names(cursor)
        return taken, segments.save(self._loader.folder, merged, generation.number, commit, names)

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
            commit = self.snapshot().commit + 1
            with self._change(commit, "delete", (0, 0, len(ids))) as cursor:
                rows.retire(cursor, ids, commit)
            return commit

    def add_field(self, field: Field) -> int:
        """See `holdstill.stores.base.Store.add_field`."""
        with self.writing():
            snapshot = self.snapshot()
            with self._change(snapshot.commit + 1, "schema") as cursor:
                rows.insert_field(cursor, len(snapshot.schema), field, snapshot.commit + 1)
            return snapshot.commit + 1

    def set_policy(self, policy: Policy) -> int:
        """See `holdstill.stores.base.Store.set_policy`."""
        with self.writing():
            snapshot = self.snapshot()
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

    def alike(self, first: int, second: int, commit: int) -> bool:
        """See `holdstill.stores.base.Store.alike`."""
        with self._connection.reading() as cursor:
            return building.alike(cursor, first, second, commit)

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
        with self.writing(), self._loader.sweeping():
            with self._connection.reading() as cursor:
                generation = building.known(cursor, number)
                reached = building.reached(cursor, number)
                there = building.stored(cursor, contents)
            # Another thread may be building it too, and what was given may have been erased since.
            new = [each for each in contents if each.content >= reached and each.content in there]
            taken, saved = self._index(generation, new, self.snapshot().commit, progress)
            with self._connection.transaction() as cursor:
                self._insert(cursor, number, new, taken, saved)

    def activate(self, number: int, kind: str) -> int:
        """See `holdstill.stores.base.Store.activate`."""
        with self.writing():
            snapshot = self.snapshot()
            commit = snapshot.commit + 1
            with self._change(commit, kind, generation=number) as cursor:
                building.known(cursor, number)
                if building.unbuilt(cursor, number, 1):
                    raise InvariantViolated(
                        f"generation {number} misses documents; nothing was changed", hint="Build it to the end first"
                    )
                building.complete(cursor, number, building.reached(cursor, snapshot.generation.number))
            return commit

    # -- erasing ---------------------------------------------------------------------------------

    def prune(self, commits: Sequence[int]) -> Erased:
        """See `holdstill.stores.base.Store.prune`."""
        with self.writing():
            with self._connection.transaction() as cursor:
                doomed = erasing.unseen(cursor, commits)
            return self._erase(doomed)

    def purge(self, ids: Sequence[str]) -> Erased:
        """See `holdstill.stores.base.Store.purge`."""
        with self.writing():
            with self._connection.transaction() as cursor:
                doomed = erasing.named(cursor, ids)
                kept = [each.commit for each in history.commits(cursor) if not each.pruned]
            saw = sum(
                any(each.added <= commit < (each.removed or commit + 1) for each in doomed.versions) for commit in kept
            )
            return replace(self._erase(doomed, purge=True), commits=saw)

    def sources(self, ids: Sequence[str]) -> list[bytes]:
        """See `holdstill.stores.base.Store.sources`."""
        with self._connection.transaction() as cursor:
            return erasing.sources(cursor, erasing.named(cursor, ids).contents)

    def drop(self, number: int) -> Erased:
        """See `holdstill.stores.base.Store.drop`."""
        with self.writing():
            with self._connection.transaction() as cursor:
                doomed = erasing.unseen(cursor, (), number)
            return self._erase(doomed)

    def _erase(self, doomed: Doomed, *, purge: bool = False) -> Erased:
        snapshot, before = self.snapshot(), self._size()
        commit = snapshot.commit + purge
        if not doomed.versions and doomed.dropped is None:
            with self._change() as cursor:
                erasing.mark(cursor, doomed.pruned)
            return Erased(commit, len(doomed.pruned), 0, before, before)
        with self._loader.sweeping():
            entries = self._without(doomed)
            with self._connection.transaction() as cursor:
                state = rewriting.state(cursor)
            with self._shared.leases.alone(), self._rewriting() as connections:
                rewriting.rewrite(
                    self._path,
                    connections,
                    state,
                    erasing.KEPT,
                    lambda cursor: erasing.prepare(cursor, doomed),
                    lambda cursor: erasing.finish(
                        cursor, doomed, entries, (commit, snapshot.generation.number) if purge else None
                    ),
                )
        return Erased(commit, len(doomed.pruned), len(doomed.versions), before=before, after=self._size())

    def _without(self, doomed: Doomed) -> list[Entry]:
        """The segments that are to be listed: those that hold a content that goes are written anew, without it."""
        entries = []
        with self._connection.reading() as cursor:
            names = segments.names(cursor)
        for built in self.generations():
            number = built.generation.number
            if number == doomed.dropped:
                continue
            listed, index = self._loader.index(number)
            for entry, arrays in zip(listed, index.segments, strict=True):
                if not np.isin(arrays["contents"], doomed.contents).any():
                    entries.append(entry)
                elif not np.isin(arrays["contents"], doomed.contents).all():
                    left = segment.without(arrays, doomed.contents)
                    entries.append(segments.save(self._loader.folder, left, number, entry.commit, names))
        return entries

    @contextmanager
    def _rewriting(self) -> Iterator[dict[Connection, Callable[[], duckdb.DuckDBPyConnection]]]:
        """The connections of every handle, and how each is made again; what was read is read again afterwards."""
        handles = database.registered(self._shared)
        try:
            yield {each._connection: each._reconnect for each in handles}
        finally:  # also where it failed: the new file may be in its place by then, or another process have written
            database.moved_to(self._path, self._shared)
            for each in handles:
                each._loader.forget()
            self._shared.changes += 1
            self._shared.files += 1

    def _reconnect(self) -> duckdb.DuckDBPyConnection:
        return database.reconnect(self._path, self._lock_timeout, writable=self._writable)

    def _tidy(self) -> None:
        """Remove what a killed process left, unless a writer is at work."""
        if self._writable and self._shared.lock.acquire(blocking=False):
            try:
                rewriting.remove_stray(self._path)
                if database.registered(self._shared) == [self]:
                    rewriting.remove_spilled(self._path)
                self._loader.sweep()
            finally:
                self._shared.lock.release()

    def _size(self) -> int:
        """The bytes that the collection takes on disk."""
        size = 0
        for file in self._path.rglob("*"):
            with suppress(OSError):  # the search log may be rotated meanwhile
                size += file.stat().st_size if file.is_file() else 0
        return size

    # -- files -----------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """See `holdstill.stores.base.Store.check`."""
        with self.writing():
            return self._loader.check()

    @contextmanager
    def _change(
        self,
        commit: int | None = None,
        kind: str = "",
        counts: tuple[int, int, int] = (0, 0, 0),
        generation: int | None = None,
    ) -> Iterator[Cursor]:
        """One transaction that changes the collection, and is a commit if it has a number."""
        with self._shared.changing(self._connection) as cursor:
            if commit is not None:
                active = history.newest(cursor).generation if generation is None else generation
                rows.insert_commit(cursor, commit, active, kind, counts)
            yield cursor
