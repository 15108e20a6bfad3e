"""What is erased is gone from every file; what is kept answers as before; and a process may die at any moment of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import holdstill as hs
from fakes import Hashed
from holdstill.stores.duckdb import arrays, erasing, holding, rewriting, segments
from holdstill.stores.duckdb.loading import Loader

SCHEMA = {"n": "int", "note": "str"}
MARK = "ZQMARK"


@pytest.fixture(autouse=True)
def unheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system that knows no locks of directories: another process may come into every gap."""
    monkeypatch.setattr(holding, "hold", lambda *_, **__: None)


def filler(*numbers: int) -> list[hs.Document]:
    return [hs.Document(f"d{n}", f"shared words number {n}", fields={"n": n}) for n in numbers]


def marked(text: str = "") -> hs.Document:
    """A document whose every part holds the mark."""
    passages = [
        hs.Passage(f"shared zqmarkterm {MARK} {text}", headings=[f"{MARK} heading"]),
        hs.Passage(f"{MARK} more, " * 40),
    ]
    fields = {"note": f"{MARK} field", "outside": f"{MARK} metadata"}
    return hs.Document(f"{MARK}-id", passages=passages, title=f"{MARK} title", fields=fields)


def holders(path: Path, *words: str) -> set[str]:
    """The files that hold one of the words."""
    return files_with(path, *(word.encode() for word in words))


def files_with(path: Path, *sought: bytes) -> set[str]:
    files = [file for file in path.rglob("*") if file.is_file()]
    return {file.name for file in files if any(each in file.read_bytes() for each in sought)}


def checkpoint(collection: hs.Collection) -> None:
    with collection._store._connection.reading() as cursor:  # type: ignore[attr-defined]
        cursor.execute("CHECKPOINT")


@pytest.fixture
def uncompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every database stores what it is given as it is given."""
    connect = duckdb.connect

    def plainly(*args: Any, **options: Any) -> duckdb.DuckDBPyConnection:
        connection = connect(*args, **options)
        connection.execute("SET force_compression = 'uncompressed'")
        return connection

    monkeypatch.setattr(duckdb, "connect", plainly)


def digests(collection: hs.Collection) -> dict[int, str]:
    """The answer at each commit that is kept; that before the first belongs to the first generation."""
    first = [0] if any(each.generation == 1 for each in collection.generations()) else []
    kept = [*first, *(each.commit for each in collection.history() if not each.pruned)]
    return {at: collection.search("shared words number", k=1000, at=at).digest for at in kept}


# -- bytes -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("uncompressed")
def test_no_file_holds_what_was_purged(tmp_path: Path) -> None:
    path = tmp_path / "purged.hs"
    with hs.create(path, schema=SCHEMA, embedder=Hashed(window=32)) as collection:
        collection.add(filler(*range(40)))
        collection.add([marked(), *filler(40)])
        collection.add([marked("of another version")])
        collection.update([f"{MARK}-id"], fields={"note": f"{MARK} changed"})
        collection.rebuild(analyser="english")
        collection.tag("kept")
        collection.search("shared", k=99)
        collection.search(f"a question that holds {MARK}-id")
        collection.delete([f"{MARK}-id"])
        collection.add(filler(*range(5)))
        checkpoint(collection)
        held = holders(path, MARK, MARK.lower())
        assert "collection.duckdb" in held, "the mark is looked for where it can be seen"
        assert "searches.jsonl" in held
        assert any(name.endswith(".seg") for name in held)
        report = collection.purge([f"{MARK}-id", "never there"])
        assert (report.purged, report.missing, report.snapshots, report.searches) == (1, ("never there",), 4, 2)
        assert holders(path, MARK, MARK.lower()) == set()
        collection.add(filler(50))
        checkpoint(collection)
    assert holders(path, MARK, MARK.lower()) == set()
    with hs.open(path, embedder=Hashed(window=32)) as collection:
        assert collection.check() == []
        assert all(len(collection.search("zqmarkterm", arms=["lexical"], at=at)) == 0 for at in range(1, 9))
        with pytest.raises(hs.NotFound):
            collection.get(f"{MARK}-id", at="kept")


@pytest.mark.usefixtures("uncompressed")
def test_no_file_holds_what_only_pruned_commits_saw(tmp_path: Path) -> None:
    path, unlogged = tmp_path / "pruned.hs", hs.LogSettings(enabled=False)  # the log names hits, until they are purged
    with hs.create(path, schema=SCHEMA, embedder="none", log=unlogged) as collection:
        collection.add(filler(*range(500)))
        collection.add([marked()])
        collection.delete([f"{MARK}-id"])
        collection.add([hs.Document(f"d{n}", "replaced", fields={"n": n}) for n in range(400)])
        checkpoint(collection)
        assert "collection.duckdb" in holders(path, MARK)
        before = digests(collection)
        report = collection.prune(keep_last=1)
        assert (report.commits, report.versions) == (3, 401)
        assert report.after == sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        assert holders(path, MARK, MARK.lower()) == set()
        assert digests(collection) == {0: before[0], 4: before[4]}


def test_a_pruned_generation_takes_its_index_with_it(tmp_path: Path) -> None:
    with hs.create(tmp_path / "dropped.hs", schema=SCHEMA, embedder="none") as collection:
        collection.add(filler(*range(50)))
        collection.rebuild(analyser="english")
        collection.tag("old", 1)
        with pytest.raises(hs.InvalidQuery, match="have tags: old"):
            collection.drop_generation(1)
        collection.untag("old")
        with pytest.raises(hs.InvalidQuery, match="is active"):
            collection.drop_generation(2)
        assert len(list((collection.path / "index").iterdir())) == 2
        assert collection.drop_generation(1).commits == 1
        assert len(list((collection.path / "index").iterdir())) == 1
        assert [each.generation for each in collection.generations()] == [2]
        with pytest.raises(hs.SnapshotPruned):
            collection.search("shared", at=1)
        with pytest.raises(hs.GenerationNotFound):
            collection.activate(1)
        assert collection.rebuild().generation == 3, "a number is never used twice"


def test_no_file_holds_a_vector_that_was_purged(tmp_path: Path) -> None:
    path, vectors = tmp_path / "vectors.hs", {"kept": [0.3, 0.1, -0.7] * 20, "gone": [-0.2, 0.9, 0.4] * 20}
    with hs.create(path, vector_model="small") as collection:
        collection.add(hs.Document(id_, passages=[hs.Passage(id_, vector=each)]) for id_, each in vectors.items())
        (stored,) = (each["vectors"] for each in collection._store._loader.index(1)[1].segments)  # type: ignore[attr-defined]
        kept, gone = (row.astype("<i2").tobytes() for row in stored)
        checkpoint(collection)
        assert "collection.duckdb" in files_with(path, gone)
        assert len(files_with(path, gone)) == len(files_with(path, kept)) == 2
        collection.purge(["gone"])
        assert files_with(path, gone) == set()
        assert len(files_with(path, kept)) == 2


def test_the_number_of_a_dropped_generation_is_not_used_again(tmp_path: Path) -> None:
    """Else what a thread builds that knows nothing of it would come into another generation, of another model."""

    class Dropping(Hashed):
        drop: Callable[[], Any] | None = None

        def embed(self, texts: Any) -> Any:
            if self.drop is not None and any("shared words" in text for text in texts):
                drop, self.drop = self.drop, None
                drop()
            return super().embed(texts)

    model = Dropping(version="2")
    with hs.create(tmp_path / "numbers.hs", schema=SCHEMA, embedder=Hashed()) as collection:
        collection.add(filler(*range(5)))

        def drop() -> None:
            collection.drop_generation(2)
            assert collection.rebuild(analyser="english").generation == 3

        model.drop = drop
        with pytest.raises(hs.GenerationNotFound):
            collection.rebuild(embedder=model)
        assert [each.generation for each in collection.generations()] == [1, 3]
        assert collection.drop_generation(1).commits == 1
        assert collection.rebuild().generation == 4


def test_a_purge_while_a_rebuild_has_the_text_in_hand_does_not_bring_it_back(tmp_path: Path) -> None:
    class Interrupting(Hashed):
        purge: Callable[[], Any] | None = None

        def embed(self, texts: Any) -> Any:
            if self.purge is not None and any("zqmarkterm" in text for text in texts):
                purge, self.purge = self.purge, None
                purging = threading.Thread(target=purge)
                purging.start()
                purging.join(60)
                assert not purging.is_alive()
            return super().embed(texts)

    model = Interrupting(version="2")
    with hs.create(tmp_path / "both.hs", schema=SCHEMA, embedder=Hashed()) as collection:
        collection.add([*filler(*range(5)), marked()])
        model.purge = lambda: collection.purge([f"{MARK}-id"])
        collection.rebuild(embedder=model)
        assert model.purge is None
        assert collection.count() == 5
        assert holders(collection.path / "index", MARK) == set()
        rows = collection._store._connection.rows  # type: ignore[attr-defined]
        assert rows("SELECT count(*) FROM passages WHERE text LIKE '%ZQMARK%'", []) == [(0,)]


# -- a process that dies -----------------------------------------------------------------------------


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def after_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """Does it once, and dies when it is called again."""
    calls = iter([function])
    return lambda *args, **options: next(calls, die)(*args, **options)


def then_die(function: Callable[..., Any]) -> Callable[..., Any]:
    def done(*args: Any, **options: Any) -> None:
        function(*args, **options)
        die()

    return done


#: Where the process dies: what is replaced, by what, and whether the erasure is done by then.
PHASES: dict[str, tuple[Any, str, Callable[[Any], Any], bool]] = {
    "before any segment": (segments, "save", lambda _: die, False),
    "in a segment": (arrays, "sync_folder", lambda _: die, False),
    "before the copy": (rewriting, "_copy", lambda _: die, False),
    "at the beginning of it": (erasing, "prepare", lambda _: die, False),
    "at the end of it": (erasing, "finish", lambda _: die, False),
    "once it is committed": (erasing, "finish", then_die, False),
    "before the replace": (rewriting, "_sync", lambda _: die, False),
    "after the replace": (rewriting, "sync_folder", lambda _: die, True),
    "before the sweep": (Loader, "sweep", lambda _: die, True),
}


def erase(path: Path, what: str, phase: str) -> None:
    owner, name, made, _ = PHASES[phase]
    with hs.open(path, embedder=Hashed()) as collection:
        setattr(owner, name, made(getattr(owner, name)))
        {
            "purge": lambda: collection.purge(["d3"]),
            "prune": lambda: collection.prune(keep_last=1),
            "drop": lambda: collection.drop_generation(1),
        }[what]()


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("what", ["purge", "prune", "drop"])
def test_a_process_killed_while_it_erases(tmp_path: Path, what: str, phase: str) -> None:
    path = tmp_path / "killed.hs"
    with hs.create(path, schema=SCHEMA, embedder=Hashed()) as collection:
        collection.add(filler(*range(20)))
        collection.add([hs.Document(f"d{n}", "shared and replaced") for n in range(8)])
        collection.rebuild(analyser="english")
        before, log = digests(collection), collection.history()
    child = multiprocessing.get_context("spawn").Process(target=erase, args=(path, what, phase))
    child.start()
    child.join(120)
    written = not (what == "drop" and phase in ("before any segment", "in a segment"))  # a drop writes no segment
    assert child.exitcode == (-signal.SIGKILL if written else 0)
    done = PHASES[phase][3] or not written
    with hs.open(path, embedder=Hashed()) as collection:
        names = {file.name for file in path.rglob("*") if file.is_file()}
        listed = {entry.name for number in (1, 2) for entry in _entries(collection, number)}
        assert names - listed == {"collection.duckdb", "searches.jsonl"} | (names & {"collection.duckdb.wal"})
        assert collection.check() == []
        if not done:
            assert collection.history() == log
            assert digests(collection) == before
        elif what == "purge":
            assert len(collection.history()) == len(log) + 1
            assert "d3" not in {hit.document for at in (1, 2, 3) for hit in collection.search("shared", k=99, at=at)}
        else:
            kept = (3,) if what == "drop" else (0, 3)
            assert {at: digest for at, digest in before.items() if at in kept} == digests(collection)


def _entries(collection: hs.Collection, number: int) -> list[Any]:
    built = [each.generation for each in collection.generations()]
    return collection._store._loader.index(number)[0] if number in built else []  # type: ignore[attr-defined]


# -- failures, and others at work --------------------------------------------------------------------


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[hs.Collection]:
    with hs.create(tmp_path / "it's a # name ü.hs", schema=SCHEMA, embedder="none") as made:
        made.add(filler(*range(30)))
        made.add([hs.Document(f"d{n}", "shared and replaced") for n in range(10)])
        yield made


@pytest.mark.parametrize("at", ["prepare", "finish"])
def test_a_failure_before_the_replace_changes_nothing(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    def full(*_: object) -> None:
        raise duckdb.IOException("No space left on device")

    before, log = digests(collection), collection.history()
    with hs.open(collection.path) as other, monkeypatch.context() as patch:
        patch.setattr(erasing, at, full)
        with pytest.raises(hs.NotWritable, match=r"written anew.*nothing was changed.*No space left"):
            collection.purge(["d1"])
        assert digests(other) == digests(collection) == before
        assert collection.history() == log
    assert not list(collection.path.glob("*.new*"))
    assert collection.check() == []
    assert collection.purge(["d1"]).purged == 1


def test_a_log_of_the_database_that_is_left_is_never_applied_to_a_new_file(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = collection.path / "collection.duckdb.wal"
    let_go = rewriting._away

    def leaving(connections: Any) -> Any:
        context = let_go(connections)
        enter = type(context).__enter__

        class Leaving:
            def __enter__(self) -> None:
                enter(context)
                left.write_bytes(b"left")

            def __exit__(self, *error: Any) -> Any:
                left.unlink()
                return context.__exit__(*error)

        return Leaving()

    before = digests(collection)
    monkeypatch.setattr(rewriting, "_away", leaving)
    with pytest.raises(hs.NotWritable, match="nothing was changed"):
        collection.purge(["d1"])
    monkeypatch.undo()
    assert digests(collection) == before


_ELSEWHERE = """
import sys, holdstill as hs
with hs.open(sys.argv[1], lock_timeout=30) as collection:
    collection.add([hs.Document("elsewhere", "shared words of another process")])
    print("added", flush=True)
    sys.stdin.readline()
"""


def elsewhere(path: Path) -> subprocess.Popen[str]:
    """Another process that adds a document, and holds the collection until it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", _ELSEWHERE, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "added\n"
    return process


@pytest.mark.parametrize("held", [True, False])
def test_what_another_process_commits_in_the_gap_is_not_lost(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch, held: bool
) -> None:
    """Between letting go of the file and taking it again, anybody may come."""
    replace, others = rewriting._replace, []

    def late(path: Path, *more: Any) -> None:
        others.append(elsewhere(path))
        if not held:
            others[0].communicate("\n")
        try:
            replace(path, *more)
        finally:
            if held:
                others[0].communicate("\n")

    monkeypatch.setattr(rewriting, "_replace", late)
    with hs.open(collection.path) as other:
        with pytest.raises(hs.CollectionBusy, match=r"another process took.*nothing was changed"):
            collection.purge(["d1"])
        monkeypatch.undo()
        for handle in (collection, other):
            assert handle.get("elsewhere").passages[0].text == "shared words of another process"
            assert handle.count() == 31
            assert handle.check() == []
        assert collection.purge(["d1"]).commit == 4
        assert other.count() == 30


def test_what_another_process_commits_after_the_replace_is_seen(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = rewriting._replace

    def early(path: Path, *more: Any) -> None:
        replace(path, *more)
        elsewhere(path).communicate("\n")

    monkeypatch.setattr(rewriting, "_replace", early)
    assert collection.purge(["d1"]).purged == 1
    monkeypatch.undo()
    assert collection.count() == 30
    assert [each.kind for each in collection.history()] == ["add", "add", "purge", "add"]
    assert collection.check() == []


def test_a_handle_that_cannot_have_the_collection_back_says_that_it_was_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "taken.hs"
    with hs.create(path, embedder="none", lock_timeout=0.2) as collection:
        collection.add(filler_words(3))
        replace, others = rewriting._replace, []

        def early(path: Path, *more: Any) -> None:
            replace(path, *more)
            others.append(elsewhere(path))

        monkeypatch.setattr(rewriting, "_replace", early)
        with pytest.raises(hs.CollectionBusy, match=r"was written anew, and then another process.*Open it again"):
            collection.purge(["d1"])
        with pytest.raises(hs.CollectionClosed):
            collection.count()
        others[0].communicate("\n")
    with hs.open(path) as again:
        assert again.count() == 3
        with pytest.raises(hs.NotFound):
            again.get("d1")


def filler_words(count: int) -> list[hs.Document]:
    return [hs.Document(f"d{n}", f"shared words number {n}") for n in range(count)]


def test_every_handle_goes_on_and_sees_it_at_once(collection: hs.Collection) -> None:
    with hs.open(collection.path) as other:
        assert other.count("n = 20") == 1
        collection.purge(["d20"])
        assert other.count("n = 20") == 0
        other.purge(["d21"])
        assert collection.count() == 28
        other.add(filler(60))
        assert collection.search("60")[0].document == "d60"


def test_readers_in_threads_go_on_throughout(collection: hs.Collection) -> None:
    """Each answer is one of those that there are: of before, or of after."""
    collection.tag("first", 1)
    wrong: list[object] = []
    enough = threading.Event()
    allowed = {at: {collection.search("shared", k=99, at=at).digest} for at in ("first", None)}
    for step in range(6):  # what the answers become, found out on a copy
        allowed[None].add(_without(collection, step)[0])
        allowed["first"].add(_without(collection, step)[1])

    def read() -> None:
        while not enough.is_set():
            for at, digests in allowed.items():
                try:
                    found = collection.search("shared", k=99, at=at).digest
                except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
                    wrong.append(error)
                else:
                    if found not in digests:
                        wrong.append((at, found))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for step in range(6):
        collection.purge([f"d{20 + step}"])
        collection.prune(keep_last=1)
    enough.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def _without(collection: hs.Collection, step: int) -> tuple[str, str]:
    """The answers of now and of the first commit, once the first so many documents are purged."""
    gone = {f"d{20 + each}" for each in range(step + 1)}
    found = []
    for at in (None, "first"):
        documents = [collection.get(f"d{n}", at=at) for n in range(30) if f"d{n}" not in gone]
        with hs.create(collection.path / "copy", embedder="none") as copy:
            copy.add([hs.Document(each.id, each.passages[0].text) for each in documents])
            found.append(copy.search("shared", k=99).digest)
        _remove(collection.path / "copy")
    return found[0], found[1]


def _remove(path: Path) -> None:
    import shutil

    shutil.rmtree(path)


def test_nothing_is_erased_from_within_a_search(tmp_path: Path) -> None:
    class Purging(Hashed):
        inside: Callable[[], Any] | None = None

        def embed(self, texts: Any) -> Any:
            if self.inside is not None:
                inside, self.inside = self.inside, None
                inside()
            return super().embed(texts)

    model = Purging()
    with hs.create(tmp_path / "inside.hs", embedder=model) as collection:
        collection.add([hs.Document("a", "shared"), hs.Document("b", "shared")])
        model.inside = lambda: collection.purge(["a"])
        with pytest.raises(hs.CollectionBusy, match="from within a search"):
            collection.search("shared")
        model.inside = lambda: collection.search("b", arms=["lexical"])
        assert len(collection.search("shared")) == 2
