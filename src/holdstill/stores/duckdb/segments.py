"""The segment files of a collection: opened and checked, rebuilt from the database, merged, swept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdstill.analysis import Analyser, Term
from holdstill.errors import NotWritable
from holdstill.stores.base import PreparedDocument, PreparedPassage, Progress
from holdstill.stores.duckdb import arrays, records, segment
from holdstill.stores.duckdb.arrays import Arrays
from holdstill.stores.duckdb.connection import Cursor


@dataclass(frozen=True, slots=True)
class Entry:
    """A segment as the database lists it."""

    name: str
    first_row: int
    passages: int
    commit: int
    bytes: int


def entries(cursor: Cursor) -> list[Entry]:
    """The segments of the newest commit, in row order."""
    rows = cursor.execute("SELECT name, first_row, passages, commit, bytes FROM segments ORDER BY first_row").fetchall()
    return [Entry(*row) for row in rows]


def load(folder: Path, entry: Entry) -> Arrays:
    """The arrays of a segment, mapped.

    Raises:
        TornFile: the file is not what the database says it is.
    """
    return arrays.load(folder / entry.name, commit=entry.commit, length=entry.bytes)


def save(folder: Path, contents: Arrays, first_row: int, commit: int) -> Entry:
    """Write a segment under a name that no file has: a mapped file cannot be replaced everywhere.

    Raises:
        holdstill.NotWritable: the disk is full, or the folder cannot be written; nothing of it is left.
    """
    attempt = 0
    while (folder / f"{commit:08d}-{attempt}.seg").exists():
        attempt += 1
    name = f"{commit:08d}-{attempt}.seg"
    try:
        folder.mkdir(exist_ok=True)
        length = arrays.write(folder / name, contents, commit)
    except OSError as error:
        raise NotWritable(
            f"the index cannot be written in {folder}; nothing was changed", field="path", hint=str(error)
        ) from error
    return Entry(name, first_row, len(contents["lengths"]), commit, length)


def build(documents: Sequence[PreparedDocument], analyser: Analyser, progress: Progress | None) -> Arrays:
    """The segment of new contents, from the texts themselves."""
    prepared = [(document.title, document.passages) for document in documents if document.passages is not None]
    starts = np.cumsum([0] + [len(passages) for _, passages in prepared])
    vectors = [passage.vector for _, passages in prepared for passage in passages if passage.vector is not None]
    total = int(starts[-1])

    def terms() -> Iterator[list[Term]]:
        for (title, passages), done in zip(prepared, starts.tolist(), strict=False):
            if progress is not None:
                progress("indexing", done, total)
            for passage in passages:
                yield analyser.passage(title, passage.headings, passage.text)

    shown = (_record(title, passage) for title, passages in prepared for passage in passages)
    return segment.build(terms(), shown, starts, stack(vectors, total), progress)


def _record(title: str, passage: PreparedPassage) -> bytes:
    first_page, last_page = passage.pages or (None, None)
    return records.encode(title, passage.headings, first_page, last_page, passage.text)


def rebuild(cursor: Cursor, entry: Entry, analyser: Analyser) -> Arrays:
    """The segment again, from the rows of the database that it is derived from."""
    rows = cursor.execute(
        "SELECT p.content, p.vector, c.title, p.headings, p.first_page, p.last_page, p.text "
        "FROM passages p JOIN contents c USING (content) WHERE p.passage >= ? AND p.passage < ? ORDER BY p.passage",
        [entry.first_row, entry.first_row + entry.passages],
    ).fetchall()
    contents = np.array([row[0] for row in rows])
    starts = np.append(np.flatnonzero(np.diff(contents, prepend=contents[0] - 1)), len(rows))
    vectors = [np.frombuffer(row[1], dtype="<i2") for row in rows if row[1] is not None]
    terms = (analyser.passage(title, headings, text) for _, _, title, headings, _, _, text in rows)
    shown = (records.encode(*row[2:]) for row in rows)
    return segment.build(terms, shown, starts, stack(vectors, len(rows)))


def stack(vectors: Sequence[NDArray[np.int16]], rows: int) -> NDArray[np.int16]:
    """The vectors as one array; of no width where there are none."""
    return np.stack(vectors).astype(np.int16) if vectors else np.zeros((rows, 0), dtype=np.int16)


def absorbed(listed: Sequence[Entry], passages: int) -> list[Entry]:
    """The last segments that a new one takes in: each no larger than what it would be merged into.

    Every passage is then rewritten at most log2(n) times, and a small commit never rewrites a large segment.
    """
    taken: list[Entry] = []
    for entry in reversed(listed):
        if entry.passages > passages:
            break
        taken.insert(0, entry)
        passages += entry.passages
    return taken


def sweep(folder: Path, listed: Sequence[Entry]) -> None:
    """Delete files that no commit lists: left by a writer that was killed, or merged since."""
    names = {entry.name for entry in listed}
    for path in folder.glob("*.seg"):
        if path.name not in names:
            with contextlib.suppress(OSError):  # still mapped, on systems that mind
                path.unlink()
