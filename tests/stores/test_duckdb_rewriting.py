"""The moment in which a new database takes the old one's place: cut off, refused, or with others at the door."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

import holdstill as hs
from holdstill.stores.duckdb import database, erasing, holding, rewriting

LONG = 60
FILE = "collection.duckdb"


@pytest.fixture(autouse=True)
def unheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system that knows no locks of directories: another process may come into every gap."""
    monkeypatch.setattr(holding, "hold", lambda *_, **__: None)


def filler(*numbers: int) -> list[hs.Document]:
    return [hs.Document(f"d{n}", f"shared words number {n}") for n in numbers]


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[hs.Collection]:
    with hs.create(tmp_path / "it's a # name ü.hs", embedder="none") as made:
        made.add(filler(*range(20)))
        yield made


def ids(collection: hs.Collection) -> set[str]:
    return {hit.document for hit in collection.search("shared", k=99)}


def numbers(collection: hs.Collection) -> list[int]:
    return [each.commit for each in collection.history()]


def assert_goes_on(collection: hs.Collection, *gone: str) -> None:
    """It is without these, and writes on: each commit with a number of its own."""
    assert ids(collection) == {f"d{n}" for n in range(20)} - set(gone)
    collection.add([hs.Document("new", "shared and new")])
    assert numbers(collection) == list(range(1, 1 + len(numbers(collection))))
    assert "new" in ids(collection)
    assert collection.check() == []
    stray = {file.name for file in collection.path.iterdir()} - {FILE, f"{FILE}.wal", "index", "searches.jsonl"}
    assert stray == set()


def in_another_process(target: Callable[..., None], *arguments: Any) -> Any:
    child = multiprocessing.get_context("spawn").Process(target=target, args=arguments)
    child.start()
    return child


# -- cut off, or refused -----------------------------------------------------------------------------


def test_ctrl_c_in_the_copy_changes_nothing(collection: hs.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise RuntimeError("Query interrupted")  # as DuckDB tells it

    with hs.open(collection.path) as other:
        with monkeypatch.context() as patch:
            patch.setattr(erasing, "finish", interrupted)
            with pytest.raises(KeyboardInterrupt):
                collection.purge(["d1"])
        assert numbers(collection) == numbers(other) == [1]
        assert_goes_on(other)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(5, "Input/output error")])
def test_what_is_cut_off_after_the_replace_is_done(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(_: Path) -> None:
        raise error

    collection.search("shared")
    with hs.open(collection.path) as other:
        other.search("shared")
        with monkeypatch.context() as patch:
            patch.setattr(rewriting, "sync_folder", fail)
            with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else hs.NotWritable) as raised:
                collection.purge(["d1"])
        assert "nothing was changed" not in str(raised.value)
        assert numbers(collection) == numbers(other) == [1, 2]
        assert_goes_on(other, "d1")
        assert "new" in ids(collection)
    assert collection.purge(["d1"]).missing == ("d1",)


@pytest.mark.parametrize("error", [hs.CollectionBusy("taken"), KeyboardInterrupt()])
def test_a_handle_that_cannot_go_on_is_closed_and_the_others_go_on(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    with hs.open(collection.path) as other:
        reconnect, refused = database.reconnect, iter([error])

        def first_refused(*arguments: Any, **options: Any) -> Any:
            for each in refused:
                raise each
            return reconnect(*arguments, **options)

        ids(collection)
        ids(other)
        monkeypatch.setattr(database, "reconnect", first_refused)
        with pytest.raises(type(error)):
            collection.purge(["d1"])
        closed = [each for each in (collection, other) if _is_closed(each)]
        assert len(closed) == 1
        with hs.open(collection.path) as third:
            assert_goes_on(third, "d1")
        (left,) = {collection, other} - set(closed)
        assert ids(left) == {"new", *(f"d{n}" for n in range(20) if n != 1)}


def _is_closed(collection: hs.Collection) -> bool:
    try:
        ids(collection)
    except hs.CollectionClosed:
        return True
    return False


# -- other handles of this process -------------------------------------------------------------------


def during(patch: pytest.MonkeyPatch, work: Callable[[], object]) -> list[threading.Thread]:
    """Begins the work in a thread once the copy is at its end."""
    begun: list[threading.Thread] = []
    finish = erasing.finish

    def beginning(*arguments: Any) -> None:
        finish(*arguments)
        begun.append(threading.Thread(target=work, daemon=True))
        begun[0].start()
        begun[0].join(0.1)

    patch.setattr(erasing, "finish", beginning)
    return begun


def test_a_handle_that_another_thread_opens_or_reads_by_meanwhile_waits(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []

    def work() -> None:
        found.append(ids(collection))
        with hs.open(collection.path) as opened:
            found.append(ids(opened))
            opened.add(filler(1))

    threads = during(monkeypatch, work)
    collection.purge(["d1"])
    threads[0].join(LONG)
    assert found == [{f"d{n}" for n in range(20) if n != 1}] * 2
    assert_goes_on(collection)


def test_a_handle_that_is_closed_meanwhile_stays_closed(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = hs.open(collection.path)
    threads = during(monkeypatch, other.close)
    collection.purge(["d1"])
    threads[0].join(LONG)
    assert _is_closed(other)
    assert_goes_on(collection, "d1")
    collection.close()
    child = in_another_process(add, collection.path, 0, None)
    child.join(LONG)
    assert child.exitcode == 0, "nothing of this process has the file open any more"


# -- other processes ---------------------------------------------------------------------------------


def add(path: Path, patience: float, at_the_end: Callable[[], None] | None) -> None:
    with hs.open(path, lock_timeout=patience) as collection:
        collection.add([hs.Document("theirs", "shared, of another process")])
        if at_the_end is not None:
            at_the_end()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("end", [None, die])
@pytest.mark.parametrize("what", ["purge", "prune"])
def test_what_another_process_commits_before_the_copy_is_not_lost(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch, what: str, end: Callable[[], None] | None
) -> None:
    """It comes in the moment in which this one has let go of the file, and does not hold it again yet."""
    collection.delete(["d0"])
    remove_stray = rewriting.remove_stray
    children: list[Any] = []

    def let_in(path: Path) -> None:
        remove_stray(path)
        if not children:
            children.append(in_another_process(add, path, 0, end))
            children[0].join(LONG)

    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "remove_stray", let_in)
        with pytest.raises(hs.CollectionBusy, match="nothing was changed"):
            collection.purge(["d1"]) if what == "purge" else collection.prune(keep_last=1)
    assert children[0].exitcode == (0 if end is None else -signal.SIGKILL)
    assert numbers(collection) == [1, 2, 3]
    assert ids(collection) == {"theirs", *(f"d{n}" for n in range(1, 20))}
    assert collection.purge(["d1"]).purged == 1
    assert ids(collection) == {"theirs", *(f"d{n}" for n in range(2, 20))}
    assert collection.prune(keep_last=1).commits == 3
    assert collection.check() == []


def test_a_process_that_waits_for_the_file_gets_the_new_one(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    children: list[Any] = []
    during(monkeypatch, lambda: children.append(in_another_process(add, collection.path, LONG, None)))
    for n in range(5):
        while f"d{n}" in ids(collection):
            with suppress(hs.CollectionBusy):  # it got in before the copy
                collection.purge([f"d{n}"])
        monkeypatch.undo()
        collection.add([hs.Document(f"more{n}", "shared, of this process")])
    collection.close()
    children[0].join(LONG)
    assert children[0].exitcode == 0
    with hs.open(collection.path) as opened:
        assert ids(opened) == {"theirs", *(f"more{n}" for n in range(5)), *(f"d{n}" for n in range(5, 20))}
        assert numbers(opened) == list(range(1, 13))


def stay(path: Path, begun: Any, enough: Any) -> None:
    with hs.open(path, lock_timeout=0):
        begun.set()
        enough.wait(LONG)


def test_a_process_that_has_the_file_before_the_copy_is_told_of(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_stray, context = rewriting.remove_stray, multiprocessing.get_context("spawn")
    begun, enough = context.Event(), context.Event()
    children: list[Any] = []

    def let_in(path: Path) -> None:
        remove_stray(path)
        if not children:
            children.append(in_another_process(stay, path, begun, enough))
            assert begun.wait(LONG)
        else:  # the copy has failed by then
            enough.set()

    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "remove_stray", let_in)
        with pytest.raises(hs.CollectionBusy, match="nothing was changed"):
            collection.purge(["d1"])
    children[0].join(LONG)
    assert children[0].exitcode == 0
    assert_goes_on(collection)


def purge_and_add_and_die(path: Path) -> None:
    with hs.open(path) as collection:
        collection.purge(["d1"])
        collection.add([hs.Document("theirs", "shared, of another process")])
        die()


@pytest.mark.parametrize("late", [False, True])
def test_a_file_that_is_replaced_while_it_is_opened_is_opened_again(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """What another process commits to the new one, and leaves in its log, is neither applied to the old one nor lost.

    Where the old file is read `late`, that log is there by then, and DuckDB refuses it.
    """
    collection.close()
    path, newer = collection.path, collection.path.with_name("newer.hs")
    shutil.copytree(path, newer)
    child = in_another_process(purge_and_add_and_die, newer)
    child.join(LONG)
    assert child.exitcode == -signal.SIGKILL
    assert (newer / f"{FILE}.wal").exists()
    connect = duckdb.connect
    replaced: list[bool] = []

    def overtaken(*arguments: Any, **options: Any) -> Any:
        if replaced:
            return connect(*arguments, **options)
        replaced.append(True)
        try:
            if not late:
                return connect(*arguments, **options)
            (newer / f"{FILE}.wal").replace(path / f"{FILE}.wal")
            with closing(connect(*arguments, **options)):
                raise AssertionError("the log of another file was applied")
        finally:
            for file in [*newer.glob(f"{FILE}*"), *newer.glob("index/*.seg")]:
                file.replace(path / file.relative_to(newer))

    monkeypatch.setattr(duckdb, "connect", overtaken)
    with hs.open(path) as opened:
        assert replaced
        assert numbers(opened) == [1, 2, 3]
        assert ids(opened) == {"theirs", *(f"d{n}" for n in range(20) if n != 1)}
        assert opened.check() == []


# -- what a query spilled ----------------------------------------------------------------------------


def spilled(path: Path) -> Path:
    """As a process leaves it that is killed in a query too large for the memory."""
    file = path / f"{FILE}.tmp" / "duckdb_temp_1_0_storage_DEFAULT-0.tmp"
    file.parent.mkdir()
    file.write_bytes(b"shared words number 1")
    return file


def test_what_a_killed_process_spilled_goes_with_the_next_erasure(collection: hs.Collection) -> None:
    file = spilled(collection.path)
    hs.open(collection.path).close()
    assert file.exists(), "another handle of this process might be using it"
    collection.purge(["d1"])
    assert not file.parent.exists()


def test_what_a_killed_process_spilled_goes_when_the_collection_is_opened(collection: hs.Collection) -> None:
    collection.close()
    file = spilled(collection.path)
    with hs.open(collection.path) as opened:
        assert not file.parent.exists()
        assert_goes_on(opened)
