"""The segment files of a collection: opened and checked, rebuilt from the database, merged, swept."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdstill.analysis import Analyser, Term
from holdstill.errors import NotWritable
from holdstill.stores.base import PreparedPassage, Progress, Rebuilt
from holdstill.stores.duckdb import arrays, records, segment
from holdstill.stores.duckdb.arrays import Arrays
from holdstill.stores.duckdb.connection import Cursor


@dataclass(frozen=True, slots=True)
class Entry:
    """A segment as the database lists it.

    Attributes:
        generation: whose it is.
        name: of its file.
        first_content, last_content: the lowest and the highest number of its contents.
        passages: how many it holds.
        commit: the newest one when it was written.
        bytes: the length of its file.
        checksum: the SHA-256 of its header, hexadecimal.
    """

    generation: int
    name: str
    first_content: int
    last_content: int
    passages: int
    commit: int
    bytes: int
    checksum: str


def entries(cursor: Cursor, generation: int | None = None) -> list[Entry]:
    """The segments of a generation, or of all of them, in row order."""
    rows = cursor.execute(
        "SELECT generation, name, first_content, last_content, passages, commit, bytes, checksum FROM segments "
        "WHERE generation = coalesce(?, generation) ORDER BY generation, first_content",
        [generation],
    ).fetchall()
    return [Entry(*row) for row in rows]


def load(folder: Path, entry: Entry) -> Arrays:
    """The arrays of a segment, mapped.

    Raises:
        TornFile: the file is not the one that the database lists.
    """
    return arrays.load(folder / entry.name, commit=entry.commit, length=entry.bytes, checksum=entry.checksum)


def verify(folder: Path, entry: Entry) -> None:
    """Compare every array of a segment with its checksum; raises as `load`."""
    arrays.verify(folder / entry.name, commit=entry.commit, length=entry.bytes, checksum=entry.checksum)


def names(cursor: Cursor) -> set[str]:
    """The names that the database lists, of every generation."""
    return {name for (name,) in cursor.execute("SELECT name FROM segments").fetchall()}


def save(folder: Path, contents: Arrays, generation: int, commit: int, listed: Collection[str] = ()) -> Entry:
    """Write a segment under a name of its own, that no file has: a mapped file cannot be replaced everywhere.

    Args:
        folder: where.
        contents: its arrays.
        generation: whose it is.
        commit: the newest one.
        listed: the names that the database lists, whether their files are there or not.

    Raises:
        holdstill.NotWritable: the disk is full, or the folder cannot be written; nothing of it is left.
    """
    attempt = 0
    while f"{commit:08d}-{attempt}.seg" in listed or (folder / f"{commit:08d}-{attempt}.seg").exists():
        attempt += 1
    name = f"{commit:08d}-{attempt}.seg"
    try:
        folder.mkdir(exist_ok=True)
        length, checksum = arrays.write(folder / name, contents, commit)
    except OSError as error:
        raise NotWritable(
            f"the index cannot be written in {folder}; nothing was changed", field="path", hint=str(error)
        ) from error
    first, last = contents["contents"][[0, -1]].tolist()
    return Entry(generation, name, first, last, len(contents["lengths"]), commit, length, checksum)


def build(contents: Sequence[Rebuilt], analyser: Analyser, progress: Progress | None) -> Arrays:
    """The segment of new contents, from the texts themselves."""
    starts = np.cumsum([0] + [len(each.passages) for each in contents])
    vectors = [passage.vector for each in contents for passage in each.passages if passage.vector is not None]
    total = int(starts[-1])

    def terms() -> Iterator[list[Term]]:
        for each, done in zip(contents, starts.tolist(), strict=False):
            if progress is not None:
                progress("indexing", done, total)
            for passage in each.passages:
                yield analyser.passage(each.title, passage.headings, passage.text)

    shown = (_record(each.title, passage) for each in contents for passage in each.passages)
    numbers = np.array([each.content for each in contents])
    return segment.build(terms(), shown, numbers, starts, stack(vectors, total), progress)


def _record(title: str, passage: PreparedPassage) -> bytes:
    first_page, last_page = passage.pages or (None, None)
    return records.encode(title, passage.headings, first_page, last_page, passage.text)


def rebuild(cursor: Cursor, entry: Entry, analyser: Analyser) -> Arrays:
    """The segment again, from the rows of the database that it is derived from."""
    rows = cursor.execute(
        "SELECT p.content, p.vector, c.title, p.headings, p.first_page, p.last_page, p.text "
        "FROM passages p JOIN contents c USING (content) "
        "WHERE p.generation = ? AND p.content BETWEEN ? AND ? ORDER BY p.content, p.ordinal",
        [entry.generation, entry.first_content, entry.last_content],
    ).fetchall()
    contents = np.array([row[0] for row in rows])
    starts = np.flatnonzero(np.diff(contents, prepend=contents[0] - 1))
    vectors = [np.frombuffer(row[1], dtype="<i2") for row in rows if row[1] is not None]
    terms = (analyser.passage(title, headings, text) for _, _, title, headings, _, _, text in rows)
    shown = (records.encode(*row[2:]) for row in rows)
    return segment.build(terms, shown, contents[starts], np.append(starts, len(rows)), stack(vectors, len(rows)))


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
    """Delete files that the database does not list: left by a writer that was killed, or merged since."""
    names = {entry.name for entry in listed}
    for path in folder.glob("*.seg"):
        if path.name not in names:
            with contextlib.suppress(OSError):  # still mapped, on systems that mind
                path.unlink()
