"""Vectors that an endpoint has computed, kept in the user's cache so that no text is sent twice.

One SQLite file serves every collection, process and thread. It holds vectors, by the digest of the embedder and the
SHA-256 of the text, and never a text. Nothing depends on it: where it is missing, damaged or cannot be written, texts
are embedded again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdstill import user_cache
from holdstill.errors import NotWritable

if TYPE_CHECKING:
    import sqlite3

Vector = NDArray[np.float32]

_TABLE = (
    "CREATE TABLE IF NOT EXISTS vectors "
    "(source BLOB, model TEXT, vector BLOB, checksum BLOB, PRIMARY KEY (source, model)) WITHOUT ROWID"
)
_ASKED = "SELECT source, vector, checksum FROM vectors WHERE model = ? AND source IN ({})"
_WAIT = 5.0  # seconds for another process to end its write
_AT_ONCE = 500  # sources in one statement


def file() -> Path:
    """The file; it need not be there."""
    return user_cache.folder() / "holdstill" / "vectors.sqlite"


def recall(model: str, sources: Sequence[bytes]) -> dict[bytes, Vector]:
    """The vectors that are kept, by source.

    Args:
        model: the digest of the embedder.
        sources: the SHA-256 of each text as it is sent.
    """
    import sqlite3

    found: dict[bytes, Vector] = {}
    if not file().exists():
        return found
    try:
        with closing(_connected()) as connection:
            for begin in range(0, len(sources), _AT_ONCE):
                some = sources[begin : begin + _AT_ONCE]
                asked = _ASKED.format(", ".join("?" * len(some)))
                for source, content, checksum in connection.execute(asked, [model, *some]):
                    if checksum == _checksum(model, source, content):  # SQLite itself does not notice other bytes
                        found[source] = np.frombuffer(content, dtype="<f4")
    except sqlite3.OperationalError:  # locked, unreadable
        return {}
    except sqlite3.DatabaseError:
        _discard()
        return {}
    return found


def keep(model: str, vectors: Mapping[bytes, Vector]) -> None:
    """Keep vectors, by source; where that cannot be done, nothing happens.

    Args:
        model: the digest of the embedder.
        vectors: by the SHA-256 of the text as it was sent.
    """
    import sqlite3

    rows = []
    for source, vector in vectors.items():
        content = vector.astype("<f4").tobytes()
        rows.append((source, model, content, _checksum(model, source, content)))
    try:
        _make()
        with closing(_connected()) as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)
    except (OSError, sqlite3.OperationalError):  # no such folder, no space, locked
        return
    except sqlite3.DatabaseError:
        _discard()


def forget(sources: Iterable[bytes]) -> int:
    """Erase every vector of these texts, whatever embedder made it, and say how many there were.

    A damaged file is erased whole.

    Args:
        sources: the SHA-256 of each text as it was embedded, prefix included.

    Raises:
        holdstill.NotWritable: the file is there and cannot be changed.
    """
    import sqlite3

    if not file().exists():
        return 0
    try:
        with closing(_connected()) as connection, connection:
            before = connection.total_changes
            connection.executemany("DELETE FROM vectors WHERE source = ?", [(source,) for source in sources])
            return connection.total_changes - before
    except sqlite3.OperationalError as error:
        raise NotWritable(
            f"the cache of vectors cannot be changed: {error}",
            field=str(file()),
            hint="Delete the file: it holds nothing that cannot be computed again",
        ) from error
    except sqlite3.DatabaseError:
        _discard()
        return 0


def _connected() -> sqlite3.Connection:
    import sqlite3

    connection = sqlite3.connect(file(), timeout=_WAIT)
    try:
        connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
        connection.execute(_TABLE)
    except BaseException:
        connection.close()
        raise
    return connection


def _make() -> None:
    """Make the file, for this user alone: vectors say much of their texts."""
    file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(file(), os.O_CREAT | os.O_RDWR, 0o600))


def _discard() -> None:
    with suppress(OSError):
        file().unlink()


def _checksum(model: str, source: bytes, content: bytes) -> bytes:
    return hashlib.blake2b(model.encode() + source + content, digest_size=8).digest()
