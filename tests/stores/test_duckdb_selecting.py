"""`V` and `E` of one commit, whoever asked before; and rows found by number, wherever the database keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdstill as hs
from histories import budget
from holdstill.predicate import Predicate, evaluate, parse
from holdstill.stores.duckdb.connection import Connection
from holdstill.stores.duckdb.snapshot import DuckDBSnapshot

SCHEMA = hs.Schema.of({"n": "int", "kind": "str", "tags": "str[]"})
PREDICATES = [
    parse(text).check(SCHEMA)
    for text in (
        "n >= 2", "n < 2", "n is null", "kind = 'a'", "kind in ('a', 'b')", "kind in ()", "not has(tags, 'x')",
        "n >= 1 and kind != 'a'", "n >= 3 or has_all(tags, 'x', 'y')", "not (n = 1 and kind = 'b')", "true", "false",
    )
]  # fmt: skip

documents = st.lists(
    st.builds(
        lambda passages, n, kind, tags: {"passages": passages, "fields": {"n": n, "kind": kind, "tags": tags}},
        st.lists(st.sampled_from(["red", "red red", "blue sky", "a b c"]), min_size=1, max_size=3),
        st.none() | st.integers(0, 4),
        st.none() | st.sampled_from("abc"),
        st.none() | st.lists(st.sampled_from("xyz"), max_size=2, unique=True),
    ),
    max_size=12,
)
asked = st.tuples(
    st.none() | st.sampled_from(PREDICATES),
    st.none() | st.sampled_from(PREDICATES),
    st.sampled_from(["passage", "document"]),
)


def snapshot_of(collection: hs.Collection) -> DuckDBSnapshot:
    snapshot = collection._store.snapshot()
    assert isinstance(snapshot, DuckDBSnapshot)
    return snapshot


def stated(snapshot: DuckDBSnapshot, permission: Predicate | None, where: Predicate | None, by: Any) -> Any:
    """A selection as plain values."""
    found = snapshot.select(permission, where, by=by)
    units = None if found.units is None else found.units.tolist()
    counts = (found.passages, found.terms, dict(found.unknown))
    return found.visible.tolist(), found.eligible.tolist(), units, counts


def expected(stored: list[dict[str, Any]], permission: Predicate | None, where: Predicate | None) -> Any:
    """The same by the definitions, units left out."""
    visible, eligible, texts = [], [], []
    unknown = dict.fromkeys(() if where is None else where.fields(), 0)
    for each in stored:
        fields = {field.name: field.accept(each["fields"][field.name]) for field in SCHEMA}
        seen = permission is None or evaluate(permission, fields) is True
        truth = True if where is None else evaluate(where, fields)
        visible += [seen for _ in each["passages"]]
        eligible += [seen and truth is True for _ in each["passages"]]
        texts += each["passages"] if seen else []
        for name in unknown:
            unknown[name] += seen and truth is None and fields[name] is None
    return visible, eligible, (len(texts), sum(len(text.split()) for text in texts), unknown)


@budget(25)
@given(documents, st.lists(asked, min_size=1, max_size=8))
def test_a_selection_is_the_definitions_whoever_asked_before(stored: list[dict[str, Any]], questions: Any) -> None:
    with (
        TemporaryDirectory() as folder,
        hs.create(Path(folder) / "one.hs", schema=SCHEMA, embedder="none") as collection,
    ):
        collection.add(
            hs.Document(f"d{n:02}", passages=[hs.Passage(text) for text in each["passages"]], fields=each["fields"])
            for n, each in enumerate(stored)
        )
        snapshot = snapshot_of(collection)
        for permission, where, by in questions:
            visible, eligible, units, counts = stated(snapshot, permission, where, by)
            assert (visible, eligible, counts) == expected(stored, permission, where)
            assert (visible, eligible, units, counts) == stated(replace(snapshot), permission, where, by)
            if units is None:
                assert by == "passage" or all(len(each["passages"]) == 1 for each in stored)
            else:
                assert units == [n for n, each in enumerate(stored) for _ in each["passages"]]


def test_more_permissions_than_are_kept(tmp_path: Path) -> None:
    with hs.create(tmp_path / "many.hs", schema={"n": "int"}, embedder="none") as collection:
        collection.add(hs.Document(f"d{n:02}", "red", fields={"n": n}) for n in range(40))
        snapshot = snapshot_of(collection)
        for _ in range(2):
            for n in range(40):
                visible = snapshot.select(hs.f.n == n).visible
                assert np.flatnonzero(visible).tolist() == [n]


def test_what_searches_share_cannot_be_written(tmp_path: Path) -> None:
    with hs.create(tmp_path / "shared.hs", schema={"n": "int"}, embedder="none") as collection:
        collection.add([hs.Document("a", "red", fields={"n": 1})])
        for where in (None, hs.f.n == 1):
            found = snapshot_of(collection).select(None, where)
            for mask in (found.visible, found.eligible):
                with pytest.raises(ValueError, match="read-only"):
                    mask[0] = False


def test_a_filter_asked_again_is_answered_from_what_is_kept_until_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    arrays = Connection.arrays

    def noted(connection: Connection, sql: str, values: Sequence[object]) -> dict[str, Any]:
        asked.append(sql)
        return arrays(connection, sql, values)

    monkeypatch.setattr(Connection, "arrays", noted)
    with hs.create(tmp_path / "kept.hs", schema={"n": "int"}, embedder="none") as collection:
        collection.add([hs.Document("a", "red", fields={"n": 1}), hs.Document("b", "red", fields={"n": None})])

        def found() -> tuple[list[str], int, int]:
            before = len(asked)
            result = collection.search("red", where="n >= 2")
            return [hit.document for hit in result], result.unknown["n"], len(asked) - before

        assert found()[:2] == ([], 1)
        assert found() == ([], 1, 0)
        collection.update(["a"], fields={"n": 2})
        assert found()[:2] == (["a"], 1)
        collection.delete(["b"])
        assert found()[:2] == (["a"], 0)
        assert found() == (["a"], 0, 0)


# -- rows by number --------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Iterator[hs.Collection]:
    """A collection whose documents stand elsewhere than their contents: some were replaced, updated or deleted."""
    with hs.create(tmp_path / "written.hs", schema={"n": "int"}, embedder="none") as collection:
        for first in (0, 10, 5):
            collection.add(
                hs.Document(
                    f"d{n:02}", passages=[hs.Passage(f"{first} {n}"), hs.Passage("red")], title=f"T{n}", fields={"n": n}
                )
                for n in range(first, first + 10)
            )
        collection.update(where="n < 8", fields={"n": 100})
        collection.delete(["d03", "d19"])
        yield collection


def everything(snapshot: DuckDBSnapshot) -> Any:
    rows = np.flatnonzero(snapshot.select(None).visible)
    return snapshot.keys(rows), snapshot.fetch(rows)


def test_rows_are_found_at_the_first_attempt(written: hs.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guess that is always wrong would cost no answer, only time."""
    statements: list[str] = []
    rows = Connection.rows

    def noted(connection: Connection, sql: str, values: Sequence[object]) -> list[Any]:
        statements.append(sql)
        return rows(connection, sql, values)

    monkeypatch.setattr(Connection, "rows", noted)
    written.close()
    with hs.open(written.path) as again:
        keys, fetched = everything(snapshot_of(again))
    assert [document.id for document in fetched] == [id_ for id_, _ in keys]
    assert len(statements) == 2
    assert all("rowid IN" in statement for statement in statements)


def test_rows_are_found_wherever_they_stand(written: hs.Collection) -> None:
    right, wrong = snapshot_of(written), replace(snapshot_of(written))
    places = wrong._lookup.places
    places[places >= 0] = places[places >= 0][::-1]
    assert everything(wrong) == everything(right)
    assert {document.id for document in everything(right)[1]} == {f"d{n:02}" for n in range(20)} - {"d03", "d19"}


def test_an_older_snapshot_reads_its_own_versions(written: hs.Collection) -> None:
    older = snapshot_of(written)
    before = everything(older)
    written.update(where="n = 100", fields={"n": 200})
    written.delete(["d00", "d10"])
    assert everything(older) == everything(replace(older)) == before
    assert everything(snapshot_of(written)) != before


def test_a_content_without_a_document_is_named(written: hs.Collection) -> None:
    snapshot = snapshot_of(written)
    gone = int(np.flatnonzero(snapshot._lookup.places < 0)[0])
    with pytest.raises(hs.InvariantViolated, match=f"no live document.*got {gone} "):
        snapshot._lookup.documents(["d.id"], np.array([gone, snapshot.index.contents[-1]]))
