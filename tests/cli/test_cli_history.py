"""`history`, `tag`, `diff`, `prune`, `purge`, and `--at`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from holdstill.cli.failures import Interrupted
from holdstill.cli.interrupts import operating
from holdstill.cli.terminal import print_table

EARLY = "2020-01-01T00:00:00Z"


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def past(ask, people, write):
    """The four people, of whom one is changed (commit 2), one is deleted (3); and one is new (4)."""
    ask("update", people, "ana", "--set", "years_exp=8")
    ask("delete", people, "bo")
    ask("add", people, write("more.jsonl", [{"id": "ed", "text": "Backend, payments."}]))
    return people


def commits(ask, path):
    return ask("history", path)["commits"]


def found(ask, path, *words):
    return {hit["document"] for hit in ask("search", path, "--where", "true", *words)["hits"]}


# -- history, tags, differences --------------------------------------------------------------------


def test_history_lists_every_commit_with_its_changes(run, ask, past):
    listed = commits(ask, past)
    assert [(each["commit"], each["kind"], each["added"], each["replaced"], each["removed"]) for each in listed] == [
        (1, "add", 4, 0, 0),
        (2, "update", 0, 1, 0),
        (3, "delete", 0, 0, 1),
        (4, "add", 1, 0, 0),
    ]
    first = listed[0]
    assert (first["generation"], first["tags"], first["pruned"]) == (1, [], False)
    assert datetime.fromisoformat(first["committed"]).tzinfo is not None
    assert first["committed"].endswith("Z")

    rows = [line.split() for line in run("history", past).stdout.splitlines()]
    assert [(row[0], row[3], *row[5:]) for row in rows[1:]] == [
        ("4", "add", "+1"),
        ("3", "delete", "-1"),
        ("2", "update", "~1"),
        ("1", "add", "+4"),
    ]


def test_history_says_what_it_leaves_out(run, fault, past):
    shown = run("history", past, "--limit", "3").stdout.splitlines()
    assert [line.split()[0] for line in shown[1:]] == ["4", "3", "2", "and"]
    assert shown[-1] == "and 1 earlier; --limit 4 shows all"
    assert "earlier" not in run("history", past, "--limit", "4").stdout
    assert fault("history", past, "--limit", "0")["field"] == "limit"


def test_a_collection_without_a_commit_has_no_history(run, ask, fault, tmp_path):
    ask("init", tmp_path / "c.hs", "--embedder", "none")
    assert run("history", tmp_path / "c.hs").stdout == "no commits yet: nothing was written\n"
    assert commits(ask, tmp_path / "c.hs") == []
    assert fault("tag", tmp_path / "c.hs", "first")["type"] == "SnapshotNotFound"


def test_history_fits_a_narrow_terminal(run, ask, past, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ask("tag", past, "release-2026.11", "1")
    ask("prune", past, "--keep-last", "1")
    lines = run("history", past).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[5:] for line in lines[1:]] == [
        ["+1"],
        ["-1", "pruned"],
        ["~1", "pruned"],
        ["+4", "release-2026.11"],
    ]


def test_rows_of_a_table_can_be_dim():
    page = Console(force_terminal=True, color_system="standard", width=80, _environ={"TERM": "xterm"})
    with page.capture() as captured:
        print_table(page, ["commit"], [["2"], ["1"]], ["", "dim"])
    plain, dim = captured.get().splitlines()[1:]
    assert "\x1b" not in plain
    assert dim.startswith("\x1b[2m1")


def test_tags_name_a_commit_and_move(run, ask, fault, past):
    assert ask("tag", past, "v1", "1") == {"tag": "v1", "commit": 1, "deleted": False}
    assert run("tag", past, "now").stdout == "commit 4 is called now\n"
    assert [each["tags"] for each in commits(ask, past)] == [["v1"], [], [], ["now"]]
    assert run("history", past).stdout.splitlines()[-1].split()[-1] == "v1"
    assert ask("tag", past, "v1", "now")["commit"] == 4
    assert run("tag", past, "--delete", "v1").stdout == "commit 4 is no longer called v1\n"
    assert [each["tags"] for each in commits(ask, past)] == [[], [], [], ["now"]]
    missing = fault("tag", past, "--delete", "v1")
    assert (missing["type"], missing["got"]) == ("SnapshotNotFound", "'v1' (str)")
    assert fault("tag", past, "1.0")["type"] == "InvalidInput"
    assert fault("tag", past, "v2", "99")["type"] == "SnapshotNotFound"
    assert "takes the name alone" in fault("tag", past, "now", "1", "--delete")["message"]


def test_diff_says_what_differs(run, ask, fault, past):
    ask("tag", past, "v1", "1")
    assert ask("diff", past, "v1") == {
        "first": 1,
        "second": 4,
        "added": ["ed"],
        "removed": ["bo"],
        "changed": [{"id": "ana", "text": False, "fields": ["years_exp"], "metadata": False}],
    }
    assert run("diff", past, "v1").stdout.splitlines() == [
        "from commit 1 to 4: 1 added, 1 removed, 1 changed",
        "+ ed",
        "- bo",
        "~ ana  field years_exp",
    ]
    assert run("diff", past, "3", "1").stdout.splitlines()[:2] == [
        "from commit 3 to 1: 1 added, 0 removed, 1 changed",
        "+ bo",
    ]
    assert run("diff", past, "4", "4").stdout == "from commit 4 to 4: 0 added, 0 removed, 0 changed\n"
    assert fault("diff", past, "nowhere")["type"] == "SnapshotNotFound"


def test_diff_names_all_that_changed_in_a_document(run, ask, past, write):
    new = {"id": "cy", "text": "Moved on.", "metadata": {"years_exp": 1, "location": "Oslo", "pets": "two"}}
    ask("add", past, write("changed.jsonl", [new]))
    assert run("diff", past, "4").stdout.splitlines()[1:] == ["~ cy  text; fields years_exp, location, hired; metadata"]


def test_a_long_diff_is_cut_and_says_so(run, ask, past, write):
    ask("add", past, write("many.jsonl", [{"id": f"n{n:02}", "text": "new"} for n in range(23)]))
    lines = run("diff", past, "4").stdout.splitlines()
    assert lines[0].endswith("23 added, 0 removed, 0 changed")
    assert lines[1:21] == [f"+ n{n:02}" for n in range(20)]
    assert lines[21:] == ["  and 3 more added; --json lists all"]
    assert len(ask("diff", past, "4")["added"]) == 23


# -- as of -----------------------------------------------------------------------------------------


def test_a_search_of_the_past_says_so(run, ask, past):
    ask("tag", past, "v1", "1")
    assert found(ask, past) == {"ana", "cy", "di", "ed"}
    for at in ("1", "v1"):
        assert found(ask, past, "--at", at) == {"ana", "bo", "cy", "di"}
        answer = run("search", past, "backend", "--at", at, "--explain").stdout
        assert "; as of commit 1 of 4\n" in answer
        assert "\nsnapshot:  commit 1 of 4, generation 1\n" in answer
    assert ask("search", past, "backend", "--at", "1")["snapshot"] == {"generation": 1, "commit": 1, "seen_at": 4}
    for words in ([], ["--at", "4"]):
        answer = run("search", past, "backend", "--explain", *words).stdout
        assert "as of" not in answer
        assert "snapshot" not in answer


def test_a_time_is_the_newest_commit_made_by_then(ask, fault, past):
    second = commits(ask, past)[1]["committed"]
    assert found(ask, past, "--at", second) == {"ana", "bo", "cy", "di"}
    assert ask("show", past, "ana", "--at", second)["fields"]["years_exp"] == 8
    assert found(ask, past, "--at", EARLY) == set()
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert fault("search", past, "backend", "--at", tomorrow)["type"] == "SnapshotNotFound"
    unzoned = fault("search", past, "backend", "--at", "2026-11-01T00:00:00")
    assert (unzoned["type"], unzoned["field"]) == ("InvalidQuery", "at")
    assert "a time with its zone" in unzoned["expected"]


def test_show_and_info_of_the_past(run, ask, fault, past):
    assert fault("show", past, "bo")["type"] == "NotFound"
    assert ask("show", past, "bo", "--at", "2")["title"] == "Bo Lind"
    assert "\nas of commit 2\n" in run("show", past, "bo#0", "--at", "2").stdout
    ask("tag", past, "v1", "1")
    assert "\nas of v1\n" in run("show", past, "bo", "--at", "v1").stdout
    assert fault("show", past, "ed", "--at", "2")["type"] == "NotFound"
    ask("delete", past, "cy", "di")
    assert [ask("info", past, "--at", at)["documents"] for at in ("0", "1", "3", "5")] == [0, 4, 3, 2]
    lines = run("info", past, "--at", "v1").stdout.splitlines()
    assert "commit      1 (as of v1)" in lines
    assert "commit      1" in run("info", past, "--at", "1").stdout.splitlines()


@pytest.mark.parametrize("command", [["search", "x"], ["show", "ana"], ["info"]])
def test_a_snapshot_that_is_not_there_is_bad_input(run, ask, fault, past, command):
    name, *words = command
    ask("prune", past, "--keep-last", "1")
    for at, kind in (("2", "SnapshotPruned"), ("9", "SnapshotNotFound"), ("v9", "SnapshotNotFound")):
        assert fault(name, past, *words, "--at", at)["type"] == kind
    assert "(AT)" in run(name, past, *words, "--at", "2").stderr


def test_history_is_for_the_operator(ask, fault, past, principal, tmp_path):
    rule = tmp_path / "rule"
    rule.write_text("location = principal.place", encoding="utf-8")
    ask("policy", "set", past, rule)
    who = ["--as", principal(place="Berlin")]
    for words in (
        ["history"], ["tag", "x"], ["tag", "x", "--delete"], ["diff", "1"], ["prune", "--keep-last", "1"],
        ["purge", "ana", "--yes"], ["generations"], ["rebuild"], ["activate", "1"], ["drop-generation", "1"],
    ):  # fmt: skip
        name, *rest = words
        assert fault(name, past, *rest, *who)["type"] == "OperatorRequired"
        assert fault(name, past, *rest)["type"] == "OperatorRequired"
    assert len(ask("history", past, "--operator")["commits"]) == 4
    assert ask("search", past, "--where", "true", "--at", "1", *who)["returned"] == 2
    ask("update", past, "ana", "--set", "location=Lagos", "--operator")
    assert found(ask, past, "--at", "1", *who) == {
        "cy"
    }  # what is no longer Ana's place is not shown of the past either


# -- prune -----------------------------------------------------------------------------------------


def test_prune_erases_what_only_old_commits_see(run, ask, fault, past):
    ask("tag", past, "v2", "2")
    report = ask("prune", past, "--keep-last", "1")
    assert (report["commits"], report["versions"]) == (2, 1)  # Ana before the update; Bo is still at v2
    assert [each["pruned"] for each in commits(ask, past)] == [True, False, True, False]
    assert found(ask, past, "--at", "v2") == {"ana", "bo", "cy", "di"}
    ask("tag", past, "--delete", "v2")
    assert run("prune", past, "--keep-last", "1").stdout.startswith("pruned 1 commit; erased 1 version of documents\n")
    assert fault("search", past, "x", "--at", "2")["type"] == "SnapshotPruned"


def test_prune_says_what_it_kept_and_freed(run, ask, past):
    ask("tag", past, "v1", "1")
    assert run("prune", past, "--keep-last", "2").stdout.splitlines() == [
        "pruned 1 commit; erased 0 versions of documents",
        "tags keep their commits: v1",
    ]
    ask("tag", past, "--delete", "v1")
    last, sizes = run("prune", past, "--keep-last", "1").stdout.splitlines()
    assert last == "pruned 2 commits; erased 2 versions of documents"
    assert re.fullmatch(r"[0-9.]+ MB before, [0-9.]+ MB now", sizes)


def test_many_tags_are_not_all_listed(run, ask, past):
    for n in range(12):
        ask("tag", past, f"v{n:02}")
    kept = run("prune", past, "--keep-last", "1").stdout.splitlines()[-1]
    assert kept == "tags keep their commits: " + ", ".join(f"v{n:02}" for n in range(10)) + ", and 2 more"


def test_prune_before_a_time(ask, fault, past):
    moment = commits(ask, past)[2]["committed"]
    assert ask("prune", past, "--before", EARLY)["commits"] == 0
    assert ask("prune", past, "--before", moment)["commits"] == 2
    assert [each["pruned"] for each in commits(ask, past)] == [True, True, False, False]
    for words in ([], ["--keep-last", "1", "--before", EARLY], ["--keep-last", "0"], ["--before", "soon"]):
        assert fault("prune", past, *words)["type"] == "InvalidQuery"


# -- purge -----------------------------------------------------------------------------------------


def test_purge_erases_from_all_of_history(run, ask, fault, past):
    assert ask("purge", past, "bo", "nobody", "--yes", code=2) == {
        "purged": 1,
        "missing": ["nobody"],
        "commit": 5,
        "snapshots": 2,
        "searches": 0,
    }
    assert fault("show", past, "bo", "--at", "1")["type"] == "NotFound"
    assert found(ask, past, "--at", "1") == {"ana", "cy", "di"}
    result = run("purge", past, "ana", "nobody", "--yes")
    assert result.exit_code == 2
    assert result.stdout.splitlines() == [
        "purged 1 document (commit 6)",
        "gone from 5 snapshots, searched without it now",
        "gone from the hits of 1 of the recorded searches",
        "not reached: exports, backups and copies of the collection",
        "never there: 'nobody'",
    ]
    assert ask("purge", past, "--where", "location = 'Berlin'", "--yes")["purged"] == 1
    assert commits(ask, past)[-1]["kind"] == "purge"


@pytest.mark.parametrize("words", [[], ["ana", "--where", "true"]])
def test_purge_has_to_be_told_what(fault, past, words):
    assert fault("purge", past, *words, "--yes")["field"] == "ids"


def test_purge_does_not_ask_a_pipe(ask, fault, past):
    error = fault("purge", past, "ana")
    assert (error["type"], error["message"]) == (
        "UsageError", "purge cannot be undone, and there is no terminal to ask on: say --yes",
    )  # fmt: skip
    assert ask("show", past, "ana")["id"] == "ana"


def on_a_terminal(answer, *words):
    """What a command does whose standard input is a terminal at which somebody types an answer."""
    pty = pytest.importorskip("pty")
    typing, terminal = pty.openpty()
    try:
        os.write(typing, answer.encode() + b"\n")
        return subprocess.run(
            [sys.executable, "-m", "holdstill.cli", *map(str, words)],
            stdin=terminal, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(typing)
        os.close(terminal)


def test_purge_asks_on_a_terminal_first(ask, past):
    no = on_a_terminal("n", "purge", past, "ana")
    assert (no.returncode, no.stdout) == (1, "")
    assert "Erase 1 document from all of history? This cannot be undone. [y/N]: " in no.stderr
    assert no.stderr.endswith("error: not confirmed: nothing was erased\n")
    assert ask("show", past, "ana")["id"] == "ana"
    yes = on_a_terminal("y", "purge", past, "--where", "location = 'Berlin'")
    assert yes.returncode == 0
    assert "Erase 2 documents from all" in yes.stderr
    assert yes.stdout.startswith("purged 2 documents (commit 5)\n")
    nothing = on_a_terminal("", "purge", past, "--where", "location = 'Berlin'")
    assert (nothing.stdout, nothing.stderr) == ("purged 0 documents (commit 5)\n", "")
    unsaid = on_a_terminal("y", "purge", past)
    assert unsaid.returncode == 2
    assert "Erase" not in unsaid.stderr


# -- Ctrl-C ----------------------------------------------------------------------------------------


@pytest.fixture
def _restored():
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("_restored")
def test_an_interrupt_before_anything_was_done_says_so(past):
    with pytest.raises(Interrupted, match=r"^interrupted: nothing was erased$"), operating(past, "nothing was erased"):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize(
    "call",
    [lambda handle: handle.prune(keep_last=1), lambda handle: handle.purge("ana"), lambda handle: handle.rebuild()],
    ids=["prune", "purge", "rebuild"],
)
def test_an_interrupt_after_it_was_done_says_so(past, call):
    def done():
        with operating(past, "nothing was erased") as handle:
            call(handle)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted, match=r"^interrupted, but it was done already$"):
        done()
