"""Every document of a commit, read out of one database; and a new collection, filled with such documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdstill.analysis import analyser
from holdstill.errors import DuplicateId
from holdstill.policy import Policy
from holdstill.schema import Schema
from holdstill.stores.base import Generation, PreparedDocument, PreparedPassage, Progress, Rebuilt
from holdstill.stores.duckdb import building, rows, segment, segments
from holdstill.stores.duckdb.connection import Cursor
from holdstill.stores.duckdb.lookup import Lookup
from holdstill.stores.duckdb.segments import Entry

_READ = 2**12  # passages read at a time
_WRITTEN = 2**13  # passages written at a time: too few for codes, which the merged segment gets


def documents(lookup: Lookup, generation: Generation) -> Iterator[PreparedDocument]:
    """The live documents of a commit as they were put, in the order of their contents, which is that of rows."""
    places = np.sort(lookup.found(lookup.live))
    index = lookup.index
    ends = np.cumsum(index.starts[places + 1] - index.starts[places])
    for batch in np.split(places, np.flatnonzero(np.diff(ends // _READ)) + 1):
        if len(batch):
            yield from _read(lookup, generation, index.numbers[batch])


def _read(lookup: Lookup, generation: Generation, contents: NDArray[np.int64]) -> Iterator[PreparedDocument]:
    """The documents of these contents, all that are live between the first and the last."""
    live, values = lookup.live
    between = [int(contents[0]), int(contents[-1])]
    passages = _passages(lookup, generation, contents)
    fields = ", ".join(["", *lookup.columns.values()])
    for content, id_, title, digest, metadata, given, *stored in lookup.connection.rows(
        f"SELECT d.content, d.id, c.title, c.digest, d.metadata, c.given{fields} "
        "FROM documents d JOIN contents c USING (content) "
        f"WHERE {live} AND d.content BETWEEN ? AND ? AND c.content BETWEEN ? AND ? ORDER BY d.content",
        [*values, *between, *between],
    ):
        parts = passages[content]
        brought = (part.vector for part in parts if part.vector is not None and not part.source)
        yield PreparedDocument(
            id=id_,
            title=title,
            content=digest,
            values=tuple(map(rows.from_column, stored)),
            metadata=metadata,
            passages=tuple(parts),
            given=building.given_passages(given, brought),
        )


def _passages(lookup: Lookup, generation: Generation, contents: NDArray[np.int64]) -> dict[int, list[PreparedPassage]]:
    """The passages of each of the contents, in order."""
    by_content: dict[int, list[PreparedPassage]] = {number: [] for number in contents.tolist()}
    for content, headings, first, last, text, source, vector in lookup.connection.rows(
        "SELECT content, headings, first_page, last_page, text, source, vector FROM passages "
        "WHERE generation = ? AND content BETWEEN ? AND ? AND content IN (SELECT unnest(?::BIGINT[])) "
        "ORDER BY content, ordinal",
        [generation.number, int(contents[0]), int(contents[-1]), list(by_content)],
    ):
        pages = None if first is None else (first, last)
        grid = None if vector is None else np.frombuffer(vector, dtype="<i2").astype(np.int16)
        by_content[content].append(PreparedPassage(tuple(headings), pages, text, source, grid))
    return by_content


def begin(cursor: Cursor, generation: Generation, schema: Schema) -> None:
    """What every collection begins with."""
    rows.insert_generation(cursor, generation, complete=True)
    for position, each in enumerate(schema):
        rows.insert_field(cursor, position, each, 0)


def fill(
    cursor: Cursor,
    folder: Path,
    generation: Generation,
    schema: Schema,
    policy: Policy | None,
    given: Iterable[PreparedDocument],
    progress: Progress | None,
) -> None:
    """Put documents, each with its passages, into a collection that has just begun, as its first commit.

    Args:
        cursor: of the transaction.
        folder: of the index.
        generation, schema: what the collection began with.
        policy: to be in force.
        given: the documents; a few thousand passages of them are held at a time.
        progress: called as the index is put together.

    Raises:
        holdstill.DuplicateId: two documents have one id.
    """
    commit, words = 1, analyser(generation.analyser)
    parts: list[Entry] = []
    reached = 0
    for batch in _batches(given):
        new = list(enumerate(batch, start=reached))
        reached += len(batch)
        contents = [Rebuilt(number, each.title, each.passages or ()) for number, each in new]
        rows.insert_contents(cursor, new, commit)
        rows.insert_passages(cursor, generation.number, contents)
        rows.insert_documents(cursor, batch, schema, {each.id: number for number, each in new}, commit)
        parts.append(segments.save(folder, segments.build(contents, words, None), generation.number, commit))
    _require_distinct(cursor)
    if parts:
        rows.replace_segments(cursor, [], _merged(folder, generation, parts, commit, progress))
    rows.set_reached(cursor, generation.number, reached)
    if policy is not None:
        rows.insert_policy(cursor, 1, policy, commit)
    rows.insert_commit(cursor, commit, generation.number, "import", (reached, 0, 0))


def _batches(given: Iterable[PreparedDocument]) -> Iterator[list[PreparedDocument]]:
    batch: list[PreparedDocument] = []
    passages = 0
    for each in given:
        batch.append(each)
        passages += len(each.passages or ())
        if passages >= _WRITTEN:
            yield batch
            batch, passages = [], 0
    if batch:
        yield batch


def _merged(
    folder: Path, generation: Generation, parts: Sequence[Entry], commit: int, progress: Progress | None
) -> Entry:
    """One segment of all, which then is the only file."""
    if len(parts) == 1:
        return parts[0]
    merged = segment.merge([segments.load(folder, part) for part in parts], progress)
    saved = segments.save(folder, merged, generation.number, commit)
    segments.sweep(folder, [saved])
    return saved


def _require_distinct(cursor: Cursor) -> None:
    row = cursor.execute("SELECT id FROM documents GROUP BY id HAVING count(*) > 1 ORDER BY id LIMIT 1").fetchone()
    if row is not None:
        raise DuplicateId("two documents have one id", field="id", got=row[0])
