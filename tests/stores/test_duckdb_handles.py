"""Several handles of one process on one collection: what one writes the others see, and nothing is taken for damage."""

from __future__ import annotations

import shutil
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
        snapshot = collection._store.snapshot()

        def full(*_: Any) -> None:
            raise NotWritable("the disk is full", field="path")

        monkeypatch.setattr(rows, "retire", full)
        with pytest.raises(NotWritable):
            collection.delete(["d0"])
        assert collection._store.snapshot() is snapshot


def test_a_collection_that_was_moved_or_deleted_while_open_is_not_opened_again(tmp_path: Path) -> None:
    """DuckDB would hand out the old one, and what is written next would be lost."""
    path, other, spare = tmp_path / "here.hs", tmp_path / "there.hs", tmp_path / "spare.hs"
    with hs.create(spare, embedder="none") as each:
        each.add(documents("s", 1))
    with hs.create(path, embedder="none") as first:
        first.add(documents("d", 1))
        path.rename(other)
        for opening in (lambda: hs.create(path, embedder="none"), lambda: hs.open(other)):
            with pytest.raises(hs.CollectionBusy, match="moved or deleted"):
                opening()
        shutil.copytree(spare, path)
        with pytest.raises(hs.CollectionBusy, match="moved or deleted"):
            hs.open(path)
    with hs.open(other) as second, hs.open(path) as copy:
        second.add(documents("e", 1))
        assert (found(second), found(copy)) == (2, 1)
    shutil.rmtree(path)
    with hs.create(path, embedder="none") as fresh:
        assert found(fresh) == 0


def test_a_handle_stays_with_its_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever becomes of the working directory, or of a link that it was opened by."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with hs.create(tmp_path / name / "c.hs", embedder="none") as each:
            each.add([hs.Document("d", f"red {name}")])
    monkeypatch.chdir(tmp_path / "one")
    link = tmp_path / "current"
    link.symlink_to(tmp_path / "one" / "c.hs")
    for path in (Path("c.hs"), link):
        with hs.open(path) as collection:
            monkeypatch.chdir(tmp_path / "two")
            link.unlink()
            link.symlink_to(tmp_path / "two" / "c.hs")
            assert collection.search("red").hits[0].text == "red one"
            collection.add([hs.Document("e", "red one")])
            collection.delete(["e"])
            assert [hit.text for hit in collection.search("red")] == ["red one"]
        monkeypatch.chdir(tmp_path / "one")
        link.unlink()
        link.symlink_to(tmp_path / "one" / "c.hs")
    with hs.open(tmp_path / "two" / "c.hs") as untouched:
        assert [hit.text for hit in untouched.search("red")] == ["red two"]
