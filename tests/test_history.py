"""Commits and what each did, their times and names, and what is different between two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdstill as hs
from fakes import whole_answer
from holdstill.reports import Changed, Diff
from holdstill.stores.duckdb import database, rows

SCHEMA = {"n": "int", "tags": "str[]"}


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[hs.Collection]:
    with hs.create(tmp_path / "history.hs", schema=SCHEMA, embedder="none") as collection:
        yield collection


@pytest.fixture
def collection(empty: hs.Collection) -> hs.Collection:
    """Of every kind of change one, in this order."""
    empty.add([hs.Document(id_, f"red {id_}", fields={"n": number}) for number, id_ in enumerate("abcd")])
    empty.add([hs.Document("a", "red a", fields={"n": 0}), hs.Document("b", "blue b"), hs.Document("e", "red e")])
    empty.update(where="n >= 2", fields={"n": 7})
    empty.delete(["c", "nobody"])
    empty.add_field("late", "str")
    empty.rebuild(analyser="english")
    empty.activate(1)
    return empty


def said(collection: hs.Collection) -> list[tuple[Any, ...]]:
    return [
        (each.commit, each.kind, each.generation, each.added, each.replaced, each.removed)
        for each in collection.history()
    ]


# -- commits -----------------------------------------------------------------------------------------


def test_every_change_is_a_commit_that_says_what_it_did(collection: hs.Collection) -> None:
    assert said(collection) == [
        (1, "add", 1, 4, 0, 0),
        (2, "add", 1, 1, 1, 0),
        (3, "update", 1, 0, 2, 0),
        (4, "delete", 1, 0, 0, 1),
        (5, "schema", 1, 0, 0, 0),
        (6, "rebuild", 2, 0, 0, 0),
        (7, "activate", 1, 0, 0, 0),
    ]
    assert collection.info().commit == 7
    for each in collection.history():
        assert (each.tags, each.pruned) == ((), False)
        assert collection.info(at=each.commit).commit == each.commit
        assert collection.count(at=each.commit) == sum(
            earlier.added - earlier.removed for earlier in collection.history()[: each.commit]
        )


def test_what_changes_nothing_is_no_commit(collection: hs.Collection) -> None:
    before = collection.history()
    collection.add([hs.Document("a", "red a", fields={"n": 0})])
    collection.add([])
    collection.add([hs.Document("x", "red", fields={"n": "five"})])
    collection.update("a", fields={"n": 0})
    collection.update("nobody", fields={"n": 0})
    collection.delete(["nobody"])
    collection.delete(where="n = 99")
    collection.tag("here")
    collection.untag("here")
    collection.search("red", at=1)
    collection.check()
    collection.set_policy("n = principal.n")
    assert collection.history(operator=True) == before


def test_a_collection_without_commits(empty: hs.Collection) -> None:
    assert empty.history() == []
    assert (empty.info().commit, empty.count(at=0)) == (0, 0)
    assert empty.diff(0) == Diff(0, 0, (), (), ())
    with pytest.raises(hs.SnapshotNotFound, match=r"there is no commit 1; expected a commit from 0 to 0"):
        empty.count(at=1)
    with pytest.raises(hs.SnapshotNotFound, match="no commit to name yet"):
        empty.tag("v1")
    empty.add([hs.Document("a", "red")])
    assert (empty.count(at=0), len(empty.search("red", at=0)), len(empty.search("red", at=1))) == (0, 0, 1)
    with pytest.raises(hs.NotFound):
        empty.get("a", at=0)


@pytest.mark.parametrize("at", [8, -1, 10**30, "8", "9" * 18])
def test_a_commit_that_is_not_there(collection: hs.Collection, at: int | str) -> None:
    calls = (
        lambda: collection.search("red", at=at), lambda: collection.get("a", at=at), lambda: collection.count(at=at),
        lambda: collection.info(at=at), lambda: collection.tag("x", at), lambda: collection.diff(at),
        lambda: collection.diff(1, at),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(hs.SnapshotNotFound, match=rf"there is no commit {int(at)}; expected .* 0 to 7, the newest"):
            call()
    assert all(each.tags == () for each in collection.history())


def test_the_history_outlives_the_handle(collection: hs.Collection) -> None:
    collection.tag("v1", 3)
    before = collection.history(), [whole_answer(collection, "red", at=at) for at in range(1, 8)]
    collection.close()
    with hs.open(collection.path) as again:
        assert (again.history(), [whole_answer(again, "red", at=at) for at in range(1, 8)]) == before


# -- times -------------------------------------------------------------------------------------------


class Clock(datetime):
    """What the store takes for the time of day."""

    times: list[datetime]

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls.times.pop(0)


def test_times_never_go_back_when_the_clock_does(empty: hs.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    noon = datetime(2024, 11, 1, 12, tzinfo=UTC)
    Clock.times = [noon + timedelta(hours=hours) for hours in (0, 2, -5, 1, 3)]
    monkeypatch.setattr(rows, "datetime", Clock)
    for number in range(5):
        empty.add([hs.Document(f"{number}", "red")])
    assert [each.committed - noon for each in empty.history()] == [timedelta(hours=hours) for hours in (0, 2, 2, 2, 3)]
    for hours, documents in ((-1, 0), (0, 1), (1.9, 1), (2, 4), (2.9, 4), (3, 5), (99, 5)):
        assert empty.count(at=noon + timedelta(hours=hours)) == documents
    assert empty.count(at="2024-11-01T14:30:00+02:00") == 1


def test_times_are_utc(empty: hs.Collection) -> None:
    before = datetime.now(UTC)
    empty.add([hs.Document("a", "red")])
    (commit,) = empty.history()
    assert before <= commit.committed <= datetime.now(UTC)
    assert commit.committed.tzinfo is UTC
    assert commit.as_dict()["committed"].endswith("Z")
    assert empty.count(at=commit.as_dict()["committed"]) == 1
    assert empty.count(at=commit.committed - timedelta(microseconds=1)) == 0


# -- tags --------------------------------------------------------------------------------------------


def tags(collection: hs.Collection) -> dict[int, tuple[str, ...]]:
    return {each.commit: each.tags for each in collection.history() if each.tags}


def test_a_tag_names_a_commit_moves_and_is_taken_away(collection: hs.Collection) -> None:
    assert collection.tag("newest") == 7
    assert collection.tag("v1", 2) == collection.tag("again", "v1") == collection.tag("also", "2") == 2
    assert tags(collection) == {2: ("again", "also", "v1"), 7: ("newest",)}
    assert whole_answer(collection, "red", at="v1") == whole_answer(collection, "red", at=2)
    assert collection.tag("v1", 4) == 4
    assert tags(collection) == {2: ("again", "also"), 4: ("v1",), 7: ("newest",)}
    assert collection.search("red", at="v1").snapshot["commit"] == 4
    assert collection.tag("newest", collection.history()[0].committed) == 1
    assert collection.untag("again") == 2
    assert tags(collection) == {1: ("newest",), 2: ("also",), 4: ("v1",)}
    for gone in ("again", "never"):
        with pytest.raises(hs.SnapshotNotFound, match=f"no commit has this tag.*'{gone}'"):
            collection.untag(gone)
        with pytest.raises(hs.SnapshotNotFound):
            collection.search("red", at=gone)
    collection.add([hs.Document("f", "red f")])
    assert tags(collection) == {1: ("newest",), 2: ("also",), 4: ("v1",)}, "a tag stays where it was put"


@pytest.mark.parametrize("name", ["", "7", "2024-11-01", "a b", "a" * 101, None, 7])
def test_a_bad_name_changes_nothing(collection: hs.Collection, name: Any) -> None:
    collection.tag("v1", 3)
    for call in (lambda: collection.tag(name), lambda: collection.tag(name, 2), lambda: collection.untag(name)):
        with pytest.raises(hs.InvalidInput) as caught:
            call()
        assert caught.value.field == "tag"
    assert tags(collection) == {3: ("v1",)}


def test_commit_0_has_no_name(collection: hs.Collection) -> None:
    """There is nothing to keep; a prune never takes it."""
    with pytest.raises(hs.SnapshotNotFound):
        collection.tag("nothing", 0)
    assert tags(collection) == {}


# -- differences -------------------------------------------------------------------------------------


def test_a_diff_says_what_is_different_both_ways(collection: hs.Collection) -> None:
    b, c, d = (
        Changed("b", True, ("n",), False),
        Changed("c", False, ("n",), False),
        Changed("d", False, ("n",), False),
    )
    assert collection.diff(1, 2) == Diff(1, 2, ("e",), (), (b,))
    assert collection.diff(2, 1) == Diff(2, 1, (), ("e",), (b,))
    assert collection.diff(2, 3) == Diff(2, 3, (), (), (c, d))
    assert collection.diff(1, 4) == collection.diff("1", "4") == Diff(1, 4, ("e",), ("c",), (b, d))
    assert collection.diff(0, 1) == Diff(0, 1, tuple("abcd"), (), ())
    assert collection.diff(1) == Diff(1, 7, ("e",), ("c",), (b, d))
    for first, second in ((3, 3), (4, 5), (5, 7), (7, 4)):
        assert collection.diff(first, second) == Diff(first, second, (), (), ())


def test_a_diff_names_what_moved(empty: hs.Collection) -> None:
    documents = [
        hs.Document("text", "red", title="t", fields={"n": 1, "out": 1}),
        hs.Document("title", "red", title="t", fields={"n": 1}),
        hs.Document("fields", "red", fields={"n": 1, "tags": ["a"]}),
        hs.Document("null", "red", fields={"n": 1}),
        hs.Document("metadata", "red", fields={"n": 1, "out": [1]}),
        hs.Document("back", "red", fields={"n": 1}),
        hs.Document("é", "red"),
        hs.Document("z", "red"),
        hs.Document("same", "red"),
    ]
    empty.add(documents)
    empty.add(
        [
            hs.Document("text", "blue", title="t", fields={"n": 1, "out": 1}),
            hs.Document("title", "red", title="u", fields={"n": 1}),
            hs.Document("fields", "red", fields={"n": 2, "tags": ["a", "a"]}),
            hs.Document("null", "red", fields={"n": None}),
            hs.Document("metadata", "red", fields={"n": 1, "out": [2]}),
            hs.Document("back", "red", fields={"n": 2}),
        ]
    )
    empty.add([hs.Document("back", "red", fields={"n": 1})])
    empty.delete(["z", "é", "same"])
    empty.add([hs.Document("same", "red"), hs.Document("new", "red"), hs.Document("ö", "red")])
    found = empty.diff(1)
    assert found == Diff(
        first=1,
        second=5,
        added=("new", "ö"),
        removed=("z", "é"),
        changed=(
            Changed("fields", False, ("n", "tags"), False),
            Changed("metadata", False, (), True),
            Changed("null", False, ("n",), False),
            Changed("text", True, (), False),
            Changed("title", True, (), False),
        ),
    )
    assert found.as_dict()["changed"][0] == {"id": "fields", "text": False, "fields": ("n", "tags"), "metadata": False}


def test_a_diff_across_a_new_field_and_a_rebuild(collection: hs.Collection) -> None:
    collection.update("a", fields={"late": "x"})
    assert collection.diff(4, 8) == Diff(4, 8, (), (), (Changed("a", False, ("late",), False),))
    assert collection.diff(6, 7) == Diff(6, 7, (), (), ())


def test_a_diff_with_what_was_pruned_says_so(collection: hs.Collection) -> None:
    collection.prune(keep_last=2)
    assert collection.diff(6, 7) == Diff(6, 7, (), (), ())
    for pair in ((1, 7), (7, 1), (1, 1)):
        with pytest.raises(hs.SnapshotPruned, match="commit 1 was pruned"):
            collection.diff(*pair)


# -- threads -----------------------------------------------------------------------------------------


def test_a_commit_is_whole_for_whoever_finds_it_in_the_history(
    empty: hs.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may look between the database's commit and the moment when this process takes note of it."""
    empty.add([hs.Document("a", "red")])
    changing = database.Shared.changing
    seen: list[tuple[int, int, int]] = []

    class Connection:
        """One that is looked at from beside as soon as a transaction is over."""

        def __init__(self, connection: Any) -> None:
            self._connection = connection

        @contextmanager
        def transaction(self) -> Iterator[Any]:
            with self._connection.transaction() as cursor:
                yield cursor
            newest = empty.history()[-1].commit
            seen.append((newest, empty.count(at=newest), len(empty.search("red", at=newest))))

    monkeypatch.setattr(
        database.Shared, "changing", lambda shared, connection: changing(shared, Connection(connection))
    )
    empty.info()
    empty.add([hs.Document("b", "red")])
    empty.rebuild(analyser="english")
    assert seen == [(2, 2, 2), (3, 2, 2)]
