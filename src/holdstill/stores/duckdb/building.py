"""The statements that build a generation beside the active one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holdstill.errors import GenerationNotFound
from holdstill.stores.base import Built, Generation, Given, GivenPassage, Rebuilt
from holdstill.stores.duckdb import history, rows, segments
from holdstill.stores.duckdb.connection import Cursor
from holdstill.stores.duckdb.lookup import LIVE

Vector = NDArray[np.int16]


def listed(cursor: Cursor) -> list[Built]:
    """Every generation, the first one first."""
    active = history.newest(cursor).generation
    built = []
    for number, complete, reached in cursor.execute(
        "SELECT generation, complete, reached FROM generations ORDER BY generation"
    ).fetchall():
        entries = segments.entries(cursor, number)
        built.append(
            Built(
                generation=known(cursor, number),
                active=number == active,
                complete=complete,
                passages=sum(entry.passages for entry in entries),
                bytes=sum(max(entry.bytes, 0) for entry in entries),
                missing=_missing(cursor, reached),
            )
        )
    return built


def known(cursor: Cursor, number: int) -> Generation:
    """The generation of that number.

    Raises:
        holdstill.GenerationNotFound: there is none.
    """
    generation = rows.read_generation(cursor, number)
    if generation is None:
        raise GenerationNotFound(
            f"there is no generation {number}",
            field="generation",
            expected="one of those that `holdstill generations` lists",
            got=number,
        )
    return generation


def reached(cursor: Cursor, number: int) -> int:
    """How far the generation is: every live content below that number is in it."""
    row = cursor.execute("SELECT reached FROM generations WHERE generation = ?", [number]).fetchone()
    assert row is not None  # noqa: S101 - asked of a generation that is known
    return int(row[0])


def stored(cursor: Cursor, contents: Sequence[Rebuilt]) -> set[int]:
    """The numbers of those contents that are stored."""
    found = cursor.execute(
        "SELECT content FROM contents WHERE content IN (SELECT unnest(?::BIGINT[]))",
        [[each.content for each in contents]],
    ).fetchall()
    return {row[0] for row in found}


def alike(cursor: Cursor, first: int, second: int, commit: int) -> bool:
    """Whether two generations have the documents of a commit split into the same passages."""
    of = (
        "SELECT p.content, p.ordinal, p.text FROM passages p JOIN documents d USING (content) "
        f"WHERE p.generation = ? AND {LIVE}"
    )
    row = cursor.execute(
        f"SELECT count(*) FROM ({of}) a FULL JOIN ({of}) b ON a.content = b.content AND a.ordinal = b.ordinal "
        "WHERE a.text IS DISTINCT FROM b.text",
        [first, commit, commit, second, commit, commit],
    ).fetchone()
    return row == (0,)


def begin(cursor: Cursor, generation: Generation) -> int:
    """Begin a generation after all others; its number.

    That of one that was dropped is not used again: another thread may be building it still.
    """
    number = 1 + rows.scalar(
        cursor,
        "SELECT greatest((SELECT max(generation) FROM generations), (SELECT max(generation) FROM commits), "
        "(SELECT max(value) FROM meta WHERE key = 'generation'), 0)",
    )
    cursor.execute("DELETE FROM meta WHERE key = 'generation'")
    cursor.execute("INSERT INTO meta VALUES ('generation', ?)", [number])
    rows.insert_generation(cursor, replace(generation, number=number), complete=False)
    return number


def complete(cursor: Cursor, number: int, reached: int) -> None:
    """Note that a generation holds every live content below that number."""
    cursor.execute(
        "UPDATE generations SET complete = TRUE, reached = greatest(reached, ?) WHERE generation = ?", [reached, number]
    )


def unbuilt(cursor: Cursor, number: int, limit: int) -> list[Given]:
    """The first live contents, by number, that the generation does not hold, as they were given."""
    generation = known(cursor, number)
    found = cursor.execute(
        "SELECT c.content, d.id, c.title, c.given FROM documents d JOIN contents c USING (content) "
        "WHERE d.removed IS NULL AND c.content >= ? ORDER BY c.content LIMIT ?",
        [reached(cursor, number), limit],
    ).fetchall()
    brought = _brought(cursor, generation, [row[0] for row in found]) if generation.brought else {}
    return [
        Given(content, id_, title, given_passages(given, brought.get(content, ())))
        for content, id_, title, given in found
    ]


def _missing(cursor: Cursor, reached: int) -> int:
    row = cursor.execute("SELECT count(*) FROM documents WHERE removed IS NULL AND content >= ?", [reached]).fetchone()
    assert row is not None  # noqa: S101 - a count has a row
    return int(row[0])


def _brought(cursor: Cursor, generation: Generation, contents: list[int]) -> dict[int, list[Vector]]:
    """The vectors that contents brought, of the generation's model, in order of their passages.

    A passage that brought its vector is never split, and has no source.
    """
    found = cursor.execute(
        "SELECT p.content, p.generation, p.vector FROM passages p JOIN generations g USING (generation) "
        "WHERE g.brought AND g.model = ? AND p.source = ''::BLOB AND p.content IN (SELECT unnest(?::BIGINT[])) "
        "ORDER BY p.content, p.generation, p.ordinal",
        [generation.model, contents],
    ).fetchall()
    by_content: dict[int, list[Vector]] = {}
    first: dict[int, int] = {}
    for content, number, vector in found:
        if first.setdefault(content, number) == number:  # later generations hold the same ones again
            by_content.setdefault(content, []).append(np.frombuffer(vector, dtype="<i2").astype(np.int16))
    return by_content


def given_passages(given: str, vectors: Iterable[Vector]) -> tuple[GivenPassage, ...]:
    """Passages as given; where no generation of the model holds their vectors, they come without."""
    left = iter(vectors)
    return tuple(
        GivenPassage(tuple(headings), None if pages is None else tuple(pages), text, next(left, None) if own else None)
        for headings, pages, text, own in json.loads(given)
    )
