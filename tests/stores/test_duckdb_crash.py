"""kill -9 and Ctrl-C at random moments: every acknowledged commit is there whole, and no half one."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import crash_writer
import pytest

import holdstill as hs
from fakes import Hashed, vector, whole_answer
from holdstill.analysis import lexical_text

Start = Callable[..., BaseProcess]
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no SIGKILL, and cannot delete mapped files"
)


@pytest.fixture(scope="module")
def start() -> Start:
    """Starts a process from one that has imported everything, so that a round costs no more than its work."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["holdstill.stores.duckdb.store", "fakes", "crash_writer"])

    def begin(target: Callable[..., None], *arguments: Path) -> BaseProcess:
        process = context.Process(target=target, args=arguments)
        process.start()
        return process

    return begin


def wait_for(log: Path, line: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if log.exists() and line in log.read_text().split():
            return
        time.sleep(0.005)
    raise AssertionError(f"{line!r} never came")


def acknowledged(log: Path) -> int:
    return max([int(line) for line in log.read_text().split("\n")[:-1] if line.isdigit()], default=0)


def check_whole(path: Path, commit: int, scratch: Path) -> None:
    """Documents, postings and vectors are those of a collection that was never interrupted."""
    expected = crash_writer.after(commit)
    with (
        hs.open(path, embedder=Hashed(), lock_timeout=30) as collection,
        hs.create(scratch, schema=crash_writer.SCHEMA, embedder=Hashed()) as fresh,
    ):
        fresh.add(expected.values())
        assert collection.count() == fresh.count() == len(expected)
        questions = ["shared", *(f"of{number}" for number in range(max(1, commit - 3), commit + 1))]
        assert whole_answer(collection, *questions) == whole_answer(fresh, *questions)
        for document in list(expected.values())[-6:]:
            check_document(collection, document)
        assert collection.check() == []
        listed = {entry.name for entry in collection._store._loader.index(1)[0]}  # type: ignore[attr-defined]
        assert {file.name for file in (path / "index").iterdir()} == listed


def check_document(collection: hs.Collection, document: hs.Document) -> None:
    stored = collection.get(document.id)
    assert [passage.text for passage in stored.passages] == [passage.text for passage in document.passages]
    assert (stored.title, stored.fields["n"]) == (document.title, document.fields["n"])
    for ordinal, passage in enumerate(document.passages):
        place = f"{document.id}#{ordinal}"
        assert [hit.id for hit in collection.search(must=passage.text.split()[2:])] == [place]
        near = vector(lexical_text(document.title, passage.headings, passage.text))
        assert collection.search(vector=near, k=1)[0].id == place


def kill_and_check(start: Start, folder: Path, rounds: int) -> None:
    path, chance = folder / "crash.hs", random.Random(20)
    hs.create(path, schema=crash_writer.SCHEMA, embedder=Hashed()).close()
    known = 0
    for number in range(rounds):
        log = folder / f"log-{number}"
        log.touch()
        writer = start(crash_writer.write_until_killed, path, log)
        if chance.random() < 0.8:  # else it is killed on its way to the first commit
            wait_for(log, "open")
        time.sleep(chance.random() * 0.4)
        writer.kill()
        writer.join()
        assert writer.exitcode == -signal.SIGKILL
        known = max(known, acknowledged(log))
        with hs.open(path) as collection:
            commit = collection.info().commit
        assert known <= commit <= known + 1, "an acknowledged commit is gone, or one came from nowhere"
        check_whole(path, commit, folder / f"fresh-{number}.hs")
        known = commit
    assert known > rounds, "the writers were killed before they wrote anything"


def test_a_killed_writer_loses_no_acknowledged_commit_and_leaves_no_half_one(start: Start, tmp_path: Path) -> None:
    kill_and_check(start, tmp_path, rounds=12)


@pytest.mark.heavy
def test_a_hundred_killed_writers(start: Start, tmp_path: Path) -> None:
    kill_and_check(start, tmp_path, rounds=100)


def test_ctrl_c_ends_one_commit_and_the_handle_stays_usable(start: Start, tmp_path: Path) -> None:
    path, log, enough, chance = tmp_path / "crash.hs", tmp_path / "log", tmp_path / "enough", random.Random(21)
    hs.create(path, schema=crash_writer.SCHEMA, embedder=Hashed()).close()
    writer = start(crash_writer.write_through_interrupts, path, log, enough)
    wait_for(log, "open")
    for _ in range(15):
        time.sleep(0.02 + chance.random() * 0.15)
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGINT)
    deadline = time.monotonic() + 60
    while acknowledged(log) <= 10 and time.monotonic() < deadline:
        time.sleep(0.05)
    enough.touch()
    writer.join(60)
    assert writer.exitcode == 0, "something other than KeyboardInterrupt was raised"
    assert log.read_text().split().count("interrupted") >= 10
    with hs.open(path) as collection:
        commit = collection.info().commit
    assert commit >= acknowledged(log) > 10
    check_whole(path, commit, tmp_path / "fresh.hs")
