"""The statements of history: commits and their names, the generation of each, and what differs between two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from typing import NamedTuple

from holdstill.errors import SnapshotNotFound, SnapshotPruned
from holdstill.reports import Changed, Commit, Diff
from holdstill.schema import Schema
from holdstill.stores.duckdb.connection import Cursor
from holdstill.stores.duckdb.database import column
from holdstill.stores.duckdb.lookup import LIVE


class Newest(NamedTuple):
    """The newest commit, 0 before the first, and the generation that is active."""

    commit: int
    generation: int


def newest(cursor: Cursor) -> Newest:
    """The newest commit and the active generation, which is the first one before any commit."""
    row = cursor.execute("SELECT commit, generation FROM commits ORDER BY commit DESC LIMIT 1").fetchone()
    return Newest(0, _first_generation(cursor)) if row is None else Newest(*row)


def _first_generation(cursor: Cursor) -> int:
    row = cursor.execute("SELECT min(generation) FROM generations").fetchone()
    assert row is not None  # noqa: S101 - a collection is made with one
    return int(row[0])


def generation_of(cursor: Cursor, commit: int) -> int:
    """The generation that a commit opens in.

    Raises:
        holdstill.SnapshotNotFound: there is no such commit yet.
        holdstill.SnapshotPruned: it was pruned.
    """
    last = newest(cursor).commit
    if not 0 <= commit <= last:
        raise SnapshotNotFound(
            f"there is no commit {commit}", field="at", expected=f"a commit from 0 to {last}, the newest", got=commit
        )
    if commit == 0 and _first_generation(cursor) == 1:  # the collection before its first commit
        return 1
    row = cursor.execute("SELECT generation, pruned FROM commits WHERE commit = ?", [commit]).fetchone()
    if row is None or row[1]:
        raise SnapshotPruned(
            f"commit {commit} was pruned",
            field="at",
            expected="a commit that is kept",
            got=commit,
            hint="`holdstill history` lists those that are; a commit that has a tag is never pruned",
        )
    return int(row[0])


def commits(cursor: Cursor) -> list[Commit]:
    """Every commit with its tags, the first one first."""
    tags: dict[int, list[str]] = {}
    for name, commit in cursor.execute("SELECT name, commit FROM tags ORDER BY name").fetchall():
        tags.setdefault(commit, []).append(name)
    rows = cursor.execute(
        "SELECT commit, generation, kind, committed, added, replaced, removed, pruned FROM commits ORDER BY commit"
    ).fetchall()
    return [
        replace(Commit(*row[:7]), committed=row[3].replace(tzinfo=UTC), tags=tuple(tags.get(row[0], ())), pruned=row[7])
        for row in rows
    ]


def tag(cursor: Cursor, name: str, commit: int) -> None:
    """Name a commit."""
    generation_of(cursor, commit)
    untag(cursor, name)
    cursor.execute("INSERT INTO tags VALUES (?, ?)", [name, commit])


def untag(cursor: Cursor, name: str) -> None:
    """Take a name away."""
    cursor.execute("DELETE FROM tags WHERE name = ?", [name])


def stored(cursor: Cursor, ids: Sequence[str]) -> list[str]:
    """Those of the ids that some version of a document has."""
    found = {
        id_
        for (id_,) in cursor.execute(
            "SELECT DISTINCT id FROM documents WHERE id IN (SELECT unnest(?::VARCHAR[]))", [list(ids)]
        ).fetchall()
    }
    return [id_ for id_ in ids if id_ in found]


def purged(cursor: Cursor, commit: int) -> int:
    """How many documents visible at the commit were purged since."""
    row = cursor.execute(
        "SELECT count(*) FROM purges WHERE added <= ? AND (removed IS NULL OR removed > ?) AND commit > ?", [commit] * 3
    ).fetchone()
    assert row is not None  # noqa: S101 - a count has a row
    return int(row[0])


def diff(cursor: Cursor, schema: Schema, first: int, second: int) -> Diff:
    """What is different at the second commit."""
    for commit in (first, second):
        generation_of(cursor, commit)
    live = f"SELECT d.*, c.digest FROM documents d JOIN contents c USING (content) WHERE {LIVE}"
    fields = [f"a.{column(position)} IS DISTINCT FROM b.{column(position)}" for position in range(len(schema))]
    compared = ", ".join(["a.digest IS DISTINCT FROM b.digest", "a.metadata IS DISTINCT FROM b.metadata", *fields])
    rows = cursor.execute(
        f"SELECT coalesce(a.id, b.id) AS id, a.id IS NULL, b.id IS NULL, {compared} "
        f"FROM ({live}) a FULL JOIN ({live}) b ON a.id = b.id WHERE a.added IS DISTINCT FROM b.added ORDER BY 1",
        [first, first, second, second],
    ).fetchall()
    names = list(schema.types())
    both = [(id_, differs) for id_, added, removed, *differs in rows if not added and not removed]
    changed = [
        Changed(id_, text, tuple(name for name, moved in zip(names, moves, strict=True) if moved), metadata)
        for id_, (text, metadata, *moves) in both
        if any((text, metadata, *moves))
    ]
    return Diff(
        first,
        second,
        added=tuple(row[0] for row in rows if row[1]),
        removed=tuple(row[0] for row in rows if row[2]),
        changed=tuple(changed),
    )
