"""The statements that write a collection's rows, and read what is not a document."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from holdstill.errors import InvariantViolated
from holdstill.policy import Policy
from holdstill.schema import Field, Schema
from holdstill.stores.base import Generation, GivenPassage, PreparedDocument, Rebuilt
from holdstill.stores.duckdb.connection import Cursor
from holdstill.stores.duckdb.database import SQL_TYPES, column, insert
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


def read_generation(cursor: Cursor, number: int) -> Generation | None:
    """The generation of that number."""
    row = cursor.execute(
        "SELECT generation, analyser, embedder, brought, model, dimensions, profile, made_with, settings, analysis "
        "FROM generations WHERE generation = ?",
        [number],
    ).fetchone()
    return None if row is None else Generation(*row)


def insert_generation(cursor: Cursor, generation: Generation, *, complete: bool) -> None:
    """Begin a generation, which holds no content yet."""
    values = [getattr(generation, field.name) for field in dataclasses.fields(generation)]
    marks = ", ".join("?" * len(values))
    cursor.execute(f"INSERT INTO generations VALUES ({marks}, ?, 0)", [*values, complete])


def set_reached(cursor: Cursor, number: int, reached: int) -> None:
    """Keep how far a generation is: every live content below that number is in it."""
    cursor.execute("UPDATE generations SET reached = ? WHERE generation = ?", [reached, number])


def set_dimensions(cursor: Cursor, number: int, new: Sequence[Rebuilt]) -> None:
    """Keep the number of dimensions of the first vector, which decides it where none is known yet."""
    vectors = (passage.vector for each in new for passage in each.passages)
    dimensions = next((len(vector) for vector in vectors if vector is not None), None)
    cursor.execute(
        "UPDATE generations SET dimensions = ? WHERE generation = ? AND dimensions IS NULL", [dimensions, number]
    )


def read_policy(cursor: Cursor, schema: Schema) -> tuple[int | None, Policy | None]:
    """The policy in force and its version."""
    row = cursor.execute("SELECT version, predicate FROM policies ORDER BY version DESC LIMIT 1").fetchone()
    return (None, None) if row is None else (row[0], Policy.parse(row[1], schema))


def insert_policy(cursor: Cursor, version: int, policy: Policy, commit: int) -> None:
    """Put a policy in force."""
    cursor.execute("INSERT INTO policies VALUES (?, ?, ?)", [version, str(policy), commit])


def insert_commit(cursor: Cursor, commit: int, generation: int, kind: str, counts: tuple[int, int, int]) -> None:
    """Begin a commit; `counts` are the documents that it adds, replaces and removes.

    Its time is for people and for `at`: no result depends on it. It is never before that of the commit before it.
    """
    cursor.execute(
        "INSERT INTO commits SELECT ?, ?, ?, greatest(?::TIMESTAMP, max(committed)), ?, ?, ?, FALSE FROM commits",
        [commit, generation, kind, datetime.now(UTC).replace(tzinfo=None), *counts],
    )


def retire(cursor: Cursor, ids: Sequence[str], commit: int) -> None:
    """Mark the live documents of these ids as removed by the commit."""
    cursor.execute(
        "UPDATE documents SET removed = ? WHERE removed IS NULL AND id IN (SELECT unnest(?::VARCHAR[]))",
        [commit, list(ids)],
    )


def live_contents(cursor: Cursor, ids: Sequence[str]) -> dict[str, int]:
    """The content number of each of these documents that is live."""
    rows = cursor.execute(
        "SELECT id, content FROM documents WHERE removed IS NULL AND id IN (SELECT unnest(?::VARCHAR[]))", [list(ids)]
    ).fetchall()
    return dict(rows)


def insert_contents(cursor: Cursor, new: Sequence[tuple[int, PreparedDocument]], commit: int) -> None:
    """Store titles and passages as they were given, by their content numbers."""
    contents = [(number, each.title, each.content, _given(each.given), commit) for number, each in new]
    insert(cursor, "contents", ["BIGINT", "VARCHAR", "BLOB", "VARCHAR", "BIGINT"], contents)


def _given(passages: Sequence[GivenPassage]) -> str:
    """Passages as JSON: headings, first and last page, text, and whether each brought a vector."""
    parts = [[list(each.headings), each.pages, each.text, each.vector is not None] for each in passages]
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def insert_passages(cursor: Cursor, generation: int, contents: Sequence[Rebuilt]) -> None:
    """Store contents as a generation has them."""
    passages: list[tuple[Any, ...]] = []
    for each in contents:
        for ordinal, part in enumerate(each.passages):
            vector = None if part.vector is None else part.vector.astype("<i2").tobytes()
            first, last = part.pages or (None, None)
            headings = list(part.headings)
            passages.append((generation, each.content, ordinal, headings, first, last, part.text, part.source, vector))
    big, small, text, blob = "BIGINT", "INTEGER", "VARCHAR", "BLOB"
    insert(cursor, "passages", [small, big, small, f"{text}[]", small, small, text, blob, blob], passages)


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
        "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [getattr(new, field.name) for field in dataclasses.fields(new)],
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
