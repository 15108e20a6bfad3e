"""Records: what was stored is what is shown, from one segment or several, merged or rebuilt; damage is said."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdstill as hs
from holdstill.stores.base import StoredPassage
from holdstill.stores.duckdb import records

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))  # lone surrogates are not stored
PAGES = st.none() | st.lists(st.integers(1, 2**31 - 1), min_size=2, max_size=2).map(sorted)


@given(TEXTS, st.lists(TEXTS), PAGES, TEXTS, st.integers(0, 2**31))
def test_a_record_holds_a_passage(title: str, headings: list[str], pages: Any, text: str, ordinal: int) -> None:
    first, last = pages or (None, None)
    record = records.encode(title, headings, first, last, text)
    passage = StoredPassage(ordinal, tuple(headings), tuple(pages) if pages else None, text)
    assert records.decode(record, ordinal) == (title, passage)
    assert records.encode(title, tuple(headings), first, last, text) == record


def test_a_record_is_compact() -> None:
    assert records.encode("Ä", ["H"], 1, 2, '"a"\n\U0001f600') == '["Ä",["H"],1,2,"\\"a\\"\\n\U0001f600"]'.encode()


def test_damaged_bytes_are_no_record_or_another_and_raise_nothing_else() -> None:
    whole = records.encode("título", ["H", "日本"], 1, 20, "text \U0001f600 \n end")
    chance, refused = random.Random(5), []
    cut = [whole[:size] for size in range(len(whole))] + [whole + whole, whole[1:], b"null", b"[1,2,3,4]"]
    flipped = []
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << chance.randrange(8)
        flipped.append(bytes(damaged))
    for damaged_record in [*cut, *flipped]:
        try:
            records.decode(damaged_record, 0)
        except hs.InvariantViolated:
            refused.append(damaged_record)
    assert {*cut} <= {*refused}
    assert len(refused) > len(cut)


# -- in a collection ---------------------------------------------------------------------------------

ODD = 'a "quoted" \\ line\n\n\ttab \u2028 日本語 \U0001f600\U0001f468\u200d\U0001f469 e\u0301 \x01'
FIRST = [
    hs.Document("long", "word " * 40_000, title="long"),
    hs.Document("odd", ODD, title=ODD),
    hs.Document("title", title="a title alone"),
    hs.Document("empty", passages=[hs.Passage("", headings=["only", "headings"]), hs.Passage("x")]),
    hs.Document(
        "book",
        title="A book",
        passages=[
            hs.Passage(f"passage {n}\n", headings=[f"Part {n // 9}", ODD], pages=(n + 1, n + 3)) for n in range(90)
        ],
    ),
]
SECOND = [
    hs.Document("odd", f"{ODD} again"),
    hs.Document("pages", passages=[hs.Passage("p", pages=(1, 1)), hs.Passage("none", headings=[""])]),
]
THIRD = [hs.Document(f"late{n}", f"late {n}", title=f"L{n}") for n in range(200)]


def shown(collection: hs.Collection) -> list[Any]:
    hits = collection.search(must_not=["absent"], k=1000)
    listed = [(hit.id, hit.title, hit.headings, hit.pages, hit.text) for hit in hits]
    documents = [collection.get(id_) for id_ in sorted({hit.document for hit in hits})]
    assert listed == [
        (f"{each.id}#{passage.ordinal}", each.title, passage.headings, passage.pages, passage.text)
        for each in documents
        for passage in each.passages
    ]
    return listed


def expected(*added: hs.Document) -> list[Any]:
    newest = {document.id: document for document in added}
    return [
        (f"{id_}#{ordinal}", document.title, passage.headings, passage.pages, passage.text)
        for id_, document in sorted(newest.items())
        for ordinal, passage in enumerate(document.passages)
    ]


def segments(collection: hs.Collection) -> int:
    return len(list((collection.path / "index").glob("*.seg")))


def test_what_was_stored_is_shown_whatever_the_segments(tmp_path: Path) -> None:
    path = tmp_path / "shown.hs"
    with hs.create(path, embedder="none") as collection:
        collection.add(FIRST)
        assert shown(collection) == expected(*FIRST)
        collection.add(SECOND)
        assert segments(collection) == 2
        assert shown(collection) == expected(*FIRST, *SECOND)
        collection.add(THIRD)
        assert segments(collection) == 1
        assert shown(collection) == expected(*FIRST, *SECOND, *THIRD)
    shutil.rmtree(path / "index")
    with hs.open(path) as collection:
        assert shown(collection) == expected(*FIRST, *SECOND, *THIRD)


def test_a_damaged_record_is_said_and_mended(tmp_path: Path) -> None:
    path = tmp_path / "damaged.hs"
    with hs.create(path, embedder="none") as collection:
        collection.add(FIRST)
    (file,) = (path / "index").glob("*.seg")
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b'["A book",', b'x"A book",', 1))
    with hs.open(path) as collection:
        with pytest.raises(hs.InvariantViolated, match=r"damaged in the index.*holdstill doctor"):
            collection.search("passage 0", k=100)
        (found,) = collection.check()
        assert "array 'record_bytes' does not match its checksum" in found
        assert shown(collection) == expected(*FIRST)
