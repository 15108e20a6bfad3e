"""A longer page only appends, pages concatenate, and an answer that ran out says so."""

from __future__ import annotations

from typing import Any

import pytest

import holdstill
from holdstill import Collection, Document, Passage, Settings

SIZE = 23
LARGEST = 2**31 - 1


@pytest.fixture(scope="module")
def shelf(make: Any) -> Collection:
    """23 documents of two passages with many ties, some values missing."""
    collection = make(schema={"n": "int", "x": "float", "s": "str", "ok": "bool"}, vector_model="small")
    collection.add(
        [
            Document(
                f"{i:02d}",
                passages=[
                    Passage("red " * (i % 3 + 1) + "blue", vector=[1.0, i % 4]),
                    Passage("red fish", vector=[-1.0, i % 2]),
                ],
                fields={
                    "n": None if i % 5 == 0 else i % 3,
                    "x": (0.0, -0.0, 1.5, None, -1e300)[i % 5],
                    "s": ("b", "B", "é", None)[i % 4],
                    "ok": (True, False, None)[i % 3],
                },
            )
            for i in range(SIZE)
        ]
    )
    return collection


ASKED: tuple[dict[str, Any], ...] = (
    {"text": "red", "arms": ["lexical"]},
    {"vector": [1.0, 1.0]},
    {"text": "blue red", "vector": [0.0, 1.0]},
    {"text": "blue red", "vector": [0.0, 1.0], "by": "document"},
    {"text": "blue", "vector": [0.0, 1.0], "settings": Settings(depth=4)},
    {"text": "blue", "vector": [0.0, 1.0], "settings": Settings(rrf_k=1, weights={"lexical": 3})},
    {"text": "red", "vector": [1.0, 0.0], "where": "n >= 1", "must_not": ["fish"]},
    {"where": "n is null or n >= 0"},
    {"where": "true", "order_by": "n", "by": "document"},
    {"where": "true", "order_by": "s desc"},
)


def rows(result: holdstill.Result) -> list[dict[str, Any]]:
    return [hit.as_dict() for hit in result]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("size", [1, 3, 7])
def test_pages_concatenate_to_the_long_page(shelf: Collection, asked: dict[str, Any], size: int) -> None:
    whole = shelf.search(**asked, k=1000)
    assert whole.completeness in ("exhausted", "truncated")
    pages: list[dict[str, Any]] = []
    while True:
        page = shelf.search(**asked, k=size, offset=len(pages))
        pages += rows(page)
        if len(page) < size:
            assert page.completeness == whole.completeness
            break
        assert page.completeness == "complete"
    assert pages == rows(whole)
    assert len({row["id"] for row in pages}) == len(pages)


@pytest.mark.parametrize("asked", ASKED)
def test_a_larger_k_only_appends(shelf: Collection, asked: dict[str, Any]) -> None:
    whole = rows(shelf.search(**asked, k=1000))
    for k in (1, 2, 5, 11, len(whole) or 1, len(whole) + 1):
        page = shelf.search(**asked, k=k)
        assert rows(page) == whole[:k]
        assert (page.completeness == "complete") == (k <= len(whole))
        last = page.hits[-1].score
        beyond = sum(row["score"] == last for row in whole[k:]) if last is not None else 0
        assert page.ties_beyond == beyond


@pytest.mark.parametrize("asked", ASKED)
def test_the_largest_k_and_offset_answer(shelf: Collection, asked: dict[str, Any]) -> None:
    whole = shelf.search(**asked, k=LARGEST)
    assert len(whole) > 0
    beyond = shelf.search(**asked, k=LARGEST, offset=LARGEST)
    assert (len(beyond), beyond.completeness, beyond.ties_beyond) == (0, whole.completeness, 0)
    at_end = shelf.search(**asked, k=1, offset=len(whole))
    assert (len(at_end), at_end.completeness) == (0, whole.completeness)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": -1}, {"k": 2**31}, {"k": 1.0}, {"k": True}, {"k": "5"}, {"k": None},
                                   {"offset": -1}, {"offset": 2**31}, {"offset": 0.0}, {"offset": None}])  # fmt: skip
def test_a_page_that_cannot_be_is_refused(shelf: Collection, wrong: dict[str, Any]) -> None:
    with pytest.raises(holdstill.InvalidQuery) as caught:
        shelf.search("red", arms=["lexical"], **wrong)
    assert caught.value.field == next(iter(wrong))


@pytest.mark.parametrize("field", ["n", "x", "s", "ok"])
def test_an_order_puts_missing_values_last_in_both_directions(shelf: Collection, field: str) -> None:
    def key(value: Any) -> Any:
        return value.encode() if isinstance(value, str) else value

    up, down = (shelf.search(where="true", order_by=order, by="document", k=100) for order in (field, f"{field} desc"))
    for result, sign in ((up, 1), (down, -1)):
        values = [hit.fields[field] for hit in result]
        known = [key(value) for value in values if value is not None]
        assert values == values[: len(known)] + [None] * (SIZE - len(known))
        assert known == sorted(known, reverse=sign < 0)
        for value in {*known, None}:
            same = [hit.document for hit in result if key(hit.fields[field]) == value]
            assert same == sorted(same)
        assert {hit.score for hit in result} == {None}
        assert [hit.rank for hit in result] == list(range(1, SIZE + 1))
        assert result.ranking["order_by"] == (field if sign > 0 else f"{field} desc")


@pytest.mark.parametrize(
    "asked", [{"text": "red", "arms": ["lexical"], "order_by": "n"}, {"where": "true", "order_by": "n sideways"},
              {"where": "true", "order_by": ""}, {"where": "true", "order_by": "n; drop table documents"}],
)  # fmt: skip
def test_an_order_that_cannot_be_is_refused(shelf: Collection, asked: dict[str, Any]) -> None:
    with pytest.raises(holdstill.InvalidQuery) as caught:
        shelf.search(**asked)
    assert caught.value.field == "order_by"
    with pytest.raises(holdstill.UnknownField):
        shelf.search(where="true", order_by="nothing")
