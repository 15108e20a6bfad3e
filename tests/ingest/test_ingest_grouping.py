"""Rows that are parts of one document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdstill.ingest import Keys, Refused, Row, read


def read_grouped(folder: Path, *records: dict[str, Any], key: str = "book") -> tuple[list[Row], list[Refused]]:
    path = folder / "chunks.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records))
    items = list(read([path], keys=Keys(document=key)))
    return [item for item in items if isinstance(item, Row)], [item for item in items if isinstance(item, Refused)]


def test_scattered_rows_become_documents(tmp_path: Path) -> None:
    rows, refused = read_grouped(
        tmp_path,
        {"id": "c1", "book": "b", "text": "one", "vector": [1.0], "pages": [1, 1], "year": 2020},
        {"id": "c2", "book": 7, "title": "Seven", "text": "two"},
        {"id": "c3", "book": "b", "title": "B", "text": "three", "headings": ["H"], "year": 2020, "lang": "en"},
    )
    assert not refused
    first, second = rows
    assert (first.number, first.document.id, first.document.title, first.document.whole) == (1, "b", "B", False)
    assert [(passage.text, passage.headings, passage.pages) for passage in first.document.passages] == [
        ("one", (), (1, 1)),
        ("three", ("H",), None),
    ]
    assert [passage.vector is not None for passage in first.document.passages] == [True, False]
    assert dict(first.document.fields) == {"year": 2020, "lang": "en"}
    assert (second.number, second.document.id, second.document.title) == (2, "7", "Seven")


def test_a_row_that_contradicts_an_earlier_one_is_refused(tmp_path: Path) -> None:
    (row,), (refused,) = read_grouped(
        tmp_path,
        {"book": "b", "text": "one", "year": 2020},
        {"book": "b", "text": "two", "year": 2020.0},
        {"book": "b", "text": "three", "year": 2020},
    )
    assert [passage.text for passage in row.document.passages] == ["one", "three"]
    assert (refused.row, refused.field) == (2, "year")
    assert "document 'b' has another 'year' in an earlier row; expected 2020, as in the earlier row" in refused.reason


def test_null_contradicts_nothing(tmp_path: Path) -> None:
    (row,), refused = read_grouped(
        tmp_path,
        {"book": "b", "text": "one", "metadata": {"year": None, "n": 1}},
        {"book": "b", "text": "two", "metadata": {"year": 2020, "n": None}},
    )
    assert not refused
    assert dict(row.document.fields) == {"year": 2020, "n": 1}


def test_another_title_becomes_a_heading(tmp_path: Path) -> None:
    (row,), _ = read_grouped(
        tmp_path,
        {"book": "b", "title": "Book", "text": "one"},
        {"book": "b", "title": "Chapter", "text": "two", "headings": ["Part"]},
        {"book": "b", "title": "Book", "text": "three"},
    )
    assert [passage.headings for passage in row.document.passages] == [(), ("Chapter", "Part"), ()]


def test_the_key_may_stand_in_the_metadata_and_rows_may_carry_passages(tmp_path: Path) -> None:
    (row,), refused = read_grouped(
        tmp_path,
        {"metadata": {"book": "b"}, "passages": [{"text": "one"}, {"text": "two"}]},
        {"metadata": {"book": "b"}, "text": "three"},
    )
    assert not refused
    assert [passage.text for passage in row.document.passages] == ["one", "two", "three"]
    assert dict(row.document.fields) == {}


def test_a_row_without_the_key_is_refused(tmp_path: Path) -> None:
    rows, (refused,) = read_grouped(tmp_path, {"id": "c", "text": "one"}, {"book": "b", "text": "two"})
    assert [row.document.id for row in rows] == ["b"]
    assert (refused.row, refused.field) == (1, "book")
    assert refused.reason == "the row has no id; expected 'book'. Name the key that holds it with --document KEY"


def test_the_loss_of_the_rows_own_ids_is_noted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("book,text\nb,x\n")
    reading = read([tmp_path / "a.csv"], keys=Keys(document="book"))
    assert reading.notes == ("rows with the same 'book' are one document; the rows' own ids are not kept",)


def test_rows_of_several_files_join(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("book,text,n\nb,one,5\n")
    (tmp_path / "b.csv").write_text("book,text,n\nb,two,5\n")
    (row,) = read([tmp_path], keys=Keys(document="book"))
    assert isinstance(row, Row)
    assert [passage.text for passage in row.document.passages] == ["one", "two"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text("xyz", min_size=1)), max_size=12))
def test_each_passage_goes_to_its_document_in_order(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[tuple[str, str]]
) -> None:
    rows, refused = read_grouped(tmp_path_factory.mktemp("group"), *({"book": b, "text": t} for b, t in chunks))
    assert not refused
    assert [row.document.id for row in rows] == list(dict.fromkeys(book for book, _ in chunks))
    for row in rows:
        expected = [text for book, text in chunks if book == row.document.id]
        assert [passage.text for passage in row.document.passages] == expected
