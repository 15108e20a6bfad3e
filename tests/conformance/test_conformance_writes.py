"""After every write a search sees what is new and not what was, as if the collection had been made just so."""

from __future__ import annotations

from typing import Any

import pytest

import holdstill
import strategies
from holdstill import Collection, Document, Passage
from observing import said


def seen(collection: Collection, text: str = "red", **asked: Any) -> list[tuple[str, int, dict[str, int | None]]]:
    return [(hit.id, hit.rank, dict(hit.scores)) for hit in collection.search(text, k=100, **asked)]


def test_a_search_sees_every_write_with_the_scores_of_a_fresh_build(make: Any) -> None:
    collection = make(schema={"n": "int"}, vector_model="small")
    live: dict[str, Document] = {}

    def check(commits: int) -> None:
        fresh = make(schema={"n": "int"}, vector_model="small")
        fresh.add(live.values())
        for text in ("red", "blue", "green fish"):
            for asked in ({"arms": ["lexical"]}, {"vector": [1.0, 2.0]}, {"arms": ["lexical"], "where": "n = 1"}):
                now, then = (said(each.search(text, **asked, k=100)) for each in (collection, fresh))
                assert now.pop("snapshot") == {"generation": 1, "commit": commits, "seen_at": commits}
                assert then.pop("snapshot") is not None
                assert now == then

    def write(*documents: Document) -> None:
        collection.add(documents)
        live.update({document.id: document for document in documents})

    write(Document("a", "red fish", vector=[1, 0]), Document("b", "red red blue", vector=[0, 1], fields={"n": 1}))
    check(1)
    write(Document("c", "green fish", vector=[1, 1]))
    check(2)
    write(Document("a", "blue fish", vector=[-1, 0]), Document("b", "red red blue", vector=[0, 1], fields={"n": 2}))
    check(3)
    collection.update("c", fields={"n": 1})
    live["c"] = Document("c", "green fish", vector=[1, 1], fields={"n": 1})
    check(4)
    collection.delete(["b"])
    del live["b"]
    check(5)
    collection.delete(where="n = 1")
    del live["c"]
    check(6)
    write(Document("b", "red", vector=[2, 1]))
    check(7)
    # What changes nothing is no commit.
    collection.add([live["a"]])
    collection.delete(["nobody"])
    collection.update("a", fields={"n": None})
    check(7)


def test_what_is_gone_is_found_by_nothing(make: Any) -> None:
    collection = make(schema={"n": "int"})
    collection.add([Document("a", "oldword red", fields={"n": 1}), Document("b", "red", fields={"n": 1})])
    collection.add([Document("a", "newword red", fields={"n": 2})])
    assert seen(collection, "oldword") == []
    assert collection.search("oldword").notes != ()
    assert len(collection.search(where="n = 1 or contains(text, 'oldword')", k=9)) == 1
    assert {hit.id for hit in collection.search("red", must_not=["oldword"])} == {"a#0", "b#0"}
    collection.delete("a")
    assert seen(collection, "newword") == []
    assert collection.count("n = 2") == 0
    with pytest.raises(holdstill.NotFound):
        collection.get("a")


def test_of_one_id_in_a_batch_the_first_stands(make: Any) -> None:
    collection = make()
    report = collection.add([Document("a", "red"), Document("b", "red"), Document("a", "blue"), Document("a", "red")])
    assert (report.added, report.replaced, report.unchanged) == (2, 0, 0)
    assert [(row.row, row.field) for row in report.refused] == [(3, "id"), (4, "id")]
    assert all("row 1" in row.reason for row in report.refused)
    assert (collection.count(), seen(collection, "blue")) == (2, [])
    again = collection.add([Document("a", "blue"), Document("b", "red")])
    assert (again.added, again.replaced, again.unchanged) == (0, 1, 1)
    assert [id_ for id_, _, _ in seen(collection, "blue")] == ["a#0"]
    assert (collection.count(), len(collection.search(where="true", k=100))) == (2, 2)


def test_an_id_within_and_across_batches_is_one_document(make: Any) -> None:
    collection = make()
    for text in ("one", "two", "three"):
        collection.add([Document("a", f"red {text}"), Document("a", "refused")])
    assert (collection.count(), [id_ for id_, _, _ in seen(collection)]) == (1, ["a#0"])
    assert collection.get("a").passages[0].text == "red three"
    # Ids are bytes: these are all different.
    names = ["a", "A", "a ", " a", "á", "a\u0301", "а"]
    collection.add([Document(name, "red") for name in names])
    assert collection.count() == len(names)
    assert all(collection.get(name).id == name for name in names)


DIRT = ("\x00", "\ud800", "\udfff", "\ufeff", "a\x00b", "\ufeff\ufeff", "\x00" * 3)


@pytest.mark.parametrize("dirt", DIRT)
def test_characters_that_cannot_be_stored_are_replaced_and_the_batch_survives(make: Any, dirt: str) -> None:
    collection = make(schema={"s": "str", "tags": "str[]"})
    text = f"{dirt}red {dirt}fish{dirt} last"
    document = Document(
        "dirty",
        passages=[Passage(text, headings=[f"{dirt}head"])],
        title=f"{dirt}title",
        fields={"s": f"{dirt}v", "tags": [f"{dirt}t"], f"{dirt}key": {f"{dirt}inner": [f"{dirt}x", None]}},
    )
    report = collection.add([Document("before", "red"), document, Document("after", "red")])
    assert (report.added, report.refused) == (3, ())
    stored = collection.get("dirty")
    clean = holdstill.text.clean
    assert stored.passages[0].text == clean(text)
    assert stored.passages[0].text.index("last") == text.lstrip("\ufeff").index("last")
    assert (stored.title, stored.passages[0].headings) == (clean(f"{dirt}title"), (clean(f"{dirt}head"),))
    assert stored.fields == {"s": clean(f"{dirt}v"), "tags": (clean(f"{dirt}t"),)}
    assert stored.metadata == {clean(f"{dirt}key"): {clean(f"{dirt}inner"): [clean(f"{dirt}x"), None]}}
    assert "dirty#0" in [hit.id for hit in collection.search("last", must=["last"])]
    assert [hit.id for hit in collection.search(where=holdstill.f.s == f"{dirt}v")] == ["dirty#0"]
    assert [hit.id for hit in collection.search(where=holdstill.f.tags.has(f"{dirt}t"))] == ["dirty#0"]
    # The same row again is the same row.
    assert collection.add([document]).unchanged == 1


@pytest.mark.parametrize("dirt", DIRT)
def test_an_id_that_would_have_to_be_changed_is_refused(make: Any, dirt: str) -> None:
    with pytest.raises(holdstill.InvalidDocument) as caught:
        Document(f"{dirt}id", "red")
    assert caught.value.field == "id"
    collection = make()
    collection.add([Document("id", "red")])
    with pytest.raises(holdstill.NotFound):
        collection.get(f"{dirt}id")
    assert collection.delete([f"{dirt}id", "id"]).missing == (f"{dirt}id",)


def test_hostile_ids_are_ids(make: Any) -> None:
    collection = make(schema={"n": "int"})
    names = sorted({text for text in strategies.HOSTILE if text.strip() and holdstill.text.clean(text) == text})
    names += ["a#0", "a#1", "../../etc/passwd", "a" * 1024]
    collection.add([Document(name, f"red word{i}") for i, name in enumerate(names)])
    for i, name in enumerate(names):
        assert [hit.document for hit in collection.search("red", must=[f"word{i}"])] == [name]
        assert collection.get(name).passages[0].text == f"red word{i}"
    collection.update(names[:3], fields={"n": 1})
    assert sorted(hit.document for hit in collection.search(where="n = 1")) == sorted(names[:3])
    assert collection.delete(names).changed == len(names)
    assert collection.count() == 0


def test_good_rows_are_kept_beside_bad_ones_or_none_is(make: Any) -> None:
    collection = make(schema={"n": "int"})
    rows = [
        Document("a", "red", fields={"n": 1}),
        Document("b", "red", fields={"n": "5"}),
        Document("c", "red", fields={"other": float("nan")}),
        Document("d", "red"),
    ]
    with pytest.raises(holdstill.BatchRefused) as caught:
        collection.add(rows, strict=True)
    assert [(row.row, row.field) for row in caught.value.refused] == [(2, "n"), (3, "fields")]
    assert (collection.count(), collection.info().commit) == (0, 0)
    report = collection.add(rows)
    assert (report.added, report.commit) == (2, 1)
    assert report.refused == caught.value.refused
    assert {hit.document for hit in collection.search("red")} == {"a", "d"}


def test_a_batch_that_stops_midway_writes_nothing(make: Any) -> None:
    collection = make()
    collection.add([Document("a", "red")])

    def rows() -> Any:
        yield Document("b", "red")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collection.add(rows())
    assert (collection.count(), collection.info().commit) == (1, 1)
    assert collection.add([Document("b", "red")]).commit == 2


def test_an_update_with_one_bad_value_changes_nothing(make: Any) -> None:
    collection = make(schema={"n": "int", "s": "str"})
    collection.add([Document("a", "red", fields={"n": 1, "s": "x"})])
    for fields, error in (
        ({"n": 2, "s": 5}, holdstill.InvalidDocument),
        ({"n": 2, "m": 5}, holdstill.UnknownField),
        ({}, holdstill.InvalidQuery),
    ):
        with pytest.raises(error):
            collection.update("a", fields=fields)
    assert collection.get("a").fields == {"n": 1, "s": "x"}
    assert collection.info().commit == 1


def test_a_new_field_is_null_in_every_old_row(make: Any) -> None:
    collection = make(schema={"n": "int"})
    collection.add([Document("a", "red", fields={"n": 1, "late": "outside"})])
    before = seen(collection)
    collection.add_field("m", "str[]")
    assert seen(collection) == before
    assert len(collection.search("red", where="m is null")) == 1
    assert collection.search("red", where="has(m, 'x')").unknown == {"m": 1}
    collection.update("a", fields={"m": ["x"]})
    assert len(collection.search("red", where="has(m, 'x')")) == 1


def test_nothing_that_a_caller_passes_in_is_changed_or_kept(make: Any) -> None:
    collection = make(schema={"tags": "str[]"})
    tags, extra, vector = ["a"], {"deep": [1]}, [1.0]
    document = Document("a", "red", fields={"tags": tags, "extra": extra})
    tags.append("b")
    extra["deep"].append(2)
    collection.add([document])
    assert collection.get("a").fields == {"tags": ("a",)}
    assert collection.get("a").metadata == {"extra": {"deep": [1]}}
    assert Passage("x", vector=vector).vector is not vector
