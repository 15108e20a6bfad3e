"""Failures in the middle of a write leave the collection as it was; damaged files change no answer, or say so."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

import holdstill as hs
from fakes import Hashed, whole_answer
from holdstill.stores.duckdb import arrays, database, rows, segments
from segment_reader import checksum, load

QUESTIONS = ("common", "only3", "common only7", "nothing")


def documents(begin: int, end: int) -> list[hs.Document]:
    return [
        hs.Document(
            f"d{number}",
            passages=[hs.Passage(f"common only{number}"), hs.Passage(f"common {'word ' * (number % 7)}", pages=(1, 2))],
            fields={"n": number},
        )
        for number in range(begin, end)
    ]


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[hs.Collection]:
    with hs.create(tmp_path / "faults.hs", schema={"n": "int"}, embedder=Hashed()) as made:
        made.add(documents(0, 20))
        made.add(documents(20, 25))
        yield made


def state(collection: hs.Collection) -> Any:
    files = sorted(file.name for file in (collection.path / "index").iterdir())
    return whole_answer(collection, *QUESTIONS), collection.info(), collection.get("d3"), files


# -- a write that fails ------------------------------------------------------------------------------


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_while_the_index_is_written(collection: hs.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(collection)
    for target in ("write", "sync_folder"):
        with monkeypatch.context() as patch:
            patch.setattr(arrays, target, full_disk)
            with pytest.raises(hs.NotWritable, match=r"index cannot be written.*nothing was changed.*No space"):
                collection.add(documents(25, 40))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(hs.NotWritable, match="No space"):
            collection.add(documents(25, 40))
    assert state(collection) == before
    assert collection.add(documents(25, 40)).added == 15
    assert collection.check() == []


@pytest.mark.parametrize("function", ["retire", "insert_contents", "insert_documents", "replace_segments"])
def test_a_failure_between_two_statements(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    before = state(collection)
    for failure in (MemoryError, KeyboardInterrupt, duckdb.OutOfMemoryException):
        original = getattr(rows, function)

        def fail_after(*arguments: Any, original: Any = original, failure: Any = failure) -> None:
            original(*arguments)
            raise failure("now")

        with monkeypatch.context() as patch:
            patch.setattr(rows, function, fail_after)
            with pytest.raises(failure, match="now"):
                collection.add(documents(10, 40))
    assert state(collection) == before
    assert collection.add(documents(10, 40)).as_dict() == {
        "added": 15, "replaced": 0, "unchanged": 15, "refused": [], "commit": 3, "notes": [],
    }  # fmt: skip


def test_deletes_updates_and_new_fields_that_fail(collection: hs.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(collection)
    monkeypatch.setattr(rows, "retire", full_disk)
    monkeypatch.setattr(rows, "insert_field", full_disk)
    monkeypatch.setattr(rows, "insert_policy", full_disk)
    with pytest.raises(OSError, match="No space"):
        collection.delete(["d1"])
    with pytest.raises(OSError, match="No space"):
        collection.update("d1", fields={"n": 5})
    with pytest.raises(OSError, match="No space"):
        collection.add_field("other", "int")
    with pytest.raises(OSError, match="No space"):
        collection.set_policy("n = 1")
    assert state(collection) == before


def test_an_interrupt_once_the_commit_is_made_keeps_all_of_it(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(segments, "sweep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            collection.add(documents(25, 40))
    assert collection.count() == 40
    assert collection.add(documents(0, 40)).unchanged == 40
    assert collection.check() == []


def test_an_interrupt_while_embedding(tmp_path: Path) -> None:
    class Interrupted(Hashed):
        def embed(self, texts: Any) -> NDArray[np.floating[Any]]:
            if any("only39" in text for text in texts):
                raise KeyboardInterrupt
            return super().embed(texts)

    with hs.create(tmp_path / "embed.hs", schema={"n": "int"}, embedder=Interrupted()) as collection:
        collection.add(documents(0, 25))
        before = state(collection)
        with pytest.raises(KeyboardInterrupt):
            collection.add(documents(10, 40))
        assert state(collection) == before
        assert collection.add(documents(25, 39)).added == 14


def test_a_source_of_documents_that_fails(collection: hs.Collection) -> None:
    def broken() -> Iterator[hs.Document]:
        yield from documents(25, 40)
        raise ZeroDivisionError

    before = state(collection)
    with pytest.raises(ZeroDivisionError):
        collection.add(broken())
    assert state(collection) == before
    assert collection.add(documents(25, 40)).added == 15


_LIMITED = """
import resource, sys
import holdstill as hs
collection = hs.open(sys.argv[1])
count = collection.count()
before = [hit.as_dict() for hit in collection.search("common", k=1000)]
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
big = [hs.Document(f"big{n}", f"big common {n}", fields={"note": "x%d" % n * 2000}) for n in range(100)]
many = [hs.Document("many", " ".join(f"w{n}" for n in range(12_000)))]
for documents in (big, many, big, many):
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
    try:
        collection.add(documents)
        print("written")
    except hs.NotWritable as error:
        print("refused", "index" if "index" in str(error) else "database")
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert collection.count() == count
    assert [hit.as_dict() for hit in collection.search("common", k=1000)] == before
print(collection.add([*big, *many]).added, collection.check())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_writes_that_the_system_refuses(tmp_path: Path) -> None:
    with hs.create(tmp_path / "limited.hs", embedder="none") as collection:
        collection.add(documents(0, 10))
    done = subprocess.run([sys.executable, "-c", _LIMITED, tmp_path / "limited.hs"], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["refused database", "refused index"] * 2 + ["101 []"]
    with hs.open(tmp_path / "limited.hs") as collection:
        assert collection.count() == 111
        assert collection.search(must=["w11999"])[0].document == "many"


def test_a_create_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "insert_field", interrupt)
    with pytest.raises(KeyboardInterrupt):
        hs.create(tmp_path / "never.hs", schema={"n": "int"}, embedder="none")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(Path, "rename", full_disk)
    with pytest.raises(hs.NotWritable, match="cannot create a collection"):
        hs.create(tmp_path / "never.hs", embedder="none")
    assert list(tmp_path.iterdir()) == []


# -- index files that are damaged --------------------------------------------------------------------


def segment_files(path: Path) -> list[Path]:
    return sorted((path / "index").glob("*.seg"))


def contents_of(collection: hs.Collection) -> list[tuple[int, dict[str, Any]]]:
    index = collection._store.snapshot().index  # type: ignore[attr-defined]
    return [(len(each["lengths"]), {name: array.tolist() for name, array in each.items()}) for each in index.segments]


@pytest.fixture
def closed(collection: hs.Collection) -> tuple[Path, Any, list[bytes], Any]:
    """A closed collection's path, what it answered, the bytes of its index, and its arrays."""
    answers, contents = whole_answer(collection, *QUESTIONS), contents_of(collection)
    collection.close()
    return collection.path, answers, [file.read_bytes() for file in segment_files(collection.path)], contents


def lose_the_folder(path: Path) -> None:
    shutil.rmtree(path / "index")


def lose_one(path: Path) -> None:
    segment_files(path)[0].unlink()


def empty_one(path: Path) -> None:
    segment_files(path)[0].write_bytes(b"")


def cut_one(path: Path) -> None:
    os.truncate(segment_files(path)[0], segment_files(path)[0].stat().st_size // 2)


def lengthen_one(path: Path) -> None:
    with segment_files(path)[0].open("ab") as file:
        file.write(bytes(64))


def swap_two(path: Path) -> None:
    first, second = segment_files(path)
    contents = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(contents)


def of_another_commit(path: Path) -> None:
    file = segment_files(path)[0]
    loaded = load(file, 1)
    copied = {name: array.copy() for name, array in loaded.items()}
    file.unlink()
    arrays.write(file, copied, commit=7)


def another_kind(path: Path) -> None:
    segment_files(path)[0].write_bytes(b"PK\x03\x04" * (segment_files(path)[0].stat().st_size // 4))


def of_an_earlier_layout(path: Path) -> None:
    file = segment_files(path)[0]
    file.write_bytes(b"HOLDSEG1" + file.read_bytes()[8:])


DAMAGES = [
    lose_the_folder, lose_one, empty_one, cut_one, lengthen_one, swap_two, of_another_commit, another_kind,
    of_an_earlier_layout,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_torn_index_changes_no_answer_and_is_rebuilt_as_it_was(
    closed: tuple[Path, Any, list[bytes], Any], damage: Any
) -> None:
    path, answers, files, contents = closed
    damage(path)
    with hs.open(path, embedder=Hashed()) as collection:
        assert whole_answer(collection, *QUESTIONS) == answers
        assert contents_of(collection) == contents
        assert [file.read_bytes() for file in segment_files(path)] == files
        found = collection.check()
        assert len(found) in (1, 2)
        assert all("rebuilt from the database" in each for each in found)
        assert collection.check() == []
        assert whole_answer(collection, *QUESTIONS) == answers
        collection.add(documents(25, 30))
    with hs.open(path, embedder=Hashed()) as collection:
        assert collection.count() == 30
        assert collection.check() == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_torn_index_can_be_written_to_before_it_is_checked(
    closed: tuple[Path, Any, list[bytes], Any], damage: Any, tmp_path: Path
) -> None:
    path, *_ = closed
    damage(path)
    with (
        hs.open(path, embedder=Hashed()) as collection,
        hs.create(tmp_path / "fresh.hs", schema={"n": "int"}, embedder=Hashed()) as fresh,
    ):
        collection.add(documents(25, 60))
        fresh.add(documents(0, 60))
        assert whole_answer(collection, *QUESTIONS) == whole_answer(fresh, *QUESTIONS)
        collection.check()
        assert contents_of(collection) == contents_of(fresh)


def test_any_flipped_bit_of_a_header_is_noticed_at_once(closed: tuple[Path, Any, list[bytes], Any]) -> None:
    path, answers, *_ = closed
    file = segment_files(path)[0]
    whole = file.read_bytes()
    header_ends, known = whole.index(b"]}") + 2, checksum(file)
    for at in random.Random(3).sample(range(header_ends), 60):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        file.write_bytes(damaged)
        with pytest.raises(arrays.TornFile):
            arrays.load(file, commit=1, length=len(whole), checksum=known)
    with hs.open(path, embedder=Hashed()) as collection:
        assert whole_answer(collection, *QUESTIONS) == answers


def test_a_flipped_bit_of_any_array_is_found_by_the_check(closed: tuple[Path, Any, list[bytes], Any]) -> None:
    path, answers, files, _ = closed
    loaded = load(segment_files(path)[0], 1)
    for name, array in loaded.items():
        file = segment_files(path)[0]
        at = files[0].index(array.tobytes()[:64] if name not in ("contents", "starts") else array.tobytes())
        damaged = bytearray(files[0])
        damaged[at] ^= 0x10
        file.write_bytes(damaged)
        with hs.open(path, embedder=Hashed()) as collection:
            (found,) = collection.check()
            assert "does not match its checksum; rebuilt from the database" in found
            assert whole_answer(collection, *QUESTIONS) == answers
            assert [file.read_bytes() for file in segment_files(path)] == files
    assert len(loaded) == 13


def test_what_a_killed_writer_left_is_swept_and_never_written_over(
    closed: tuple[Path, Any, list[bytes], Any],
) -> None:
    path, answers, files, _ = closed
    left = [path / "index" / name for name in ("00000003-0.seg", "00000003-1.seg", "00000001-7.seg")]
    for file in left:
        file.write_bytes(b"half")
    with hs.open(path, embedder=Hashed()) as collection:
        assert not any(file.exists() for file in left), "swept when it was opened"
        for file in left:
            file.write_bytes(b"half")
        assert whole_answer(collection, *QUESTIONS) == answers
        assert collection.add(documents(0, 25)).commit == 2
        collection.add(documents(25, 26))
        assert collection.check() == []
        assert "00000003-2.seg" in {file.name for file in segment_files(path)}
        assert [file.read_bytes() for file in segment_files(path)][:2] == files


# -- a database that is damaged ----------------------------------------------------------------------


def test_a_damaged_database_is_said_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "block.hs"  # a name with "lock" in it is no lock
    with hs.create(path, schema={"n": "int"}, embedder="none") as collection:
        collection.add(documents(0, 200))
        answers = whole_answer(collection, *QUESTIONS)
    database_file = path / "collection.duckdb"
    whole, chance, said = database_file.read_bytes(), random.Random(4), 0
    places = [chance.randrange(len(whole)) for _ in range(30)]
    for at in [0, 8, 12, 4096 + 8, 8192 + 8, *places]:
        damaged = bytearray(whole)
        damaged[at : at + 64] = chance.randbytes(len(damaged[at : at + 64]))
        database_file.write_bytes(damaged)
        said += corrupt_or_equal(path, answers)
    for size in (1, 100, 4096, 12_288, len(whole) // 2):
        database_file.write_bytes(whole[:size])
        said += corrupt_or_equal(path, answers)
    assert said >= 10
    database_file.write_bytes(whole)
    assert corrupt_or_equal(path, answers) == 0


def corrupt_or_equal(path: Path, answers: Any) -> int:
    try:
        with hs.open(path, lock_timeout=0) as collection:
            assert whole_answer(collection, *QUESTIONS) == answers
    except hs.CorruptCollection:
        return 1
    return 0


def test_a_file_of_a_newer_duckdb_is_said_to_be_newer_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hs.create(tmp_path / "new.hs", embedder="none").close()

    def refuse(*_: Any, **__: Any) -> None:  # the words of DuckDB 1.4 for a file of 2.0
        raise duckdb.IOException(
            "IO Error: Trying to read a database file with version number 999, but we can only read versions between "
            "64 and 67.\nThe database file was created with an newer version of DuckDB."
        )

    monkeypatch.setattr(database.duckdb, "connect", refuse)
    with pytest.raises(hs.NewerFormat, match=r"written by a newer DuckDB.*version number 999.*Upgrade duckdb"):
        hs.open(tmp_path / "new.hs")


def test_a_disk_that_fails_now_and_then_while_torn_files_are_rebuilt_mixes_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = {100: "wide", 50: "half", 4: "four", 2: "pair"}
    with hs.create(tmp_path / "c.hs", embedder="none") as collection:
        for size, word in batches.items():
            collection.add([hs.Document(f"{word}{number}", f"{word} text") for number in range(size)])
    for file in (tmp_path / "c.hs" / "index").glob("*.seg"):
        os.truncate(file, 10)
    calls, write = 0, arrays.write

    def failing(path: Path, contents: arrays.Arrays, commit: int) -> int:
        nonlocal calls
        calls += 1
        if calls % 2 == 0 and calls <= 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, contents, commit)

    with monkeypatch.context() as patched, hs.open(tmp_path / "c.hs") as collection:
        patched.setattr(arrays, "write", failing)
        collection.add([hs.Document("new0", "new text"), hs.Document("new1", "new text")])
    assert calls > 1
    for _ in range(2):
        with hs.open(tmp_path / "c.hs") as collection:
            for size, word in [*batches.items(), (2, "new")]:
                hits = collection.search(word, k=200)
                assert {hit.text for hit in hits} == {f"{word} text"}
                assert len(hits) == size
            collection.check()


def test_an_index_that_is_lost_whole_is_made_again_for_every_generation(tmp_path: Path) -> None:
    """Segments of several generations may have been written at one commit: none takes the name of another."""
    path = tmp_path / "lost.hs"
    with hs.create(path, embedder="none") as collection:
        for number in range(3):
            collection.add([hs.Document(f"d{number}", f"shared runs {number}")])
        collection.rebuild(analyser="english")
        collection.rebuild(analyser="simple")
        before = {at: collection.search("shared run", at=at).digest for at in range(1, 6)}
    for lost in ("all", "one"):
        for file in segment_files(path)[: None if lost == "all" else 1]:
            file.unlink()
        with hs.open(path) as collection:
            assert collection.search("shared run").digest == before[5]
            collection.add([hs.Document("new", "shared")])
            collection.delete(["new"])
            assert {at: collection.search("shared run", at=at).digest for at in range(1, 6)} == before
            collection.check()
            assert collection.check() == []
            names = [entry.name for number in (1, 2, 3) for entry in collection._store._loader.index(number)[0]]
            assert len(names) == len(set(names)) == len(segment_files(path))
            collection.activate(1)
            collection.activate(3)


def test_a_segment_of_another_collection_is_noticed_though_all_else_about_it_is_equal(tmp_path: Path) -> None:
    """By the checksum that the database has of it: name, commit and length are those of the one that it takes over."""
    paths = [tmp_path / f"{word}.hs" for word in ("first", "other")]
    for path in paths:
        with hs.create(path, embedder=Hashed()) as made:
            made.add([hs.Document("a", f"common {path.stem}"), hs.Document("b", "common")])
            before = whole_answer(made, *QUESTIONS, path.stem)
    ours, theirs = ([*(path / "index").iterdir()] for path in paths)
    assert [file.name for file in ours] == [file.name for file in theirs]
    assert [file.stat().st_size for file in ours] == [file.stat().st_size for file in theirs]
    for file in ours:
        shutil.copy(file, paths[1] / "index")
    with hs.open(paths[1], embedder=Hashed()) as opened:
        assert whole_answer(opened, *QUESTIONS, "other") == before
        (said,) = opened.check()
        assert "not the one that the database lists; rebuilt from the database when it was opened" in said
        assert opened.check() == []
