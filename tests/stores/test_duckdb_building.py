"""A generation is built while others read and write, and by a process that may die at any moment of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdstill as hs
from fakes import Hashed
from holdstill import rebuilding
from holdstill.stores.duckdb import arrays, building, rows
from holdstill.stores.duckdb.store import DuckDBStore

OLD, NEW = "1", "2"


class Salted(Hashed):
    """Vectors of its own, by its version."""

    def embed(self, texts: Any) -> Any:
        return super().embed([self.digest + text for text in texts])


def filler(*numbers: int, text: str = "shared words") -> list[hs.Document]:
    return [hs.Document(f"d{n}", f"{text} running number {n}") for n in numbers]


def answers(collection: hs.Collection, *, at: int | None = None) -> tuple[str, ...]:
    return tuple(collection.search(text, k=99, at=at).digest for text in ("shared running", "number 7 runs"))


def fresh(path: Path, documents: list[hs.Document], analyser: str, version: str) -> tuple[str, ...]:
    """The answers of a collection that was made at once."""
    with hs.create(path, analyser=analyser, embedder=Salted(version=version)) as made:
        made.add(documents)
        return answers(made)


# -- a process that dies -----------------------------------------------------------------------------


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at_the_second(function: Callable[..., Any]) -> Callable[..., Any]:
    calls = iter([function])
    return lambda *args, **options: next(calls, die)(*args, **options)


def then_die(function: Callable[..., Any]) -> Callable[..., Any]:
    def done(*args: Any, **options: Any) -> None:
        function(*args, **options)
        die()

    return done


#: Where the process dies: what is replaced, by what, how many documents are kept by then, and whether it switched.
PHASES: dict[str, tuple[Any, str, Callable[[Any], Any], int, bool]] = {
    "before it begins": (DuckDBStore, "begin", lambda _: die, 0, False),
    "once it has begun": (DuckDBStore, "begin", then_die, 0, False),
    "while it embeds": (Salted, "embed", at_the_second, 4, False),
    "in the middle of a segment": (arrays, "sync_folder", lambda _: die, 0, False),
    "between a segment and its rows": (rows, "insert_passages", lambda _: die, 0, False),
    "in the transaction of a batch": (rows, "replace_segments", lambda _: die, 0, False),
    "between two batches": (DuckDBStore, "extend", at_the_second, 4, False),
    "with all built": (DuckDBStore, "activate", lambda _: die, 10, False),
    "in the transaction of the switch": (building, "complete", then_die, 10, False),
    "once it has switched": (DuckDBStore, "activate", then_die, 10, True),
}


def rebuild(path: Path, phase: str) -> None:
    owner, name, made, _, _ = PHASES[phase]
    with hs.open(path, embedder=Salted(version=OLD)) as collection:
        rebuilding._BATCH = 4  # type: ignore[misc]
        model = Salted(version=NEW)
        if owner is Salted:  # the check of the model embeds too: what follows it counts
            embed = made(model.embed)
            chosen = rebuilding.rebuild

            def counted(*args: Any, **options: Any) -> Any:
                model.embed = embed  # type: ignore[method-assign]
                return chosen(*args, **options)

            from holdstill import operating

            operating.rebuild = counted  # type: ignore[assignment]
        else:
            setattr(owner, name, made(getattr(owner, name)))
        collection.rebuild(analyser="english", embedder=model)


@pytest.mark.parametrize("phase", PHASES)
def test_a_process_killed_while_it_rebuilds(tmp_path: Path, phase: str) -> None:
    path = tmp_path / "killed.hs"
    with hs.create(path, embedder=Salted(version=OLD)) as collection:
        collection.add(filler(*range(10)))
        before = answers(collection)
    child = multiprocessing.get_context("spawn").Process(target=rebuild, args=(path, phase))
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL
    *_, kept, switched = PHASES[phase]
    expected = fresh(tmp_path / "fresh.hs", filler(*range(10)), "english", NEW)
    with hs.open(path) as collection:
        assert collection.check() == []
        active = collection.info().generation
        assert active == (2 if switched else 1)
        listed = {entry.name for built in collection.generations() for entry in _entries(collection, built.generation)}
        assert {file.name for file in (path / "index").iterdir()} == listed
    with hs.open(path, embedder=Salted(version=NEW if switched else OLD)) as collection:
        assert answers(collection) == (expected if switched else before)
        if switched:
            return
        collection.add(filler(10))
        model = Salted(version=NEW)
        report = collection.rebuild(analyser="english", embedder=model)
        assert report.resumed == (phase != "before it begins")
        assert report.documents == 11 - kept
        assert not [text for text in model.texts if any(text.endswith(f"number {n}") for n in range(kept))]
        assert answers(collection) == fresh(tmp_path / "after.hs", filler(*range(11)), "english", NEW)
        assert len(collection.generations()) == 2
        assert collection.check() == []


def _entries(collection: hs.Collection, number: int) -> Any:
    return collection._store._loader.index(number)[0]  # type: ignore[attr-defined]


# -- others at work ----------------------------------------------------------------------------------


class Reader(threading.Thread):
    """Searches until it is told to stop; keeps what it found, and what went wrong."""

    def __init__(self, collection: hs.Collection) -> None:
        super().__init__()
        self._collection = collection
        self._enough = threading.Event()
        self.found: set[tuple[int, int, str]] = set()  #: commit, generation, digest
        self.wrong: list[BaseException] = []

    def run(self) -> None:
        while not self._enough.is_set():
            try:
                result = self._collection.search("shared running", k=99)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is wrong
                self.wrong.append(error)
                return
            snapshot = result.snapshot
            self.found.add((snapshot["commit"], snapshot["generation"], result.digest))

    def stop(self) -> None:
        self._enough.set()
        self.join(60)
        assert not self.is_alive()


def test_every_answer_is_wholly_of_one_generation(tmp_path: Path) -> None:
    """Readers at work while it is rebuilt, added to, rolled back, rebuilt and pruned."""
    with hs.create(tmp_path / "read.hs", embedder=Salted(version=OLD)) as collection:
        collection.add(filler(*range(30)))
        readers = [Reader(collection) for _ in range(3)]
        for reader in readers:
            reader.start()
        adding = iter(range(30, 60))

        def progress(what: str, done: int, total: int) -> None:
            if what == "rebuilding" and (number := next(adding, None)) is not None:
                collection.add(filler(number))  # within the build, by the thread that builds

        second = collection.rebuild(analyser="english", embedder=Salted(version=NEW), progress=progress).generation
        assert collection.count() > 30
        collection.add(filler(100))
        collection.activate(1)
        collection.delete(["d3"])
        collection.activate(second)
        collection.prune(keep_last=3)
        collection.rebuild()
        for reader in readers:
            reader.stop()
        assert [reader.wrong for reader in readers] == [[], [], []]
        found = set().union(*(reader.found for reader in readers))
        assert len({commit for commit, *_ in found}) == len({(commit, digest) for commit, _, digest in found})
        home = {each.commit: each.generation for each in collection.history()}
        assert all(home[commit] == generation for commit, generation, _ in found)
        kept = [each.commit for each in collection.history() if not each.pruned]
        for commit, _, digest in found:
            if commit in kept:
                assert collection.search("shared running", k=99, at=commit).digest == digest


def test_what_is_written_by_another_thread_while_it_is_built_is_in_both(tmp_path: Path) -> None:
    class Interrupted(Salted):
        """While it embeds the second batch, another thread writes."""

        between: Callable[[], None] | None = None
        calls = 0

        def embed(self, texts: Any) -> Any:
            made = super().embed(texts)
            if self.between is not None:
                self.calls += 1
                if self.calls == 2:
                    writer = threading.Thread(target=self.between)
                    writer.start()
                    writer.join(60)
                    assert not writer.is_alive(), "a writer had to wait for the build"
            return made

    model = Interrupted(version=NEW)
    with hs.create(tmp_path / "both.hs", embedder=Salted(version=OLD)) as collection:
        collection.add(filler(*range(300)))

        def write() -> None:
            collection.add(filler(300, 301))
            collection.add(filler(5, 250, text="replaced shared"))
            collection.delete(["d7", "d299", "d300"])

        model.between = write
        collection.rebuild(embedder=model)
        assert model.calls >= 2
        live = [each for each in filler(*range(302)) if each.id not in ("d5", "d7", "d250", "d299", "d300")]
        live += filler(5, 250, text="replaced shared")
        assert answers(collection) == fresh(tmp_path / "new.hs", live, "simple", NEW)
        collection.activate(1)
        assert answers(collection) == fresh(tmp_path / "old.hs", live, "simple", OLD)


def test_two_threads_that_build_the_same_do_not_build_it_twice(tmp_path: Path) -> None:
    with hs.create(tmp_path / "two.hs", embedder="none") as collection:
        collection.add(filler(*range(50)))
        reports: list[Any] = []
        started = threading.Barrier(2)

        def build() -> None:
            started.wait(10)
            try:
                reports.append(collection.rebuild(analyser="english"))
            except hs.HoldstillError as error:
                reports.append(error)

        threads = [threading.Thread(target=build) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(reports) == 2
        assert not [each for each in reports if isinstance(each, Exception)]
        assert collection.check() == []
        assert collection.count() == 50
        assert len(collection.search("number", k=99)) == 50


def test_segments_of_a_failed_batch_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hs.create(tmp_path / "failed.hs", embedder="none") as collection:
        collection.add(filler(*range(10)))
        before = answers_of_words(collection)
        names = {file.name for file in (collection.path / "index").iterdir()}

        def full(*_: Any) -> None:
            raise hs.NotWritable("the disk is full", field="path")

        with monkeypatch.context() as patch:
            patch.setattr(rows, "insert_passages", full)
            with pytest.raises(hs.NotWritable):
                collection.rebuild(analyser="english")
        assert {file.name for file in (collection.path / "index").iterdir()} == names
        assert answers_of_words(collection) == before
        assert collection.rebuild(analyser="english").resumed


def answers_of_words(collection: hs.Collection) -> str:
    return collection.search("running number", k=99).digest
