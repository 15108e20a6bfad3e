"""The cache of vectors: shared by all, trusted by none."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from holdstill import user_cache
from holdstill.embedding import cache
from holdstill.errors import NotWritable


def source(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def row(*values: float) -> cache.Vector:
    return np.array(values, dtype=np.float32)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(user_cache, "folder", lambda: tmp_path / "caches")
    return tmp_path / "caches" / "holdstill" / "vectors.sqlite"


def test_what_is_kept_is_recalled_to_the_bit_by_model_and_text() -> None:
    vectors = {source(str(number)): row(number, 1 / 3, -0.0) for number in range(1200)}
    cache.keep("one", vectors)
    cache.keep("two", {source("0"): row(9)})
    found = cache.recall("one", [*vectors, source("never")])
    assert {key: value.tobytes() for key, value in found.items()} == {k: v.tobytes() for k, v in vectors.items()}
    assert cache.recall("two", [source("0")])[source("0")].tolist() == [9]
    assert cache.recall("three", list(vectors)) == {}


def test_looking_makes_no_file(place: Path) -> None:
    assert cache.recall("one", [source("a")]) == {}
    assert cache.forget([source("a")]) == 0
    assert not place.exists()


def test_the_file_is_for_its_user_and_holds_no_text(place: Path) -> None:
    cache.keep("one", {source("a planted marker"): row(1)})
    assert b"planted" not in place.read_bytes()
    if os.name == "posix":
        assert place.stat().st_mode & 0o077 == 0


def test_forgetting_erases_every_models_vector_and_its_bytes(place: Path) -> None:
    marker = row(*np.frombuffer(b"holdstill-marker", dtype="<f4"))
    for model in ("one", "two"):
        cache.keep(model, {source("a"): marker, source("b"): row(2)})
    assert marker.tobytes() in place.read_bytes()
    assert cache.forget([source("a"), source("never")]) == 2
    assert cache.recall("one", [source("a"), source("b")]).keys() == {source("b")}
    assert marker.tobytes() not in place.read_bytes()


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_replaced(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    assert cache.recall("one", [source("a")]) == {}
    cache.keep("one", {source("a"): row(1)})
    cache.keep("one", {source("a"): row(1)})
    assert cache.recall("one", [source("a")])[source("a")].tolist() == [1]


def test_forgetting_in_a_damaged_file_erases_it(place: Path) -> None:
    place.parent.mkdir(parents=True)
    place.write_bytes(b"no database" * 1000)
    assert cache.forget([source("a")]) == 0
    assert not place.exists()


def test_a_vector_with_another_bit_is_not_recalled(place: Path) -> None:
    vector = row(*range(1, 65))
    cache.keep("one", {source("a"): vector, source("b"): row(7)})
    content = bytearray(place.read_bytes())
    content[content.index(vector.tobytes()) + 40] ^= 1
    place.write_bytes(content)
    assert cache.recall("one", [source("a"), source("b")]).keys() == {source("b")}


def test_a_place_that_cannot_be_written_is_none(place: Path) -> None:
    place.parent.parent.mkdir(parents=True)
    place.parent.write_text("a file where the folder should be", encoding="utf-8")
    cache.keep("one", {source("a"): row(1)})
    assert cache.recall("one", [source("a")]) == {}


def test_a_table_of_another_shape_is_not_used_and_cannot_be_purged(place: Path) -> None:
    place.parent.mkdir(parents=True)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE vectors (other INTEGER)")
    cache.keep("one", {source("a"): row(1)})
    assert cache.recall("one", [source("a")]) == {}
    with pytest.raises(NotWritable, match=r"the cache of vectors cannot be changed.*Delete the file"):
        cache.forget([source("a")])


def test_a_locked_file_is_passed_by(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_WAIT", 0.01)
    cache.keep("one", {source("a"): row(1)})
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        assert cache.recall("one", [source("a")]) == {}
        cache.keep("one", {source("b"): row(1)})
        with pytest.raises(NotWritable):
            cache.forget([source("a")])
        connection.execute("ROLLBACK")
    assert cache.recall("one", [source("a"), source("b")]).keys() == {source("a")}


_PROCESS = """
import hashlib, sys
import numpy as np
from pathlib import Path
from holdstill import user_cache
from holdstill.embedding import cache
user_cache.folder = lambda: Path(sys.argv[1])
for number in range(40):
    cache.keep(sys.argv[2], {hashlib.sha256(str(number).encode()).digest(): np.full(3, number, dtype=np.float32)})
"""


def test_processes_and_threads_write_at_once(place: Path) -> None:
    folder = str(place.parent.parent)
    running = [subprocess.Popen([sys.executable, "-c", _PROCESS, folder, model]) for model in ("one", "two")]
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: cache.keep("three", {source(str(n)): row(n, n, n)}), range(40)))
        assert [process.wait(timeout=60) for process in running] == [0, 0]
    finally:
        for process in running:
            process.kill()
            process.wait()
    for model in ("one", "two", "three"):
        found = cache.recall(model, [source(str(number)) for number in range(40)])
        assert {key: value[0] for key, value in found.items()} == {source(str(n)): n for n in range(40)}
