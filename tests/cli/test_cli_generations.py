"""`rebuild`, `generations`, `activate`, `drop-generation`."""

from __future__ import annotations

import re
import signal

import pytest

import holdstill as hs
from holdstill.analysis import analyser
from holdstill.stores.duckdb.store import DuckDBStore


@pytest.fixture
def rebuilt(ask, people):
    """The four people, read as English since commit 2, which is the first one of generation 2."""
    ask("rebuild", people, "--analyser", "english")
    return people


def listed(ask, path):
    return {each["generation"]: each for each in ask("generations", path)["generations"]}


def hits(ask, path, text, *words):
    return [hit["document"] for hit in ask("search", path, text, *words)["hits"]]


def test_rebuild_switches_to_a_new_generation(run, ask, people):
    assert hits(ask, people, "developing") == []
    report = ask("rebuild", people, "--analyser", "english")
    assert report == {"generation": 2, "commit": 2, "documents": 4, "passages": 4, "resumed": False}
    assert hits(ask, people, "developing") == ["bo"]
    assert hits(ask, people, "developing", "--at", "1") == []
    assert ask("search", people, "x", "--at", "1")["versions"]["analyser"] == "simple-1"
    assert run("rebuild", people, "--analyser", "simple").stdout.splitlines() == [
        "generation 3 is active (commit 3)",
        "built 4 documents, 4 passages",
    ]
    assert [each["kind"] for each in ask("history", people)["commits"]] == ["add", "rebuild", "rebuild"]


def test_what_is_not_said_stays(ask, rebuilt):
    ask("rebuild", rebuilt)
    about = ask("info", rebuilt)
    assert (about["generation"], about["analyser"]) == (3, analyser("english").identity)
    assert about["embedder"] == "none"


@pytest.mark.model
def test_rebuild_with_vectors(run, ask, people):
    ask("rebuild", people, "--embedder", "minilm")
    assert ask("info", people)["dimensions"] == 384
    assert [arm["arm"] for arm in ask("search", people, "engineer")["arms"]] == ["lexical", "dense"]
    assert [arm["arm"] for arm in ask("search", people, "engineer", "--at", "1")["arms"]] == ["lexical"]
    assert (
        "generation 2 (active): analyser simple-1; embedder minilm, 384 dimensions" in run("generations", people).stdout
    )


def test_generations_are_listed(run, ask, rebuilt, write):
    ask("add", rebuilt, write("more.jsonl", [{"id": "ed", "text": "Backend."}]))
    first, second = listed(ask, rebuilt).values()
    assert (first["active"], first["complete"], first["missing"], first["commits"]) == (False, True, 1, 1)
    assert (second["active"], second["complete"], second["missing"], second["commits"]) == (True, True, 0, 2)
    assert (second["analyser"], second["embedder"], second["passages"]) == (analyser("english").identity, "none", 5)
    lines = run("generations", rebuilt).stdout.splitlines()
    assert lines[0] == "generation 1: analyser simple-1; embedder none"
    assert re.fullmatch(r"  4 passages; lacks 1 of the documents; 1 commit; index [0-9.]+ MB", lines[1])
    assert lines[2] == f"generation 2 (active): analyser {analyser('english').identity}; embedder none"
    assert re.fullmatch(r"  5 passages; 2 commits; index [0-9.]+ MB", lines[3])


def test_activate_brings_what_was_added_since(run, ask, fault, rebuilt, write):
    ask("add", rebuilt, write("more.jsonl", [{"id": "ed", "text": "Developer."}]))
    assert sorted(hits(ask, rebuilt, "developing")) == ["bo", "ed"]
    assert ask("activate", rebuilt, 1) == {
        "generation": 1, "commit": 4, "documents": 1, "passages": 1, "resumed": False,
    }  # fmt: skip
    assert hits(ask, rebuilt, "developing") == []
    assert sorted(hits(ask, rebuilt, "developer")) == ["bo", "ed"]
    assert sorted(hits(ask, rebuilt, "developing", "--at", "3")) == ["bo", "ed"]
    assert fault("activate", rebuilt, 1)["message"] == "generation 1 is active already"
    missing = fault("activate", rebuilt, 9)
    assert (missing["type"], missing["got"]) == ("GenerationNotFound", "9 (int)")
    assert run("activate", rebuilt, 2).stdout.startswith("generation 2 is active (commit 5)\n")
    assert fault("activate", rebuilt, "two")["field"] == "number"


def test_drop_generation_erases_one_with_its_commits(run, ask, fault, rebuilt):
    ask("tag", rebuilt, "v1", "1")
    assert "have tags: v1" in fault("drop-generation", rebuilt, 1)["message"]
    assert "is active" in fault("drop-generation", rebuilt, 2)["message"]
    assert fault("drop-generation", rebuilt, 3)["type"] == "GenerationNotFound"
    ask("tag", rebuilt, "--delete", "v1")
    dropped, sizes = run("drop-generation", rebuilt, 1).stdout.splitlines()
    assert dropped == "pruned 1 commit; erased 0 versions of documents"
    assert sizes.endswith("MB now")
    assert list(listed(ask, rebuilt)) == [2]
    assert fault("search", rebuilt, "x", "--at", "1")["type"] == "SnapshotPruned"
    assert hits(ask, rebuilt, "developing") == ["bo"]


@pytest.fixture
def _restored():
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("_restored")
def test_a_rebuild_that_is_interrupted_is_carried_on(run, ask, fault, people, monkeypatch):
    monkeypatch.setattr("holdstill.rebuilding._BATCH_OF_WORDS", 3)
    extend = DuckDBStore.extend

    def pressed(store, *arguments):
        extend(store, *arguments)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as during:
        during.setattr(DuckDBStore, "extend", pressed)
        error = fault("rebuild", people, "--analyser", "english", code=1)
    assert error["type"] == "Interrupted"
    assert error["message"] == (
        "interrupted: what was built is kept, and the same command carries it on; nothing else was changed"
    )
    assert ask("info", people)["generation"] == 1
    begun = listed(ask, people)[2]
    assert (begun["complete"], begun["passages"], begun["missing"]) == (False, 3, 1)
    shown = run("generations", people).stdout.splitlines()[2:]
    assert shown[0].startswith("generation 2 (unfinished): ")
    assert shown[1].startswith("  3 passages; lacks 1 of the documents; index ")
    assert run("rebuild", people, "--analyser", "english").stdout.splitlines() == [
        "generation 2 is active (commit 2)",
        "built 1 document, 1 passage; the rest was built before",
    ]
    assert hits(ask, people, "developing") == ["bo"]


def test_a_pipe_sees_no_progress(run, people):
    done = run("rebuild", people, "--analyser", "english")
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_progress_is_told_from_the_first_moment(people):
    told = []
    with hs.open(people) as collection:
        collection.rebuild(progress=lambda *what: told.append(what))
    assert [each for each in told if each[0] == "rebuilding"] == [("rebuilding", 0, 4), ("rebuilding", 4, 4)]
    assert told[0] == ("rebuilding", 0, 4)
