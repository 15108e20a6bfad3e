"""One process at a time; in it, any number of threads and handles, each answer wholly of one commit."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import crash_writer
import pytest

import holdstill as hs
from fakes import Hashed, vector, whole_answer

QUESTIONS = ("shared", "of1 of2", "title3")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with hs.create(tmp_path / "shared.hs", schema=crash_writer.SCHEMA, embedder=Hashed()) as collection:
        for commit in range(1, 6):
            crash_writer.step(collection, commit)
    return tmp_path / "shared.hs"


# -- another process ---------------------------------------------------------------------------------

_HOLDER = """
import sys
import holdstill as hs
with hs.open(sys.argv[1], lock_timeout=20):
    print("open", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def another_process(path: Path) -> Iterator[Callable[[], None]]:
    """Another process that has the collection open; what is given tells it to close."""
    command = [sys.executable, "-c", _HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        stdin = holder.stdin
        assert holder.stdout.readline() == "open\n"

        def close() -> None:
            stdin.write("\n")
            stdin.flush()

        yield close
        stdin.close()
        assert holder.wait(60) == 0


def test_a_busy_collection_says_who_holds_it_and_what_to_do(path: Path) -> None:
    with another_process(path):
        for timeout in (0, 0.3):
            began = time.monotonic()
            with pytest.raises(
                hs.CollectionBusy, match=r"another process \(PID \d+\) has .*shared\.hs open.*close the other one, wait"
            ) as caught:
                hs.open(path, lock_timeout=timeout)
            assert time.monotonic() - began >= timeout
            assert caught.value.field == "lock_timeout"
            assert isinstance(caught.value, TimeoutError)


def test_waiting_ends_when_the_other_process_closes(path: Path) -> None:
    with another_process(path) as close:
        closing = threading.Timer(0.4, close)
        closing.start()
        with hs.open(path, embedder=Hashed(), lock_timeout=60) as collection:
            assert collection.info().commit == 5
            crash_writer.step(collection, 6)
        closing.join()


def test_a_second_handle_of_this_process_does_not_let_another_process_in(path: Path) -> None:
    # Closing any file that is open twice ends a POSIX lock on it, and two writing processes would ruin the database.
    attempt = (
        f"import holdstill as hs\ntry: hs.open({str(path)!r}, lock_timeout=0)\nexcept hs.CollectionBusy: print('busy')"
    )
    with hs.open(path, embedder=Hashed()) as collection:
        hs.open(path).close()
        with pytest.raises(hs.CollectionExists):
            hs.create(path, embedder="none")
        collection.check()
        done = subprocess.run([sys.executable, "-c", attempt], capture_output=True, text=True, check=True)
        assert done.stdout == "busy\n"
        crash_writer.step(collection, 6)


def test_a_closed_handle_lets_another_process_in(path: Path) -> None:
    with hs.open(path, embedder=Hashed()) as collection:
        collection.search("shared")
    with another_process(path):
        pass


# -- threads -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("own_handles", [False, True], ids=["one handle", "a handle each"])
def test_eight_threads_search_while_one_writes(path: Path, own_handles: bool, tmp_path: Path) -> None:
    done = threading.Event()

    def search(question: str, writer: hs.Collection) -> list[hs.Result]:
        results = []
        with hs.open(path, embedder=Hashed()) if own_handles else nullcontext(writer) as collection:
            while not done.is_set():
                results.append(collection.search(question, k=1000))
                results.append(collection.search(where="n >= 0", k=1000, order_by="n desc"))
        return results

    with hs.open(path, embedder=Hashed()) as writer, ThreadPoolExecutor(8) as pool:
        searches = [pool.submit(search, QUESTIONS[thread % 3], writer) for thread in range(8)]
        try:
            for commit in range(6, 22):
                crash_writer.step(writer, commit)
                if commit % 8 == 0:  # a file is lost and rebuilt under the readers
                    min((path / "index").iterdir()).unlink()
                    assert len(writer.check()) == 1 or own_handles  # another handle may have rebuilt it first
        finally:
            done.set()
        results = [result for each in searches for result in each.result()]
    assert_each_is_of_one_commit(results, tmp_path)


def assert_each_is_of_one_commit(results: list[hs.Result], scratch: Path) -> None:
    by_question: dict[tuple[Any, int], list[hs.Result]] = defaultdict(list)
    for result in results:
        by_question[result.understood["text"], result.snapshot["commit"]].append(result)
    for same in by_question.values():
        assert all(result == same[0] for result in same)
    commits = sorted({commit for _, commit in by_question})
    assert len(commits) > 5
    for commit in commits[:: len(commits) // 6]:
        live = crash_writer.after(commit)
        with hs.create(scratch / f"{commit}.hs", schema=crash_writer.SCHEMA, embedder=Hashed()) as fresh:
            fresh.add(live.values())
            for question in QUESTIONS:
                for result in by_question[question, commit][:1]:
                    assert result.hits == fresh.search(question, k=1000).hits
            for result in by_question[None, commit][:1]:
                assert {hit.document: hit.fields["n"] for hit in result} == {
                    id_: document.fields["n"] for id_, document in live.items()
                }


def test_fields_can_be_added_and_written_while_threads_search(path: Path) -> None:
    done = threading.Event()

    def search(collection: hs.Collection) -> int:
        count = 0
        while not done.is_set():
            fields = collection.schema.types()
            result = collection.search("shared", where=" or ".join(f"{name} is not null" for name in fields), k=100)
            assert all(fields.keys() <= hit.fields.keys() for hit in result)
            count += 1
        return count

    with hs.open(path, embedder=Hashed()) as collection, ThreadPoolExecutor(4) as pool:
        searches = [pool.submit(search, collection) for _ in range(4)]
        try:
            for number in range(10):
                collection.add_field(f"extra{number}", "int")
                collection.update(where="n >= 0", fields={f"extra{number}": number})
        finally:
            done.set()
        assert min(each.result() for each in searches) > 0
        assert collection.count("extra0 = 0 and extra9 = 9") == collection.count()


def test_threads_write_one_after_the_other(path: Path) -> None:
    def write(thread: int, collection: hs.Collection) -> list[int]:
        return [collection.add([hs.Document(f"t{thread}-{number}", f"thread {thread}")]).commit for number in range(6)]

    with hs.open(path, embedder=Hashed()) as first, hs.open(path, embedder=Hashed()) as second:
        with ThreadPoolExecutor(4) as pool:
            writes = [pool.submit(write, thread, (first, second)[thread % 2]) for thread in range(4)]
            commits = [commit for each in writes for commit in each.result()]
        assert sorted(commits) == list(range(6, 30))
        assert first.search("thread", k=100).digest == second.search("thread", k=100).digest
        assert len(first.search("thread", arms=["lexical"], k=100)) == 24
        assert first.check() == second.check() == []


def test_two_handles_see_each_others_commits(path: Path) -> None:
    with hs.open(path, embedder=Hashed()) as one, hs.open(path, embedder=Hashed()) as other:
        one.add([hs.Document("new", "unheard")])
        assert other.get("new").passages[0].text == "unheard"
        assert other.search("unheard", arms=["lexical"])[0].document == "new"
        other.delete(["new"])
        assert one.count() == other.count()
        assert len(one.search("unheard", arms=["lexical"])) == 0
        other.add_field("colour", "str")
        one.update("c5-0", fields={"colour": "red"})
        assert other.count("colour = 'red'") == 1
        other.set_policy("colour = principal.colour")
        with pytest.raises(hs.PrincipalRequired):
            one.search("shared")
        one.close()
        assert other.count(operator=True) > 0


def test_thirty_two_concurrent_asearch_calls(path: Path) -> None:
    with hs.open(path, embedder=Hashed()) as collection:
        asked: list[dict[str, Any]] = [
            {"text": QUESTIONS[number % 3], "k": 1 + number, "by": ("passage", "document")[number % 2]}
            for number in range(31)
        ]
        asked.append({"vector": vector("shared"), "where": "n > :least", "params": {"least": 2}})

        async def all_at_once() -> list[hs.Result]:
            return await asyncio.gather(*(collection.asearch(**arguments) for arguments in asked))

        assert asyncio.run(all_at_once()) == [collection.search(**arguments) for arguments in asked]

        async def refused() -> None:
            await collection.asearch("  ")

        with pytest.raises(hs.EmptyQuery):
            asyncio.run(refused())


def test_asearch_leaves_the_event_loop_free(path: Path) -> None:
    class Slow(Hashed):
        def embed(self, texts: Any) -> Any:
            if list(texts) == ["slow"]:
                assert passed.wait(30), "the loop was held up"
            return super().embed(texts)

    passed = threading.Event()

    async def both() -> hs.Result:
        searching = asyncio.create_task(collection.asearch("slow"))
        await asyncio.sleep(0)
        passed.set()
        return await searching

    with hs.open(path, embedder=Slow()) as collection:
        assert len(asyncio.run(both())) > 0


# -- closing -----------------------------------------------------------------------------------------

CALLS: dict[str, Callable[[hs.Collection], object]] = {
    "search": lambda collection: collection.search("shared"),
    "get": lambda collection: collection.get("c5-0"),
    "count": lambda collection: collection.count(),
    "info": lambda collection: collection.info(),
    "schema": lambda collection: collection.schema,
    "policy": lambda collection: collection.policy(),
    "add": lambda collection: collection.add([hs.Document("a", "a")]),
    "delete": lambda collection: collection.delete(["c5-0"]),
    "update": lambda collection: collection.update("c5-0", fields={"n": 1}),
    "add_field": lambda collection: collection.add_field("m", "int"),
    "set_policy": lambda collection: collection.set_policy("true"),
    "check": lambda collection: collection.check(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_closed_handle_says_so(path: Path, call: str) -> None:
    collection = hs.open(path)
    collection.close()
    collection.close()
    with pytest.raises(hs.CollectionClosed, match=r"shared\.hs was closed\. Open it again"):
        CALLS[call](collection)
    with hs.open(path, embedder=Hashed()) as again:
        assert again.info().commit == 5
        CALLS[call](again)


def test_closing_under_the_hands_of_others_ends_them_with_a_clear_error(path: Path) -> None:
    with hs.open(path, embedder=Hashed()) as collection:
        whole = whole_answer(collection, "shared")

    def search(collection: hs.Collection, started: threading.Event) -> None:
        while True:
            assert whole_answer(collection, "shared") == whole
            started.set()

    for _ in range(3):
        collection = hs.open(path, embedder=Hashed())
        with ThreadPoolExecutor(4) as pool:
            started = [threading.Event() for _ in range(4)]
            searches = [pool.submit(search, collection, event) for event in started]
            for event in started:
                event.wait(30)
            collection.close()
            for each in searches:
                assert isinstance(each.exception(30), hs.CollectionClosed)
    with another_process(path):
        pass
