"""Several handles of one process on one collection: what one writes the others see, and nothing is taken for damage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdstill as hs
from holdstill.errors import NotWritable
from holdstill.stores.duckdb import rows, segments


def documents(prefix: str, count: int) -> list[hs.Document]:
    return [hs.Document(f"{prefix}{number}", "red") for number in range(count)]


def found(collection: hs.Collection) -> int:
    return len(collection.search("red", k=100).hits)


def test_a_segment_that_was_merged_meanwhile_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hs.create(tmp_path / "merged.hs", embedder="none") as first:
        first.add(documents("d", 3))
        with hs.open(tmp_path / "merged.hs") as second:
            load, rebuilt = segments.load, []

            def write_first(*arguments: Any) -> Any:
                monkeypatch.setattr(segments, "load", load)
                first.add(documents("e", 9))  # merges, and removes the file that the other has read of
                return load(*arguments)

            monkeypatch.setattr(segments, "load", write_first)
            monkeypatch.setattr(segments, "rebuild", lambda *arguments: rebuilt.append(arguments))
            assert found(second) == 12
            assert rebuilt == []
            assert second._store.check() == []  # type: ignore[attr-defined]


def test_ctrl_c_right_after_a_commit_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hs.create(tmp_path / "cut.hs", embedder="none") as collection:
        collection.add(documents("d", 1))
        assert found(collection) == 1
        connection = collection._store._connection  # type: ignore[attr-defined]
        transaction = connection.transaction

        @contextmanager
        def cut_off() -> Iterator[Any]:
            with transaction() as cursor:
                yield cursor
            raise KeyboardInterrupt

        monkeypatch.setattr(connection, "transaction", cut_off)
        with pytest.raises(KeyboardInterrupt):
            collection.delete(["d0"])
        monkeypatch.undo()
        assert found(collection) == 0


def test_a_change_that_failed_is_no_reason_to_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hs.create(tmp_path / "kept.hs", embedder="none") as collection:
        collection.add(documents("d", 1))
        state = collection._store._current()  # type: ignore[attr-defined]

        def full(*_: Any) -> None:
            raise NotWritable("the disk is full", field="path")

        monkeypatch.setattr(rows, "retire", full)
        with pytest.raises(NotWritable):
            collection.delete(["d0"])
        assert collection._store._current() is state  # type: ignore[attr-defined]
