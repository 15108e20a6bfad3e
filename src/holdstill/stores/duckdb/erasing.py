"""What is erased, and how: versions of documents that no kept commit sees, contents that none has, a generation.

New segment files, without what goes, are written first; then the database is written anew, and names them; then the old
files are removed. A process that is killed leaves the collection as it was, or as it is to be, and files that the next
one removes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdstill.stores.base import Rows
from holdstill.stores.duckdb import history, rows
from holdstill.stores.duckdb.connection import Cursor
from holdstill.stores.duckdb.database import insert
from holdstill.stores.duckdb.segments import Entry


class Version(NamedTuple):
    """One version of a document."""

    id: str
    content: int
    added: int
    removed: int | None

    def seen_at(self, commit: int) -> bool:
        """Whether it is what a commit sees."""
        return self.added <= commit and (self.removed is None or commit < self.removed)


@dataclass(frozen=True, slots=True)
class Doomed:
    """What is to be erased.

    Attributes:
        versions: the versions of documents that go.
        contents: the contents that no version has any more, ascending.
        pruned: the commits that can no more be searched.
        dropped: the generation that goes, if one does.
        purges: of a purge, when each version was visible: added, removed.
    """

    versions: list[Version] = field(repr=False)
    contents: Rows
    pruned: tuple[int, ...] = ()
    dropped: int | None = None
    purges: tuple[tuple[int, int | None], ...] = ()

    @property
    def live(self) -> int:
        """How many documents go that are live."""
        return sum(each.removed is None for each in self.versions)


def unseen(cursor: Cursor, pruned: Sequence[int], dropped: int | None = None) -> Doomed:
    """What no commit sees once these are pruned."""
    going = set(pruned)
    if dropped is not None:
        going |= {each.commit for each in history.commits(cursor) if each.generation == dropped and not each.pruned}
    kept = [each.commit for each in history.commits(cursor) if not each.pruned and each.commit not in going]
    versions = _versions(cursor)
    stays = _seen(versions, kept)
    gone = [version for version, stay in zip(versions, stays.tolist(), strict=True) if not stay]
    doomed = _doomed(cursor, gone, {version.content for version, stay in zip(versions, stays, strict=True) if stay})
    return replace(doomed, pruned=tuple(sorted(going)), dropped=dropped)


def named(cursor: Cursor, ids: Sequence[str]) -> Doomed:
    """Every version of the documents of these ids."""
    wanted = set(ids)
    versions = _versions(cursor)
    gone = [version for version in versions if version.id in wanted]
    doomed = _doomed(cursor, gone, {version.content for version in versions if version.id not in wanted})
    return replace(doomed, purges=tuple((version.added, version.removed) for version in gone))


def _versions(cursor: Cursor) -> list[Version]:
    found = cursor.execute("SELECT id, content, added, removed FROM documents ORDER BY content, added").fetchall()
    return [Version(*row) for row in found]


def _seen(versions: Sequence[Version], kept: Sequence[int]) -> NDArray[np.bool_]:
    """Which versions a kept commit sees; those that are live stay, whatever is kept."""
    commits = np.array([*kept, np.iinfo(np.int64).max])
    added = np.array([version.added for version in versions], dtype=np.int64)
    removed = np.array([commits[-1] if each.removed is None else each.removed for each in versions], dtype=np.int64)
    first = commits[np.searchsorted(commits, added)]
    seen: NDArray[np.bool_] = (first < removed) | (removed == commits[-1])
    return seen


def _doomed(cursor: Cursor, gone: list[Version], stay: set[int]) -> Doomed:
    contents = np.array(sorted({version.content for version in gone} - stay), dtype=np.int64)
    return Doomed(gone, contents)


def sources(cursor: Cursor, contents: Rows) -> list[bytes]:
    """The SHA-256 of what was embedded for the passages of these contents, and for no others."""
    going = "SELECT unnest(?::BIGINT[])"
    found = cursor.execute(
        f"SELECT source FROM passages WHERE content IN ({going}) AND source <> ''::BLOB "
        f"EXCEPT SELECT source FROM passages WHERE content NOT IN ({going}) ORDER BY 1",
        [contents.tolist()] * 2,
    ).fetchall()
    return [row[0] for row in found]


#: By table, the rows that stay, as `rewriting` wants them; `gone_...` are made by `prepare`.
KEPT = {
    "documents": "NOT EXISTS (SELECT 1 FROM memory.gone_versions g WHERE g.id = t.id AND g.added = t.added)",
    "contents": "content NOT IN (SELECT content FROM memory.gone_contents)",
    "passages": "content NOT IN (SELECT content FROM memory.gone_contents) "
    "AND generation NOT IN (SELECT generation FROM memory.gone_generations)",
    "generations": "generation NOT IN (SELECT generation FROM memory.gone_generations)",
    "segments": "FALSE",
}


def prepare(cursor: Cursor, doomed: Doomed) -> None:
    """Make the tables that `KEPT` refers to."""
    cursor.execute(
        "CREATE TABLE gone_versions (id VARCHAR, added BIGINT); CREATE TABLE gone_contents (content BIGINT); "
        "CREATE TABLE gone_generations (generation INTEGER)"
    )
    insert(cursor, "gone_versions", ["VARCHAR", "BIGINT"], [(each.id, each.added) for each in doomed.versions])
    insert(cursor, "gone_contents", ["BIGINT"], [(content,) for content in doomed.contents.tolist()])
    if doomed.dropped is not None:
        cursor.execute("INSERT INTO gone_generations VALUES (?)", [doomed.dropped])


def finish(cursor: Cursor, doomed: Doomed, entries: Sequence[Entry], purge: tuple[int, int] | None) -> None:
    """Write what is new into the new file: its segments, what is pruned, and, of a purge, the commit and generation."""
    for entry in entries:
        rows.replace_segments(cursor, [], entry)
    mark(cursor, doomed.pruned)
    if purge is not None:
        commit, generation = purge
        rows.insert_commit(cursor, commit, generation, "purge", (0, 0, doomed.live))
        insert(cursor, "purges", ["BIGINT"] * 3, [(commit, *interval) for interval in doomed.purges])


def mark(cursor: Cursor, pruned: Sequence[int]) -> None:
    """Note that commits can no more be searched."""
    cursor.execute("UPDATE commits SET pruned = TRUE WHERE commit IN (SELECT unnest(?::BIGINT[]))", [list(pruned)])
