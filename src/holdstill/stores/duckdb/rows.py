"""The statements that write a collection's rows, and read what is not a document."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from holdstill.errors import InvariantViolated
from holdstill.policy import Policy
from holdstill.schema import Field, Schema
from holdstill.stores.base import Generation, PreparedDocument
from holdstill.stores.duckdb.connection import Cursor
from holdstill.stores.duckdb.database import SQL_TYPES, column, insert
from holdstill.stores.duckdb.index import Index
from holdstill.stores.duckdb.segments import Entry


def scalar(cursor: Cursor, sql: str) -> int:
    """The one number that a statement gives."""
    row = cursor.execute(sql).fetchone()
    assert row is not None  # noqa: S101 - every such statement has a row
    return int(row[0])


def read_schema(cursor: Cursor) -> Schema:
    """The fields, in order."""
    return Schema(
        tuple(Field(*row) for row in cursor.execute("SELECT name, type FROM fields ORDER BY position").fetchall())
    )


def insert_field(cursor: Cursor, position: int, field: Field, commit: int) -> None:
    """Add a field and its column, null in every row."""
    cursor.execute("INSERT INTO fields VALUES (?, ?, ?, ?)", [position, field.name, field.type, commit])
    cursor.execute(f"ALTER TABLE documents ADD COLUMN {column(position)} {SQL_TYPES[field.type]}")


def read_generation(cursor: Cursor) -> Generation:
    """The active generation."""
    row = cursor.execute(
        "SELECT generation, analyser, embedder, brought, model, dimensions, profile, made_with FROM generations "
        "ORDER BY generation DESC LIMIT 1"
    ).fetchone()
    assert row is not None  # noqa: S101 - a collection is made with one
    return Generation(*row)


def insert_generation(cursor: Cursor, generation: Generation) -> None:
    """Begin a generation."""
    cursor.execute(
        "INSERT INTO generations VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            generation.number,
            generation.analyser,
            generation.embedder,
            generation.brought,
            generation.model,
            generation.dimensions,
            generation.profile,
            generation.made_with,
        ],
    )


def set_dimensions(cursor: Cursor, generation: Generation, new: Sequence[PreparedDocument]) -> None:
    """Keep the number of dimensions of the first vector, which decides it."""
    vectors = (passage.vector for document in new for passage in document.passages or ())
    dimensions = next((len(vector) for vector in vectors if vector is not None), None)
    cursor.execute("UPDATE generations SET dimensions = ? WHERE generation = ?", [dimensions, generation.number])


def read_policy(cursor: Cursor, schema: Schema) -> tuple[int | None, Policy | None]:
    """The policy in force and its version."""
    row = cursor.execute("SELECT version, predicate FROM policies ORDER BY version DESC LIMIT 1").fetchone()
    return (None, None) if row is None else (row[0], Policy.parse(row[1], schema))


def insert_policy(cursor: Cursor, version: int, policy: Policy, commit: int) -> None:
    """Put a policy in force."""
    cursor.execute("INSERT INTO policies VALUES (?, ?, ?)", [version, str(policy), commit])


def retire(cursor: Cursor, ids: Sequence[str], commit: int) -> None:
    """Mark the live documents of these ids as removed by the commit."""
    cursor.execute(
        "UPDATE documents SET removed = ? WHERE removed IS NULL AND id IN (SELECT unnest(?::VARCHAR[]))",
        [commit, list(ids)],
    )


def stored_contents(cursor: Cursor, documents: Sequence[PreparedDocument]) -> dict[str, int]:
    """The content number of each document whose content is stored already; asked before it is retired."""
    ids = [document.id for document in documents if document.passages is None]
    rows = cursor.execute(
        "SELECT id, content FROM documents WHERE removed IS NULL AND id IN (SELECT unnest(?::VARCHAR[]))", [ids]
    ).fetchall()
    return dict(rows)


def insert_contents(
    cursor: Cursor, generation: Generation, index: Index, new: Sequence[PreparedDocument], commit: int
) -> dict[str, int]:
    """Store new titles and passages after those of the index; returns the content number of each document id."""
    content, row = len(index.starts) - 1, index.rows
    contents: list[tuple[Any, ...]] = []
    passages: list[tuple[Any, ...]] = []
    numbers: dict[str, int] = {}
    for document in new:
        parts = document.passages or ()
        contents.append((content, generation.number, document.title, document.content, row, len(parts), commit))
        for ordinal, part in enumerate(parts):
            vector = None if part.vector is None else part.vector.astype("<i2").tobytes()
            first, last = part.pages or (None, None)
            model = None if vector is None else generation.model
            headings = list(part.headings)
            passages.append((row, content, ordinal, headings, first, last, part.text, part.source, vector, model))
            row += 1
        numbers[document.id] = content
        content += 1
    big, small, text, blob = "BIGINT", "INTEGER", "VARCHAR", "BLOB"
    insert(cursor, "contents", [big, small, text, blob, big, small, big], contents)
    insert(cursor, "passages", [big, big, small, f"{text}[]", small, small, text, blob, blob, text], passages)
    return numbers


def insert_documents(
    cursor: Cursor, documents: Sequence[PreparedDocument], schema: Schema, contents: dict[str, int], commit: int
) -> None:
    """Store one version of each document."""
    types = ["VARCHAR", "BIGINT", "VARCHAR", "BIGINT", "BIGINT", *(SQL_TYPES[field.type] for field in schema)]
    rows = [
        (document.id, contents[document.id], document.metadata, commit, None, *map(to_column, document.values))
        for document in documents
    ]
    insert(cursor, "documents", types, rows)


def replace_segments(cursor: Cursor, old: Sequence[Entry], new: Entry) -> None:
    """List a segment in place of those it takes in.

    Raises:
        holdstill.InvariantViolated: one of those is not listed, so that the new one would overlap another.
    """
    names = [entry.name for entry in old]
    deleted = cursor.execute("DELETE FROM segments WHERE name IN (SELECT unnest(?::VARCHAR[]))", [names]).fetchone()
    if deleted != (len(old),):
        raise InvariantViolated(
            "the index was about to be listed twice; nothing was changed", hint="Open the collection again"
        )
    cursor.execute(
        "INSERT INTO segments VALUES (?, ?, ?, ?, ?)", [new.name, new.first_row, new.passages, new.commit, new.bytes]
    )


def to_column(value: Any) -> Any:
    """A value as the database stores it: lists for tuples, UTC without a zone for datetimes."""
    if isinstance(value, tuple):
        return list(value)
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value


def from_column(value: Any) -> Any:
    """A stored value as Python shows it."""
    if isinstance(value, list):
        return tuple(value)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
