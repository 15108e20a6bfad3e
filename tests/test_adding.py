"""What `add` does: every row told from what is stored, counted, refused with a reason, embedded at most once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdstill as hs
from fakes import Hashed, vector, whole_answer
from holdstill.ingest import Row

SCHEMA = {"n": "int", "tags": "str[]"}


def make(path: Path, **arguments: Any) -> hs.Collection:
    return hs.create(path / "a.hs", **({"schema": SCHEMA, "embedder": "none"} | arguments))


@pytest.fixture
def words(tmp_path: Path) -> Iterator[hs.Collection]:
    with make(tmp_path) as collection:
        yield collection


def counts(report: hs.AddReport) -> tuple[int, int, int, int]:
    return report.added, report.replaced, report.unchanged, len(report.refused)


# -- the report --------------------------------------------------------------------------------------


def test_every_kind_of_row_in_one_batch(words: hs.Collection) -> None:
    same = hs.Document("same", "unchanged text", title="T", fields={"n": 1, "tags": ["a"], "more": {"x": [1]}})
    assert words.add([same, hs.Document("old", "old text"), hs.Document("field", "text", fields={"n": 1})]).commit == 1
    passed_on = hs.Refused(99, "text", "it was bad before", "file.jsonl")
    report = words.add(
        [
            hs.Document("new", "new text"),
            same,
            hs.Document("old", "new text"),
            hs.Document("field", "text", fields={"n": 2}),
            hs.Document("wrong", "text", fields={"n": "1"}),
            passed_on,
            hs.Document("new", "another of that id"),
            Row("file.csv", 7, hs.Document("also", "wrong", fields={"tags": "a"})),
            {"id": "no document"},  # type: ignore[list-item]
            hs.Document("vector", "text", vector=[1.0, 2.0]),
            hs.Document("bytes", "text", fields={"outside": b"x"}),
            hs.Document("huge", "text", fields={"n": 10**5000}),
        ]
    )
    assert (report.added, report.replaced, report.unchanged, report.commit) == (1, 2, 1, 2)
    assert [(row.row, row.field, row.source) for row in report.refused] == [
        (5, "n", None),
        (99, "text", "file.jsonl"),
        (7, "id", None),
        (7, "tags", "file.csv"),
        (9, "documents", None),
        (10, "vector", None),
        (11, "fields", None),
        (12, "n", None),
    ]
    reasons = {(row.row, row.field): row.reason for row in report.refused}
    assert reasons[5, "n"] == "field 'n' does not take this value; expected an integer of 64 bits; got '1' (str)"
    assert reasons[7, "id"].startswith("the id stands already in row 1 of this batch; got 'new' (str). The first one")
    assert "expected a list of strings; got 'a' (str)" in reasons[7, "tags"]
    assert "expected a holdstill.Document; got {'id': 'no document'} (dict)" in reasons[9, "documents"]
    assert "expected no vector: it is searched by words" in reasons[10, "vector"]
    assert "not JSON serializable" in reasons[11, "fields"]
    assert report.refused[1] is passed_on
    assert words.count() == 4
    assert words.get("new").passages[0].text == "new text"
    assert words.get("field").fields["n"] == 2
    assert words.get("field").added == 2
    assert words.get("same").added == 1


def test_nothing_to_do_makes_no_commit(words: hs.Collection) -> None:
    documents = [hs.Document("a", "text", fields={"n": 1}), hs.Document("b", "text")]
    assert words.add(documents).commit == 1
    for batch, expected in ((documents, (0, 0, 2, 0)), ([], (0, 0, 0, 0)), (documents[:1], (0, 0, 1, 0))):
        report = words.add(batch)
        assert counts(report) == expected
        assert report.commit == 1
    refused = words.add([hs.Document("c", "text", fields={"n": 1.5})])
    assert (counts(refused), refused.commit) == ((0, 0, 0, 1), 1)
    assert words.info().commit == 1


CHANGES: dict[str, hs.Document] = {
    "text": hs.Document("a", passages=[hs.Passage("other"), hs.Passage("two")], title="T", fields={"n": 1, "x": 1}),
    "order": hs.Document("a", passages=[hs.Passage("two"), hs.Passage("one")], title="T", fields={"n": 1, "x": 1}),
    "count": hs.Document("a", passages=[hs.Passage("one")], title="T", fields={"n": 1, "x": 1}),
    "title": hs.Document("a", passages=[hs.Passage("one"), hs.Passage("two")], title="Other", fields={"n": 1, "x": 1}),
    "headings": hs.Document(
        "a", passages=[hs.Passage("one", headings=["H"]), hs.Passage("two")], title="T", fields={"n": 1, "x": 1}
    ),
    "pages": hs.Document(
        "a", passages=[hs.Passage("one", pages=(1, 2)), hs.Passage("two")], title="T", fields={"n": 1, "x": 1}
    ),
    "field": hs.Document("a", passages=[hs.Passage("one"), hs.Passage("two")], title="T", fields={"n": 2, "x": 1}),
    "field lost": hs.Document("a", passages=[hs.Passage("one"), hs.Passage("two")], title="T", fields={"x": 1}),
    "metadata": hs.Document(
        "a", passages=[hs.Passage("one"), hs.Passage("two")], title="T", fields={"n": 1, "x": True}
    ),
    "metadata lost": hs.Document("a", passages=[hs.Passage("one"), hs.Passage("two")], title="T", fields={"n": 1}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_document_is_noticed_and_shown(words: hs.Collection, change: str) -> None:
    passages = [hs.Passage("one"), hs.Passage("two")]
    original = hs.Document("a", passages=passages, title="T", fields={"n": 1, "x": 1})
    words.add([original])
    assert counts(words.add([CHANGES[change]])) == (0, 1, 0, 0)
    stored = words.get("a")
    assert [(each.text, each.headings, each.pages) for each in stored.passages] == [
        (each.text, each.headings, each.pages) for each in CHANGES[change].passages
    ]
    assert stored.title == CHANGES[change].title
    assert stored.fields["n"] == CHANGES[change].fields.get("n")
    assert stored.metadata == {key: value for key, value in CHANGES[change].fields.items() if key != "n"}
    assert counts(words.add([CHANGES[change]])) == (0, 0, 1, 0)
    assert counts(words.add([original])) == (0, 1, 0, 0)
    assert words.count() == 1


def test_equal_values_are_unchanged_however_they_are_spelled(tmp_path: Path) -> None:
    schema = {"at": "datetime", "day": "date", "share": "float", "tags": "str[]"}
    with make(tmp_path, schema=schema) as collection:
        first = {
            "at": "2024-05-01T01:00:00+02:00",
            "day": "2024-05-01",
            "share": 1,
            "tags": ["a"],
            "m": {"b": 1, "a": 2},
        }
        other = {
            "m": {"a": 2, "b": 1}, "tags": ("a",), "share": 1.0, "day": date(2024, 5, 1),
            "at": datetime(2024, 4, 30, 23, tzinfo=UTC),
        }  # fmt: skip
        collection.add([hs.Document("a", "text", fields=first)])
        assert counts(collection.add([hs.Document("a", "text", fields=other)])) == (0, 0, 1, 0)
        assert collection.get("a").fields == {
            "at": datetime(2024, 4, 30, 23, tzinfo=UTC), "day": date(2024, 5, 1), "share": 1.0, "tags": ("a",),
        }  # fmt: skip


def test_the_first_good_row_of_an_id_stands_whatever_the_batch(words: hs.Collection) -> None:
    rows = [hs.Document("a", "bad", fields={"n": "x"}), hs.Document("a", "good"), hs.Document("a", "late")]
    report = words.add(rows)
    assert counts(report) == (1, 0, 0, 2)
    assert [row.row for row in report.refused] == [1, 3]
    assert "stands already in row 2" in report.refused[1].reason
    assert words.get("a").passages[0].text == "good"
    assert counts(words.add([hs.Document("a", "late")])) == (0, 1, 0, 0)
    assert counts(words.add([hs.Document("a", "late"), hs.Document("a", "later")])) == (0, 0, 1, 1)
    assert words.count() == len(words.search("late good later bad")) == 1


def test_strict_is_all_or_nothing(words: hs.Collection) -> None:
    words.add([hs.Document("a", "text")])
    bad = [hs.Document("b", "text"), hs.Document("a", "changed"), hs.Document("c", "text", fields={"n": True})]
    with pytest.raises(
        hs.BatchRefused, match=r"1 of the rows .* nothing was written.*The first: row 3: field 'n'"
    ) as caught:
        words.add(bad, strict=True)
    assert [(row.row, row.field) for row in caught.value.refused] == [(3, "n")]
    assert caught.value.as_dict()["refused"][0]["row"] == 3
    assert (words.count(), words.get("a").passages[0].text, words.info().commit) == (1, "text", 1)
    assert counts(words.add(bad[:2], strict=True)) == (1, 1, 0, 0)


def test_what_is_outside_the_schema_is_stored_shown_and_noted(words: hs.Collection) -> None:
    hostile = {"b\ud800": "x\x00", "a": [1, {"k": None}], "when": date(2024, 5, 1)}
    report = words.add([hs.Document("a", "text", fields={"n": 1} | hostile)])
    (note,) = report.notes
    assert note.endswith("not filterable: a, b\ufffd, when")
    note.encode()
    stored = words.get("a")
    assert stored.metadata == {"b\ufffd": "x\ufffd", "a": [1, {"k": None}], "when": "2024-05-01"}
    assert words.search("text")[0].fields == stored.metadata | {"n": 1, "tags": None}
    with pytest.raises(hs.UnknownField):
        words.count("a = 1")
    many = words.add([hs.Document("b", "text", fields={f"k{number:02}": 1 for number in range(15)})])
    assert many.notes[0].endswith("k08, k09 and 5 more")
    assert words.add([hs.Document("c", "text", fields={"n": 3})]).notes == ()


def test_progress_counts_up_to_the_end(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    with make(tmp_path, embedder=Hashed()) as collection:
        collection.add(
            (hs.Document(f"d{number}", f"text {number}") for number in range(100)),
            progress=lambda *step: seen.append(step),
        )
    assert {kind for kind, _, _ in seen} == {"splitting", "embedding", "indexing"}
    for kind in ("splitting", "embedding"):
        steps = [(done, total) for name, done, total in seen if name == kind]
        assert steps == sorted(steps)
        assert steps[-1] == (100, 100)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.sampled_from([0, 1, "bad"])), max_size=5),
        max_size=5,
    )
)
def test_the_counts_follow_from_the_definition(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[tuple[str, int, Any]]]
) -> None:
    stored: dict[str, tuple[int, Any]] = {}
    with make(tmp_path_factory.mktemp("counts")) as collection:
        for batch in batches:
            first: dict[str, tuple[int, Any]] = {}
            for id_, text, field in batch:
                if field != "bad":
                    first.setdefault(id_, (text, field))
            report = collection.add(hs.Document(i, f"text{text}", fields={"n": field}) for i, text, field in batch)
            assert counts(report) == (
                len(first.keys() - stored.keys()),
                sum(id_ in stored and stored[id_] != new for id_, new in first.items()),
                sum(stored.get(id_) == new for id_, new in first.items()),
                len(batch) - len(first),
            )
            stored |= first
            assert {
                hit.document: (int(hit.text[-1]), hit.fields["n"]) for hit in collection.search(where="n >= 0")
            } == stored


# -- the embedder is asked as little as can be -------------------------------------------------------


@pytest.fixture
def model() -> Hashed:
    return Hashed(window=16)


@pytest.fixture
def dense(tmp_path: Path, model: Hashed) -> Iterator[hs.Collection]:
    with make(tmp_path, embedder=model) as collection:
        model.texts.clear()  # of the check that it holds still
        yield collection


def sentences(*numbers: int) -> str:
    return " ".join(f"This is sentence number {number} of the long text." for number in numbers)


def test_what_is_stored_is_never_embedded_again(dense: hs.Collection, model: Hashed) -> None:
    long, short = hs.Document("long", sentences(*range(20))), hs.Document("short", "short text", title="Title")
    dense.add([long, short])
    assert len(model.texts) == len(set(model.texts)) == len(dense.search(where="n is null", k=100)) > 10
    model.texts.clear()

    dense.add([short, long])
    assert model.texts == [], "an unchanged document"
    dense.add([hs.Document("short", "short text", title="Title", fields={"n": 5, "more": 1})])
    dense.update("long", fields={"n": 6})
    dense.add_field("later", "str")
    dense.update(where="n is not null", fields={"later": "x"})
    assert model.texts == [], "a change of fields"
    dense.delete(["long"])
    dense.add([long])
    assert model.texts == [], "deleted and added again"
    dense.add([hs.Document("copy", "short text", title="Title"), hs.Document("copies", sentences(*range(20)))])
    assert model.texts == [], "the same text in another document"
    dense.add([hs.Document("twins1", "twin"), hs.Document("twins2", "twin")])
    assert model.texts == ["twin"], "one text twice in a batch"


def test_only_new_passages_of_an_edited_document_are_embedded(dense: hs.Collection, model: Hashed) -> None:
    dense.add([hs.Document("long", sentences(*range(20)))])
    passages = len(model.texts)
    model.texts.clear()
    dense.add([hs.Document("long", sentences(*range(10), 77, *range(11, 20)))])
    assert 1 <= len(model.texts) <= 2 < passages
    assert all("77" in text for text in model.texts)
    model.texts.clear()
    dense.add([hs.Document("long", sentences(*range(20)), title="Now with a title")])
    assert len(model.texts) >= passages, "the title is part of what is embedded"
    assert all(text.startswith("Now with a title") for text in model.texts)


def test_an_unchanged_document_does_not_even_load_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load(name: str, settings: str | None = None) -> Hashed:
        loaded.append(name)
        model = Hashed(384)
        model.name, model.digest = "minilm", "sha256:test"
        return model

    monkeypatch.setattr("holdstill.models.load", load)
    document = hs.Document("a", "some text", fields={"n": 1})
    with make(tmp_path, embedder="minilm") as collection:
        collection.add([document])
    loaded.clear()
    with hs.open(tmp_path / "a.hs") as collection:
        collection.add([document])
        collection.update("a", fields={"n": 2})
        collection.add([hs.Document("a", "some text", fields={"n": 3})])
        collection.search("text", arms=["lexical"])
        collection.search(vector=vector("some text", 384))
        collection.search(where="n = 3")
        collection.delete(["a"])
        assert loaded == []
        collection.add([document])
        assert loaded == ["minilm"]


def test_a_reused_vector_is_the_one_the_model_would_make(dense: hs.Collection, tmp_path: Path) -> None:
    for text in ("one text", "another", "one text"):
        dense.add([hs.Document("a", text), hs.Document("b", sentences(*range(5)), title=text)])
    with make(tmp_path / "fresh", embedder=Hashed(window=16)) as fresh:
        fresh.add([hs.Document("b", sentences(*range(5)), title="one text"), hs.Document("a", "one text")])
        assert whole_answer(dense, "one text", "sentence 3") == whole_answer(fresh, "one text", "sentence 3")


class Fails(Hashed):
    """Fails for texts with `bad` in them, in one of several ways."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way

    def embed(self, texts: Any) -> Any:
        rows = super().embed(texts)
        if not any("bad" in text for text in texts):
            return rows
        if self.way == "raises":
            raise ConnectionError("no route")
        if self.way == "exits":
            raise hs.EmbedderFailed("out of order")
        if self.way == "shape":
            return rows[:, :-1]
        if self.way == "fewer":
            return rows[:-1]
        if self.way == "text":
            return [["x"] * self.dimensions for _ in texts]
        rows[-1] = {"nan": np.nan, "inf": np.inf, "zero": 0.0}[self.way]
        return rows


@pytest.mark.parametrize("way", ["raises", "exits", "shape", "fewer", "text", "nan", "inf", "zero"])
def test_an_embedder_that_fails_writes_nothing(tmp_path: Path, way: str) -> None:
    with make(tmp_path, embedder=Fails(way)) as collection:
        collection.add([hs.Document("a", "good")])
        before = whole_answer(collection, "good"), collection.info()
        batch = [hs.Document(f"d{number}", f"good {number}") for number in range(100)]
        with pytest.raises(hs.EmbedderFailed, match=r"'hashed'|out of order"):
            collection.add([*batch, hs.Document("bad", "bad"), hs.Document("a", "changed")])
        with pytest.raises(hs.EmbedderFailed):
            collection.search("bad")
        assert (whole_answer(collection, "good"), collection.info()) == before
        assert collection.add(batch).added == 100


# -- vectors that are brought ------------------------------------------------------------------------


@pytest.mark.parametrize("dimensions", [1, 2, 4096])
def test_vectors_of_any_width(tmp_path: Path, dimensions: int) -> None:
    texts = [f"text {number}" for number in range(7)]
    with make(tmp_path, vector_model="mine") as brought, make(tmp_path / "made", embedder=Hashed(dimensions)) as made:
        brought.add(hs.Document(text, text, vector=vector(text, dimensions)) for text in texts)
        made.add(hs.Document(text, text) for text in texts)
        assert brought.info().dimensions == made.info().dimensions == dimensions
        asked = vector("text 3", dimensions)
        assert brought.search(vector=asked, k=9).digest == made.search(vector=asked, k=9).digest
        assert brought.search(vector=asked)[0].rank == 1
        with pytest.raises(hs.InvalidVector, match="wrong length"):
            brought.search(vector=[*asked, 1.0])
    with hs.open(tmp_path / "a.hs") as collection:
        assert collection.search(vector=asked, k=9)[0].scores["dense"] > 2**29


@pytest.mark.parametrize("dimensions", [0, 4097])
def test_vectors_too_narrow_or_too_wide_are_refused(tmp_path: Path, dimensions: int) -> None:
    with make(tmp_path, vector_model="mine") as collection:
        report = collection.add(
            [hs.Document("a", "text", vector=np.ones(dimensions)), hs.Document("b", "b", vector=[1.0])]
        )
        assert counts(report) == (1, 0, 0, 1)
        assert "expected 1 to 4096 dimensions" in report.refused[0].reason
        assert collection.info().dimensions == 1


def test_bad_vectors_are_refused_row_by_row(tmp_path: Path) -> None:
    with make(tmp_path, vector_model="mine") as collection:
        bad = {"zero": [0.0, 0.0], "nan": [1.0, np.nan], "inf": [np.inf, 1.0], "long": [1.0, 2.0, 3.0], "none": None}
        rows = [hs.Document("good", "text", vector=[1.0, 0.0])]
        rows += [hs.Document(name, "text", vector=vector_) for name, vector_ in bad.items()]
        two = [hs.Passage("one", vector=[1.0, 1.0]), hs.Passage("two")]
        report = collection.add([*rows, hs.Document("half", passages=two)])
        assert counts(report) == (1, 0, 0, 6)
        assert [(row.row, row.field) for row in report.refused] == [(number, "vector") for number in range(2, 8)]
        assert "passage 0) is zero" in report.refused[0].reason
        assert "expected 2 dimensions; got 3" in report.refused[3].reason
        assert "passage 1 has no vector, and nothing here can make one of 'mine'" in report.refused[5].reason
        with pytest.raises(hs.BatchRefused):
            collection.add(rows, strict=True)
        assert collection.count() == 1


def test_a_refused_vector_decides_no_dimensions(tmp_path: Path) -> None:
    with make(tmp_path, vector_model="mine") as collection:
        assert counts(collection.add([hs.Document("a", "text", vector=[0.0, 0.0, 0.0])])) == (0, 0, 0, 1)
        assert collection.info().dimensions is None
        assert counts(collection.add([hs.Document("a", "text", vector=[1.0, 2.0])])) == (1, 0, 0, 0)


def test_a_changed_vector_is_a_changed_document_and_an_equal_one_is_not(tmp_path: Path) -> None:
    with make(tmp_path, vector_model="mine") as collection:
        collection.add([hs.Document("a", "text", vector=[1.0, 2.0])])
        assert counts(collection.add([hs.Document("a", "text", vector=np.array([1, 2]))])) == (0, 0, 1, 0)
        assert counts(collection.add([hs.Document("a", "text", vector=[2.0, 1.0])])) == (0, 1, 0, 0)
        assert collection.search(vector=[2.0, 1.0])[0].scores["dense"] > 2**30 * 0.999


def test_with_an_embedder_of_the_same_name_missing_vectors_are_made(tmp_path: Path) -> None:
    model = Hashed(4)
    with make(tmp_path, vector_model="hashed") as collection:
        collection.add([])
    with hs.open(tmp_path / "a.hs", embedder=model) as collection:
        report = collection.add(
            [
                hs.Document("short", "one", vector=[1.0, 2.0]),
                hs.Document("brought", "two", vector=[1.0, 2.0, 3.0, 4.0]),
                hs.Document("made", "three"),
            ]
        )
        assert counts(report) == (2, 0, 0, 1)
        assert "expected 4 dimensions; got 2" in report.refused[0].reason
        assert model.texts == ["three"]
        assert collection.search("three", arms=["dense"])[0].document == "made"
        assert collection.search(vector=[1.0, 2.0, 3.0, 4.0])[0].document == "brought"


def test_a_brought_vector_stands_for_its_own_document_alone(tmp_path: Path) -> None:
    model = Hashed(2)
    with make(tmp_path, vector_model="hashed", embedder=model) as collection:
        model.texts.clear()
        collection.add(hs.Document(f"d{each}", "same text", vector=[each, 1.0]) for each in (1, 2))
        collection.add([hs.Document("made", "same text")])
        assert model.texts == ["same text"]
        scores = {hit.document: hit.scores["dense"] for hit in collection.search(vector=vector("same text", 2))}
        assert scores["made"] == max(scores.values()) > 2**30 * 0.999
        collection.add([hs.Document("again", "same text")])
        assert model.texts == ["same text"]


def test_rows_may_come_from_code_that_writes_to_the_collection(words: hs.Collection) -> None:
    words.add([hs.Document("a", "old text", fields={"n": 1})])

    def replacing() -> Iterator[hs.Document]:
        words.add([hs.Document("a", "new text")])
        yield hs.Document("a", "old text", fields={"n": 2})

    assert words.add(replacing()).replaced == 1
    assert words.get("a").passages[0].text == "old text"

    def deleting() -> Iterator[hs.Document]:
        words.delete("a")
        yield hs.Document("a", "old text", fields={"n": 2})

    assert words.add(deleting()).added == 1
    assert words.get("a").fields["n"] == 2


def test_a_key_that_becomes_a_field_is_answered_by_the_field_everywhere(words: hs.Collection) -> None:
    words.add([hs.Document("a", "text", fields={"late": "stored"})])
    words.add_field("late", "str")
    assert words.get("a").fields["late"] is None
    assert words.get("a").metadata == {}
    assert words.search("text")[0].fields["late"] is None
    words.update("a", fields={"late": "set"})
    assert words.get("a").fields["late"] == words.search("text")[0].fields["late"] == "set"


def test_metadata_keys_that_become_one_are_refused(words: hs.Collection) -> None:
    report = words.add([hs.Document("a", "text", fields={"m": {"x\x00": 1, "x\ufffd": 2}})])
    assert (report.added, report.refused[0].field) == (0, "fields")


def test_a_passage_with_nothing_but_headings_is_found_by_them(words: hs.Collection) -> None:
    words.add([hs.Document("a", passages=[hs.Passage("text"), hs.Passage(" ", headings=["Alone"]), hs.Passage("")])])
    assert [hit.id for hit in words.search("alone")] == ["a#1"]
    assert len(words.get("a").passages) == 2


@pytest.mark.parametrize("text", ["\u200b", "\u00ad \ufeff", "\u2060\n"])
def test_a_text_that_cannot_be_seen_is_empty(text: str) -> None:
    with pytest.raises(hs.InvalidDocument, match="is empty"):
        hs.Document("a", text)


def test_no_phrase_reaches_from_a_title_into_a_text(words: hs.Collection) -> None:
    words.add([hs.Document("a", passages=[hs.Passage("York grows", headings=["Towns"])], title="What's new")])
    for crossing in ("new towns", "towns york", "new york"):
        assert len(words.search(must=[crossing])) == 0
        assert len(words.search(must_not=[crossing])) == 1
    for within in ("what's new", "york grows", "towns"):
        assert len(words.search(must=[within])) == 1


def test_strict_refuses_before_anything_is_embedded(tmp_path: Path) -> None:
    embedder = Hashed()
    with hs.create(tmp_path / "c.hs", schema={"n": "int"}, embedder=embedder) as collection:
        embedder.texts.clear()
        with pytest.raises(hs.BatchRefused):
            collection.add([hs.Document("a", "text"), hs.Document("b", "text", fields={"n": "1"})], strict=True)
        assert embedder.texts == []
